"""Which topics of a bag a stream reads."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from bagnoise.errors import UsageError
from bagnoise.messages.registry import kind_of
from bagnoise.steps.clock import SECOND_NS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bagnoise.bags.model import Bag, Channel, Selection

FIXED_TOPICS = frozenset({"/clock", "/tf_static"})  # moved only by their own name
MAX_LISTED = 8


def find_sources(
    bag: Bag, name: str, source: str, selection: Selection
) -> Iterator[tuple[str, str, list[Channel]]]:
    """Yield (random key, topic, channels) of the topics that a source names or matches.

    Raises:
        UsageError: there is none; the text lists the topics that could serve.
    """
    exact = [channel for channel in bag.channels if channel.topic == source]
    if exact:
        if not any(_is_chosen(channel, selection) for channel in exact):
            msg = f"topic {source} is left out by --only or --exclude, so the stream has no source"
            raise UsageError(msg)
        yield name, source, exact
        return
    by_topic: dict[str, list[Channel]] = {}
    for channel in bag.channels:
        if not _is_chosen(channel, selection):
            continue
        if channel.topic not in FIXED_TOPICS and fnmatch.fnmatchcase(channel.topic, source):
            by_topic.setdefault(channel.topic, []).append(channel)
    if not by_topic:
        raise UsageError(_missing(bag, source))
    for topic, channels in sorted(by_topic.items()):
        yield f"{name}:{topic}", topic, channels


def mean_rate_hz(bag: Bag, ids: Collection[int]) -> float | None:
    """Return the mean rate of channels between their first and last message."""
    span = bag.span(ids)
    count = sum(bag.counts.get(id_, 0) for id_ in ids)
    if span is None or span.end_ns == span.start_ns:
        return None
    return (count - 1) * SECOND_NS / (span.end_ns - span.start_ns)


def _is_chosen(channel: Channel, selection: Selection) -> bool:
    return selection.channels is None or channel.id in selection.channels


def _missing(bag: Bag, source: str) -> str:
    kinds = {channel.topic: kind_of(channel.schema) for channel in bag.channels}
    able = [f"{c.topic} ({c.type_name})" for c in bag.channels if kinds[c.topic] == "cones"]
    others = sorted({c.topic for c in bag.channels})
    if able:
        could = f"topics of cones in it: {_listed(able)}"
    elif others:
        could = f"it holds no cones, only: {_listed(others)}"
    else:
        could = "it holds no topics at all"
    return f"no topic {source!r} in {bag.path}; {could}. Name another with --source TOPIC"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
