"""Cones to write and codecs to write them with, the same for every message type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.definitions import shipped_definition, variants
from bagnoise.messages.payload import ConeClass, Cones, source_rows
from bagnoise.messages.registry import cone_codec, cone_types

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema
    from bagnoise.messages.payload import Codec

OPTIONS = {"sensor_msgs/msg/PointCloud2": {"layout": "fssim"}}
T_NS = 1_700_000_000_123_456_789


def every_definition() -> list[Schema]:
    """Return each cone type in each of its layouts."""
    found = [
        shipped_definition(cone.type_name, variant)
        for cone in cone_types()
        for variant in (None, *variants(cone.type_name))
    ]
    return [schema for schema in found if schema is not None]


def sample_cones(count: int = 30, frame_id: str = "base_footprint", seed: int = 1) -> Cones:
    """Make cones of every class, sorted by it, with covariance, class probabilities and ids."""
    rng = np.random.default_rng(seed)
    color = np.sort(np.arange(count) % len(ConeClass)).astype(np.int8)
    half = rng.normal(size=(count, 3, 3))
    probabilities = np.full((count, len(ConeClass)), 0.05)
    probabilities[np.arange(count), color] = 0.8
    return Cones(
        stamp_ns=T_NS,
        frame_id=frame_id,
        xyz=rng.normal(scale=10, size=(count, 3)),
        color=color,
        index=source_rows(count),
        source_count=count,
        covariance=half @ half.transpose(0, 2, 1),
        probabilities=probabilities,
        ids=np.arange(90, 90 + count, dtype=np.int64),  # of 8 bits: one type has no more
    )


def codec_for(schema: Schema) -> Codec[Cones]:
    """Make the codec, with the options that a type must have."""
    return cone_codec(schema, **OPTIONS.get(schema.name, {}))


def codec_named(type_name: str, variant: str | None = None, **options: Any) -> Codec[Cones]:
    """Make the codec of a shipped definition."""
    schema = shipped_definition(type_name, variant)
    assert schema is not None
    return cone_codec(schema, **options)


def expected_back(codec: Codec[Cones], cones: Cones) -> Cones:
    """Return the rows that a type writes at all: those of a class it has an array for."""
    if not any("left out" in loss for loss in codec.losses(cones)):
        return cones
    return cones.take(cones.color != ConeClass.UNKNOWN)
