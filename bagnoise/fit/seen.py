"""What a sensor sees: the limits of its view, a cut of what it measured, where it sees color."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.crop import find_crop
from bagnoise.fit.edges import Limit, find_limits
from bagnoise.fit.estimate import Estimate, quantile
from bagnoise.fit.strays import View
from bagnoise.messages.payload import ConeClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

EDGE_SIGMAS = 5.0
HALF_TURN_DEG = 180.0
STRAY_LIMITS = (1e-3, 0.2)
STRIPPED = 0.999  # share of unknown from which on all color is taken away


@dataclass(frozen=True)
class Seen:
    """What a sensor sees.

    Attributes:
        limits: of the true positions; ``crop``: of the measured ones.
        usable: (n,) clear true cones within the limits, and away from the cut.
        view: the sector that false positives are spread over.
    """

    limits: list[Limit]
    crop: Estimate | None
    usable: NDArray[np.bool_]
    view: View


def find_seen(rows: Sightings, mine: NDArray[np.bool_]) -> Seen:
    """Find what a sensor sees, of clear true cones (n,)."""
    limits, in_view = _limits(rows, mine)
    others = [limit for limit in limits if not _may_be_cut(limit)]
    crop, blur_m = find_crop(rows, mine, _inside(rows, others), in_view)
    if crop is not None:  # the limit behind was but its shadow
        away = rows.frame_xyz[:, 0] > crop.value + _erode_m(rows, mine)
        limits, usable = others, mine & _inside(rows, others) & away
    else:
        usable = mine & in_view
        limits = [_blurred(k, blur_m) if k.axis == "x_m" and not k.upper else k for k in limits]
    return Seen(limits, crop, usable, _view(rows, limits, usable))


def _axes(rows: Sightings, mine: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    xyz = rows.xyz[mine]
    planar = np.hypot(xyz[:, 0], xyz[:, 1])
    axes = {
        "range_m": rows.range_m[mine],
        "horizontal_deg": 2 * np.abs(np.degrees(np.arctan2(xyz[:, 1], xyz[:, 0]))),
        "x_m": rows.frame_xyz[mine, 0],
        "y_m": rows.frame_xyz[mine, 1],
    }
    if rows.has_z:
        axes["vertical_deg"] = 2 * np.abs(np.degrees(np.arctan2(xyz[:, 2], planar)))
    return axes


def _limits(rows: Sightings, mine: NDArray[np.bool_]) -> tuple[list[Limit], NDArray[np.bool_]]:
    """Find the limits of the view, and which sightings are within it, (n,)."""
    reach = float(rows.range_m[rows.matched & mine].max())
    shots = max(1, len(rows.true_xy))
    expected = int(rows.other_far.sum()) / shots * (rows.gate_m / max(reach, 1.0)) ** 2
    stray = float(np.clip(2 * expected, *STRAY_LIMITS))
    limits, inside = find_limits(
        _axes(rows, mine), ("range_m", "x_m", "y_m"), rows.matched[mine], stray
    )
    whole = np.zeros(len(rows.color), bool)
    whole[np.flatnonzero(mine)[inside]] = True
    return limits, whole


def _inside(rows: Sightings, limits: Sequence[Limit]) -> NDArray[np.bool_]:
    every = np.ones(len(rows.color), bool)
    axes = _axes(rows, every)
    for limit in limits:
        value, edge = axes[limit.axis], limit.estimate.value
        every &= value <= edge if limit.upper else value >= edge
    return every


def _may_be_cut(limit: Limit) -> bool:
    """Whether a limit may be but the shadow of a cut of measured x."""
    behind = limit.axis == "horizontal_deg" and limit.estimate.value > HALF_TURN_DEG
    return behind or (limit.axis == "x_m" and not limit.upper)


def _blurred(limit: Limit, blur_m: float) -> Limit:
    """Widen the interval of a limit that may be a cut of measured positions."""
    if not blur_m:
        return limit
    e, half = limit.estimate, quantile() * blur_m
    note = "or of measured positions, which cannot be told apart"
    wide = replace(e, low=e.low - half, high=e.high + half, note=note)
    return replace(limit, estimate=wide)


def _erode_m(rows: Sightings, mine: NDArray[np.bool_]) -> float:
    """Return how far from a cut of measured positions no error reaches it."""
    some = mine & (rows.count == 1)
    error = (rows.seen_frame_xyz - rows.frame_xyz)[some, 0]
    return EDGE_SIGMAS * 1.4826 * float(np.median(np.abs(error - np.median(error))))


def _view(rows: Sightings, limits: Sequence[Limit], usable: NDArray[np.bool_]) -> View:
    """Return the sector that false positives are spread over."""
    known = {(limit.axis, limit.upper): limit.estimate.value for limit in limits}
    seen = usable & rows.matched
    farthest = float(rows.range_m[seen].max())
    bearing = 2 * float(np.abs(np.degrees(np.arctan2(rows.xyz[seen, 1], rows.xyz[seen, 0]))).max())
    return View(
        known.get(("range_m", False), 0.0),
        known.get(("range_m", True), farthest),
        min(known.get(("horizontal_deg", True), bearing), 360.0),
    )


def color_limits(
    rows: Sightings, usable: NDArray[np.bool_]
) -> tuple[list[Limit], NDArray[np.bool_]]:
    """Find beyond which range and bearing colors are lost, and which sightings are within, (n,)."""
    every = np.ones(len(rows.color), bool)
    some = usable & (rows.count == 1) & (rows.color != ConeClass.UNKNOWN)
    known = rows.seen_color[some] != ConeClass.UNKNOWN
    if not len(known) or known.all() or known.mean() < 1 - STRIPPED:
        return [], every
    axes = _axes(rows, some)
    chosen = {name: axes[name] for name in ("range_m", "horizontal_deg")}
    limits, _ = find_limits(chosen, ("range_m",), known, STRAY_LIMITS[0])
    return limits, _inside(rows, limits)
