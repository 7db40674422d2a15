"""A sensor's clock that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from bagnoise.rng import keyed
from bagnoise.steps.base import Operator, Sample, Setup, TimeStep
from bagnoise.steps.clock import nanoseconds
from bagnoise.steps.timing import Immediate

if TYPE_CHECKING:
    from collections.abc import Iterable

_PPM = 1_000_000


class SensorClock(TimeStep):
    """Make the sensor's clock wrong: header stamps move, delivery does not.

    stamp + offset_s + drift_ppm * 1e-6 * (time since the stream's first message) + N(0, jitter_s^2)
    """

    name: ClassVar[str] = "clock"
    offset_s: float = Field(0.0, ge=-1e9, le=1e9, description="the clock is ahead by this")
    drift_ppm: float = Field(
        0.0, ge=-1e6, le=1e6, description="it gains this, in microseconds a second"
    )
    jitter_s: float = Field(0.0, ge=0, le=1e6, description="deviation of each stamp, in seconds")

    def operator(self, setup: Setup) -> Operator:
        """Start the clock."""
        return _WrongClock(self, setup)


class _WrongClock(Immediate):
    def __init__(self, step: SensorClock, setup: Setup) -> None:
        self._step = step
        self._setup = setup
        self._first_ns: int | None = None

    def feed(self, sample: Sample) -> Iterable[Sample]:
        if self._first_ns is None:
            self._first_ns = sample.log_ns
        shift_ns = nanoseconds(self._step.offset_s)
        shift_ns += round((sample.log_ns - self._first_ns) * self._step.drift_ppm / _PPM)
        if self._step.jitter_s > 0:
            generator = keyed(*self._setup.key, sample.key_ns, sample.occurrence)
            shift_ns += nanoseconds(self._step.jitter_s * float(generator.standard_normal()))
        sample.stamp_shift_ns += shift_ns
        return (sample,)
