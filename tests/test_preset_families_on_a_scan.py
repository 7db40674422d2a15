"""Every preset of the families over a real message of the sample scan."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bagnoise.bags import open_bag
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.registry import codec_of
from bagnoise.recipe.families import Corruption, corruptions
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.steps.base import CloudStep, Moment, TimeStep

SCAN = Path(__file__).resolve().parents[1] / "sample_bags" / "scan"


@cache
def scan() -> Cloud:
    with open_bag(SCAN) as bag:
        (channel,) = [c for c in bag.channels if c.topic == "/velodyne_points"]
        cloud: Cloud = codec_of(channel.schema).decode(bytes(next(bag.messages([channel.id])).data))
    return cloud


def corrupted(preset: str) -> Cloud:
    cloud = scan()
    for step in load_recipe(Request(recipe=preset)).streams["points"].steps:
        assert isinstance(step, CloudStep)
        after = step.on_cloud(cloud, Moment((0, "points", step.name, 5, 0), cloud.stamp_ns))
        assert after is not None
        cloud = after
    return cloud


@pytest.mark.parametrize("corruption", corruptions(), ids=lambda c: c.prefix)
def test_every_severity_changes_the_scan_and_keeps_its_form(corruption: Corruption) -> None:
    before = scan()
    first = f"{corruption.prefix}-{corruption.severities[0]}"
    steps = load_recipe(Request(recipe=first)).streams["points"].steps
    if any(isinstance(step, TimeStep) for step in steps):
        assert corruption.prefix == "multicorrupt-temporal_misalignment"
        return
    spelled = set()
    for severity in corruption.severities:
        after = corrupted(f"{corruption.prefix}-{severity}")
        assert (after.height, after.width, after.fields) == (
            before.height,
            before.width,
            before.fields,
        )
        assert after.points["ring"].tobytes() == before.points["ring"].tobytes()
        assert after.points["time"].tobytes() == before.points["time"].tobytes()
        was, there = hits(before), hits(after)
        assert not (there & ~was).any()
        assert there.any()
        if "fov_lost" not in corruption.prefix:  # the scan is of half a turn
            assert (after.points != before.points).any() or after.stamp_ns != before.stamp_ns
        spelled.add((after.stamp_ns, after.points.tobytes()))
    if "fov_lost" not in corruption.prefix:
        assert len(spelled) == len(corruption.severities)


@pytest.mark.parametrize(
    ("corruption", "shares"),
    [
        ("3dca-density", (0.06, 0.12, 0.18, 0.24, 0.3)),
        ("3dca-cutout", (0.04, 0.06, 0.1, 0.14, 0.2)),
        ("multicorrupt-points_missing", (0.7, 0.8, 0.9)),
    ],
)
def test_shares_that_are_lost(corruption: str, shares: tuple[float, ...]) -> None:
    count = int(hits(scan()).sum())
    found = [c for c in corruptions() if c.prefix == corruption]
    for severity, share in zip(found[0].severities, shares, strict=True):
        lost = 1 - hits(corrupted(f"{corruption}-{severity}")).sum() / count
        # 6 sigma of a binomial share; 0.02 is the least distance of any two severities
        assert abs(lost - share) < min(0.02, 6 * np.sqrt(share * (1 - share) / count) + 1 / count)


def rings_of(cloud: Cloud) -> set[int]:
    return set(cloud.points["ring"][hits(cloud)].tolist())


def test_beams_are_those_that_the_benchmark_leaves() -> None:
    seen = rings_of(scan())
    for severity, every in (("1", 2), ("2", 4), ("3", 8)):
        left = rings_of(corrupted(f"multicorrupt-beams_reducing-{severity}"))
        assert left == {ring for ring in seen if ring % every == 1}


def test_missing_beams_are_a_share_of_all_and_more_at_each_severity() -> None:
    seen = rings_of(scan())  # of 16; the upper ones see only sky
    left = [rings_of(corrupted(f"robo3d-beam_missing-{s}")) for s in ("light", "moderate", "heavy")]
    assert seen > left[0] > left[1] > left[2]
    for rings, lost in zip(left, (4, 8, 12), strict=True):
        assert len(seen - rings) <= lost
        assert len(rings) <= 16 - lost
