"""A cloud's own ``range`` or ``distance`` follows its points, by every step that moves them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from analytic_cloud import moment, on_sphere
from numpy.typing import NDArray

from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_lengths import with_measured
from bagnoise.messages.cloud_misses import hits, without
from bagnoise.messages.point_fields import DATATYPES, PointField, point_dtype
from bagnoise.steps.base import CloudStep
from bagnoise.steps.cloud_noise import Quantize, RangeNoise
from bagnoise.steps.fog import Fog
from bagnoise.steps.interference import Crosstalk, Sun
from bagnoise.steps.misalign import Misalign
from bagnoise.steps.motion_blur import MotionBlur
from bagnoise.steps.precipitation import Rain, Snow

ORIGIN = np.array([1.2, 0.0, 0.8])
AT: Any = {"sensor_xyz_m": (1.2, 0.0, 0.8)}
MIRROR_M = 0.015  # an Ouster's range begins at its mirror, not at its lidar's origin
STEPS: list[CloudStep] = [
    RangeNoise(std_m=0.2, angle_std_deg=0.1, **AT),
    Quantize(range_m=0.3, **AT),
    Crosstalk(fraction=0.5, **AT),
    Crosstalk(fraction=0.5, intensity=(3.0, 4.0), **AT),
    Sun(within_deg=180.0, falloff="none", noise_probability=0.5, lost_probability=0.2, **AT),
    Fog(meteorological_range_m=60.0, **AT),
    Rain(rate_mm_h=100.0, exit_diameter_mm=0, crossover_m=(1.0, 1.5), **AT),
    Snow(rate_mm_h=4.0, **AT),
    MotionBlur(jitter_std_m=(0.1, 0.2, 0.3)),
]


def with_length(cloud: Cloud, name: str, kind: str, values_m: Any) -> Cloud:
    """Put a field of lengths behind the others, in millimetres if it is an integer."""
    step = cloud.points.dtype.itemsize
    fields = (*cloud.fields, PointField(name, step, DATATYPES[kind]))
    points = np.zeros(len(cloud), point_dtype(fields, step + 8))
    for field in cloud.fields:
        points[field.name] = cloud.points[field.name]
    points[name] = np.nan_to_num(np.asarray(values_m) * (1 if kind[0] == "f" else 1000))
    points.setflags(write=False)
    return cloud.with_points(points, fields, cloud.height, cloud.width)


def range_m(cloud: Cloud, origin: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(cloud.xyz().astype(float) - origin, axis=1))


def sphere(name: str, kind: str, origin: NDArray[np.float64]) -> Cloud:
    before = on_sphere(25.0, origin, 4000, intensity=10.0, misses="nan")
    return with_length(before, name, kind, range_m(before, origin) - MIRROR_M)


@pytest.mark.parametrize(("name", "kind"), [("range", "u4"), ("distance", "f4"), ("range", "f8")])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_lengths_follow_the_points(step: CloudStep, name: str, kind: str) -> None:
    origin = np.zeros(3) if step.name == "motion_blur" else ORIGIN
    before = sphere(name, kind, origin)
    after = step.on_cloud(before, moment())
    assert after is not None
    assert len(after) == len(before)
    unit = 1 if kind[0] == "f" else 1000
    told, hit = after.column(name).astype(float) / unit, hits(after)
    moved = hit & (range_m(after, origin) != range_m(before, origin))
    assert moved.sum() > 20
    # one millimetre is an Ouster's step; float32 positions 25 m away are good to 4 micrometres
    assert np.abs(told - (range_m(after, origin) - MIRROR_M))[hit].max() < 2e-3
    assert after.points[name][hit & ~moved].tolist() == before.points[name][hit & ~moved].tolist()
    lost = hits(before) & ~hit
    assert np.nan_to_num(told[lost]).tolist() == [0.0] * int(lost.sum())


def test_a_wrong_mount_measures_the_same_lengths() -> None:
    before = sphere("range", "u4", np.zeros(3))
    step = Misalign(error_xyz_m=(0.5, 0, 0))
    after = step.on_cloud(before, moment())
    assert after is not None
    assert range_m(after, np.zeros(3))[1] != range_m(before, np.zeros(3))[1]
    assert after.column("range").tolist() == before.column("range").tolist()


@pytest.mark.parametrize("factor", [0.0, 0.1, 5.0])
def test_what_is_no_length_stays(factor: float) -> None:
    """The field has the name, but other values: those of a range image's index, say."""
    before = on_sphere(25.0, ORIGIN, 4000, intensity=10.0)
    before = with_length(before, "range", "u4", factor * range_m(before, ORIGIN))
    after = RangeNoise(std_m=0.2, **AT).on_cloud(before, moment())
    assert after is not None
    assert after.column("range").tolist() == before.column("range").tolist()


@pytest.mark.parametrize(
    ("kind", "misses", "told"),
    [("u4", "nan", 0), ("u4", "zero", 0), ("f4", "zero", 0), ("f4", "nan", np.nan)],
)
def test_a_lost_return_has_no_length(kind: str, misses: Any, told: float) -> None:
    before = sphere("range", kind, ORIGIN)
    lost = np.arange(len(before)) == 7
    after = without(before, lost, misses)
    assert after.column("range")[7:8].tolist() == pytest.approx([told], nan_ok=True)
    for field in before.names:
        assert after.points[field][~lost].tobytes() == before.points[field][~lost].tobytes()


def test_a_length_never_goes_below_nothing_nor_beyond_its_field() -> None:
    xyz = np.array([[1.0, 0, 0], [60.0, 0, 0], [3.0, 0, 0]], np.float32)
    before = on_sphere(1.0, np.zeros(3), 3, intensity=10.0, rows=1)
    before = with_length(before.with_xyz(xyz), "range", "u2", [0.4, 60.0, 3.0])
    moved = np.array([[0.2, 0, 0], [100.0, 0, 0], [3.0, 0, 0]], np.float32)
    after = with_measured(before, moved, np.array([True, True, False]), np.zeros(3))
    assert after.column("range").tolist() == [0, 65535, 3000]
