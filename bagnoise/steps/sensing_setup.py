"""What camera_lidar prepares: beams, cameras, limits, and what it must know of a cloud for them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import BagnoiseError, MessageError, UsageError
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.camera import COARSEST_ERROR_DEG, FINEST_ERROR_DEG, texture_for
from bagnoise.lidar.models import find_model
from bagnoise.lidar.spacing import Spacing, source_spacing
from bagnoise.lidar.sweep import SweepLidar, sub_sweeps
from bagnoise.messages.cloud import RING_NAMES
from bagnoise.messages.cloud_layout import Layout, layout_named
from bagnoise.messages.cloud_misses import hits

if TYPE_CHECKING:
    from typing import Any, Literal

    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams
    from bagnoise.lidar.model import LidarModel
    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.camera_lidar import CameraLidar

    Mode = Literal["nearest", "visible", "plane"]

_UNKNOWN_ERROR_DEG = 0.2  # auto, of a cloud of too few points
_UNKNOWN_SPACING_RAD = 0.01
_WIDEST_SPACING_RAD = math.radians(5)
_MOST_WINDOW_PIXELS = 1 << 14


def problems(step: CameraLidar) -> list[str]:
    """Say what of the options no lidar, layout or camera can do."""
    try:
        model = find_model(step.model)
        layout_of(step, model)
        beams = beams_of(model, step.rate_hz, step.columns)
        error = step.max_approx_error_deg
        texture_for(beams, _UNKNOWN_ERROR_DEG if error == "auto" else float(error), step.cameras)
        sub_sweeps(beams, step.sub_sweeps)
    except BagnoiseError as error:
        return [str(error)]
    near_m, far_m = limits_of(step, model)
    if near_m >= far_m:
        return [f"returns from {near_m:g} m to {far_m:g} m: the nearest must be below the farthest"]
    return []


def limits_of(step: CameraLidar, model: LidarModel) -> tuple[float, float]:
    """Return nearest and farthest return, in metres."""
    near_m, far_m = model.range_m
    return (
        near_m if step.min_range_m is None else step.min_range_m,
        far_m if step.max_range_m is None else step.max_range_m,
    )


def layout_of(step: CameraLidar, model: LidarModel) -> Layout | None:
    """Return the layout of the points, None for the source's own."""
    return None if step.layout == "source" else layout_named(step.layout or model.layout)


def lidar_of(step: CameraLidar, model: LidarModel, spacing: Spacing | None) -> SweepLidar:
    """Return the cameras that suit a source of some spacing."""
    error = step.max_approx_error_deg
    if error == "auto":
        error = _UNKNOWN_ERROR_DEG
        if spacing is not None:
            error = min(max(_rounded(spacing.auto_error_deg), FINEST_ERROR_DEG), COARSEST_ERROR_DEG)
    spread = None
    if step.mode != "nearest":
        known = spacing or (_UNKNOWN_SPACING_RAD, _UNKNOWN_SPACING_RAD)
        spread = (_spread(known[0]), _spread(known[1]))
    beams = _Beams(model, step.rate_hz, step.columns, step.sub_sweeps)
    return _prepared(beams, float(error), step.cameras, step.mode, spread)


@dataclass(frozen=True)
class _Beams:
    model: LidarModel
    rate_hz: float | None
    columns: int | None
    sub_sweeps: int


@functools.lru_cache(maxsize=16)
def _prepared(
    beams: _Beams,
    error_deg: float,
    cameras: int,
    mode: Mode,
    spacing_rad: tuple[float, float] | None,
) -> SweepLidar:
    """Prepare cameras once for all clouds that need the same."""
    turn = beams_of(beams.model, beams.rate_hz, beams.columns)
    lidar = SweepLidar(sub_sweeps(turn, beams.sub_sweeps), error_deg, cameras, mode, spacing_rad)
    window = lidar.lidars[0].window
    if window.columns * window.rows > _MOST_WINDOW_PIXELS and spacing_rad is not None:
        fits = math.degrees(max(spacing_rad)) / math.sqrt(2)
        msg = (
            f"max_approx_error_deg {error_deg:g} is so much finer than the source that each beam"
            f" must look through {window.columns} x {window.rows} pixels in mode {mode!r};"
            f" {fits:.2g} would fit the source, mode nearest takes any"
        )
        raise UsageError(msg)
    return lidar


@functools.lru_cache(maxsize=16)
def beams_of(model: LidarModel, rate_hz: float | None, columns: int | None) -> Beams:
    """Return the beams of a turn."""
    return revolution(model, rate_hz, columns)


model_of = functools.lru_cache(maxsize=16)(find_model)


def spacing_of(cloud: Cloud, local: NDArray[Any]) -> Spacing | None:
    """Estimate the source's spacing; None for a cloud of too few points."""
    name = cloud.find(*RING_NAMES)
    ring = None if name is None else cloud.column(name).astype(np.int32)
    try:
        return source_spacing(local, ring)
    except MessageError:
        return None


def returns_of(cloud: Cloud) -> NDArray[Any]:
    """Return positions, NaN for misses: (0, 0, 0) seen from elsewhere would be a point."""
    if not len(cloud):
        return np.empty((0, 3), np.float32)
    return np.where(hits(cloud)[:, None], cloud.xyz(), np.float32(np.nan))


def _spread(spacing_rad: float) -> float:
    """Return up to what gap points are of one surface: not beyond what makes a lidar's scan."""
    return min(_rounded(spacing_rad), _WIDEST_SPACING_RAD)


def _rounded(value: float) -> float:
    """Round up to two digits, so that clouds alike share their cameras."""
    if not (math.isfinite(value) and value > 0):
        return _UNKNOWN_SPACING_RAD
    digits = 10.0 ** (1 - math.floor(math.log10(value)))
    return math.ceil(value * digits) / digits
