"""The chance to be seen, by range and class.

A true cone has at least one detection within its gate g with chance
1 - (1 - p q) exp(-lambda pi g^2): q is the chance that an error lies within the gate, lambda the
density of false positives. So p = (1 - (1 - share) exp(lambda pi g^2)) / q, without the bias of
either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.compare.statistics import chi2_tails
from bagnoise.fit.estimate import Estimate, is_one_value, quantile, share_interval
from bagnoise.fit.position import bin_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

CLASS_ALPHA = 1e-3
LEAST = 30


@dataclass(frozen=True)
class Detection:
    """Chance to be seen by range, and a factor by class (empty: all alike).

    Attributes:
        overall: (bins,) over all classes as they come.
    """

    probability: list[Estimate]
    one: Estimate
    by_class: dict[int, Estimate]
    overall: NDArray[np.float64]

    @property
    def is_one(self) -> bool:
        """Whether the chances of all bins may be one value."""
        return is_one_value(self.probability)


def detection(
    rows: Sightings,
    usable: NDArray[np.bool_],
    color: NDArray[np.int8],
    edges_m: NDArray[np.float64],
    inside: NDArray[np.float64],
    density: NDArray[np.float64],
    unsure: NDArray[np.float64],
    inflation: float = 1.0,
) -> Detection:
    """Estimate the chance of detection from the usable sightings (n,).

    Args:
        rows: all sightings, n.
        usable: (n,) clear cones in view.
        color: (n,) the class that by_class goes by.
        edges_m: by range bin, its upper end.
        inside: by bin, the chance of an error within the gate.
        density: by bin, false positives per m^2 and message.
        unsure: by bin, by how much `inside` may be off; it widens the intervals.
        inflation: how many looks are worth one, where misses last.
    """
    place = bin_at(edges_m, rows.range_m)
    bins = len(edges_m)
    trials = np.bincount(place[usable], minlength=bins)
    hits = np.bincount(place[usable & rows.matched], minlength=bins)
    expected = np.exp(density * math.pi * rows.gate_m**2)
    lows = [0.0, *edges_m[:-1].tolist()]
    found = []
    for n in range(bins):
        estimate = _corrected(
            int(hits[n]), int(trials[n]), inside[n], expected[n], unsure[n], inflation
        )
        found.append(replace(estimate, bin_m=(lows[n], float(edges_m[n]))))
    weights = trials / max(trials.sum(), 1)
    mean_inside, mean_stray = float(weights @ inside), float(weights @ expected)
    mean_unsure = float(weights @ unsure)
    one = _corrected(
        int(hits.sum()), int(trials.sum()), mean_inside, mean_stray, mean_unsure, inflation
    )
    used = np.flatnonzero(usable)
    overall = np.array([e.value for e in found])
    classes = _differing(rows, used, color, overall * inside, place, inflation)
    if not classes:
        return Detection(found, one, {}, overall)
    by_bin, factors = _apart(rows.matched[used], place[used], color[used], classes, bins, inflation)
    scale = by_bin * bins_share(hits, trials)
    found = [_scaled(e, float(k)) for e, k in zip(found, scale, strict=True)]
    one = _scaled(
        one, float(weights @ by_bin) / max(float(hits.sum() / max(trials.sum(), 1)), 1e-9)
    )
    return Detection(found, one, factors, overall)


def _corrected(
    hits: int, trials: int, inside: float, stray: float, unsure: float, inflation: float
) -> Estimate:
    low, high = share_interval(hits / inflation, trials / inflation)
    share = hits / trials if trials else 0.0
    gates = (inside, min(1.0, inside + unsure), max(1e-9, inside - unsure))
    a, b, c = (
        (1 - (1 - s) * stray) / gate for s, gate in zip((share, low, high), gates, strict=True)
    )
    return Estimate("probability", float(a), float(b), float(c), trials).clipped(0.0, 1.0)


def bins_share(hits: NDArray[np.intp], trials: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return trials / hits by bin, 1 where nothing was hit."""
    return np.where(hits > 0, trials / np.maximum(hits, 1), 1.0)


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    value, low, high = (v * factor for v in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def _differing(
    rows: Sightings,
    used: NDArray[np.intp],
    color: NDArray[np.int8],
    chance: NDArray[np.float64],
    place: NDArray[np.intp],
    inflation: float,
) -> list[int]:
    """Return the classes if their chances differ by more than luck at equal range, else none."""
    expected = np.clip(chance[place], 1e-9, 1.0)
    classes = [c for c in np.unique(color[used]).tolist() if (color[used] == c).sum() >= LEAST]
    square = 0.0
    for c in classes:
        mine = used[color[used] == c]
        variance = float((expected[mine] * (1 - expected[mine])).sum())
        square += (rows.matched[mine].sum() - expected[mine].sum()) ** 2 / max(variance, 0.5)
    square /= inflation
    many = len(classes) > 1
    return classes if many and chi2_tails(square, len(classes) - 1)[1] < CLASS_ALPHA else []


def _apart(
    hit: NDArray[np.bool_],
    place: NDArray[np.intp],
    color: NDArray[np.int8],
    classes: list[int],
    bins: int,
    inflation: float,
) -> tuple[NDArray[np.float64], dict[int, Estimate]]:
    """Split chances into one by range, (bins,), times a factor by class; the commonest has 1.

    In turn: each factor is its class's hits over what the ranges expect, and each chance its bin's
    hits over what the factors expect (maximum likelihood of Poisson counts).
    """
    factor = np.ones(len(CLASS_NAMES))
    by_bin = np.ones(bins)
    for _ in range(100):
        expected = np.bincount(place, weights=factor[color], minlength=bins)
        by_bin = np.bincount(place[hit], minlength=bins) / np.maximum(expected, 1e-9)
        for c in classes:
            factor[c] = hit[color == c].sum() / max(by_bin[place[color == c]].sum(), 1e-9)
    main = main_class(classes, color)
    assert main is not None
    by_bin, factor = by_bin * factor[main], factor / factor[main]
    found = {c: _factor(hit, color, (c, main), float(factor[c]), inflation) for c in classes}
    return by_bin, found


def main_class(classes: Iterable[int], color: NDArray[np.int8]) -> int | None:
    """Return the commonest of some classes, whose factor is 1; None without any."""
    return max(classes, key=lambda c: int((color == c).sum()), default=None)


def _factor(
    hit: NDArray[np.bool_],
    color: NDArray[np.int8],
    classes: tuple[int, int],
    value: float,
    inflation: float,
) -> Estimate:
    """Give a factor the interval of a ratio of two shares, by the spread of their logarithms.

    ``classes``: its own, and the commonest, whose factor is 1.
    """
    trials = [int((color == k).sum()) for k in classes]
    if classes[0] == classes[1]:
        return Estimate("by_class", 1.0, 1.0, 1.0, trials[0], note="the commonest class")
    hits = [int(hit[color == k].sum()) for k in classes]
    if not hits[0]:
        most = share_interval(0, trials[0] / inflation)[1]
        return Estimate("by_class", 0.0, 0.0, most, trials[0])
    variance = sum(1 / max(h, 1) - 1 / n for h, n in zip(hits, trials, strict=True)) * inflation
    spread = math.exp(quantile() * math.sqrt(max(variance, 0.0)))
    return Estimate("by_class", value, value / spread, value * spread, trials[0])
