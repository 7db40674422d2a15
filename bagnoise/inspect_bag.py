"""What a bag holds, for ``bagnoise info`` and for scripts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bagnoise.augment.provenance import history, size_bytes
from bagnoise.bags import open_bag
from bagnoise.bags.qos import is_latched
from bagnoise.errors import MessageError
from bagnoise.messages.definitions import definition_finder
from bagnoise.messages.header import header_access
from bagnoise.messages.registry import kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.bags.model import Bag, Channel

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class TopicInfo:
    """One channel of a bag; ``rate_hz`` is the mean between its first and last message."""

    topic: str
    type_name: str
    message_encoding: str
    count: int
    rate_hz: float | None
    frame_id: str | None
    latched: bool
    kind: str | None  # what bagnoise can decode it as


@dataclass(frozen=True)
class BagInfo:
    """A bag as a whole; times in ns, None where it holds no message."""

    path: str
    size_bytes: int
    format: str
    container: dict[str, str]
    start_ns: int | None
    end_ns: int | None
    message_count: int
    topics: list[TopicInfo]
    attachments: list[str]
    metadata: list[str]
    history: list[dict[str, str]]
    warnings: list[str]

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)


def inspect_bag(
    path: Path, *, msgs: Path | None = None, recover: bool = False, verify: bool = False
) -> BagInfo:
    """Open a bag and describe it; of an MCAP file at a URL only header and summary are read.

    Raises:
        BagError: it cannot be read.
    """
    definitions = definition_finder(msgs)
    with open_bag(
        path, recover=recover, verify=verify, definitions=definitions, summary_only=True
    ) as bag:
        span = bag.span()
        topics = [_topic(bag, channel) for channel in bag.channels]
        return BagInfo(
            path=str(path),
            size_bytes=size_bytes(path),
            format=bag.format,
            container=dict(bag.facts()),
            start_ns=span.start_ns if span else None,
            end_ns=span.end_ns if span else None,
            message_count=sum(bag.counts.values()),
            topics=sorted(topics, key=lambda topic: topic.topic),
            attachments=bag.attachment_names(),
            metadata=[record.name for record in bag.metadata_records()],
            history=history(bag),
            warnings=list(dict.fromkeys(bag.warnings)),
        )


def _topic(bag: Bag, channel: Channel) -> TopicInfo:
    count = bag.counts.get(channel.id, 0)
    span = bag.span([channel.id])
    rate_hz = None
    if span is not None and span.end_ns > span.start_ns:
        rate_hz = (count - 1) * SECOND_NS / (span.end_ns - span.start_ns)
    return TopicInfo(
        channel.topic,
        channel.type_name,
        channel.message_encoding,
        count,
        rate_hz,
        _frame_id(bag, channel),
        is_latched(channel),
        _kind(channel),
    )


def _kind(channel: Channel) -> str | None:
    """Say what bagnoise decodes a channel as; an image may be depths, which its type cannot say."""
    kind = kind_of(channel.schema) if channel.message_encoding == "cdr" else None
    return None if kind == "depth" else kind


def _frame_id(bag: Bag, channel: Channel) -> str | None:
    if bag.is_summary_only:
        return None
    access = header_access(channel.schema) if channel.message_encoding == "cdr" else None
    if access is None:
        return None
    for message in bag.messages([channel.id]):
        try:
            return access.read_frame_id(message.data)
        except MessageError:
            return None
    return None
