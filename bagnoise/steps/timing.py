"""Steps in time, over messages of any type: rate, latency, shift, drop.

They move the log time (delivery). The header stamp stays the time of measurement unless asked.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from bagnoise.errors import BagnoiseError
from bagnoise.rng import keyed
from bagnoise.steps.base import DROPPED, Operator, Sample, Setup, TimeStep
from bagnoise.steps.clock import SECOND_NS, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterable

ClockName = Literal["log", "header"]


@lru_cache(maxsize=64)
def _exact(value: float) -> Fraction:
    """Return the decimal number as it was written: 33.3 is 333/10, not the nearest binary."""
    return Fraction(repr(value))


class Immediate:
    """An operator that keeps nothing for later."""

    def advance(self, log_ns: int) -> Iterable[Sample]:  # noqa: ARG002
        """Release nothing."""
        return ()

    def floor(self, log_ns: int) -> int:
        """Samples leave no earlier than they came."""
        return log_ns

    def finish(self) -> Iterable[Sample]:
        """Release nothing."""
        return ()


class Rate(TimeStep):
    """Publish the latest message at fixed ticks, as a node's timer does.

    Tick k is at floor(k * 10^9 / hz) ns since the epoch of the clock, plus the phase. A tick that
    finds no new message repeats the last one; nothing is published before the first message.
    """

    name: ClassVar[str] = "rate"
    hz: float = Field(ge=1e-6, le=10_000, description="ticks per second")
    phase_s: float = Field(0.0, ge=-1e6, le=1e6, description="moves all ticks by this, in seconds")
    hold_s: float | None = Field(
        None, ge=0, le=3600, description="ticks go on this long after the last message; null: 1/hz"
    )
    max_gap_s: float = Field(
        600.0, ge=0, le=1e5, description="a gap in the source is filled with repeats this long"
    )
    clock: ClockName = Field("log", description="clock of the ticks: log time or header stamps")

    def operator(self, setup: Setup) -> Operator:
        """Start the timer."""
        return _Ticker(self, setup)

    def tick_ns(self, k: int) -> int:
        """Return the time of tick k on its clock, in exact arithmetic."""
        return int(k * SECOND_NS // _exact(self.hz)) + nanoseconds(self.phase_s)

    def first_tick_from(self, clock_ns: int) -> int:
        """Return the smallest k whose tick is at or after a time."""
        k = int((clock_ns - nanoseconds(self.phase_s)) * _exact(self.hz) // SECOND_NS)
        while self.tick_ns(k) < clock_ns:
            k += 1
        return k


class _Ticker:
    """Publishes the latest sample at every tick; a tick is due once time has passed it."""

    def __init__(self, step: Rate, setup: Setup) -> None:
        self._step = step
        self._clock = setup.clock
        self._hold_ns = nanoseconds(1 / step.hz if step.hold_s is None else step.hold_s)
        self._gap_ns = nanoseconds(step.max_gap_s)
        self._end_ns = -1 if setup.last_ns is None else self._limit(setup.last_ns)
        self._arrivals: list[tuple[int, int, Sample]] = []
        self._arrived = 0
        self._latest: Sample | None = None
        self._next_tick = 0

    def feed(self, sample: Sample) -> Iterable[Sample]:
        heapq.heappush(self._arrivals, (sample.log_ns, self._arrived, sample))
        self._arrived += 1
        return ()

    def advance(self, log_ns: int) -> Iterable[Sample]:
        return self._tick_before(log_ns)

    def floor(self, log_ns: int) -> int:
        if self._latest is None:
            return log_ns
        return min(log_ns, self._clock.to_log(self._step.tick_ns(self._next_tick)))

    def finish(self) -> Iterable[Sample]:
        return self._tick_before(None)

    def _tick_before(self, log_ns: int | None) -> list[Sample]:
        """Publish the wanted ticks before ``log_ns`` (None: all)."""
        published: list[Sample] = []
        while self._latest or self._take_first(log_ns):
            tick_ns = self._step.tick_ns(self._next_tick)
            tick_log_ns = self._clock.to_log(tick_ns)
            if log_ns is not None and tick_log_ns >= log_ns:
                break
            latest = self._take_arrived(tick_ns)
            if not self._is_wanted(tick_ns, latest):
                if not self._arrivals:
                    break
                self._latest = None  # too long a gap: start again with the next message
                continue
            published.append(at_tick(latest, tick_log_ns))
            self._next_tick += 1
        return published

    def _is_wanted(self, tick_ns: int, latest: Sample) -> bool:
        """Whether the tick is within the hold, or within a gap of a source that goes on."""
        goes_on = bool(self._arrivals) or tick_ns <= self._end_ns
        age_ns = tick_ns - self._clock.from_log(latest.log_ns)
        return age_ns <= self._hold_ns or (goes_on and age_ns <= self._gap_ns)

    def _limit(self, last_ns: int) -> int:
        return self._clock.from_log(last_ns) + self._hold_ns

    def _take_first(self, log_ns: int | None) -> bool:
        if not self._arrivals or (log_ns is not None and self._arrivals[0][0] >= log_ns):
            return False
        self._latest = heapq.heappop(self._arrivals)[2]
        self._next_tick = self._step.first_tick_from(self._clock.from_log(self._latest.log_ns))
        return True

    def _take_arrived(self, tick_ns: int) -> Sample:
        while self._arrivals and self._clock.from_log(self._arrivals[0][0]) <= tick_ns:
            self._latest = heapq.heappop(self._arrivals)[2]
        assert self._latest is not None
        return self._latest


def at_tick(sample: Sample, tick_ns: int) -> Sample:
    """Copy a sample as a message that bagnoise makes at a tick; later draws use the tick."""
    return replace(
        sample,
        log_ns=tick_ns,
        key_ns=tick_ns,
        source_ns=tick_ns,
        occurrence=0,
        publish_ns=None,
    )


class Latency(TimeStep):
    """Deliver messages late by max(0, N(mean, std^2)), drawn for each message.

    The model ``max`` is the constant max(0, mean, std) instead, which is what ConeNoiseSimulator's
    lidar really does.
    """

    name: ClassVar[str] = "latency"
    mean_s: float = Field(0.0, ge=-1e6, le=1e6, description="mean of the normal before the cut")
    std_s: float = Field(0.0, ge=0, le=1e6, description="standard deviation before the cut")
    model: Literal["normal", "max"] = Field(
        "normal", description="normal: a draw for each message; max: constant max(0, mean, std)"
    )
    order: Literal["keep", "free"] = Field(
        "keep", description="keep: no message overtakes an earlier one of its topic"
    )
    clock: ClockName = Field("log", description="clock in which the delay is counted")
    move_stamp: bool = Field(False, description="move the header stamp by the same amount")

    def operator(self, setup: Setup) -> Operator:
        """Start the queue."""
        return _Delay(self, setup)


class _Delay(Immediate):
    def __init__(self, step: Latency, setup: Setup) -> None:
        self._step = step
        self._setup = setup
        self._last_delivery_ns = 0

    def feed(self, sample: Sample) -> Iterable[Sample]:
        delay_ns = self._draw_ns(sample)
        clock = self._setup.clock
        if delay_ns == 0:  # so that the header clock's rounding cannot move it
            delivery_ns = sample.log_ns
        else:
            delivery_ns = clock.to_log(clock.from_log(sample.log_ns) + delay_ns)
        if self._step.order == "keep":
            delivery_ns = max(delivery_ns, self._last_delivery_ns)
            self._last_delivery_ns = delivery_ns
        if self._step.move_stamp:
            sample.stamp_shift_ns += delivery_ns - sample.log_ns
        sample.log_ns = delivery_ns
        return (sample,)

    def _draw_ns(self, sample: Sample) -> int:
        seconds = self._step.mean_s
        if self._step.model == "max":
            seconds = max(seconds, self._step.std_s)
        elif self._step.std_s > 0:
            generator = keyed(*self._setup.key, sample.key_ns, sample.occurrence)
            seconds += self._step.std_s * float(generator.standard_normal())
        return max(0, nanoseconds(seconds))


class Shift(TimeStep):
    """Move log times and header stamps by constant amounts, either way."""

    name: ClassVar[str] = "shift"
    log_s: float = Field(0.0, ge=-1e10, le=1e10, description="added to the log time")
    header_s: float = Field(
        0.0,
        ge=-1e10,
        le=1e10,
        description="added to header stamps; those unset (0) or that would fall below 0 stay",
    )
    below_zero: Literal["error", "drop", "clamp"] = Field(
        "error", description="what to do with a message whose log time would come before 0"
    )

    def operator(self, setup: Setup) -> Operator:
        """Start shifting."""
        return _Shifter(self, setup)


class _Shifter(Immediate):
    def __init__(self, step: Shift, setup: Setup) -> None:
        self._step = step
        self._setup = setup
        self._log_ns = nanoseconds(step.log_s)
        self._header_ns = nanoseconds(step.header_s)

    def feed(self, sample: Sample) -> Iterable[Sample]:
        log_ns = sample.log_ns + self._log_ns
        if log_ns < 0:
            if self._step.below_zero == "drop":
                self._setup.tally["before time 0, dropped"] += 1
                self._setup.tally[DROPPED] += 1
                return ()
            if self._step.below_zero == "error":
                raise BagnoiseError(self._too_early(sample))
            self._setup.tally["before time 0, clamped to 0"] += 1
            log_ns = 0
        sample.log_ns = log_ns
        sample.stamp_shift_ns += self._header_ns
        return (sample,)

    def _too_early(self, sample: Sample) -> str:
        return (
            f"stream {self._setup.key[1]!r}: shift by {self._step.log_s} s would move the message "
            f"at {sample.log_ns} ns before time 0; give shift below_zero: drop or clamp, or a "
            f"log_s of at least {-sample.log_ns / SECOND_NS:.9f}"
        )

    def floor(self, log_ns: int) -> int:
        return max(0, log_ns + min(0, self._log_ns))


class Drop(TimeStep):
    """Lose messages: at random, in runs, or all but every n-th."""

    name: ClassVar[str] = "drop"
    probability: float = Field(0.0, ge=0, le=1, description="chance that a message is lost")
    burst: int = Field(1, ge=1, le=100_000, description="messages lost in a row, each time")
    keep_every: int = Field(
        1, ge=1, le=10**9, description="keep the first and every n-th message after it"
    )

    def operator(self, setup: Setup) -> Operator:
        """Start losing."""
        return _Dropper(self, setup)


class _Dropper(Immediate):
    """A burst starts at a message with the chance that gives the asked share of losses.

    With chance q of a start at every message, one is lost if any of the last ``burst`` messages
    started a burst: 1 - (1 - q)^burst = probability.
    """

    def __init__(self, step: Drop, setup: Setup) -> None:
        self._step = step
        self._setup = setup
        self._start_chance = 1 - (1 - step.probability) ** (1 / step.burst)
        self._starts: deque[bool] = deque(maxlen=step.burst)
        self._seen = 0

    def feed(self, sample: Sample) -> Iterable[Sample]:
        position = self._seen
        self._seen += 1
        if position % self._step.keep_every:
            return self._lose()
        if self._start_chance > 0:
            generator = keyed(*self._setup.key, sample.key_ns, sample.occurrence)
            self._starts.append(bool(generator.random() < self._start_chance))
            if any(self._starts):
                return self._lose()
        return (sample,)

    def _lose(self) -> Iterable[Sample]:
        self._setup.tally[DROPPED] += 1
        return ()
