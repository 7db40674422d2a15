"""Errors of a run say in which stream and step, or at which target, they arose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_bags import EPOCH, Sent, cones_at

from bagnoise.errors import BagnoiseError

Run = Callable[..., Any]
SENT = [cones_at(EPOCH, blue=[(5, 1)])]


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ("crop rings=[1]", "stream out, step crop: crop by rings works on clouds"),
        ("sensor frame=lidar", "stream out, step sensor: no transform from 'lidar' to"),
        ("sensor | sensor frame=lidar", "stream out, step sensor#2: no transform from"),
        ("drift per=cone range_std_m=1", "stream out, step drift: step 'drift' must know each"),
        ("clock offset_s=1e9", "stream out, target /out: the stamp 2700000000120456789 ns does"),
        ("noise std_m=1 | shift header_s=1e9", "stream out, target /out: the stamp 27000000"),
        ("shift header_s=1e9", "stream out, target /out: the stamp 27000000"),
    ],
)
def test_where_an_error_arose(run: Run, stream: str, said: str) -> None:
    with pytest.raises(BagnoiseError) as caught:
        run(SENT, streams=[f"/ground_truth/cones | {stream} -> /out"])
    assert str(caught.value).startswith(said)
    assert str(caught.value).count("stream out") == 1


def test_a_further_target_is_named(run: Run, tmp_path: Any) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "streams:\n  s:\n    source: /ground_truth/cones\n    target: /out\n    steps: []\n"
        "    also:\n      - target: /more\n        steps:\n          - sensor: {frame: lidar}\n"
    )
    with pytest.raises(BagnoiseError, match=r"^stream s, step /more sensor: no transform from"):
        run(SENT, recipe=str(recipe))


def test_a_message_that_cannot_be_read_is_named(run: Run) -> None:
    cut: Sent = SENT[0]._replace(data=SENT[0].data[:-3])
    with pytest.raises(
        BagnoiseError, match=rf"^topic /ground_truth/cones, message at {EPOCH} ns: \w"
    ):
        run([cut], streams=["/ground_truth/cones | noise std_m=1 -> /out"])
