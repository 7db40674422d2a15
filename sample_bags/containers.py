"""The two containers, each written by a package that bagnoise's own writers do not use."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import ros
from mcap.writer import CompressionType, Writer
from rosbags import rosbag2
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CHUNK_BYTES = 256 * 1024
FOREVER = QosTime(9223372036, 854775807)


class Topic(NamedTuple):
    """A topic of the bags, as its publisher offers it."""

    name: str
    type_name: str
    reliable: bool = True
    latched: bool = False

    @property
    def qos(self) -> Qos:
        """What rosbag2 learns from the network: history and depth stay unknown."""
        return Qos(
            QosHistory.UNKNOWN,
            0,
            QosReliability.RELIABLE if self.reliable else QosReliability.BEST_EFFORT,
            QosDurability.TRANSIENT_LOCAL if self.latched else QosDurability.VOLATILE,
            FOREVER,
            FOREVER,
            QosLiveliness.AUTOMATIC,
            FOREVER,
            avoid_ros_namespace_conventions=False,
        )


class Record(NamedTuple):
    """One message of a bag."""

    topic: Topic
    log_ns: int
    publish_ns: int
    data: bytes


def _qos_text(qos: Qos) -> str:
    """The profile as YAML, spelled as rosbag2 of ROS 2 Humble spells it."""
    durations = {
        name: f"{name}:\n    sec: {span.sec}\n    nsec: {span.nsec}"
        for name, span in (
            ("deadline", qos.deadline),
            ("lifespan", qos.lifespan),
            ("liveliness_lease_duration", qos.liveliness_lease_duration),
        )
    }
    lines = (
        f"history: {qos.history.value}",
        f"depth: {qos.depth}",
        f"reliability: {qos.reliability.value}",
        f"durability: {qos.durability.value}",
        durations["deadline"],
        durations["lifespan"],
        f"liveliness: {qos.liveliness.value}",
        durations["liveliness_lease_duration"],
        f"avoid_ros_namespace_conventions: {str(qos.avoid_ros_namespace_conventions).lower()}",
    )
    return "- " + "\n  ".join(lines)


def _in_order(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.log_ns, record.topic.name))


def _topics(records: Iterable[Record]) -> list[Topic]:
    return sorted({record.topic for record in records})


def write_mcap(path: Path, records: Iterable[Record]) -> None:
    """Write a bare MCAP as rosbag2 does: zstd chunks, message indexes, CRCs, ros2msg schemas."""
    ordered = _in_order(records)
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=CHUNK_BYTES, compression=CompressionType.ZSTD)
        writer.start(profile="ros2", library="bagnoise sample_bags")
        schemas: dict[str, int] = {}
        channels: dict[Topic, int] = {}
        for topic in _topics(ordered):
            name = topic.type_name
            if name not in schemas:
                text = ros.definition(name).encode()
                schemas[name] = writer.register_schema(name, "ros2msg", text)
            metadata = {
                "offered_qos_profiles": _qos_text(topic.qos),
                "topic_type_hash": ros.type_hash(name),
            }
            channels[topic] = writer.register_channel(topic.name, "cdr", schemas[name], metadata)
        sequences = dict.fromkeys(channels, 0)
        for topic, log_ns, publish_ns, data in ordered:
            sequences[topic] += 1
            writer.add_message(channels[topic], log_ns, data, publish_ns, sequences[topic])
        writer.finish()  # type: ignore[no-untyped-call]


def write_rosbag2(folder: Path, records: Iterable[Record]) -> None:
    """Write a rosbag2 directory with sqlite3; version 8 is the newest that Humble reads."""
    ordered = _in_order(records)
    if (folder / "metadata.yaml").exists():  # else the writer refuses what is not a bag
        shutil.rmtree(folder)
    with rosbag2.Writer(folder, version=8) as writer:
        connections = {
            topic: writer.add_connection(
                topic.name,
                topic.type_name,
                msgdef=ros.definition(topic.type_name),
                rihs01=ros.type_hash(topic.type_name),
                offered_qos_profiles=[topic.qos],
            )
            for topic in _topics(ordered)
        }
        for topic, log_ns, _, data in ordered:
            writer.write(connections[topic], log_ns, data)
