"""The cloud that a sensed lidar publishes: its beams' positions, the source's other fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bagnoise.messages.cloud import INTENSITY_NAMES, RING_NAMES, XYZ, Cloud
from bagnoise.messages.cloud_layout import Layout, Rows, arrange
from bagnoise.messages.cloud_lengths import LENGTH_NAMES, per_metre
from bagnoise.messages.cloud_misses import Misses, without
from bagnoise.messages.cloud_time import TimeKind, from_offsets, offsets_ns, time_kind
from bagnoise.messages.point_fields import fitted, take_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams
    from bagnoise.lidar.resample import Sensed

TimeMode = Literal["source", "zero", "model"]


@dataclass(frozen=True)
class Publishing:
    """How a sensed cloud is written.

    Attributes:
        layout: of its points; None keeps the source's own fields, row by ring if it is organised.
        misses: how beams without return are written; the layout's way where None.
        time: per-point times: ``source`` copies those of the source's points, ``model`` is the
            column's time and the beam's firing offset (only with a pose for every part of the
            sweep: on a snapshot it would make deskewing bend straight walls), ``zero`` the stamp.
    """

    layout: Layout | None = None
    misses: Misses | None = None
    time: TimeMode = "source"


def sensed_cloud(
    source: Cloud,
    sensed: Sensed,
    beams: Beams,
    xyz: NDArray[np.float32],
    how: Publishing,
    *,
    stamp_ns: int | None = None,
    frame_id: str | None = None,
) -> Cloud:
    """Make the cloud.

    Args:
        source: whose points were seen.
        sensed: what each of the n beams returned.
        beams: of the revolution.
        xyz: (n, 3) of the returns, in the frame of the new cloud.
        how: it is written.
        stamp_ns: header stamp; the source's where None.
        frame_id: the source's where None.
    """
    own_rows: Rows = "rings" if source.is_organised else "none"
    grid = arrange(beams.channels, beams.columns, how.layout.rows if how.layout else own_rows)
    rows = sensed.source[grid.order]
    stamp = source.stamp_ns if stamp_ns is None else stamp_ns
    fields = how.layout.fields if how.layout else source.fields
    points = _copied(source, rows, how.layout)
    kind = how.layout.time if how.layout else time_kind(source)
    columns = _columns(xyz[grid.order], beams, grid.order)
    if kind is not None:
        offsets = _offsets(source, rows, beams.time_ns[grid.order], how.time)
        columns[kind.field] = from_offsets(offsets, kind, stamp, points.dtype[kind.field])
    for name, values in columns.items():
        if name in (points.dtype.names or ()):
            unit = per_metre(points.dtype[name]) if name in LENGTH_NAMES else 1
            points[name] = fitted(values * unit, points.dtype[name])
    cloud = Cloud(
        stamp_ns=stamp,
        frame_id=source.frame_id if frame_id is None else frame_id,
        fields=fields,
        points=points,
        height=grid.height,
        width=grid.width,
        point_step=points.dtype.itemsize,
        is_bigendian=source.is_bigendian if how.layout is None else False,
    )
    misses = how.misses or (how.layout.misses if how.layout else None)
    return without(cloud, rows < 0, misses)


def _copied(source: Cloud, rows: NDArray[np.int64], layout: Layout | None) -> NDArray[np.void]:
    """Copy the source's points, (n,), whole or field by field; zeros where there is none."""
    dtype = source.points.dtype if layout is None else layout.dtype
    hit = rows >= 0
    points = np.zeros(len(rows), dtype)
    if not hit.any():
        return points
    if layout is None:
        copied = take_rows(source.points, np.where(hit, rows, 0))
        copied[~hit] = points[~hit]
        return copied
    for field in layout.fields:
        found = source.find(field.name, *_aliases(field.name))
        if found is not None:
            values = source.column(found)[rows[hit]]
            points[field.name][hit] = fitted(values, dtype[field.name])
    return points


def _aliases(name: str) -> tuple[str, ...]:
    return INTENSITY_NAMES if name in INTENSITY_NAMES else ()


def _columns(
    xyz: NDArray[np.float32], beams: Beams, order: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """List what the beams know, by the names that layouts give it."""
    ranges = np.sqrt((xyz.astype(np.float64) ** 2).sum(axis=1))
    ring = beams.ring[order]
    known: dict[str, NDArray[Any]] = dict(zip(XYZ, xyz.T, strict=True))
    known |= dict.fromkeys(RING_NAMES, ring)
    known["azimuth"] = beams.azimuth_rad[order]
    known["elevation"] = beams.elevation_rad[order]
    known["distance"] = ranges
    known["range"] = ranges
    return known


def _offsets(
    source: Cloud, rows: NDArray[np.int64], model_ns: NDArray[np.int64], mode: TimeMode
) -> NDArray[np.int64]:
    """Return the times of the beams after the stamp, (n,) ns."""
    if mode == "model":
        return model_ns
    out = np.zeros(len(rows), np.int64)
    kind: TimeKind | None = time_kind(source) if mode == "source" else None
    if kind is not None:
        hit = rows >= 0
        out[hit] = offsets_ns(source, kind)[rows[hit]]
    return out
