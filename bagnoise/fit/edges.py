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
LOCAL = 200  # true cones inside a limit that tell the chance there


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
        axes: name -> value of each true cone, (n,).
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
    limits = [
        _limit(name, upper, axes[name], hit, _without(axes, chosen, (name, upper)), edge)
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
    """Leave out limits that the others, taken later, explain as well; move the rest to their best.

    One after the other, the least needed first.
    """
    while chosen:
        gains = {}
        for key in chosen:
            rest = _without(axes, chosen, key)
            gain, edge = _best(axes[key[0]][rest], hit[rest], stray, upper=key[1])
            gains[key] = gain
            chosen[key] = edge
        least = min(gains, key=lambda key: gains[key])
        if gains[least] >= ENOUGH:
            break
        del chosen[least]
    return chosen


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
    inside: NDArray[np.bool_],
    edge: float,
) -> Limit:
    """Say how far beyond the last hit the limit may lie: where so many misses would be chance."""
    sign = 1.0 if upper else -1.0
    v, h = sign * value[inside], hit[inside]
    order = np.argsort(v, kind="stable")
    v, h = v[order], h[order]
    last = int(np.searchsorted(v, sign * edge, side="right"))
    near = h[max(0, last - LOCAL) : last]
    p = min(max(float(near.mean()) if len(near) else 1.0, 1e-3), 1 - 1e-9)
    beyond = v[last:]
    needed = max(1, math.ceil(math.log(1 - LEVEL) / math.log1p(-p)))
    high = float(beyond[min(needed, len(beyond)) - 1]) if len(beyond) else sign * edge
    first = float(beyond[0]) if len(beyond) else sign * edge
    least, most = sorted((edge, sign * high))
    middle = sign * (sign * edge + first) / 2
    return Limit(name, upper, Estimate(name, middle, least, most, len(near)))
