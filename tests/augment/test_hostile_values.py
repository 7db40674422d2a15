"""Every step over messages of NaN, infinity and numbers whose squares overflow.

Warnings are errors here: nothing of numpy's may reach the user. What comes out is written, read
back, and untouched where the step has nothing to do with it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloud_bags import CLOUD, cloud_at
from small_bags import CONES, EPOCH, MS, STORE, Sent, cones_at, header
from test_context import odometry, transforms

from bagnoise.cli.main import exit_code
from bagnoise.steps.base import CloudStep, ConeStep
from bagnoise.steps.registry import STEPS

Run = Callable[..., Any]
HOSTILE = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e200, 5e-324, 0.0, 3.5)
CONE_STEPS = {
    "sensor": "sensor xyz_m=[0.5,0,0.8] rpy_deg=[0,10,0] error_std_deg=1",
    "field_of_view": "field_of_view min_range_m=1 max_range_m=20 horizontal_deg=90 vertical_deg=40",
    "crop": "crop min_x_m=0.1",
    "occlusion": "occlusion",
    "detection": "detection probability='{sigmoid: {mid_m: 15, slope_per_m: -0.5}}'",
    "classes": "classes keep=[blue]",
    "color": "color strip=true",
    "false_positives": "false_positives pose_topic=/odom per_s=20 per_frame=2 per_cone=0.1",
    "noise": "noise std_x_m='{linear: {base: 0.1, per_m: 0.01}}' std_y_m=0.1",
    "polar_noise": "polar_noise range_std_m=0.1 bearing_std_rad=0.01 elevation_std_rad=0.01",
    "drift": "drift pose_topic=/odom per=cone range_std_m=0.1",
    "duplicates": "duplicates probability=0.5",
    "shuffle": "shuffle",
    "covariance": "noise std_m=0.1 | covariance",
    "header": "header stamp=zero",
    "frustum": "sensor xyz_m=[0,0,1] | frustum horizontal_deg=60",
}
MOUNT = transforms("/tf_static", EPOCH, [("car", "base_footprint", 0.5, 0.0, 0.0, 1.0)])
NEED_MORE = {"from_track"}  # a track, tested beside it


def hostile_cones(log_ns: int) -> Sent:
    """Make cones of every pair of hostile coordinates, and some as they should be."""
    pairs = list(itertools.product(HOSTILE, HOSTILE))
    return cones_at(log_ns, blue=pairs[::2], yellow=pairs[1::2], unknown_color=[(5, 1), (7, -2)])


def test_every_step_over_cones_is_here() -> None:
    known = {name for name, step in STEPS.items() if issubclass(step, ConeStep)}
    assert known == CONE_STEPS.keys() | NEED_MORE


@pytest.mark.parametrize("text", CONE_STEPS.values(), ids=CONE_STEPS)
@pytest.mark.parametrize("kind", ["", " as visualization_msgs/msg/MarkerArray"])
def test_cones(run: Run, text: str, kind: str) -> None:
    sent = [hostile_cones(EPOCH + n * 100 * MS) for n in range(3)]
    poses = [odometry(EPOCH + n * 100 * MS, n, 0) for n in range(3)]
    made = run([*sent, *poses, MOUNT], streams=[f"/ground_truth/cones | {text} -> /out{kind}"])
    assert len(made.read("/out")) == 3
    assert [got.data for got in made.read("/ground_truth/cones")] == [one.data for one in sent]


def hostile_track() -> Sent:
    sent = hostile_cones(EPOCH - MS)._replace(topic="/track")
    ros: Any = STORE.deserialize_cdr(sent.data, CONES)
    moved = replace(ros, header=header(0, "map"))
    return sent._replace(data=bytes(STORE.serialize_cdr(moved, CONES)))


def test_a_track(run: Run) -> None:
    poses = [odometry(EPOCH + n * 100 * MS, n, 0) for n in range(3)]
    made = run([hostile_track(), *poses], streams=["/track | from_track pose_topic=/odom -> /out"])
    assert len(made.read("/out")) == 3


CLOUD_STEPS = {
    "crop": "crop min_x_m=0.1",
    "color": "color strip=true",
    "frustum": "frustum horizontal_deg=60",
    "camera_lidar": "camera_lidar model=VLP-16 columns=90",
    "range_noise": "range_noise std_m=0.1 angle_std_deg=0.1 beam_bias_std_m=0.1",
    "intensity_noise": "intensity_noise std=2 std_relative=0.1",
    "quantize": "quantize range_m=0.1 intensity=2",
    "dropout": "dropout probability=0.3",
    "fog": "fog meteorological_range_m=50",
    "rain": "rain rate_mm_h=20",
    "snow": "snow rate_mm_h=2",
    "wet_ground": "wet_ground",
    "beam_missing": "beam_missing count=2",
    "cutout": "cutout patches=2 radius_deg=20",
    "incomplete_echo": "incomplete_echo probability=0.5",
    "crosstalk": "crosstalk fraction=0.3",
    "sun": "sun lost_probability=0.5 noise_probability=0.3",
    "motion_blur": "motion_blur velocity_m_s=[10,0,0] jitter_std_m=[0.1,0.1,0.1]",
    "misalign": "misalign error_xyz_m=[0.1,0,0] error_rpy_deg=[0,1,0]",
}


def test_every_step_over_clouds_is_here() -> None:
    known = {name for name, step in STEPS.items() if issubclass(step, CloudStep)}
    assert known == CLOUD_STEPS.keys()


def hostile_cloud(log_ns: int, kind: str, rows: int) -> Sent:
    """Make points of all hostile coordinates, and a wall as it should be."""
    with np.errstate(over="ignore"):
        values = np.array(HOSTILE).astype(kind)
    x, y, z = (axis.reshape(-1) for axis in np.meshgrid(values, values, values))
    wall = np.linspace(-3, 3, 71)
    x = np.concatenate([x, np.full(71, 9.0)]).astype(kind)
    y, z = np.concatenate([y, wall]).astype(kind), np.concatenate([z, wall / 9]).astype(kind)
    with np.errstate(over="ignore"):
        intensity = np.resize(np.array(HOSTILE), len(x)).astype("f4")
    columns: dict[str, Any] = {}
    at = 0
    for name, code, column in (
        ("x", kind, x),
        ("y", kind, y),
        ("z", kind, z),
        ("intensity", "f4", intensity),
        ("ring", "u2", np.arange(len(x)) % 16),
        ("time", "f4", np.resize(np.array((*HOSTILE[:3], 0.01, 0.05)), len(x))),
        ("range", "f4", np.resize(np.array((*HOSTILE[:3], 9.0)), len(x))),
    ):
        columns[name] = (at, code, column)
        at += np.dtype(code).itemsize
    return cloud_at(log_ns, columns, step=at, shape=(rows, len(x) // rows), stamp_ns=log_ns)


@pytest.mark.parametrize("text", CLOUD_STEPS.values(), ids=CLOUD_STEPS)
@pytest.mark.parametrize(("kind", "rows"), [("f4", 1), ("f8", 1), ("f4", 16)])
def test_clouds(run: Run, text: str, kind: str, rows: int) -> None:
    sent = [hostile_cloud(EPOCH + n * 100 * MS, kind, rows) for n in range(2)]
    made = run(sent, streams=[f"/points | {text} -> /out"])
    got = made.read("/out")
    assert [one.type_name for one in got] == [CLOUD, CLOUD]
    assert [one.data for one in made.read("/points")] == [one.data for one in sent]


# nothing of numpy's reaches the user from the commands that read such bags, either
WAYS = [(float("nan"), 0), (float("inf"), 0), (1e308, -1e308), (-1e308, 1e308), (0, 0)]


@pytest.fixture(name="odd", params=["cones", "labels", "float32 cloud", "float64 cloud"])
def _odd(request: pytest.FixtureRequest, run: Run) -> tuple[str, Path, Path]:
    """Write a bag of hostile messages and poses, and a noisy one."""
    times = [EPOCH + n * 100 * MS for n in range(40)]
    poses = [odometry(time, *WAYS[n % len(WAYS)]) for n, time in enumerate(times)]
    if request.param in {"cones", "labels"}:
        sent = [hostile_cones(time) for time in times]
        stream = "/ground_truth/cones | noise std_m=0.1 | detection probability=0.9 -> /out"
        sets = ["out.labels=true"] if request.param == "labels" else []
    else:
        kind, rows = ("f4", 16) if request.param == "float32 cloud" else ("f8", 1)
        sent = [hostile_cloud(time, kind, rows) for time in times]
        stream, sets = "/points | range_noise std_m=0.1 | dropout probability=0.1 -> /out", []
    made = run([*sent, *poses, MOUNT], *sets, streams=[stream])
    return request.param, made.path.parent / "clean.mcap", made.path


@pytest.mark.parametrize("command", ["compare", "compare --check", "report", "fit", "info"])
def test_commands(
    odd: tuple[str, Path, Path], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    what, clean, noisy = odd
    word, *flags = command.split()
    page = noisy.with_suffix(".html")
    arguments = {
        "compare": [str(clean), str(noisy), *flags, "--json"],
        "report": [str(noisy), "--truth", str(clean), "-o", str(page)],
        "fit": [str(clean), str(noisy), "--json"],
        "info": [str(noisy), "--json"],
    }[word]
    code = exit_code([word, *arguments])
    told = capsys.readouterr()
    if word == "fit" and "cloud" in what:
        assert (code, told.err.count("\n")) == (2, 1)
    elif word == "report":
        assert code == 0
        assert "are left out" in page.read_text("utf-8") or what == "float32 cloud"
    else:
        assert code in {0, 3}
        json.loads(told.out, parse_constant=pytest.fail)


@pytest.mark.parametrize("ways", [WAYS, WAYS[::-1], WAYS[2:4]])
@pytest.mark.parametrize("more", ["", " hz=20 | polar_noise range_std_m=0.1 | covariance"])
def test_a_track_under_hostile_poses(run: Run, ways: list[tuple[float, float]], more: str) -> None:
    poses = [odometry(EPOCH + n * 100 * MS, *way) for n, way in enumerate(ways)]
    made = run(
        [hostile_track(), *poses], streams=[f"/track | from_track pose_topic=/odom{more} -> /out"]
    )
    assert made.read("/out")
