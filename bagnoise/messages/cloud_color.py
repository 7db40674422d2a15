"""Colours of points: which fields hold them, and taking them away."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.messages.point_fields import copy_rows, point_dtype

if TYPE_CHECKING:
    from collections.abc import Collection

    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.point_fields import PointField

COLOR_NAMES: Final = ("rgb", "rgba", "r", "g", "b", "a", "red", "green", "blue", "alpha")
_ALONE: Final = ("rgb", "rgba")
_TRIPLES: Final = (("r", "g", "b"), ("red", "green", "blue"))


def color_fields(cloud: Cloud) -> tuple[str, ...]:
    """Name the fields that hold colours; a lone ``r`` or ``a`` is something else."""
    names = set(cloud.names)
    found: set[str] = names.intersection(_ALONE)
    for triple in _TRIPLES:
        if names.issuperset(triple):
            found |= {*triple, "a" if triple[0] == "r" else "alpha"} & names
    return tuple(name for name in cloud.names if name in found)


def blanked(cloud: Cloud) -> Cloud:
    """Set every colour to 0 and keep the layout."""
    fields = color_fields(cloud)
    return cloud.with_columns(dict.fromkeys(fields, 0)) if fields else cloud


def without_color(cloud: Cloud) -> Cloud:
    """Remove the colours' fields; the bytes that only they used go, and later fields move up."""
    fields = color_fields(cloud)
    return without_fields(cloud, fields) if fields else cloud


def without_fields(cloud: Cloud, unwanted: Collection[str]) -> Cloud:
    """Remove fields; what remains keeps its order and its bits.

    Packed points close up. Where fields overlap or are aligned by padding, the others stay where
    they are, and the bytes of the removed ones are 0.
    """
    kept = tuple(field for field in cloud.fields if field.name not in unwanted)
    step = cloud.points.dtype.itemsize
    if sum(field.end - field.offset for field in cloud.fields) != step:
        points = copy_rows(cloud.points)
        for name in unwanted:
            points[name] = 0
        same = point_dtype(kept, step, is_bigendian=cloud.is_bigendian)
        return cloud.with_points(points.view(same), kept, cloud.height, cloud.width)
    moved = _closed_up(kept)
    size = sum(field.end - field.offset for field in kept)
    dtype = point_dtype(moved, size, is_bigendian=cloud.is_bigendian)
    if size == 0 or not len(cloud):
        empty = np.zeros(len(cloud), dtype)
        return cloud.with_points(empty, moved, cloud.height, cloud.width)
    raw = np.ascontiguousarray(cloud.points).view(np.uint8).reshape(-1, step)
    out = np.empty((len(cloud), size), np.uint8)
    for before, after in zip(kept, moved, strict=True):
        out[:, after.offset : after.end] = raw[:, before.offset : before.end]
    return cloud.with_points(out.reshape(-1).view(dtype), moved, cloud.height, cloud.width)


def _closed_up(fields: tuple[PointField, ...]) -> tuple[PointField, ...]:
    """Give fields new offsets without gaps, in the order of their old ones."""
    moved, at = {}, 0
    for field in sorted(fields, key=lambda field: field.offset):
        moved[field] = replace(field, offset=at)
        at = moved[field].end
    return tuple(moved[field] for field in fields)
