"""Which moment each message shows, at what rate messages come, and how late.

With header stamps a message shows the truth of its stamp. Without (zero stamps) only its delivery
is known: then the delay is searched at which the positions fit the truth best, as the car moves.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.samples import Track, shown_messages, typical_ns
from bagnoise.fit.delivery import Delays, delays
from bagnoise.fit.estimate import Estimate, t_quantile
from bagnoise.fit.rhythm import beats, rate, shortest_within
from bagnoise.steps.clock import SECOND_NS, nanoseconds
from bagnoise.steps.timing import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Score = Callable[[Sequence[int | None], int | None], float]
    from bagnoise.fit.scene import TrackScene

LEAST_SHARE = 0.98  # of the messages must fit a timer of phase 0
EVERY = 0.75  # share of the truth's messages, from which on there is no timer between
AGES_MS = 500
VERTEX_STEP_NS = 10_000_000
BLOCKS = 10  # stretches of time that a delay is searched in
LEAST_BLOCKS = 3
MOST_TICKS = 8  # by which a delay may be longer than the interval of the timer


@dataclass
class Timing:
    """What was found of a topic's times.

    Attributes:
        shown: for each message the number of the truth's message, or (of a track) the stamp at
            which it was measured; None where it is not known.
        hz: rate; ``by_timer``: of a timer that publishes the latest, else of the measurements.
        phase_s: of the timer.
        delays: of delivery.
        stamped: messages carry header stamps.
        repeat: for each message whether it repeats the one before.
        measured_hz: of the measurements, where a timer repeats them.
        fresh_noise: repeats of one stamp differ, so noise is drawn after the timer.
        notes: what to tell.
    """

    shown: list[int | None]
    hz: Estimate | None
    by_timer: bool
    delays: Delays
    stamped: bool
    repeat: list[bool]
    phase_s: float = 0.0
    fresh_noise: bool = False
    measured_hz: Estimate | None = None
    notes: list[str] = field(default_factory=list)


def find_repeats(real: Track) -> tuple[list[bool], bool]:
    """Say which messages repeat the one before, and whether any of one stamp differs from it."""
    repeat, fresh = [False] * len(real), False
    for n in range(1, len(real)):
        if real.stamp_ns[n] != real.stamp_ns[n - 1]:
            continue
        a, b = real.payloads[n - 1], real.payloads[n]
        same = np.array_equal(a.xyz, b.xyz, equal_nan=True) and np.array_equal(a.color, b.color)
        repeat[n] = same and len(a) > 0
        fresh |= bool(real.stamp_ns[n]) and not same
    return repeat, fresh


def track_timing(scene: TrackScene, real: Track, score: Score) -> Timing:
    """Find the times of messages that show a track from the car's pose."""
    repeat, fresh = find_repeats(real)
    stamped = any(real.stamp_ns)
    if not stamped:
        return _unstamped_track(scene, real, score, repeat)
    first = [n for n in range(len(real)) if not repeat[n] and real.stamp_ns[n]]
    stamps = [real.stamp_ns[n] for n in first]
    hz = rate(sorted(set(stamps)))
    shown: list[int | None] = [stamp or None for stamp in real.stamp_ns]
    bases = [(scene.clock.to_log(real.stamp_ns[n]), real.log_ns[n]) for n in first]
    timing = Timing(shown, hz, False, delays(bases), True, repeat, fresh_noise=fresh)
    if any(repeat) or fresh:
        _republished(timing, scene, real)
    return timing


def _republished(timing: Timing, scene: TrackScene, real: Track) -> None:
    """Tell the timer that repeats measurements from the measurements' own rate."""
    timing.measured_hz = timing.hz
    stamps = sorted({stamp for stamp in real.stamp_ns if stamp})
    moments = Track(real.topic, [scene.clock.to_log(stamp) for stamp in stamps], stamps)
    place = {stamp: n for n, stamp in enumerate(stamps)}
    known = [(n, place[stamp]) for n, stamp in enumerate(real.stamp_ns) if stamp]
    timing.notes.append(
        f"{sum(timing.repeat)} messages repeat the one before: they count once, and a timer is "
        "fitted behind the measurements"
    )
    _with_timer(timing, moments, real, known)


def _unstamped_track(
    scene: TrackScene,
    real: Track,
    score: Score,
    repeat: list[bool],
) -> Timing:
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


def cones_timing(truth: Track, real: Track, score: Score) -> Timing:
    """Find the times of messages that show messages of a topic of true cones."""
    repeat, fresh = find_repeats(real)
    stamped = any(real.stamp_ns) and any(truth.stamp_ns)
    if not stamped:
        return _unstamped_cones(truth, real, score, repeat)
    shown = shown_messages(truth, real).truth
    known = [(n, s) for n, s in enumerate(shown) if s is not None]
    timing = Timing(shown, None, False, Delays(None, None), True, repeat, fresh_noise=fresh)
    if len(known) < 2:  # noqa: PLR2004
        return timing
    distinct = len({s for _, s in known})
    span = max(s for _, s in known) - min(s for _, s in known) + 1
    if distinct > EVERY * span and not any(repeat) and not fresh and distinct == len(known):
        bases = [(truth.log_ns[s], real.log_ns[n]) for n, s in known]
        timing.delays = delays(bases)
        timing.hz = rate([real.log_ns[n] for n, _ in known])
        return timing
    _with_timer(timing, truth, real, known)
    return timing


def _with_timer(
    timing: Timing, truth: Track, real: Track, known: Sequence[tuple[int, int]]
) -> None:
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


def _unstamped_cones(
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
