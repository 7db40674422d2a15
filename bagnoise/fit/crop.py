"""A cut of what was measured, at an x of the message's frame.

Errors blur the limits of a view, but not a cut of the measured positions: there detections end
sharply, and true cones near it are lost by the errors that would have taken them across.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.statistics import normal_cdf
from bagnoise.fit.estimate import LEVEL, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

LEAST_LOST = 8.0
BIN_M = 1.0
REACH = 6.0  # deviations
NEAR = 30  # detections next to the cut that tell how dense they are


def find_crop(rows: Sightings, inside: NDArray[np.bool_]) -> Estimate | None:
    """Return the least measured x if more would have been measured below it than chance explains.

    ``inside``: (n,) clear true cones within the limits of the view.
    """
    single = inside & (rows.count == 1)
    x = rows.seen_frame_xyz[single, 0]
    if len(x) <= NEAR:
        return None
    cut = float(x.min())
    if _expected_below(rows, inside, single, cut) < LEAST_LOST:
        return None
    reach = float(np.sort(x)[NEAR]) - cut
    gap = -math.log(1 - LEVEL) * reach / NEAR
    return Estimate("min_x_m", cut - reach / NEAR / 2, cut - gap, cut, NEAR)


def _expected_below(
    rows: Sightings, inside: NDArray[np.bool_], single: NDArray[np.bool_], cut: float
) -> float:
    """Return how many detections errors would have taken below the cut, by range."""
    chance = float(rows.matched[inside].mean())
    bins = (rows.range_m // BIN_M).astype(int)
    lost = 0.0
    for number in np.unique(bins[inside]).tolist():
        here = single & (bins == number)
        error = (rows.seen_frame_xyz - rows.frame_xyz)[here & (rows.frame_xyz[:, 0] > cut), 0]
        std = float(error.std()) if len(error) > NEAR else 0.0
        true_x = rows.frame_xyz[inside & (bins == number), 0]
        near = true_x[np.abs(true_x - cut) < REACH * std] if std else true_x[:0]
        lost += chance * sum(normal_cdf((cut - v) / std) for v in near.tolist())
    return lost
