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
    error = x - rows.frame_xyz[single, 0]
    far = rows.frame_xyz[single, 0] > cut + 2
    std = float(error[far].std()) if far.sum() > NEAR else float(error.std())
    true_x = rows.frame_xyz[inside, 0]
    near = true_x[np.abs(true_x - cut) < 6 * std]
    chance = float(rows.matched[inside].mean())
    lost = chance * sum(normal_cdf((cut - v) / std) for v in near.tolist()) if std > 0 else 0.0
    if lost < LEAST_LOST:
        return None
    reach = float(np.sort(x)[NEAR]) - cut
    gap = -math.log(1 - LEVEL) * reach / NEAR
    return Estimate("min_x_m", cut - reach / NEAR / 2, cut - gap, cut, NEAR)
