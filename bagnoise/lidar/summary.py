"""What a user should know about a camera-approximated lidar: bounds, misses, what is ignored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.lidar.camera import error_of_pitch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams
    from bagnoise.lidar.resample import CameraLidar, Sensed
    from bagnoise.lidar.spacing import Spacing

_SURFACE_STEP: Final = 0.3  # relative; beyond it two neighbouring returns are of two surfaces


@dataclass(frozen=True)
class CameraSummary:
    """The facts of one prepared lidar.

    Attributes:
        mode: nearest, visible or plane.
        cameras: around the circle.
        texture_columns: pixels across, of each.
        texture_rows: pixels down.
        bound_deg: the largest possible angle between a beam and its pixel's centre.
        beam_to_point_deg: the largest possible angle between a beam and the point it takes.
        window: columns and rows of pixels that a beam looks at.
        source_spacing_deg: between the source's points in azimuth and elevation, or None.
        fitting_error_deg: the max_approx_error_deg that suits this source, or None.
        ignored_origin_offset_m: how far beams of the real lidar start from its origin, which a
            pinhole cannot do; None where the model does not say.
        warnings: what to tell the user.
    """

    mode: str
    cameras: int
    texture_columns: int
    texture_rows: int
    bound_deg: float
    beam_to_point_deg: float
    window: tuple[int, int]
    source_spacing_deg: tuple[float, float] | None
    fitting_error_deg: float | None
    ignored_origin_offset_m: float | None
    warnings: tuple[str, ...]


def summarise(
    lidar: CameraLidar,
    spacing: Spacing | None = None,
    ignored_origin_offset_m: float | None = None,
) -> CameraSummary:
    """Collect the facts of a lidar that is to sense a source of some spacing."""
    texture = lidar.texture
    bound = error_of_pitch(texture.pitch)
    warnings = [] if spacing is None else _spacing_warnings(texture.pitch, bound, spacing)
    return CameraSummary(
        mode=lidar.mode,
        cameras=texture.cameras,
        texture_columns=texture.columns,
        texture_rows=texture.rows,
        bound_deg=bound,
        beam_to_point_deg=(max(lidar.window) + 1) * bound,
        window=(lidar.window.columns, lidar.window.rows),
        source_spacing_deg=None
        if spacing is None
        else (math.degrees(spacing.azimuth_rad), math.degrees(spacing.elevation_rad)),
        fitting_error_deg=None if spacing is None else spacing.auto_error_deg,
        ignored_origin_offset_m=ignored_origin_offset_m,
        warnings=tuple(warnings),
    )


def _spacing_warnings(pitch: float, bound_deg: float, spacing: Spacing) -> list[str]:
    if pitch >= max(spacing) / 2:
        return []
    text = (
        f"max_approx_error_deg {bound_deg:.3g} makes pixels of {math.degrees(pitch):.3g} deg, finer"
        f" than half the spacing of the source's points"
        f" ({math.degrees(spacing.azimuth_rad):.3g} x {math.degrees(spacing.elevation_rad):.3g}"
        f" deg): nothing is gained; {spacing.auto_error_deg:.2g} would fit"
    )
    return [text]


@dataclass(frozen=True)
class SenseFigures:
    """What came of sensing, added up over clouds.

    Attributes:
        beams: sent.
        misses: of them without return.
        worst_error_m: largest e * tan(incidence) * range: how far a range can be off because the
            pixel's ray is not the beam. An estimate: incidence is from neighbouring returns.
        worst_relative: the same as a share of the range.
    """

    beams: int = 0
    misses: int = 0
    worst_error_m: float = 0.0
    worst_relative: float = 0.0

    @property
    def miss_share(self) -> float:
        """Misses among the beams, 0 to 1."""
        return self.misses / self.beams if self.beams else 0.0

    def plus(self, other: SenseFigures) -> SenseFigures:
        """Add figures up."""
        return SenseFigures(
            self.beams + other.beams,
            self.misses + other.misses,
            max(self.worst_error_m, other.worst_error_m),
            max(self.worst_relative, other.worst_relative),
        )


def sense_figures(beams: Beams, sensed: Sensed, bound_deg: float) -> SenseFigures:
    """Measure one sensed cloud."""
    tangent = incidence_tangents(beams, sensed.range_m)
    relative = math.radians(bound_deg) * tangent
    error_m = relative * sensed.range_m
    known = np.isfinite(relative)
    return SenseFigures(
        beams=len(beams),
        misses=int(np.count_nonzero(~sensed.hit)),
        worst_error_m=float(error_m[known].max(initial=0.0)),
        worst_relative=float(relative[known].max(initial=0.0)),
    )


def incidence_tangents(beams: Beams, range_m: NDArray[np.float32]) -> NDArray[np.float64]:
    """Estimate the tangent of each return's angle of incidence from its neighbours, (n,).

    The slope of the range over the angle, along the ring and across rings. NaN where a neighbour
    is missing or on another surface.
    """
    shape = (beams.columns, beams.channels)
    ranges = range_m.astype(np.float64).reshape(shape)
    elevation = beams.elevation_rad.reshape(shape)
    azimuth = beams.azimuth_rad.reshape(shape)
    step = np.diff(np.unwrap(azimuth, axis=0), axis=0) * np.cos(elevation[:-1])
    along = _slopes(ranges, step, axis=0)
    order = np.argsort(elevation[0], kind="stable")
    across = np.full(shape, np.nan)
    climb = np.diff(elevation[:, order], axis=1)
    across[:, order] = _slopes(ranges[:, order], climb, axis=1)
    tangents: NDArray[np.float64] = np.hypot(along, across)
    return tangents.ravel()


def _slopes(
    ranges: NDArray[np.float64], angle: NDArray[np.float64], axis: int
) -> NDArray[np.float64]:
    """Return d(range) / (range d(angle)) towards the next row, NaN across edges and at the end."""
    before, after = (ranges[:-1], ranges[1:]) if axis == 0 else (ranges[:, :-1], ranges[:, 1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        change = 2 * (after - before) / (after + before)
        slope = np.where(np.abs(change) <= _SURFACE_STEP, np.abs(change / angle), np.nan)
    out = np.full(ranges.shape, np.nan)
    if axis == 0:
        out[:-1] = slope
    else:
        out[:, :-1] = slope
    return out
