"""The ticks that a recipe's `rate` published a topic's messages at, worked out from outside."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bagnoise.steps.clock import nanoseconds
from bagnoise.steps.timing import Drop, Latency, Rate, Shift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.compare.pairing import Pair
    from bagnoise.compare.samples import Track
    from bagnoise.steps.base import Step

FAR_SIGMAS = 8.0


def ticks_of(pair: Pair, truth: Track, noisy: Track) -> list[int] | None:
    """Return the tick of each message, None where the recipe has no rate that can be followed.

    Messages are ticks one after the other, by sequence number where every one has its own. That
    does not hold where steps after the rate lose messages, nor in a clock of header stamps.
    """
    steps = [step for _, step in pair.steps]
    places = [n for n, step in enumerate(steps) if isinstance(step, Rate)]
    if len(places) != 1 or not len(noisy) or not len(truth) or pair.makes_moments:
        return None
    rate = steps[places[0]]
    assert isinstance(rate, Rate)
    before, after = steps[: places[0]], steps[places[0] + 1 :]
    if _has_gap(truth, rate.max_gap_s):
        return None
    if rate.clock != "log" or any(isinstance(step, (Latency, Shift, Drop)) for step in before):
        return None
    if any(isinstance(step, (Drop, Shift)) for step in after):
        return None
    if pair.keeps_stamps and any(noisy.stamp_ns) and any(truth.stamp_ns):
        first = rate.first_tick_from(_first_shown_ns(truth, noisy))
    else:
        first = _first_tick(rate, truth.log_ns[0], noisy.log_ns[0], after)
    return [rate.tick_ns(first + place) for place in _places(noisy)]


def _has_gap(truth: Track, gap_s: float) -> bool:
    """Whether the source fell silent for so long that the ticks start anew after it."""
    gap_ns = nanoseconds(gap_s)
    return any(b - a >= gap_ns for a, b in pairwise(truth.log_ns))


def _first_shown_ns(truth: Track, noisy: Track) -> int:
    """Return the log time of the first message that reached the timer: the first one shown."""
    times = dict(zip(reversed(truth.stamp_ns), reversed(truth.log_ns), strict=True))
    shown = [times[stamp] for stamp in noisy.stamp_ns if stamp in times]
    return min(shown, default=truth.log_ns[0])


def _first_tick(rate: Rate, start_ns: int, delivery_ns: int, after: Sequence[Step]) -> int:
    """Return the first tick where no stamps tell: from the truth's start, unless that is too early.

    If the first delivery is later than the recipe's delays explain, the bag was cut: then the
    first tick that fits the delivery is it.
    """
    latencies = [step for step in after if isinstance(step, Latency)]
    longest_s = sum(_longest_s(step) for step in latencies)
    first = rate.first_tick_from(start_ns)
    earliest_ns = delivery_ns - nanoseconds(longest_s) - 1
    if rate.tick_ns(first) >= earliest_ns:
        return first
    return rate.first_tick_from(earliest_ns)


def _longest_s(latency: Latency) -> float:
    if latency.model == "max":
        return max(0.0, latency.mean_s, latency.std_s)
    return max(0.0, latency.mean_s + FAR_SIGMAS * latency.std_s)


def _places(noisy: Track) -> list[int]:
    if sorted(noisy.sequence) == list(range(len(noisy))):
        return noisy.sequence
    return list(range(len(noisy)))
