"""Which part of a bag is taken: a cut in time and a choice of topics, in the user's words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from bagnoise.bags.model import Selection
from bagnoise.errors import UsageError
from bagnoise.steps.clock import SECOND_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.bags.model import Bag, Channel

LATEST_NS = 2**64 - 1
NANOSECONDS_FROM = 10**17  # 1973 in nanoseconds
TIME_FORM = "seconds, e.g. 2.5 from the start or 1700000000.25 absolute"
ABSOLUTE_FROM_S = 10**8  # smaller times count from the bag's start: nobody records in 1973


@dataclass(frozen=True)
class Cut:
    """What the command line says of it.

    Attributes:
        start, end: seconds from the bag's start, or since the epoch from 10^8 on; end excluded.
        only, exclude: topics, or regular expressions that match a whole topic.
    """

    start: str | None = None
    end: str | None = None
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()

    def of(self, bag: Bag) -> Selection:
        """Apply it to a bag.

        Raises:
            UsageError: it names no topic of the bag, or leaves no time.
        """
        span = bag.span()
        first_ns = span.start_ns if span else 0
        start_ns = _time_ns("--start", self.start, first_ns)
        end_ns = _time_ns("--end", self.end, first_ns)
        if start_ns is not None and end_ns is not None and start_ns >= end_ns:
            msg = f"--start {self.start} is not before --end {self.end}"
            raise UsageError(msg)
        return Selection(self._channels(bag), start_ns, end_ns)

    def _channels(self, bag: Bag) -> frozenset[int] | None:
        if not self.only and not self.exclude:
            return None
        chosen = set(bag.channels)
        if self.only:
            chosen = _matching(bag, "--only", self.only)
        if self.exclude:
            chosen -= _matching(bag, "--exclude", self.exclude)
        return frozenset(channel.id for channel in chosen)


def seconds_of(text: str) -> Fraction | None:
    """Read a time in seconds; None where it is none."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _time_ns(flag: str, text: str | None, first_ns: int) -> int | None:
    if text is None:
        return None
    seconds = seconds_of(text)
    if seconds is None:
        msg = f"{flag} {text}: expected {TIME_FORM}"
        raise UsageError(msg)
    offset_ns = 0 if abs(seconds) >= ABSOLUTE_FROM_S else first_ns
    time_ns = max(0, offset_ns + round(seconds * SECOND_NS))
    if time_ns > LATEST_NS:
        msg = f"{flag} {text}: expected seconds, up to the year 2554, where the time of bags ends"
        if NANOSECONDS_FROM <= seconds <= LATEST_NS:
            whole_s, rest_ns = divmod(int(seconds), SECOND_NS)
            msg += f"; {text} ns would be {whole_s}.{rest_ns:09d}"
        raise UsageError(msg)
    return time_ns


def _matching(bag: Bag, flag: str, patterns: Sequence[str]) -> set[Channel]:
    found: set[Channel] = set()
    for pattern in patterns:
        try:
            expression = re.compile(pattern)
        except re.error as error:
            expression = None
            reason = str(error)
        matched = {
            channel
            for channel in bag.channels
            if channel.topic == pattern or (expression and expression.fullmatch(channel.topic))
        }
        if not matched:
            hint = f" (as a regular expression: {reason})" if expression is None else ""
            topics = ", ".join(sorted({channel.topic for channel in bag.channels})) or "none"
            msg = f"{flag} {pattern}: matches no topic{hint}; the bag's topics: {topics}"
            raise UsageError(msg)
        found |= matched
    return found
