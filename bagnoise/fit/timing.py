"""Which moment each message shows, at what rate messages come, and how late.

With header stamps a message shows the truth of its stamp. Without (zero stamps) only its delivery
is known, and its age is searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.compare.samples import Track, shown_messages
from bagnoise.fit.age import unstamped_cones, unstamped_track
from bagnoise.fit.delivery import Delays, delays
from bagnoise.fit.rhythm import rate
from bagnoise.fit.timer import with_timer
from bagnoise.fit.times import Timing, find_repeats

if TYPE_CHECKING:
    from bagnoise.fit.age import Score
    from bagnoise.fit.scene import TrackScene

EVERY = 0.75  # share of the truth's messages, from which on there is no timer between


def track_timing(scene: TrackScene, real: Track, score: Score) -> Timing:
    """Find the times of messages that show a track from the car's pose."""
    repeat, fresh = find_repeats(real)
    stamped = any(real.stamp_ns)
    if not stamped:
        return unstamped_track(scene, real, score, repeat)
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
    with_timer(timing, moments, real, known)


def cones_timing(truth: Track, real: Track, score: Score) -> Timing:
    """Find the times of messages that show messages of a topic of true cones."""
    repeat, fresh = find_repeats(real)
    stamped = any(real.stamp_ns) and any(truth.stamp_ns)
    if not stamped:
        return unstamped_cones(truth, real, score, repeat)
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
    with_timer(timing, truth, real, known)
    return timing
