"""MCAP files of many kinds, made by the mcap package, and a reader of it to compare with."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mcap.reader import NonSeekingReader, make_reader
from mcap.writer import CompressionType, IndexType, Writer

T0 = 1_700_000_000_123_456_789
_TIMES = (
    "".join(f"  {name}:\n    sec: 0\n    nsec: 0\n" for name in ("deadline", "lifespan"))
    + "  liveliness: 1\n  liveliness_lease_duration:\n    sec: 0\n    nsec: 0\n"
)
_REST = _TIMES + "  avoid_ros_namespace_conventions: false\n"
QOS = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 2\n" + _REST
LATCHED = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n" + _REST
STRING = b"string data\n"


class Channel(NamedTuple):
    """A channel to write; two may be alike."""

    topic: str
    schema: str = "std_msgs/msg/String"
    schema_encoding: str = "ros2msg"
    schema_data: bytes = STRING
    encoding: str = "cdr"
    qos: str = QOS


class Sent(NamedTuple):
    """A message to write, on a channel by position."""

    channel: int
    log_ns: int
    data: bytes
    publish_ns: int
    sequence: int


class Got(NamedTuple):
    """A message as read, with all that belongs to it."""

    topic: str
    schema: tuple[str, str, bytes] | None
    encoding: str
    metadata: tuple[tuple[str, str], ...]
    log_ns: int
    publish_ns: int
    sequence: int
    data: bytes


CHANNELS = (
    Channel("/a"),
    Channel("/b"),
    Channel("/a"),  # one topic, two channels
    Channel("/json", "Lap", "jsonschema", b"{}", "json"),
    Channel("/proto", "t.P", "protobuf", b"\n\x01\x00", "protobuf"),
    Channel("/raw", "", "", b"", "application/octet-stream"),  # no schema at all
    Channel("/empty_schema", "team_msgs/msg/Secret", "", b""),
    Channel("/broken", "team_msgs/msg/Cut", "ros2msg", b"float64 x\nNo"),
    Channel("/latched", qos=LATCHED),
    Channel("/silent"),
)


@dataclass(frozen=True)
class Shape:
    """How a file is laid out."""

    compression: CompressionType = CompressionType.ZSTD
    chunk_size: int = 300
    chunking: bool = True
    index: IndexType = IndexType.ALL
    statistics: bool = True
    repeat: bool = True  # schemas and channels again in the summary
    offsets: bool = True
    crcs: bool = True
    data_crc: bool = False


def write_mcap(
    path: Path,
    messages: list[Sent],
    shape: Shape = Shape(),
    channels: tuple[Channel, ...] = CHANNELS,
    *,
    reverse_ids: bool = False,
) -> Path:
    """Write messages in the given order, an attachment and two metadata records."""
    with path.open("wb") as stream:
        writer = Writer(
            stream,
            chunk_size=shape.chunk_size,
            compression=shape.compression,
            use_chunking=shape.chunking,
            index_types=shape.index,
            use_statistics=shape.statistics,
            repeat_channels=shape.repeat,
            repeat_schemas=shape.repeat,
            use_summary_offsets=shape.offsets,
            enable_crcs=shape.crcs,
            enable_data_crcs=shape.data_crc,
        )
        writer.start(profile="ros2", library="test")
        ids: dict[int, int] = {}
        order = list(enumerate(channels))
        for number, channel in reversed(order) if reverse_ids else order:
            schema = 0
            if channel.schema:
                schema = writer.register_schema(
                    channel.schema, channel.schema_encoding, channel.schema_data
                )
            ids[number] = writer.register_channel(
                channel.topic, channel.encoding, schema, {"offered_qos_profiles": channel.qos}
            )
        for m in messages:
            writer.add_message(ids[m.channel], m.log_ns, m.data, m.publish_ns, m.sequence)
        writer.add_attachment(T0, T0 + 1, "track.csv", "text/csv", b"x,y")
        writer.add_metadata("drive", {"driver": "none"})
        writer.add_metadata("rosbag2", {"serialized_metadata": "old"})
        writer.finish()  # type: ignore[no-untyped-call]
    return path


def read_in_order(path: Path) -> list[Got]:
    """Read by log time, ties by place in the file, whatever indexes there are."""
    found = []
    with path.open("rb") as stream:
        reader = NonSeekingReader(stream, validate_crcs=True)
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            found.append(
                Got(
                    channel.topic,
                    (schema.name, schema.encoding, schema.data) if schema else None,
                    channel.message_encoding,
                    tuple(sorted(channel.metadata.items())),
                    message.log_time,
                    message.publish_time,
                    message.sequence,
                    message.data,
                )
            )
    return sorted(found, key=lambda got: got.log_ns)


def read_by_index(data: bytes) -> list[tuple[str, int, bytes]]:
    """Read through the index, as most readers do."""
    reader = make_reader(io.BytesIO(data), validate_crcs=True)
    return [(c.topic, m.log_time, m.data) for _, c, m in reader.iter_messages()]


def extras(path: Path) -> tuple[list[tuple[str, bytes]], list[tuple[str, dict[str, str]]]]:
    """Read attachments and metadata records."""
    with path.open("rb") as stream:
        reader = make_reader(stream)
        attachments = [(a.name, a.data) for a in reader.iter_attachments()]
        metadata = [(m.name, m.metadata) for m in reader.iter_metadata()]
    return attachments, metadata


def plain_messages(count: int, step_ns: int = 10_000_000) -> list[Sent]:
    """Messages over all channels but the silent one, in order."""
    return [
        Sent(n % 9, T0 + n * step_ns, b"\0\1\0\0" + bytes([n % 251]) * (n % 40), T0 + n, n)
        for n in range(count)
    ]
