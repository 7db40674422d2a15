"""A timer that publishes the latest measurement: its rate, its ticks, the delay after them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.delivery import delays
from bagnoise.fit.rhythm import beats, rate, shortest_within
from bagnoise.steps.clock import SECOND_NS
from bagnoise.steps.timing import Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.compare.samples import Track
    from bagnoise.fit.times import Timing

LEAST_SHARE = 0.98  # of the messages must fit a timer of phase 0


def with_timer(timing: Timing, truth: Track, real: Track, known: Sequence[tuple[int, int]]) -> None:
    """Find the ticks of a timer that publishes the latest message of the truth."""
    timing.by_timer = True
    found = rate([real.log_ns[n] for n, _ in known])
    timing.hz = found
    wide = shortest_within(found.low - found.half_width, found.high + found.half_width)
    for hz in dict.fromkeys((found.value, wide)):
        ticks = _ticks_of_phase_0(Rate(hz=hz), truth, known)
        if ticks is None:
            continue
        bases = [(t, real.log_ns[n]) for t, (n, _) in zip(ticks, known, strict=True)]
        if all(tick <= log_ns for tick, log_ns in bases):
            low, high = min(found.low, hz), max(found.high, hz)
            timing.hz = replace(found, value=hz, low=low, high=high)
            timing.delays = delays(bases)
            timing.notes.append("the timer ticks at multiples of 1/hz since the epoch (phase 0)")
            return
    _with_phase(timing, truth, real, known)


def _ticks_of_phase_0(
    timer: Rate, truth: Track, known: Sequence[tuple[int, int]]
) -> list[int] | None:
    """Return the tick of each message if a timer of phase 0 explains which truth each shows."""
    ticks, fits, before, again = [], 0, -1, 0
    for _, s in known:
        again = again + 1 if s == before else 0
        before = s
        tick = timer.tick_ns(timer.first_tick_from(truth.log_ns[s]) + again)
        following = truth.log_ns[s + 1] if s + 1 < len(truth) else tick + 1
        fits += tick < following
        ticks.append(tick)
    return ticks if fits >= LEAST_SHARE * len(known) else None


def _with_phase(
    timing: Timing, truth: Track, real: Track, known: Sequence[tuple[int, int]]
) -> None:
    """Place the ticks where each shows the latest truth: an interval, whose middle is taken."""
    assert timing.hz is not None
    period_ns = SECOND_NS / timing.hz.value
    logs = [real.log_ns[n] for n, _ in known]
    origin = logs[0]
    number = beats(logs)
    since = np.array([log - origin for log in logs]) - number * period_ns
    shown = np.array([truth.log_ns[s] - origin for _, s in known]) - number * period_ns
    following = np.array(
        [truth.log_ns[min(s + 1, len(truth) - 1)] - origin for _, s in known], float
    )
    following -= number * period_ns
    low, high = float(np.median(shown)), float(min(np.median(following), since.min()))
    low, high = min(low, high), max(low, high)
    start_ns = (low + high) / 2
    room_s = (high - low) / 2 / SECOND_NS
    bases = [
        (origin + round(start_ns + k * period_ns), log)
        for k, log in zip(number.tolist(), logs, strict=True)
    ]
    timer, first_ns = Rate(hz=timing.hz.value), origin + round(start_ns)
    last_tick = timer.first_tick_from(first_ns + 1) - 1  # exact, where k / hz in floats is not
    timing.phase_s = (first_ns - timer.tick_ns(last_tick)) / SECOND_NS
    found = delays(bases)
    if found.mean_s is not None:
        mean = found.mean_s
        wide = replace(mean, low=max(0.0, mean.low - room_s), high=mean.high + room_s)
        found = replace(found, mean_s=wide)
    timing.delays = found
    timing.notes.append(
        "when the timer ticks can be told only by which truth is the latest: the mean delay may "
        f"be off by ±{1e3 * room_s:.1f} ms"
    )
