"""Cones from a track in the map and the car's pose, by hand and against the sample lap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_bags import (
    CONES,
    EPOCH,
    MS,
    STORE,
    TYPES,
    Sent,
    cones_at,
    header,
    read_bag,
    stamp_ns,
)
from test_context import POSE, TURN_Z, odometry, pose_of, transforms

from bagnoise.augment.run import Options
from bagnoise.augment.selection import Cut
from bagnoise.errors import ContextError

Run = Callable[..., Any]
LAP = Path(__file__).resolve().parents[2] / "sample_bags" / "lap.mcap"
FROM = "/track | from_track pose_topic=/odom"
ARRAYS = ("blue", "yellow", "orange", "big_orange", "unknown_color")


def track() -> Any:
    sent = cones_at(EPOCH, topic="/track", blue=[(10, 0)], yellow=[(0, 3)])
    return in_frame(sent, "map")


def drive(count: int = 3) -> list[Any]:
    """One metre a tenth of a second along x, looking to the left."""
    return [odometry(EPOCH + n * 100 * MS, n, 0, z_rot=TURN_Z, w=TURN_Z) for n in range(count)]


def rows(ros: Any, name: str) -> list[tuple[float, float]]:
    return [(cone.point.x, cone.point.y) for cone in getattr(ros, f"{name}_cones")]


def test_a_message_for_each_pose(run: Run) -> None:
    got = run([track(), *drive()], streams=[f"{FROM} -> /cones"]).read("/cones")
    assert [g.log_ns for g in got] == [EPOCH + n * 100 * MS for n in range(3)]
    assert [stamp_ns(g.ros) for g in got] == [g.log_ns for g in got]
    assert got[0].ros.header.frame_id == "car"
    # the car at (2, 0) looks along +y: (10, 0) is 8 m to its right
    assert rows(got[2].ros, "blue")[0] == pytest.approx((0, -8))
    assert rows(got[2].ros, "yellow")[0] == pytest.approx((3, 2))


def test_at_a_rate_the_pose_is_interpolated(run: Run) -> None:
    got = run([track(), *drive()], streams=[f"{FROM} hz=25 -> /cones"]).read("/cones")
    assert all(g.log_ns % (40 * MS) == 0 for g in got)
    assert len(got) == 5
    for g in got:
        x = (g.log_ns - EPOCH) / (100 * MS)
        assert rows(g.ros, "blue")[0] == pytest.approx((0, x - 10), abs=1e-9)


def test_a_rate_before_fires(run: Run) -> None:
    stream = "/track | rate hz=10 hold_s=0.2 | from_track pose_topic=/odom fire=messages -> /cones"
    got = run([track(), *drive(5)], streams=[stream]).read("/cones")
    assert [g.log_ns % (100 * MS) for g in got] == [0, 0]
    assert len({rows(g.ros, "blue")[0] for g in got}) == 2


def test_latency_delivers_what_was_seen_earlier(run: Run) -> None:
    stream = f"{FROM} | latency mean_s=0.2 -> /cones"
    got = run([track(), *drive()], streams=[stream]).read("/cones")
    assert got[0].log_ns == EPOCH + 200 * MS
    assert stamp_ns(got[0].ros) == EPOCH
    assert rows(got[0].ros, "blue")[0] == pytest.approx((0, -10))


def test_a_cut_fires_within_it_only(run: Run) -> None:
    options = Options(cut=Cut(start="0.1", end="0.2"))
    latched = {"/track": "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"}
    result = run([track(), *drive(5)], streams=[f"{FROM} -> /cones"], options=options, qos=latched)
    assert [g.log_ns for g in result.read("/cones")] == [EPOCH + 100 * MS]


def test_before_the_first_pose_nothing_is_seen(run: Run) -> None:
    late = [odometry(EPOCH + n * MS, 0, 0) for n in (400, 500)]
    stream = "/track | from_track pose_topic=/odom fire=messages -> /cones"
    result = run([track(), *late], streams=[stream])
    assert result.read("/cones") == []
    assert result.summary.streams[0].tally["no pose at that time"] == 1


@pytest.mark.parametrize("fired_by", ["", " use_tf=true"])
def test_without_noise_it_is_the_simulators_own_ground_truth(run: Run, fired_by: str) -> None:
    """Every cone of /ground_truth/cones is where from_track puts one, to rounding."""
    stream = f"/ground_truth/track | from_track pose_topic=/ground_truth/odom{fired_by} -> /ours"
    ours = run(LAP, streams=[stream]).read("/ours")
    by_stamp = {stamp_ns(g.ros): g.ros for g in ours}
    true = read_bag(LAP, "/ground_truth/cones")
    compared = 0
    for message in true[::5]:
        ros = by_stamp[stamp_ns(message.ros)]
        by_color = {name: np.array(rows(ros, name)).reshape(-1, 2) for name in ARRAYS}
        by_color["unknown_color"] = np.concatenate(list(by_color.values()))
        for name in ARRAYS:
            for xy in rows(message.ros, name):
                gap = np.abs(by_color[name] - xy).max(axis=1)
                assert gap.min() < 1e-10
                compared += 1
    assert compared > 1000


@pytest.mark.parametrize("frame", ["car", "sensor"])
def test_cones_that_move_with_the_car_are_no_track(run: Run, frame: str) -> None:
    moving = in_frame(track(), frame)
    mount = transforms("/tf_static", EPOCH, [("car", "sensor", 0.5, 0.0, 0.0, 1.0)])
    said = rf"stream cones, step from_track: the cones are in '{frame}', which moves with the car"
    with pytest.raises(ContextError, match=said):
        run([moving, *drive(), mount], streams=[f"{FROM} -> /cones"])


def in_frame(sent: Any, frame: str) -> Any:
    message: Any = STORE.deserialize_cdr(sent.data, CONES)
    message = replace(message, header=header(0, frame))
    return sent._replace(data=bytes(STORE.serialize_cdr(message, CONES)))


def nameless(stamp: int, x: float) -> Sent:
    """Make a pose that does not say whose it is."""
    message = TYPES[POSE](header=header(stamp, "map"), pose=pose_of(x, 0))
    return Sent("/odom", POSE, stamp, bytes(STORE.serialize_cdr(message, POSE)))


@pytest.mark.parametrize("way_m", [(0, 1, 2), (0, 5, 0)])
@pytest.mark.parametrize("still", [True, False])
def test_poses_that_name_no_car_tell_it_too(
    run: Run, way_m: tuple[float, float, float], *, still: bool
) -> None:
    """Also where the car ends where it began; a frame beside the map is one that stands still."""
    times = [EPOCH + n * 100 * MS for n in range(3)]
    poses = [nameless(time, x) for time, x in zip(times, way_m, strict=True)]
    there = (3.0, 3.0, 3.0) if still else way_m
    tf = [
        transforms("/tf", time, [("map", "base", x, 0.0, 0.0, 1.0)])
        for time, x in zip(times, there, strict=True)
    ]
    sent = [*tf, in_frame(track(), "base"), *poses]
    streams = [f"{FROM} -> /cones"]
    if still:
        assert len(run(sent, streams=streams).read("/cones")) == 3
    else:
        with pytest.raises(ContextError, match="the cones are in 'base', which moves with the car"):
            run(sent, streams=streams)
