"""Which true cone each detection is, where no label says it: the nearest within a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.labels import Truth
from bagnoise.messages.payload import somewhere

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

_MOST_PAIRS = 1 << 20  # looked at together


def nearest(truth: Cones, noisy: Cones, gate_m: float) -> Truth:
    """Match one to one by distance in x and y, nearest pairs first, none beyond the gate."""
    index = np.full(len(noisy), -1, np.intp)
    if len(truth) and len(noisy):
        rows, columns, distance_m = _near(noisy.xyz, truth.xyz, gate_m)
        order = np.lexsort((columns, rows, distance_m))
        taken = np.zeros(len(truth), bool)
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            if index[row] < 0 and not taken[column]:
                index[row], taken[column] = column, True
    return Truth(truth.xyz, truth.color, np.arange(len(truth)), index)


def _near(
    xyz: NDArray[np.float64], true_xyz: NDArray[np.float64], gate_m: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Find all pairs within the gate: rows of both, (k,), and how far they are apart, (k,).

    Only true cones in a strip of x are looked at, and some detections at a time: messages may hold
    any number of cones.
    """
    strip = np.flatnonzero(somewhere(true_xyz))
    strip = strip[np.argsort(true_xyz[strip, 0], kind="stable")]
    there = np.flatnonzero(somewhere(xyz))
    x = true_xyz[strip, 0]
    first = np.searchsorted(x, xyz[there, 0] - gate_m, side="left")
    counts = np.searchsorted(x, xyz[there, 0] + gate_m, side="right") - first
    parts = []
    ends = np.cumsum(counts)
    start = 0
    while start < len(there):
        before = ends[start] - counts[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + _MOST_PAIRS, side="right")))
        some = counts[start:stop]
        row = np.repeat(np.arange(start, stop), some)
        within = np.arange(some.sum()) - np.repeat(ends[start:stop] - some - before, some)
        column = strip[first[row] + within]
        row = there[row]
        apart = true_xyz[column, :2] - xyz[row, :2]
        distance_m = np.hypot(apart[:, 0], apart[:, 1])
        near = distance_m <= gate_m
        parts.append((row[near], column[near], distance_m[near]))
        start = stop
    if not parts:
        return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    rows, columns, distances_m = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, columns, distances_m
