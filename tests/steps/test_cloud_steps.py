"""Every step over clouds: its contract on clouds of all kinds, and cases computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bagnoise.errors import BagnoiseError
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.point_fields import PointField
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.camera_lidar import CameraLidar
from bagnoise.steps.cloud_dropout import Dropout
from bagnoise.steps.cloud_losses import BeamMissing, Cutout, IncompleteEcho
from bagnoise.steps.cloud_noise import IntensityNoise, Quantize, RangeNoise
from bagnoise.steps.color import Color
from bagnoise.steps.field_of_view import Crop
from bagnoise.steps.fog import Fog
from bagnoise.steps.frustum import Frustum
from bagnoise.steps.interference import Crosstalk, Sun
from bagnoise.steps.misalign import Misalign
from bagnoise.steps.motion_blur import MotionBlur
from bagnoise.steps.precipitation import Rain, Snow
from bagnoise.steps.wet_ground import WetGround

FLOAT32, UINT16, UINT8 = 7, 4, 2
FIELDS = (
    PointField("x", 0, FLOAT32, 1),
    PointField("y", 4, FLOAT32, 1),
    PointField("z", 8, FLOAT32, 1),
    PointField("intensity", 12, FLOAT32, 1),
    PointField("ring", 16, UINT16, 1),
    PointField("rgb", 18, FLOAT32, 1),
    PointField("mystery", 22, UINT8, 1),
)
STAMP_NS = 1_700_000_000_000_000_123
STEPS: list[CloudStep] = [
    RangeNoise(std_m=0.02, std_per_m=0.001, beam_bias_std_m=0.01, angle_std_deg=0.1),
    IntensityNoise(std=3.0),
    Quantize(range_m=0.05, intensity=8.0),
    Dropout(probability=0.3, far_probability=0.5, bursts=1.0, lost_beams=2),
    Frustum(horizontal_deg=70.0, rpy_deg=(-90.0, 0.0, -90.0)),
    Crop(max_range_m=9.0, rings=(0, 1, 2)),
    Misalign(error_rpy_deg=(0.0, 0.0, 2.0), drift_xyz_m=(0.1, 0.0, 0.0)),
    Fog(meteorological_range_m=20.0),
    Rain(rate_mm_h=50.0),
    Snow(rate_mm_h=3.0, returns="last"),
    Snow(rate_mm_h=3.0, terminal_velocity_m_s=0.5),
    WetGround(water_depth_mm=1.0, ground_plane=(0.0, 0.0, 1.0, 0.7), ground_band_m=0.5),
    Crosstalk(fraction=0.3, intensity=(5.0, 50.0)),
    Crosstalk(fraction=0.3, distribution="normal", std_m=20.0),
    Sun(within_deg=120.0, lost_probability=0.5, noise_probability=0.5),
    MotionBlur(shift_std_m=0.1, turn_std_deg=1.0, parts=5, jitter_std_m=(0.01, 0.01, 0.0)),
    IncompleteEcho(probability=0.7, faint_below=100.0),
    IncompleteEcho(probability=0.7),
    BeamMissing(count=3),
    Cutout(patches=3, radius_deg=20.0),
    Cutout(patches=3, nearest_share=0.05, misses="zero"),
    Color(),
    Color(keep_layout=True),
]
NOTHING_ASKED: list[CloudStep] = [
    RangeNoise(),
    IntensityNoise(),
    Quantize(),
    Dropout(),
    Crop(),
    Misalign(),
    Fog(),
    Fog(alpha_per_m=0.0, beta_per_m_sr=0.1),
    Rain(),
    Snow(terminal_velocity_m_s=1.0),
    WetGround(),
    Crosstalk(intensity=(0.0, 9.0)),
    Crosstalk(fraction=0.5, distribution="normal", std_m=0.0),
    Sun(),
    Sun(noise_probability=1.0, std_m=0.0, within_deg=180.0),
    MotionBlur(),
    IncompleteEcho(faint_below=100.0),
    BeamMissing(),
    BeamMissing(share=0.0),
    BeamMissing(keep=8),
    Cutout(radius_m=1.0),
]


def cloud(count: int, *, misses: bool = False, big: bool = False, rows: int = 1) -> Cloud:
    """Make a cloud of rings 0..7 with every kind of field, its arrays not to be written to."""
    rng = np.random.default_rng(5)
    order = ">" if big else "<"
    kinds = {FLOAT32: "f4", UINT16: "u2", UINT8: "u1"}
    dtype = np.dtype(
        {
            "names": [f.name for f in FIELDS],
            "formats": [order + kinds[f.datatype] for f in FIELDS],
            "offsets": [f.offset for f in FIELDS],
            "itemsize": 23,
        }
    )
    points = np.zeros(count, dtype)
    ring = np.arange(count) % 8
    azimuth = rng.uniform(-np.pi, np.pi, count)
    elevation = np.radians(ring * 2.0 - 7.0)
    distance = rng.uniform(3, 12, count)
    points["x"] = distance * np.cos(elevation) * np.cos(azimuth)
    points["y"] = distance * np.cos(elevation) * np.sin(azimuth)
    points["z"] = distance * np.sin(elevation)
    points["intensity"] = rng.uniform(0, 255, count)
    points["ring"] = ring
    colors = rng.integers(0, 2**32, count, dtype=np.uint32)
    colors[:2] = [0xFF820000, 0x7FA00000][: len(colors[:2])]
    points["rgb"] = colors.astype(order + "u4").view(order + "f4")
    points["mystery"] = rng.integers(0, 255, count)
    if misses and count > 4:
        points["x"][1] = points["y"][1] = points["z"][1] = np.nan
        points["x"][3] = np.inf
    points.setflags(write=False)
    return Cloud(STAMP_NS, "velodyne", FIELDS, points, rows, count // rows, 23, is_bigendian=big)


CLOUDS = {
    "empty": cloud(0),
    "one": cloud(1),
    "many": cloud(240),
    "misses": cloud(240, misses=True),
    "organised": cloud(240, misses=True, rows=8),
    "big-endian": cloud(240, big=True),
}


def moment(log_ns: int = 7) -> Moment:
    return Moment((0, "s", "step", log_ns, 0), STAMP_NS)


@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_contract(step: CloudStep, kind: str) -> None:
    """Input unchanged, the same again for the same key, no return from nothing, bits kept."""
    before = CLOUDS[kind]
    raw = before.points.tobytes()
    first = step.on_cloud(before, moment())
    again = step.on_cloud(before, moment())
    assert before.points.tobytes() == raw
    assert first is not None
    assert again is not None
    assert first.points.tobytes() == again.points.tobytes()
    assert (first.stamp_ns, first.frame_id) == (before.stamp_ns, before.frame_id)
    assert int(hits(first).sum()) <= int(hits(before).sum())
    if step.name != "color":
        assert first.fields == before.fields
        assert first.points.dtype == before.points.dtype
        if len(first) == len(before):
            for name in ("rgb", "ring", "mystery"):
                assert first.points[name].tobytes() == before.points[name].tobytes()
    if before.is_organised:
        assert (first.height, first.width) == (before.height, before.width)


@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize("step", NOTHING_ASKED, ids=lambda step: step.name)
def test_nothing_asked_changes_no_bit(step: CloudStep, kind: str) -> None:
    before = CLOUDS[kind]
    after = step.on_cloud(before, moment())
    assert after is not None
    assert after.points.tobytes() == before.points.tobytes()


@pytest.mark.parametrize("step", STEPS[:2], ids=lambda step: step.name)
def test_noise_of_a_point_does_not_depend_on_the_misses_around_it(step: CloudStep) -> None:
    whole, holes = (
        step.on_cloud(CLOUDS["many"], moment()),
        step.on_cloud(CLOUDS["misses"], moment()),
    )
    assert whole is not None
    assert holes is not None
    same = hits(CLOUDS["misses"])
    assert whole.points[same].tobytes() == holes.points[same].tobytes()


def test_range_noise_is_along_the_beam_from_the_lidar() -> None:
    origin = np.array([1.2, 0.0, 0.8])
    before = CLOUDS["many"]
    step = RangeNoise(std_m=0.1, sensor_xyz_m=tuple(origin))
    after = step.on_cloud(before, moment())
    p, q = (np.asarray(c.xyz(), float) - origin for c in (before, after))
    length = np.linalg.norm(p, axis=1)[:, None]
    assert np.abs(np.cross(p / length, q / length)).max() < 1e-5
    assert (np.linalg.norm(p - q, axis=1) > 0).all()


def test_the_bias_of_a_beam_is_the_same_in_every_cloud() -> None:
    step = RangeNoise(beam_bias_std_m=0.2)
    before = CLOUDS["many"]
    ranges = np.linalg.norm(before.xyz().astype(float), axis=1)
    shifts = [
        np.linalg.norm(step.on_cloud(before, moment(n)).xyz().astype(float), axis=1) - ranges
        for n in (1, 2)
    ]
    assert shifts[0] == pytest.approx(shifts[1], abs=1e-6)
    by_ring = [shifts[0][np.arange(240) % 8 == ring] for ring in range(8)]
    assert max(float(np.ptp(shift)) for shift in by_ring) < 1e-5
    assert len({round(float(shift.mean()), 4) for shift in by_ring}) == 8


def test_dropout_keeps_rings_by_their_number() -> None:
    order = np.random.default_rng(1).permutation(240)
    shuffled = CLOUDS["many"].take(order)
    after = Dropout(keep_every_ring=2).on_cloud(shuffled, moment())
    assert set(after.points["ring"].tolist()) == {0, 2, 4, 6}
    assert len(after) == 120


@pytest.mark.parametrize(
    ("how", "spelled"),
    [("nan", np.isnan), ("inf", np.isinf), ("zero", lambda x: x == 0)],
)
def test_a_lost_point_is_written_as_asked(how: str, spelled: Any) -> None:
    step = Dropout.model_validate({"probability": 1.0, "misses": how})
    after = step.on_cloud(CLOUDS["many"], moment())
    assert len(after) == 240
    assert spelled(after.xyz()).all()
    assert after.points["ring"].tobytes() == CLOUDS["many"].points["ring"].tobytes()


def test_the_frustum_is_off_centre_and_in_front() -> None:
    points = np.zeros(4, CLOUDS["one"].points.dtype)
    points["x"], points["y"] = [5, 5, -5, 0], [0.5, -40, 0.5, 0.1]
    seen = Frustum(horizontal_deg=90.0, rpy_deg=(-90.0, 0.0, -90.0), near_m=0.5).on_cloud(
        replace(CLOUDS["one"], points=points, width=4), moment()
    )
    assert seen.points["x"].tolist() == [5]


@pytest.mark.parametrize("mode", ["nearest", "visible", "plane"])
def test_camera_lidar_of_a_wall_is_the_wall(mode: str) -> None:
    """A wall 10 m ahead, seen from the lidar's own place: exact for planes, near it otherwise."""
    y, z = np.meshgrid(np.linspace(-12, 12, 400), np.linspace(-3, 3, 120))
    points = np.zeros(y.size, CLOUDS["one"].points.dtype)
    points["x"], points["y"], points["z"] = 10, y.ravel(), z.ravel()
    points["intensity"] = 77
    wall = Cloud(STAMP_NS, "velodyne", FIELDS, points, 1, y.size, 23)
    step = CameraLidar.model_validate(
        {"model": "VLP-16", "mode": mode, "max_approx_error_deg": 0.4}
    )
    told = moment()
    after = step.on_cloud(wall, told)
    seen = hits(after)
    assert 1000 < seen.sum() < len(after)
    off_m = np.abs(after.xyz()[seen][:, 0] - 10)
    assert np.median(off_m) < (0.002 if mode == "plane" else 0.06)
    assert set(after.points["intensity"][seen].tolist()) == {77.0}
    elevation = np.degrees(np.arctan2(after.xyz()[seen][:, 2], np.hypot(*after.xyz()[seen].T[:2])))
    rings = after.points["ring"][seen]
    assert elevation == pytest.approx(rings * 2.0 - 15.0, abs=1e-3)
    assert "cameras of" in str(told.facts["step"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "VLP-16", "cameras": 3}, "120 deg"),
        ({"model": "RS-Bpearl"}, "steep"),
        ({"model": "VPL-16"}, "VLP-16"),
    ],
)
def test_what_cameras_cannot_do_is_an_error_with_the_limit(
    options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(BagnoiseError, match=expected):
        CameraLidar.model_validate(options).on_cloud(CLOUDS["many"], moment())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"sub_sweeps": 4}, "needs pose_topic"),
        ({"time": "model"}, "needs sub_sweeps"),
        ({"max_approx_error_deg": -1.0}, "from 0.001 to 10"),
        ({"cameras": 3}, "120 deg"),
        ({"model": "RS-Bpearl"}, "steep"),
        ({"model": "Livox Avia"}, "by spinning"),
        ({"model": "no/such.yaml"}, "no/such.yaml"),
        ({"layout": "velodin"}, "velodin"),
        ({"min_range_m": 50.0, "max_range_m": 5.0}, "below the farthest"),
        ({"pose_topic": "/odom", "map_frame": "map"}, "not both"),
        ({"sensor_frame": "a", "mount": {"xyz_m": [1, 0, 0]}}, "not both"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], expected: str) -> None:
    step = CameraLidar.model_validate({"model": "VLP-16", **options})
    assert any(expected in text for text in step.check())
