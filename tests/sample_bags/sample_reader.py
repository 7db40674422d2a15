"""The sample bags, read by packages that bagnoise's own readers do not decide for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mcap.reader import make_reader
from rosbags import rosbag2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

FOLDER = Path(__file__).resolve().parents[2] / "sample_bags"
CONES = "/ground_truth/cones"
TRACK = "/ground_truth/track"
ODOMETRY = "/ground_truth/odom"
LIDAR = "/velodyne_points"
CAMERA = "/camera/points"
COLORS = ("blue", "yellow", "orange", "big_orange")
Array = npt.NDArray[np.float64]


class Entry(NamedTuple):
    """One message, raw and decoded."""

    log_ns: int
    publish_ns: int
    sequence: int
    data: bytes
    message: Any


@dataclass(frozen=True)
class Bag:
    """A bag read by another package: messages by topic, in the reader's order, and QoS."""

    topics: dict[str, list[Entry]]
    types: dict[str, str]
    qos: dict[str, str]
    schemas: dict[str, str]
    order_ns: list[int]

    def digest(self) -> dict[str, str]:
        """One hash for all that each topic holds."""
        hashes = {}
        for topic, entries in self.topics.items():
            parts = [self.types[topic], self.qos[topic], self.schemas[self.types[topic]]]
            parts += [f"{e.log_ns} {e.publish_ns} {e.sequence} {e.data.hex()}" for e in entries]
            hashes[topic] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return hashes

    def messages(self, topic: str) -> list[Any]:
        """The decoded messages of a topic."""
        return [entry.message for entry in self.topics[topic]]


def decoder(schemas: dict[str, str]) -> Any:
    """A type store that knows the types from the bag's own definitions only."""
    store = get_typestore(Stores.EMPTY)
    for name, text in schemas.items():
        known = get_types_from_msg(text, name)
        store.register({key: value for key, value in known.items() if key not in store.types})
    return store


def read_lap(path: Path) -> Bag:
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        found = list(reader.iter_messages())
    schemas = {schema.name: schema.data.decode() for schema, _, _ in found if schema}
    store, bag = decoder(schemas), Bag({}, {}, {}, schemas, [m.log_time for _, _, m in found])
    for schema, channel, m in found:
        assert schema
        bag.types[channel.topic] = schema.name
        bag.qos[channel.topic] = channel.metadata["offered_qos_profiles"]
        decoded = store.deserialize_cdr(m.data, schema.name)
        entry = Entry(m.log_time, m.publish_time, m.sequence, m.data, decoded)
        bag.topics.setdefault(channel.topic, []).append(entry)
    return bag


def read_scan(path: Path) -> Bag:
    with rosbag2.Reader(path) as reader:
        schemas = {c.msgtype: c.msgdef.data for c in reader.connections}
        store = decoder(schemas)
        bag = Bag({}, {}, {}, schemas, [])
        for c in reader.connections:
            bag.types[c.topic] = c.msgtype
            bag.qos[c.topic] = str(getattr(c.ext, "offered_qos_profiles", None))
        for c, log_ns, data in reader.messages():
            entry = Entry(log_ns, log_ns, 0, data, store.deserialize_cdr(data, c.msgtype))
            bag.topics.setdefault(c.topic, []).append(entry)
            bag.order_ns.append(log_ns)
    return bag


@cache
def lap() -> Bag:
    return read_lap(FOLDER / "lap.mcap")


@cache
def scan() -> Bag:
    return read_scan(FOLDER / "scan")


def stamp_ns(message: Any) -> int:
    stamped = message.transforms[0] if hasattr(message, "transforms") else message
    return int(stamped.header.stamp.sec) * 10**9 + int(stamped.header.stamp.nanosec)


def xy(cones: Any) -> Array:
    return np.array([(cone.point.x, cone.point.y) for cone in cones]).reshape(-1, 2)


@dataclass(frozen=True)
class Odometry:
    """Stamps, and x, y, qz, qw in rows."""

    stamp_ns: npt.NDArray[np.int64]
    pose: Array

    @classmethod
    def of(cls, bag: Bag) -> Odometry:
        messages = bag.messages(ODOMETRY)
        poses = [m.pose.pose for m in messages]
        rows = [(p.position.x, p.position.y, p.orientation.z, p.orientation.w) for p in poses]
        return cls(np.array([stamp_ns(m) for m in messages]), np.array(rows))

    def at(self, when_ns: npt.NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Positions (n, 2), cosine and sine of the yaw, linear between the messages around."""
        assert self.stamp_ns[0] <= when_ns.min()
        assert when_ns.max() <= self.stamp_ns[-1]
        since, known = (t - self.stamp_ns[0] for t in (when_ns, self.stamp_ns))
        x, y, qz, qw = (np.interp(since, known, column) for column in self.pose.T)
        yaw = 2 * np.arctan2(qz, qw)
        return np.stack([x, y], axis=1), np.cos(yaw), np.sin(yaw)

    def to_map(self, when_ns: npt.NDArray[np.int64], points: Array) -> Array:
        """Points (n, 3) of the car's frame at their own times, in the map."""
        origin, c, s = self.at(when_ns)
        x, y, z = points.T
        return np.stack([origin[:, 0] + c * x - s * y, origin[:, 1] + s * x + c * y, z], axis=1)
