"""Which point of the source each point of a cloud is, carried along in a field of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.messages.cloud_color import without_fields
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.cones.wire import Writer
from bagnoise.messages.point_fields import DATATYPES, PointField, point_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.cloud_layout import Layout

CLOUD_LABELS_TYPE: Final = "bagnoise_msgs/msg/CloudLabels"
INDEX_FIELD: Final = "bagnoise_source_index"
_NONE: Final = -1


def with_index(cloud: Cloud) -> Cloud:
    """Return the cloud with its row numbers in a further field, after all others."""
    step = cloud.points.dtype.itemsize
    added = _index_field(step)
    fields = (*cloud.fields, added)
    dtype = point_dtype(fields, added.end, is_bigendian=cloud.is_bigendian)
    raw = np.zeros((len(cloud), added.end), np.uint8)
    raw[:, :step] = np.ascontiguousarray(cloud.points).view(np.uint8).reshape(len(cloud), step)
    points = raw.reshape(-1).view(dtype) if len(cloud) else np.zeros(0, dtype)
    points[INDEX_FIELD] = np.arange(len(cloud))
    return cloud.with_points(points, fields, cloud.height, cloud.width)


def carries_index(cloud: Cloud) -> bool:
    """Whether the cloud has the field of `with_index`."""
    return INDEX_FIELD in cloud.names


def with_index_field(layout: Layout) -> Layout:
    """Return a layout that carries the field, too."""
    added = _index_field(layout.point_step)
    return replace(layout, point_step=added.end, fields=(*layout.fields, added))


def without_index(cloud: Cloud) -> tuple[Cloud, NDArray[np.int32]]:
    """Return the cloud without the field, and the source row of each point, (n,), -1 for misses."""
    index = cloud.column(INDEX_FIELD).astype(np.int32)
    index[~hits(cloud)] = _NONE
    return without_fields(cloud, (INDEX_FIELD,)), index


def encode_cloud_labels(cloud: Cloud, index: NDArray[np.int32]) -> bytes:
    """Write the labels of a cloud."""
    writer = Writer()
    writer.header(cloud.stamp_ns, cloud.frame_id)
    writer.sequence(index, 4)
    return writer.finish()


def _index_field(offset: int) -> PointField:
    return PointField(INDEX_FIELD, offset, DATATYPES["u4"])
