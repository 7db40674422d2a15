from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cloud_samples import STAMP_NS, XYZ, message, packed

from bagnoise.errors import MessageError
from bagnoise.messages.cloud_codec import PointCloud2Codec
from bagnoise.messages.cloud_time import (
    TimeKind,
    counts_from_end,
    offsets_ns,
    restamped,
    time_kind,
)

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud

SWEEP_NS = np.array([0, 1_000, 55_296, 50_000_001, 99_999_999])


def cloud_with(name: str, code: str, values: Any, stamp_ns: int = STAMP_NS) -> Cloud:
    count = len(values)
    fields = (*XYZ, (name, 13, code))
    columns = {"x": np.ones(count), "y": np.ones(count), "z": np.ones(count), name: values}
    data = message(packed(columns, fields, 22), fields, width=count, step=22, stamp_ns=stamp_ns)
    return PointCloud2Codec().decode(data)


def seconds(nanoseconds: Any) -> Any:
    return np.asarray(nanoseconds) / 1e9


EPOCH = STAMP_NS + SWEEP_NS
CASES = [
    ("time", "f4", seconds(SWEEP_NS), TimeKind("time", 10**9, is_absolute=False), 8),
    ("time", "f4", -seconds(SWEEP_NS)[::-1], TimeKind("time", 10**9, is_absolute=False), 8),
    ("t", "u4", SWEEP_NS, TimeKind("t", 1, is_absolute=False), 0),
    ("t", "u4", SWEEP_NS[:2], TimeKind("t", 1, is_absolute=False), 0),
    ("time_stamp", "u4", SWEEP_NS, TimeKind("time_stamp", 1, is_absolute=False), 0),
    ("offset_time", "f4", SWEEP_NS * 1.0, TimeKind("offset_time", 1, is_absolute=False), 8),
    ("t", "f4", SWEEP_NS / 1e3, TimeKind("t", 1000, is_absolute=False), 8),
    ("t", "f8", SWEEP_NS / 1e6, TimeKind("t", 10**6, is_absolute=False), 1),
    ("timestamp", "f8", seconds(EPOCH), TimeKind("timestamp", 10**9, is_absolute=True), 240),
    ("timestamp", "f8", EPOCH * 1.0, TimeKind("timestamp", 1, is_absolute=True), 256),
    ("time", "f8", seconds(EPOCH), TimeKind("time", 10**9, is_absolute=True), 240),
    ("timestamp", "f8", seconds(SWEEP_NS), TimeKind("timestamp", 10**9, is_absolute=False), 1),
]


@pytest.mark.parametrize(("name", "code", "values", "kind", "tolerance_ns"), CASES)
def test_meaning_follows_name_type_and_values(
    name: str, code: str, values: Any, kind: TimeKind, tolerance_ns: int
) -> None:
    cloud = cloud_with(name, code, values)
    assert time_kind(cloud) == kind
    sign = -1 if values[0] < 0 else 1
    wanted = SWEEP_NS[: len(values)] if sign > 0 else -SWEEP_NS[::-1]
    assert np.abs(offsets_ns(cloud, kind) - wanted).max() <= tolerance_ns
    assert counts_from_end(cloud, kind) == (sign < 0)


def test_absolute_integers_are_exact() -> None:
    fields = (*XYZ, ("timestamp", 12, "u4"))
    raw = np.zeros((5, 20), np.uint8)
    raw[:, 12:20] = EPOCH.astype("<u8").view(np.uint8).reshape(5, 8)
    cloud = PointCloud2Codec().decode(message(raw.tobytes(), fields, width=5, step=20))
    wide = np.dtype({"names": ["timestamp"], "formats": ["<u8"], "offsets": [12], "itemsize": 20})
    cloud = replace(cloud, points=cloud.points.view(wide))
    kind = time_kind(cloud)
    assert kind == TimeKind("timestamp", 1, is_absolute=True)
    assert offsets_ns(cloud, kind).tolist() == SWEEP_NS.tolist()


def test_simulation_time_near_zero_is_told_by_the_stamp() -> None:
    stamp = 12_250_000_000
    cloud = cloud_with("timestamp", "f8", seconds(stamp + SWEEP_NS), stamp)
    kind = time_kind(cloud)
    assert kind is not None
    assert kind.is_absolute
    assert np.abs(offsets_ns(cloud, kind) - SWEEP_NS).max() <= 2


def test_no_reading_is_an_error() -> None:
    with pytest.raises(MessageError, match="'timestamp'"):
        time_kind(cloud_with("timestamp", "f8", [1e13, 1e13 + 1]))
    assert time_kind(cloud_with("intensity", "f4", [1.0])) is None


@pytest.mark.parametrize("name", ["time", "timestamp"])
def test_a_moved_stamp_takes_absolute_times_along(name: str) -> None:
    cloud = cloud_with(name, "f8", seconds(EPOCH if name == "timestamp" else SWEEP_NS))
    moved = restamped(cloud, STAMP_NS + 12_345_678_901)
    assert moved.stamp_ns == STAMP_NS + 12_345_678_901
    before, after = time_kind(cloud), time_kind(moved)
    assert before == after
    assert before is not None
    difference = offsets_ns(moved, before) - offsets_ns(cloud, before)
    assert np.abs(difference).max() <= 256
    same = (moved.column(name) == cloud.column(name)).all()
    assert same == (name == "time")


def test_unmoved_stamp_keeps_bits() -> None:
    cloud = cloud_with("timestamp", "f8", seconds(EPOCH))
    assert restamped(cloud, STAMP_NS).points.tobytes() == cloud.points.tobytes()


def test_misses_do_not_decide() -> None:
    cloud = cloud_with("time", "f4", [np.nan, np.inf, 0.05])
    assert time_kind(cloud) == TimeKind("time", 10**9, is_absolute=False)
    assert time_kind(cloud_with("time", "f4", [np.nan])) is not None
