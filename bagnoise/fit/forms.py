"""Simpler forms of a deviation by range, where the bins allow them: one value, or a bearing's.

A sideways deviation may be sqrt(a^2 + (b r)^2): a in metres, b that of the bearing. The bins'
variances are fitted by least squares, each weighted by how well it is known under the fit itself
(bins that came out small would else count too much), and the form is taken if chi-square allows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.statistics import chi2_tails
from bagnoise.fit.estimate import Estimate, is_one_value, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHA = 0.01
_ROUNDS = 12


def simplest(by_bin: Sequence[Estimate], one: Estimate) -> list[Estimate]:
    """Return the one value where the bins agree on it, else the bins."""
    return [one] if is_one_value(by_bin, ALPHA) else list(by_bin)


def bearing_form(
    by_bin: Sequence[Estimate], mean_square_m2: NDArray[np.float64]
) -> tuple[Estimate, Estimate] | None:
    """Return (across_std_m, bearing_std_rad), None where neither b r nor both together fit.

    Args:
        by_bin: sideways deviations.
        mean_square_m2: by bin, mean of the squared ranges, (k,).
    """
    variance = np.array([e.value**2 for e in by_bin])
    if (variance <= 0).any():
        return None
    known = np.array([e.half_width / e.value / quantile() for e in by_bin])
    columns = np.column_stack([np.ones(len(by_bin)), mean_square_m2])
    for used in ([1], [0, 1]):
        if len(by_bin) <= len(used):
            return None
        made = _least_squares(columns[:, used], variance, known)
        if made is None:
            continue
        squares, deviations, square = made
        if chi2_tails(square, len(by_bin) - len(used))[1] <= ALPHA:
            continue
        count = sum(e.count for e in by_bin)
        found = {k: _root(s, d, count) for k, s, d in zip(used, squares, deviations, strict=True)}
        none = Estimate("across_std_m", 0.0, 0.0, 0.0, count, note="the bearing explains it")
        return found.get(0, none), found[1]
    return None


def _least_squares(
    columns: NDArray[np.float64], variance: NDArray[np.float64], known: NDArray[np.float64]
) -> tuple[list[float], list[float], float] | None:
    """Return coefficients, their deviations and chi-square; None if one is not positive."""
    model = variance.copy()
    for _ in range(_ROUNDS):
        weight = 1 / (2 * model * known) ** 2
        normal = columns.T @ (weight[:, None] * columns)
        found = np.linalg.solve(normal, columns.T @ (weight * variance))
        if (found <= 0).any():
            return None
        model = columns @ found
    square = float((((variance - model) / (2 * model * known)) ** 2).sum())
    return found.tolist(), np.sqrt(np.diag(np.linalg.inv(normal))).tolist(), square


def _root(square: float, deviation: float, count: int) -> Estimate:
    half = quantile() * deviation
    low, high = max(0.0, square - half) ** 0.5, (square + half) ** 0.5
    return Estimate("std_m", square**0.5, low, high, count)


def bias_of_bearing(by_bin: Sequence[Estimate], mean_m: Sequence[float]) -> Estimate | None:
    """Return bearing_bias_rad where the sideways biases grow with range as it does, else None.

    Args:
        by_bin: sideways biases.
        mean_m: by bin, mean range.
    """
    if is_one_value(by_bin, ALPHA):
        return None
    angles = [
        replace(e, value=e.value / r, low=e.low / r, high=e.high / r, bin_m=None)
        for e, r in zip(by_bin, mean_m, strict=True)
    ]
    if not is_one_value(angles, ALPHA):
        return None
    weight = np.array([(quantile() / e.half_width) ** 2 for e in angles])
    value = float(weight @ np.array([e.value for e in angles]) / weight.sum())
    half = quantile() / float(weight.sum()) ** 0.5
    count = sum(e.count for e in by_bin)
    return Estimate("bearing_bias_rad", value, value - half, value + half, count)
