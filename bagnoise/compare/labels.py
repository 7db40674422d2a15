"""Ground-truth labels that bagnoise writes beside a topic of cones, read from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.errors import BagError
from bagnoise.messages.msg_text import is_ros_type
from bagnoise.messages.typestore import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Bag
    from bagnoise.compare.samples import Track

LABELS_TYPE = "bagnoise_msgs/msg/ConeLabels"
LABELS_SUFFIX = "/labels"


class Truth(NamedTuple):
    """The true cones of one message, and which of them each detection is.

    Attributes:
        xyz, color, row: (m, 3), (m,), (m,) of each true cone; row as the source counts them.
        place: (n,) for each detection its place in these, -1 for a false positive.
    """

    xyz: NDArray[np.float64]
    color: NDArray[np.int8]
    row: NDArray[np.intp]
    place: NDArray[np.intp]


class Labels:
    """The truth of each message of a topic."""

    def __init__(self, by_log_ns: Mapping[int, list[Truth]]) -> None:
        """Take it by the log time of the labelled message; several of one time in order."""
        self._by_log_ns = by_log_ns

    def of(self, track: Track, number: int, detections: int) -> Truth | None:
        """Return the truth of a message by its number in the track, None where it has no label.

        Raises:
            BagError: the label does not fit the message.
        """
        log_ns = track.log_ns[number]
        found = self._by_log_ns.get(log_ns)
        if not found:
            return None
        earlier = 0
        while number > earlier and track.log_ns[number - earlier - 1] == log_ns:
            earlier += 1
        truth = found[min(earlier, len(found) - 1)]
        if len(truth.place) != detections:
            msg = (
                f"topic {track.topic}, message at {log_ns} ns: {len(truth.place)} labels for "
                f"{detections} detections"
            )
            raise BagError(msg)
        return truth


def find_labels(bag: Bag, topic: str) -> Labels | None:
    """Read the labels of a topic, None where it has none."""
    channels = {
        c.id: c
        for c in bag.channels
        if c.topic == topic + LABELS_SUFFIX and is_ros_type(c.type_name, LABELS_TYPE)
    }
    if not channels:
        return None
    by_log_ns: dict[int, list[Truth]] = {}
    for message in bag.messages(list(channels)):
        label = decode(message.channel.schema, bytes(message.data))
        by_log_ns.setdefault(message.log_ns, []).append(_truth(label))
    return Labels(by_log_ns)


def _truth(label: Any) -> Truth:
    """Put detected and missed cones together, each true cone once."""
    source = np.asarray(label.source_index, np.intp)
    real = np.flatnonzero(source >= 0)
    rows, first, place = np.unique(source[real], return_index=True, return_inverse=True)
    index = np.full(len(source), -1, np.intp)
    index[real] = place
    seen = real[first]
    true = (label.true_x, label.true_y, label.true_z)
    missed = (label.missed_x, label.missed_y, label.missed_z)
    xyz = [np.concatenate([np.asarray(t)[seen], m]) for t, m in zip(true, missed, strict=True)]
    color = np.concatenate([np.asarray(label.true_class)[seen], label.missed_class])
    row = np.concatenate([rows, np.asarray(label.missed_index, np.intp)])
    return Truth(np.column_stack(xyz).astype(np.float64), color.astype(np.int8), row, index)
