"""Small bags written and read by outside code: the mcap package, rosbags, mcap-ros2-support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap_ros2.decoder import DecoderFactory
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

EPOCH = 1_700_000_000_123_456_789
MS = 1_000_000
CONES = "eufs_msgs/msg/ConeArrayWithCovariance"
STRING = "std_msgs/msg/String"
TF = "tf2_msgs/msg/TFMessage"
GROUND_TRUTH = "/ground_truth/cones"
LATCHED = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"

_ARRAYS = ("blue", "yellow", "orange", "big_orange", "unknown_color")
_EUFS = {
    "eufs_msgs/msg/ConeWithCovariance": "geometry_msgs/Point point\nfloat64[4] covariance\n",
    CONES: "std_msgs/Header header\n"
    + "".join(f"eufs_msgs/ConeWithCovariance[] {name}_cones\n" for name in _ARRAYS),
}
STORE = get_typestore(Stores.ROS2_HUMBLE)
for _name, _text in _EUFS.items():
    STORE.register(get_types_from_msg(_text, _name))
TYPES = STORE.types

XY = tuple[float, float]


class Sent(NamedTuple):
    """A message to be written."""

    topic: str
    type_name: str
    log_ns: int
    data: bytes
    publish_ns: int | None = None
    sequence: int = 0


class Got(NamedTuple):
    """A message as the mcap package reads it, in index order."""

    topic: str
    type_name: str
    log_ns: int
    publish_ns: int
    sequence: int
    data: bytes
    ros: Any


def header(stamp_ns: int, frame_id: str = "base_footprint") -> Any:
    stamp = TYPES["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return TYPES["std_msgs/msg/Header"](stamp=stamp, frame_id=frame_id)


def cones_at(
    log_ns: int, *, stamp_ns: int | None = None, topic: str = GROUND_TRUTH, **arrays: Sequence[XY]
) -> Sent:
    """Make a ground-truth message; arrays: blue, yellow, orange, big_orange, unknown_color."""
    cone, point = TYPES["eufs_msgs/msg/ConeWithCovariance"], TYPES["geometry_msgs/msg/Point"]
    filled = {
        f"{name}_cones": [
            cone(point=point(x=float(x), y=float(y), z=0.5), covariance=np.zeros(4))
            for x, y in arrays.get(name, ())
        ]
        for name in _ARRAYS
    }
    stamp = log_ns - 3 * MS if stamp_ns is None else stamp_ns
    message = TYPES[CONES](header=header(stamp), **filled)
    return Sent(topic, CONES, log_ns, bytes(STORE.serialize_cdr(message, CONES)))


def string_at(log_ns: int, text: str, topic: str = "/chatter") -> Sent:
    message = TYPES[STRING](data=text)
    return Sent(topic, STRING, log_ns, bytes(STORE.serialize_cdr(message, STRING)))


def write_bag(
    path: Path,
    messages: Iterable[Sent],
    *,
    qos: dict[str, str] | None = None,
    chunk_size: int = 2000,
    definitions: dict[str, str] | None = None,
) -> Path:
    """Write a bare MCAP in the given order."""
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=chunk_size, compression=CompressionType.ZSTD)
        writer.start(profile="ros2", library="test")
        schemas: dict[str, int] = {}
        channels: dict[tuple[str, str], int] = {}
        for message in messages:
            topic, type_name = message.topic, message.type_name
            if type_name not in schemas:
                text = (definitions or {}).get(type_name)
                if text is None:
                    text = STORE.generate_msgdef(type_name, ros_version=2)[0]
                schemas[type_name] = writer.register_schema(type_name, "ros2msg", text.encode())
            if (topic, type_name) not in channels:
                metadata = {"offered_qos_profiles": (qos or {}).get(topic, "")}
                channels[topic, type_name] = writer.register_channel(
                    topic, "cdr", schemas[type_name], metadata
                )
            writer.add_message(
                channels[topic, type_name],
                message.log_ns,
                message.data,
                message.log_ns if message.publish_ns is None else message.publish_ns,
                message.sequence,
            )
        writer.finish()  # type: ignore[no-untyped-call]
    return path


def read_bag(path: Path, *topics: str) -> list[Got]:
    """Read a bare MCAP with the mcap package, every message decoded by mcap-ros2-support."""
    decoder = DecoderFactory()
    found = []
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        for schema, channel, message in reader.iter_messages(topics=topics or None):
            assert schema is not None
            decode = decoder.decoder_for(channel.message_encoding, schema)
            ros = decode(message.data) if decode else None
            found.append(
                Got(
                    channel.topic,
                    schema.name,
                    message.log_time,
                    message.publish_time,
                    message.sequence,
                    message.data,
                    ros,
                )
            )
    return found


def stamp_ns(ros: Any) -> int:
    return int(ros.header.stamp.sec) * 10**9 + int(ros.header.stamp.nanosec)
