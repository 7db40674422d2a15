"""The decoded messages of one topic, in order, with their times."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bagnoise.errors import MessageError
from bagnoise.messages.registry import codec_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bagnoise.bags.model import Bag

STAMP_TOLERANCE = 0.5  # of the truth's typical interval


@dataclass
class Track:
    """What a topic holds: times as lists, payloads where they are kept.

    Attributes:
        log_ns, stamp_ns, sequence: of each message, in log-time order; a stamp of 0 is unset.
        payloads: decoded; empty for clouds, which are read as they are needed.
    """

    topic: str
    log_ns: list[int] = field(default_factory=list)
    stamp_ns: list[int] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    payloads: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        """Count the messages."""
        return len(self.log_ns)


def read_track(
    bag: Bag, topic: str, options: Mapping[str, Any] | None = None, *, keep: bool = True
) -> Track:
    """Read all messages of a topic of cones or clouds.

    Raises:
        MessageError: one cannot be decoded, with topic and time.
    """
    track = Track(topic)
    for log_ns, sequence, payload in decoded(bag, topic, options):
        track.log_ns.append(log_ns)
        track.sequence.append(sequence)
        track.stamp_ns.append(payload.stamp_ns)
        if keep:
            track.payloads.append(payload)
    return track


def decoded(
    bag: Bag, topic: str, options: Mapping[str, Any] | None = None
) -> Iterator[tuple[int, int, Any]]:
    """Yield (log_ns, sequence, payload) of a topic; payloads are valid as long as wanted.

    ``options`` say how to read the type, as a recipe's ``source_options``.
    """
    codecs = {c.id: codec_of(c.schema, options) for c in bag.channels if c.topic == topic}
    for message in bag.messages(list(codecs)):
        try:
            payload = codecs[message.channel.id].decode(bytes(message.data))
        except MessageError as error:
            msg = f"{bag.path}: topic {topic}, message at {message.log_ns} ns: {error}"
            raise MessageError(msg) from None
        yield message.log_ns, message.sequence, payload


@dataclass(frozen=True)
class Shown:
    """Which message of the truth each message shows.

    Attributes:
        truth: for each message the index in the truth's track, or None.
        how: by what it was found.
    """

    truth: list[int | None]
    how: str


def shown_messages(
    truth: Track,
    noisy: Track,
    ticks_ns: Sequence[int] | None = None,
    *,
    keeps_stamps: bool = True,
) -> Shown:
    """Find the truth that each message shows.

    By header stamp where both have stamps (and the recipe keeps them): the nearest, if within half
    of the truth's typical interval. Else the latest at or before the message's tick (``ticks_ns``,
    one a message). Else by moved stamps if there are any, or by the message's own log time.
    """
    stamped = any(noisy.stamp_ns) and any(truth.stamp_ns)
    if stamped and (keeps_stamps or ticks_ns is None):
        how = "header stamp" if keeps_stamps else "moved header stamp"
        return Shown(_by_stamp(truth, noisy), how)
    times = noisy.log_ns if ticks_ns is None else ticks_ns
    found = [bisect_right(truth.log_ns, time) - 1 for time in times]
    how = "log time (no header stamps)" if ticks_ns is None else "the recipe's ticks"
    return Shown([index if index >= 0 else None for index in found], how)


def _by_stamp(truth: Track, noisy: Track) -> list[int | None]:
    order = sorted(range(len(truth)), key=lambda n: truth.stamp_ns[n])
    stamps = [truth.stamp_ns[n] for n in order]
    gate_ns = typical_ns(stamps) * STAMP_TOLERANCE
    found: list[int | None] = []
    for stamp in noisy.stamp_ns:
        at = bisect_right(stamps, stamp)
        near = [n for n in (at - 1, at) if 0 <= n < len(stamps)]
        best = min(near, key=lambda n: abs(stamps[n] - stamp), default=None)
        wanted = best is not None and stamp != 0 and abs(stamps[best] - stamp) <= gate_ns
        found.append(order[best] if wanted and best is not None else None)
    return found


def typical_ns(times: Sequence[int]) -> int:
    """Return the median interval of sorted times, 0 where there is none."""
    intervals = sorted(b - a for a, b in pairwise(times))
    return intervals[len(intervals) // 2] if intervals else 0
