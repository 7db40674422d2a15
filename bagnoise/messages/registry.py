"""Which message types bagnoise can transform, and the codec of each: one line a type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from bagnoise.errors import MessageError
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.msg_text import full_type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bagnoise.bags.model import Schema
    from bagnoise.messages.payload import Codec, Cones

Kind = Literal["cones", "cloud", "depth"]
_MAP = ("fields", "classes")
CLOUD_TYPE = "sensor_msgs/msg/PointCloud2"
DEPTH_TYPE = "sensor_msgs/msg/Image"  # whether it is depth, its encoding tells
_MAX_SHARED = 256
_SHARED: dict[tuple[Schema, str], Codec[Any]] = {}


@dataclass(frozen=True)
class ConeType:
    """One cone message type: its codec is ``make`` of ``bagnoise.messages.cones.<module>``."""

    type_name: str
    module: str
    says: str  # what it holds, in a few words
    options: tuple[str, ...] = ()
    asked_for: str = ""  # option that must be given: the type is not always cones


CONE_TYPES = {
    cone.type_name: cone
    for cone in (
        ConeType("eufs_msgs/msg/ConeArrayWithCovariance", "eufs", "class, z, xy covariance"),
        ConeType("eufs_msgs/msg/ConeArray", "eufs", "class, z"),
        ConeType(
            "eufs_msgs/msg/ConeArrayWithCovariancePlus",
            "eufs_plus",
            "class probabilities, z, xy covariance, id",
        ),
        ConeType("feb_msgs/msg/ConesCartesian", "feb", "class, x and y; two layouts"),
        ConeType("sensor_msgs/msg/PointCloud", "point_cloud", "x and y only, as float32"),
        ConeType("visualization_msgs/msg/MarkerArray", "markers", "class, z; for RViz, Foxglove"),
        ConeType("fs_msgs/msg/Track", "fs", "class, z; no header"),
        ConeType(
            "pacsim/msg/PerceptionDetections",
            "pacsim",
            "class probabilities, z, covariance, id, detection probability; two layouts",
        ),
        ConeType(
            "driverless_msgs/msg/ConeDetectionStamped",
            "driverless",
            "class, z, xy covariance, simulated cone index; two color numberings",
            ("numbering", "arrays"),
        ),
        ConeType("fssim_common/msg/Track", "fssim_track", "class but unknown, z"),
        ConeType("fsd_common_msgs/msg/ConeDetections", "fsd", "class but big orange, z"),
        ConeType(
            "sensor_msgs/msg/PointCloud2",
            "fssim_cloud",
            "FSSIM's cones: class probabilities, xy covariance, intensity, as float32",
            ("layout",),
            asked_for="layout",
        ),
        ConeType("custom_interfaces/msg/ConeArray", "field_map", "FEUP: class, x and y", _MAP),
        ConeType("custom_interfaces/msg/PerceptionOutput", "field_map", "FEUP: the same", _MAP),
        ConeType(
            "brains_custom_interfaces/msg/ConesObservations",
            "field_map",
            "EPFL: class but unknown, range and bearing",
            _MAP,
        ),
        ConeType("interfaces/msg/ConeArray", "field_map", "CMR: class, z", _MAP),
        ConeType(
            "vision_msgs/msg/Detection3DArray",
            "detection3d",
            "class probabilities, z, covariance, id",
        ),
    )
}

FIELD_MAP = ConeType("any type", "field_map", "what the map names", asked_for="fields")


def cone_types() -> list[ConeType]:
    """List the cone message types, in the order of the registry."""
    return list(CONE_TYPES.values())


def cone_codec(schema: Schema, **options: Any) -> Codec[Cones]:
    """Make the codec of a cone message type.

    Args:
        schema: of the channel; without a text the shipped definition counts.
        options: of the type, see `ConeType.options`; ``variant`` picks a shipped layout where
            the schema has no text.

    Raises:
        MessageError: no cone type, or its definition is not one bagnoise knows.
        UsageError: an option that the type does not have.
    """
    name = full_type_name(schema.name)
    variant = options.pop("variant", None)
    found = FIELD_MAP if options.get(FIELD_MAP.asked_for) else CONE_TYPES.get(name)
    if found is None:
        known = ", ".join(CONE_TYPES)
        msg = (
            f"{name} is no cone type that bagnoise knows; known: {known}."
            " A field map in the recipe can describe any other"
        )
        raise MessageError(msg)
    if not schema.data.strip():
        schema = shipped_definition(name, variant) or schema
    schema = type(schema)(name, schema.encoding, schema.data)
    module = import_module(f"bagnoise.messages.cones.{found.module}")
    codec: Codec[Cones] = module.make(schema, options)
    return codec


def codec_of(schema: Schema, options: Mapping[str, Any] | None = None) -> Codec[Any]:
    """Make the codec of any type that bagnoise transforms: cones or a cloud; see `cone_codec`."""
    options = options or {}
    if kind_of(schema, options) == "cloud":
        cloud = import_module("bagnoise.messages.cloud_codec")
        codec: Codec[Any] = cloud.point_cloud2_codec(schema, options)
        return codec
    if kind_of(schema, options) == "depth":
        depth = import_module("bagnoise.messages.depth_image")
        depth_codec: Codec[Any] = depth.DepthImageCodec()
        return depth_codec
    return cone_codec(schema, **options)


def shared_codec(schema: Schema, options: Mapping[str, Any]) -> Codec[Any]:
    """Return the one codec of a schema and options, so that several readers decode once."""
    key = (schema, json.dumps(dict(options), sort_keys=True, default=repr))
    if key not in _SHARED:
        if len(_SHARED) >= _MAX_SHARED:
            _SHARED.clear()
        _SHARED[key] = codec_of(schema, options)
    return _SHARED[key]


def kind_of(schema: Schema, options: Mapping[str, Any] | None = None) -> Kind | None:
    """Say whether a type carries cones, a cloud or perhaps depths (None: neither).

    ``options`` are the recipe's for the message, as in `cone_codec`: some types are cones only if
    asked for.
    """
    try:
        name = full_type_name(schema.name)
    except MessageError:
        return None
    options = options or {}
    found = CONE_TYPES.get(name)
    if options.get(FIELD_MAP.asked_for):
        return "cones"
    if found is not None and (not found.asked_for or options.get(found.asked_for)):
        return "cones"
    if name == DEPTH_TYPE:
        return "depth"
    return "cloud" if name == CLOUD_TYPE else None
