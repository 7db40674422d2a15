"""Topic by topic: how many messages, and whether their bytes are the same."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagnoise.bags.model import Bag


@dataclass(frozen=True)
class TopicComparison:
    """One topic in both bags.

    Attributes:
        type_name: in the noisy bag, else in the truth.
        truth, noisy: messages.
        bytes: ``identical``, ``a part`` (the noisy bag's are consecutive ones of the truth's),
            ``differ``, or ``only in truth`` / ``only in noisy``.
        times: whether log times are the same, too; None where bytes are not.
    """

    topic: str
    type_name: str
    truth: int
    noisy: int
    bytes: str
    times: bool | None

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)


def compare_topics(truth: Bag, noisy: Bag) -> list[TopicComparison]:
    """Compare all topics, reading both bags once."""
    there, here = _prints(truth), _prints(noisy)
    types = {c.topic: c.type_name for bag in (truth, noisy) for c in bag.channels}
    return [
        _compared(topic, types[topic], there.get(topic), here.get(topic)) for topic in sorted(types)
    ]


@dataclass
class _Prints:
    """Short hashes and log times of a topic's messages, in order."""

    data: array[int]
    log_ns: array[int]


def _prints(bag: Bag) -> dict[str, _Prints]:
    found = {c.topic: _Prints(array("Q"), array("Q")) for c in bag.channels}
    for message in bag.messages():
        prints = found[message.channel.topic]
        prints.data.frombytes(blake2b(message.data, digest_size=8).digest())
        prints.log_ns.append(message.log_ns)
    return found


def _compared(
    topic: str, type_name: str, truth: _Prints | None, noisy: _Prints | None
) -> TopicComparison:
    counts = len(truth.data) if truth else 0, len(noisy.data) if noisy else 0
    if truth is None or noisy is None:
        where = "only in noisy" if truth is None else "only in truth"
        return TopicComparison(topic, type_name, *counts, where, None)
    if truth.data == noisy.data:
        same_times = truth.log_ns == noisy.log_ns
        return TopicComparison(topic, type_name, *counts, "identical", same_times)
    start = _place_of(noisy.data, truth.data)
    if start is None:
        return TopicComparison(topic, type_name, *counts, "differ", None)
    end = start + len(noisy.data)
    same_times = truth.log_ns[start:end] == noisy.log_ns
    return TopicComparison(topic, type_name, *counts, "a part", same_times)


def _place_of(part: array[int], whole: array[int]) -> int | None:
    """Find consecutive items in a longer array."""
    if not part:
        return 0
    step = part.itemsize
    needle, hay = part.tobytes(), whole.tobytes()
    at = hay.find(needle)
    while at >= 0 and at % step:
        at = hay.find(needle, at + 1)
    return at // step if at >= 0 else None
