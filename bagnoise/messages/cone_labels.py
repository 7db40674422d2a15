"""What is true of a message of cones: which source cone each detection is, and what was missed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.wire import Writer
from bagnoise.messages.payload import FALSE_POSITIVE, ConeClass, Cones, truth_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Codec, Truth

LABELS_TYPE = "bagnoise_msgs/msg/ConeLabels"
LABELS_SUFFIX = "/labels"


def encode_labels(cones: Cones, order: NDArray[np.intp]) -> bytes:
    """Write the labels of cones whose message holds the rows ``order``, in that order."""
    truth = truth_of(cones)
    index = cones.index[order].astype(np.int32)
    missed = np.setdiff1d(np.arange(len(truth.xyz), dtype=np.int32), index)
    writer = Writer()
    writer.header(cones.stamp_ns, cones.frame_id)
    _write(writer, truth, index)
    _write(writer, truth, missed)
    return writer.finish()


def _write(writer: Writer, truth: Truth, index: NDArray[np.int32]) -> None:
    real = index != FALSE_POSITIVE
    rows = index[real]
    ids = np.full(len(index), -1, np.int64)
    if truth.ids is not None:
        ids[real] = truth.ids[rows]
    xyz = np.full((len(index), 3), np.nan)
    xyz[real] = truth.xyz[rows]
    color = np.full(len(index), ConeClass.UNKNOWN, np.uint8)
    color[real] = truth.color[rows].astype(np.uint8)
    writer.sequence(index, 4)
    writer.sequence(ids, 8)
    for column in np.ascontiguousarray(xyz.T):
        writer.sequence(column, 8)
    writer.sequence(color, 1)


def written_order(codec: Codec[Any], cones: Cones) -> NDArray[np.intp]:
    """Return which row each cone of a written message is of, as a reader counts them.

    Types group cones by color, or leave some out. So a probe is written whose x positions are the
    row numbers, and read back.
    """
    numbers = np.zeros((len(cones), 3))
    numbers[:, 0] = np.arange(len(cones))
    probe = codec.decode(codec.encode(replace(cones, xyz=numbers)))
    order: NDArray[np.intp] = np.rint(probe.xyz[:, 0]).astype(np.intp)
    return order
