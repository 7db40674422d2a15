"""Runs a step over many messages of the same cones, as the chain does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bagnoise.messages.payload import ConeClass, Cones, source_rows, with_truth
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.context import NoContext

EPOCH = 1_700_000_000_000_000_123
PERIOD_NS = 100_000_000


def cones_at(xyz: ArrayLike, color: int = ConeClass.BLUE, **columns: Any) -> Cones:
    """Make cones with a truth; further columns as in `Cones`."""
    points = np.asarray(xyz, float).reshape(-1, 3)
    count = len(points)
    made = Cones(EPOCH, "car", points, np.full(count, color, np.int8), source_rows(count), count)
    return with_truth(replace(made, **columns))


def at_range(range_m: float, count: int, bearing_rad: float = 0.0) -> Cones:
    """Make cones on one spot."""
    x, y = range_m * np.cos(bearing_rad), range_m * np.sin(bearing_rad)
    return cones_at(np.tile((x, y, 0.0), (count, 1)))


def run(
    step: ConeStep,
    cones: Cones,
    messages: int,
    *,
    seed: int = 0,
    label: str = "",
    period_ns: int = PERIOD_NS,
    context: Any = None,
) -> Iterator[Cones]:
    """Yield what the step makes of the cones at ``messages`` times."""
    tally: Counter[str] = Counter()
    for n in range(messages):
        stamp_ns = EPOCH + n * period_ns
        truth = cones.truth and replace(cones.truth, stamp_ns=stamp_ns)
        now = replace(cones, stamp_ns=stamp_ns, truth=truth)
        key = (seed, "s", label or step.name, stamp_ns + 7, 0)
        made = step.on_cones(now, Moment(key, stamp_ns + 7, tally, context or NoContext()))
        assert made is not None
        yield made


def errors(step: ConeStep, cones: Cones, messages: int, **options: Any) -> NDArray[np.float64]:
    """Return how far the step moves each cone, (messages, n, 3)."""
    return np.array([made.xyz - cones.xyz for made in run(step, cones, messages, **options)])


def seen(step: ConeStep, cones: Cones, messages: int, **options: Any) -> NDArray[np.bool_]:
    """Return which source cones are left, (messages, n)."""
    left = np.zeros((messages, cones.source_count), bool)
    for row, made in zip(left, run(step, cones, messages, **options), strict=True):
        row[made.index[made.index >= 0]] = True
    return left
