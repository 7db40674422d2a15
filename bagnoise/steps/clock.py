"""The clock a time step counts in: log time itself, or the header stamps of the source."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SECOND_NS = 1_000_000_000
SLOPE_LIMIT = 0.02  # log and header clocks differing by more deserve a warning
MIN_SLOPE_SPAN_NS = SECOND_NS


def nanoseconds(seconds: float) -> int:
    """Round a duration in seconds to whole nanoseconds (durations only, never absolute times)."""
    return round(seconds * SECOND_NS)


class Clock:
    """Log time itself."""

    def from_log(self, log_ns: int) -> int:
        """Return the time on this clock at a log time."""
        return log_ns

    def to_log(self, clock_ns: int) -> int:
        """Return the log time at a time on this clock."""
        return clock_ns


@dataclass(frozen=True)
class HeaderClock(Clock):
    """Time as the header stamps of a topic tell it: piecewise linear through (log, stamp) pairs.

    Outside the pairs the nearest segment goes on. Integer arithmetic throughout.
    """

    log_knots_ns: Sequence[int]
    stamp_knots_ns: Sequence[int]

    def from_log(self, log_ns: int) -> int:
        """Return the header time at a log time."""
        return _interpolate(log_ns, self.log_knots_ns, self.stamp_knots_ns)

    def to_log(self, clock_ns: int) -> int:
        """Return the log time at a header time."""
        return _interpolate(clock_ns, self.stamp_knots_ns, self.log_knots_ns)


def header_clock(pairs: Sequence[tuple[int, int]]) -> Clock:
    """Make the clock from (log_ns, stamp_ns) pairs; unset (0) and backward ones are left out."""
    logs: list[int] = []
    stamps: list[int] = []
    for log_ns, stamp_ns in pairs:
        if stamp_ns > 0 and (not logs or (log_ns > logs[-1] and stamp_ns > stamps[-1])):
            logs.append(log_ns)
            stamps.append(stamp_ns)
    if not logs:
        return Clock()
    if len(logs) == 1:  # a single pair: same speed, constant offset
        logs.append(logs[0] + SECOND_NS)
        stamps.append(stamps[0] + SECOND_NS)
    return HeaderClock(tuple(logs), tuple(stamps))


def slope_difference(first: tuple[int, int], last: tuple[int, int]) -> float | None:
    """Return stamp time per log time minus 1 between two (log_ns, stamp_ns) pairs.

    None where the pairs cannot tell: unset stamps, or less than a second between them.
    """
    span_ns = last[0] - first[0]
    if span_ns < MIN_SLOPE_SPAN_NS or first[1] <= 0 or last[1] <= 0:
        return None
    return (last[1] - first[1]) / span_ns - 1


def _interpolate(x: int, xs: Sequence[int], ys: Sequence[int]) -> int:
    segment = min(max(bisect_right(xs, x) - 1, 0), len(xs) - 2)
    x0, x1, y0, y1 = xs[segment], xs[segment + 1], ys[segment], ys[segment + 1]
    return y0 + (x - x0) * (y1 - y0) // (x1 - x0)
