"""Where a view ends: the limits beyond which nothing is seen.

A limit is a place on one axis (range, bearing, x, y) with chance p of a hit inside and next to none
outside. Limits are taken one by one, the one that explains the most first, as long as one explains
enough; each lies between the last hit and what is missed beyond it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.estimate import LEVEL, Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ENOUGH = 15.0  # log likelihood that a limit must explain
PASSES = 2
BIN_M = 2.5
FEW = 20  # looks that tell the chance of a range bin


@dataclass(frozen=True)
class Limit:
    """One limit: ``upper`` keeps values up to it, else values from it on."""

    axis: str
    upper: bool
    estimate: Estimate


def find_limits(
    axes: Mapping[str, NDArray[np.float64]],
    lower: tuple[str, ...],
    hit: NDArray[np.bool_],
    stray: float,
) -> tuple[list[Limit], NDArray[np.bool_]]:
    """Find the limits of a view.

    Args:
        axes: name -> value of each true cone, (n,); ``range_m`` is one of them.
        lower: axes that may have a lower limit, too.
        hit: (n,) whether it was seen.
        stray: chance of a hit outside.

    Returns:
        the limits, and which true cones are inside, (n,).
    """
    inside = np.ones(len(hit), bool)
    chosen: dict[tuple[str, bool], float] = {}
    choices = [(name, True) for name in axes] + [(name, False) for name in lower]
    while inside.any():
        found = [
            (*_best(axes[name][inside], hit[inside], stray, upper=upper), (name, upper))
            for name, upper in choices
        ]
        gain, edge, (name, upper) = max(found, key=lambda f: f[0])
        if gain < ENOUGH:
            break
        chosen[name, upper] = edge
        inside &= axes[name] <= edge if upper else axes[name] >= edge
    chosen = _needed(axes, chosen, hit, stray)
    inside = _without(axes, chosen, None)
    chance = _chances(axes["range_m"], hit, inside)
    limits = [
        _limit(name, upper, axes[name], hit, chance, _without(axes, chosen, (name, upper)), edge)
        for (name, upper), edge in chosen.items()
    ]
    return limits, inside


def _without(
    axes: Mapping[str, NDArray[np.float64]],
    chosen: Mapping[tuple[str, bool], float],
    left_out: tuple[str, bool] | None,
) -> NDArray[np.bool_]:
    """Return which cones the limits but one let through, (n,)."""
    inside = np.ones(len(next(iter(axes.values()))), bool)
    for (name, upper), edge in chosen.items():
        if (name, upper) != left_out:
            inside &= axes[name] <= edge if upper else axes[name] >= edge
    return inside


def _needed(
    axes: Mapping[str, NDArray[np.float64]],
    chosen: dict[tuple[str, bool], float],
    hit: NDArray[np.bool_],
    stray: float,
) -> dict[tuple[str, bool], float]:
    """Leave out limits that the rest explain as well once they may move; the least needed first.

    The first limits are taken while much that is outside the view still counts as inside, so they
    may be too tight, and two of them may hold each other there.
    """
    chosen, best = _settled(axes, chosen, hit, stray)
    while chosen:
        trials = {
            key: _settled(axes, {k: v for k, v in chosen.items() if k != key}, hit, stray)
            for key in chosen
        }
        least = max(trials, key=lambda key: trials[key][1])
        if trials[least][1] < best - ENOUGH:
            break
        chosen, best = trials[least]
    return chosen


def _settled(
    axes: Mapping[str, NDArray[np.float64]],
    chosen: dict[tuple[str, bool], float],
    hit: NDArray[np.bool_],
    stray: float,
) -> tuple[dict[tuple[str, bool], float], float]:
    """Move each limit to its best place, given the others; return them and the log likelihood."""
    moved = dict(chosen)
    for _ in range(PASSES):
        for key in moved:
            rest = _without(axes, moved, key)
            if hit[rest].any():
                _, moved[key] = _best(axes[key[0]][rest], hit[rest], stray, upper=key[1])
    inside = _without(axes, moved, None)
    n, hits = int(inside.sum()), float(hit[inside].sum())
    out_hits = float(hit.sum()) - hits
    out_missed = len(hit) - n - out_hits
    within = float(_binomial(np.array([hits]), np.array([max(n, 1)]))[0])
    return moved, within + out_hits * math.log(stray) + out_missed * math.log1p(-stray)


def _best(
    value: NDArray[np.float64], hit: NDArray[np.bool_], stray: float, *, upper: bool
) -> tuple[float, float]:
    """Return (log likelihood gained, limit) of the best limit on one axis.

    With h hits among the first n values inside, the likelihood is binomial; outside each value is
    hit with the stray chance.
    """
    order = np.argsort(value if upper else -value, kind="stable")
    sorted_hit = hit[order].astype(float)
    n = np.arange(1, len(order) + 1)
    hits = sorted_hit.cumsum()
    missed_out = (n[-1] - n) - (hits[-1] - hits)
    outside = (hits[-1] - hits) * math.log(stray) + missed_out * math.log1p(-stray)
    total = _binomial(hits, n) + outside
    at_hits = np.flatnonzero(sorted_hit)
    if not len(at_hits):
        return 0.0, 0.0
    best = int(at_hits[np.argmax(total[at_hits])])
    return float(total[best] - total[-1]), float(value[order[best]])


def _binomial(hits: NDArray[np.float64], n: NDArray[np.intp]) -> NDArray[np.float64]:
    p = np.clip(hits / n, 1e-12, 1 - 1e-12)
    logs: NDArray[np.float64] = hits * np.log(p) + (n - hits) * np.log1p(-p)
    return logs


def _limit(
    name: str,
    upper: bool,  # noqa: FBT001
    value: NDArray[np.float64],
    hit: NDArray[np.bool_],
    chance: NDArray[np.float64],
    inside: NDArray[np.bool_],
    edge: float,
) -> Limit:
    """Say how far beyond the last hit the limit may lie: where so many misses would be chance."""
    sign = 1.0 if upper else -1.0
    v, h, p = sign * value[inside], hit[inside], chance[inside]
    order = np.argsort(v, kind="stable")
    v, h, p = v[order], h[order], p[order]
    last = int(np.searchsorted(v, sign * edge, side="right"))
    beyond = v[last:]
    surely = -np.log1p(-p[last:]).cumsum() >= -math.log(1 - LEVEL)
    first = float(beyond[0]) if len(beyond) else sign * edge
    high = float(beyond[int(surely.argmax())]) if surely.any() else _last(beyond, sign * edge)
    least, most = sorted((edge, sign * high))
    middle = sign * (sign * edge + first) / 2
    return Limit(name, upper, Estimate(name, middle, least, most, int(h[:last].sum())))


def _last(beyond: NDArray[np.float64], edge: float) -> float:
    return float(beyond[-1]) if len(beyond) else edge


def _chances(
    range_m: NDArray[np.float64], hit: NDArray[np.bool_], inside: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the chance of a hit by range, (n,), as those inside tell."""
    bins = (range_m // BIN_M).astype(int)
    farthest = int(bins[inside].max(initial=0))
    hits = np.bincount(bins[inside & hit], minlength=farthest + 1)
    trials = np.bincount(bins[inside], minlength=farthest + 1)
    every = float(hits.sum() / max(trials.sum(), 1))
    chance = np.where(trials >= FEW, hits / np.maximum(trials, 1), every)
    return np.asarray(np.clip(chance[np.minimum(bins, farthest)], 1e-3, 1 - 1e-9))
