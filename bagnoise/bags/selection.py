"""Cut a bag in time and choose among its channels, keeping what is latched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.qos import is_latched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bagnoise.bags.model import Bag, Channel, Message, Selection


def selected_channels(bag: Bag, selection: Selection) -> tuple[Channel, ...]:
    """Return the channels that exist for a rewrite."""
    if selection.channels is None:
        return bag.channels
    return tuple(channel for channel in bag.channels if channel.id in selection.channels)


def selected_messages(bag: Bag, selection: Selection) -> Iterator[Message]:
    """Yield the messages that exist for a rewrite, in log-time order.

    A latched message from before the cut comes first, moved to its start.
    """
    ids = {channel.id for channel in selected_channels(bag, selection)}
    if not ids:
        return
    if selection.start_ns is not None:
        yield from latched_before(bag, ids, selection.start_ns)
    whole = len(ids) == len(bag.channels)
    yield from bag.messages(None if whole else ids, selection.start_ns, selection.end_ns)


def latched_before(bag: Bag, ids: Collection[int], start_ns: int) -> list[Message]:
    """Return each latched channel's last message before a time, moved to it."""
    latched = {channel.id for channel in bag.channels if channel.id in ids and is_latched(channel)}
    span = bag.span(latched) if latched else None
    if span is None or span.start_ns >= start_ns:
        return []
    last: dict[int, Message] = {}
    for message in bag.messages(latched, None, start_ns):
        last.pop(message.channel.id, None)  # keep the order of the last messages
        last[message.channel.id] = message._replace(data=bytes(message.data))
    return [message._replace(log_ns=start_ns) for message in last.values()]
