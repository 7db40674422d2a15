"""The clocks of a stream: log time, and the header stamps of its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.errors import MessageError
from bagnoise.messages.header import header_access
from bagnoise.steps.base import TimeStep
from bagnoise.steps.clock import SLOPE_LIMIT, Clock, HeaderClock, header_clock, slope_difference

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bagnoise.bags.model import Bag
    from bagnoise.steps.base import Step


def stream_clocks(bag: Bag, channels: Collection[int], steps: Sequence[Step]) -> dict[str, Clock]:
    """Return the clocks by name; the header clock costs a pass over the topic, so only if used."""
    clocks = {"log": Clock()}
    if any(getattr(step, "clock", "log") == "header" for step in steps):
        clocks["header"] = header_clock(list(_stamps(bag, channels)))
    return clocks


def clock_warning(
    bag: Bag, channels: Collection[int], steps: Sequence[Step], clocks: dict[str, Clock]
) -> str | None:
    """Warn where log time and header stamps run at different speeds and steps count in log time."""
    clock = clocks.get("header")
    if clock is not None and not isinstance(clock, HeaderClock):
        return "no message has a header stamp, so 'clock: header' counts in log time"
    counts_in_log = any(
        isinstance(step, TimeStep) and getattr(step, "clock", "header") == "log" for step in steps
    )
    span = bag.span(channels)
    if not counts_in_log or span is None:
        return None
    first = next(_stamps(bag, channels), None)
    last = list(_stamps(bag, channels, span.end_ns))
    if first is None or not last:
        return None
    difference = slope_difference(first, last[-1])
    if difference is None or abs(difference) <= SLOPE_LIMIT:
        return None
    return (
        f"header stamps advance {1 + difference:.3f} s per second of log time (simulated time?); "
        "give rate and latency 'clock: header' to count in the stamps' time"
    )


def _stamps(
    bag: Bag, channels: Collection[int], start_ns: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield (log_ns, stamp_ns) of the messages that have a header."""
    for message in bag.messages(channels, start_ns):
        access = header_access(message.channel.schema)
        if access is None or message.channel.message_encoding != "cdr":
            return
        try:
            stamp_ns = access.read_stamp_ns(message.data)
        except MessageError:
            continue  # whoever must decode the message will name it
        if stamp_ns is not None:
            yield message.log_ns, stamp_ns
