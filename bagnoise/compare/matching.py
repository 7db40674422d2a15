"""Which true cone each detection is, where no label says it: the nearest within a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.labels import Truth

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones


def nearest(truth: Cones, noisy: Cones, gate_m: float) -> Truth:
    """Match one to one by distance in x and y, nearest pairs first, none beyond the gate."""
    index = np.full(len(noisy), -1, np.intp)
    if len(truth) and len(noisy):
        difference = noisy.xyz[:, None, :2] - truth.xyz[None, :, :2]
        distance_m = np.hypot(difference[..., 0], difference[..., 1])
        distance_m[~np.isfinite(distance_m)] = np.inf
        rows, columns = np.nonzero(distance_m <= gate_m)
        order = np.argsort(distance_m[rows, columns], kind="stable")
        taken = np.zeros(len(truth), bool)
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            if index[row] < 0 and not taken[column]:
                index[row], taken[column] = column, True
    return Truth(truth.xyz, truth.color, np.arange(len(truth)), index)
