"""The points of a sweep: every combination of a grid, a list and random draws."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from bagnoise.rng import keyed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.dataset.model import Bounds, Draws, Sweep

Point = dict[str, Any]  # stream.step.option -> value


def points(sweep: Sweep) -> list[Point]:
    """List the points in order; a plan without a sweep has one that sets nothing."""
    grid = [
        dict(zip(sweep.grid, values, strict=True))
        for values in itertools.product(*sweep.grid.values())
    ]
    drawn = list(_drawn(sweep.draws)) if sweep.draws else [{}]
    return [{**a, **b, **c} for a, b, c in itertools.product(grid, sweep.points or ({},), drawn)]


def count(sweep: Sweep) -> int:
    """Count the points without making them."""
    number = math.prod(len(values) for values in sweep.grid.values())
    return number * (len(sweep.points) or 1) * (sweep.draws.count if sweep.draws else 1)


def targets(sweep: Sweep) -> list[tuple[tuple[str | int, ...], str]]:
    """List every option that is swept, with its place in the plan."""
    found: list[tuple[tuple[str | int, ...], str]] = [
        (("sweep", "grid", name), name) for name in sweep.grid
    ]
    for index, point in enumerate(sweep.points):
        found += [(("sweep", "list", index, name), name) for name in point]
    if sweep.draws:
        found += [(("sweep", "draws", "values", name), name) for name in sweep.draws.values]
    return found


def _drawn(draws: Draws) -> Iterator[Point]:
    """Draw each value under a key of its own: more draws or options move no other value."""
    for number in range(draws.count):
        yield {
            name: _draw(bounds, draws.seed, name, number) for name, bounds in draws.values.items()
        }


def _draw(bounds: Bounds, seed: int, name: str, number: int) -> float:
    share = float(keyed(seed, "sweep", name, number).random())
    if bounds.scale == "log":
        low, high = math.log(bounds.min), math.log(bounds.max)
        value = math.exp(low + share * (high - low))
    else:
        value = bounds.min + share * (bounds.max - bounds.min)
    return min(max(float(f"{value:.6g}"), bounds.min), bounds.max)
