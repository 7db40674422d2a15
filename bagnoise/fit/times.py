"""What was found of a topic's times, and which messages repeat the one before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bagnoise.compare.samples import Track
    from bagnoise.fit.delivery import Delays
    from bagnoise.fit.estimate import Estimate


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
