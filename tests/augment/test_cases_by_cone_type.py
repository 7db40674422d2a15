"""The cases of cone streams, on every message type that cones can be written to and read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_bags import EPOCH, MS, Sent, cones_at

from bagnoise.bags import open_bag
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.header import header_access
from bagnoise.messages.registry import codec_of, cone_types

Run = Callable[..., Any]
WRITTEN = [
    kind.type_name
    for kind in cone_types()
    if not kind.asked_for and shipped_definition(kind.type_name) is not None
]


def converted(run: Run, name: str, messages: list[Sent], *streams: str) -> Any:
    """Write cones as a type, then run streams over what was written."""
    first = run(messages, streams=[f"/ground_truth/cones | drop -> /cones as {name}"])
    return run(first.path, streams=list(streams))


def cones_of(result: Any, topic: str) -> list[tuple[int, Any, Any]]:
    """Return (log time, cones, header stamp or None) of a topic."""
    with open_bag(result.path) as bag:
        (channel,) = [c for c in bag.channels if c.topic == topic]
        codec = codec_of(channel.schema)
        access = header_access(channel.schema)
        return [
            (
                m.log_ns,
                codec.decode(bytes(m.data)),
                None if access is None else access.read_stamp_ns(bytes(m.data)),
            )
            for m in bag.messages([channel.id])
        ]


@pytest.mark.parametrize("name", WRITTEN)
def test_latency_keeps_the_header(run: Run, name: str) -> None:
    messages = [
        cones_at(EPOCH + n * 100 * MS, stamp_ns=EPOCH + n, blue=[(10 - n, 1.5)]) for n in range(5)
    ]
    result = converted(run, name, messages, "/cones | noise | latency mean_s=0.15")
    got = cones_of(result, "/cones")
    assert [log for log, _, _ in got] == [EPOCH + n * 100 * MS + 150 * MS for n in range(5)]
    if got[0][2] is not None:
        assert [stamp for _, _, stamp in got] == [EPOCH + n for n in range(5)]
    for n, (_, cones, _) in enumerate(got):
        assert cones.xyz[:, :2].tolist() == pytest.approx(np.array([[10 - n, 1.5]]), abs=1e-6)


@pytest.mark.parametrize("name", WRITTEN)
def test_unset_stamps_stay_unset(run: Run, name: str) -> None:
    messages = [
        cones_at(EPOCH + n * MS, stamp_ns=0 if n % 2 else EPOCH, blue=[(5, 1)]) for n in range(4)
    ]
    result = converted(run, name, messages, "/cones | noise | shift header_s=-0.2")
    stamps = [stamp for _, _, stamp in cones_of(result, "/cones")]
    if stamps[0] is not None:
        assert stamps == [EPOCH - 200 * MS, 0, EPOCH - 200 * MS, 0]


@pytest.mark.parametrize("name", WRITTEN)
def test_the_frustum_sees_ahead_and_not_behind(run: Run, name: str) -> None:
    places = [(5, 1), (-5, -1), (5, 4.9), (5, 5.1), (60, 0)]
    frustum = "frustum horizontal_deg=90 rpy_deg=[-90,0,-90] image_px=[1000,1000] far_m=30"
    result = converted(run, name, [cones_at(EPOCH, blue=places)], f"/cones | {frustum}")
    ((_, cones, _),) = cones_of(result, "/cones")
    assert cones.xyz[:, :2].tolist() == pytest.approx(np.array([(5, 1), (5, 4.9)]), abs=1e-6)
