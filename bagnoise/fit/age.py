"""How old unstamped messages are: the delay at which positions fit the truth best.

While the car moves, cones seen at a wrong moment lie beside the true ones.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.samples import typical_ns
from bagnoise.fit.delivery import Delays, delays
from bagnoise.fit.estimate import Estimate, t_quantile
from bagnoise.fit.rhythm import rate
from bagnoise.fit.times import Timing
from bagnoise.steps.clock import SECOND_NS, nanoseconds
from bagnoise.steps.timing import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bagnoise.compare.samples import Track
    from bagnoise.fit.scene import TrackScene

    # (moments that messages show, block of time or None) -> how far positions are off, m
    Score = Callable[[Sequence[int | None], int | None], float]

AGES_MS = 500
VERTEX_STEP_NS = 10_000_000
BLOCKS = 10  # stretches of time that a delay is searched in
LEAST_BLOCKS = 3
MOST_TICKS = 8  # by which a delay may be longer than the interval of the timer


def unstamped_track(
    scene: TrackScene,
    real: Track,
    score: Score,
    repeat: list[bool],
) -> Timing:
    """Search the age of messages that show a track from the car's pose."""

    def at(age_ns: int) -> list[int | None]:
        return [scene.clock.from_log(log_ns - age_ns) for log_ns in real.log_ns]

    ages = [nanoseconds(ms / 1000) for ms in range(0, AGES_MS, 10)]
    coarse = min(ages, key=lambda age: score(at(age), None))
    best, half_ns = _vertex(coarse, lambda age_ns, block: score(at(age_ns), block))
    new = [log for log, is_repeat in zip(real.log_ns, repeat, strict=True) if not is_repeat]
    why = (
        f"no header stamps: positions fit the truth best {best / 1e6:.1f} ms before delivery, "
        "by the car's motion; its deviation cannot be told"
    )
    hz = rate(new)
    half_ns += scene.jitter_ns
    low, high = max(0.0, (best - half_ns) / SECOND_NS), (best + half_ns) / SECOND_NS
    mean = Estimate("mean_s", best / SECOND_NS, low, high, len(new))
    timing = Timing(at(best), hz, False, Delays(mean, None, why), False, repeat)
    timing.notes.append(why)
    return timing


def _vertex(near_ns: int, score: Callable[[int, int], float]) -> tuple[int, int]:
    """Return the delay at the vertex of the mean square distance by delay, and half its interval.

    Each of `BLOCKS` stretches of time has a vertex of its own; the interval is that of their mean.
    """
    offsets = np.array([-2, -1, 0, 1, 2])
    found = []
    for block in range(BLOCKS):
        squares = [score(near_ns + int(k) * VERTEX_STEP_NS, block) ** 2 for k in offsets]
        if not np.isfinite(squares).all():
            continue
        curve, slope, _ = np.polyfit(offsets, squares, 2)
        if curve > 0:
            found.append(float(np.clip(-slope / (2 * curve), -2, 2)))
    if len(found) < LEAST_BLOCKS:
        return near_ns, nanoseconds(AGES_MS / 1000)
    shift, n = float(np.mean(found)), len(found)
    half = t_quantile(n - 1) * float(np.std(found, ddof=1)) / n**0.5
    return max(0, near_ns + round(shift * VERTEX_STEP_NS)), round(half * VERTEX_STEP_NS)


def unstamped_cones(
    truth: Track,
    real: Track,
    score: Score,
    repeat: list[bool],
) -> Timing:
    """Search the delay by the fit of the positions, first with a timer of phase 0."""
    hz = rate(real.log_ns)
    timer = Rate(hz=hz.value)

    def latest(times: Sequence[int]) -> list[int | None]:
        found = [bisect_right(truth.log_ns, t) - 1 for t in times]
        return [n if n >= 0 else None for n in found]

    last = [timer.first_tick_from(log_ns + 1) - 1 for log_ns in real.log_ns]
    by_ticks = [[timer.tick_ns(k - back) for k in last] for back in range(MOST_TICKS)]
    step_ns = max(nanoseconds(0.001), typical_ns(truth.log_ns) // 8)
    ages = range(0, nanoseconds(AGES_MS / 1000), step_ns)
    by_age = [[log_ns - age for log_ns in real.log_ns] for age in ages]
    best_ticks = min(by_ticks, key=lambda times: score(latest(times), None))
    scores = [score(latest(times), None) for times in by_age]
    best_age = min(scores)
    note = "no header stamps: the delay is that at which positions fit the truth best"
    if score(latest(best_ticks), None) <= 1.02 * best_age:
        bases = list(zip(best_ticks, real.log_ns, strict=True))
        note += "; the timer's ticks are taken at multiples of 1/hz since the epoch (phase 0)"
        return Timing(latest(best_ticks), hz, True, delays(bases), False, repeat, notes=[note])
    good = [age for age, s in zip(ages, scores, strict=True) if s <= 1.02 * best_age]
    age = good[len(good) // 2]
    late = delays([(log_ns - age, log_ns) for log_ns in real.log_ns])
    if late.mean_s is not None:
        room_s = (max(good) - min(good)) / 2 / SECOND_NS + typical_ns(truth.log_ns) / SECOND_NS
        mean = replace(
            late.mean_s,
            low=max(0.0, late.mean_s.value - room_s),
            high=late.mean_s.value + room_s,
        )
        late = replace(late, mean_s=mean, std_s=None, why="no header stamps, no regular timer")
    times = [log_ns - age for log_ns in real.log_ns]
    return Timing(latest(times), hz, True, late, False, repeat, notes=[note])
