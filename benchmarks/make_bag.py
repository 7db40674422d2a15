"""Write the benchmark bag: what a driverless car with two lidars and a camera records.

    python benchmarks/make_bag.py OUT.mcap --seconds 20 --compression zstd

A 128-beam cloud (131 072 x 32 bytes) and a 16-beam cloud (30 000 x 22 bytes) at 10 Hz, 1280 x 720
rgb images at 15 Hz, IMU at 200 Hz, tf at 100 Hz, 30 ground-truth cones at 25 Hz. 20 s are 1.8 GB
uncompressed and about 1.3 GB with zstd. Written by the mcap package, in chunks of 1 MiB; an OUT
without .mcap becomes a rosbag2 directory with sqlite3, written by rosbags.
"""

from __future__ import annotations

import argparse
import heapq
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Rosbag2Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START_NS = 1_700_000_000_123_456_789
SECOND_NS = 1_000_000_000
QOS = "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n"
CONES = "eufs_msgs/msg/ConeArrayWithCovariance"
_ARRAYS = ("blue", "yellow", "orange", "big_orange", "unknown_color")
_EUFS = {
    "eufs_msgs/msg/ConeWithCovariance": "geometry_msgs/Point point\nfloat64[4] covariance\n",
    CONES: "std_msgs/Header header\n"
    + "".join(f"eufs_msgs/ConeWithCovariance[] {name}_cones\n" for name in _ARRAYS),
}
STORE = get_typestore(Stores.ROS2_HUMBLE)
for _name, _text in _EUFS.items():
    STORE.register(get_types_from_msg(_text, _name))
T = STORE.types


def header(time_ns: int, frame: str) -> Any:
    """Make a header."""
    stamp = T["builtin_interfaces/msg/Time"](sec=time_ns // SECOND_NS, nanosec=time_ns % SECOND_NS)
    return T["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)


def cloud(rng: np.random.Generator, beams: int, columns: int, step: int) -> Callable[[int], Any]:
    """Return a maker of clouds whose coordinates are as hard to compress as a lidar's."""
    count = beams * columns
    names = [("x", 0), ("y", 4), ("z", 8), ("intensity", 12 if step == 22 else 16)]
    fields = [T["sensor_msgs/msg/PointField"](n, at, 7, 1) for n, at in names]
    variants = []
    for _ in range(4):
        data = np.zeros((count, step), np.uint8)
        azimuth = np.repeat(np.linspace(-np.pi, np.pi, columns), beams)
        elevation = np.tile(np.linspace(-0.4, 0.3, beams), columns)
        distance = 20 + 8 * np.sin(5 * azimuth) + 0.02 * rng.standard_normal(count)
        xyz = distance[:, None] * np.column_stack(
            [np.cos(azimuth), np.sin(azimuth), np.sin(elevation)]
        )
        data[:, :12] = xyz.astype("<f4").view(np.uint8).reshape(count, 12)
        shade = rng.integers(0, 255, count).astype("<f4")
        data[:, names[3][1] : names[3][1] + 4] = shade.view(np.uint8).reshape(count, 4)
        variants.append(data.reshape(-1))

    def make(time_ns: int) -> Any:
        return T["sensor_msgs/msg/PointCloud2"](
            header=header(time_ns, f"lidar_{beams}"),
            height=1,
            width=count,
            fields=fields,
            is_bigendian=False,
            point_step=step,
            row_step=step * count,
            data=variants[time_ns % len(variants)],
            is_dense=True,
        )

    return make


def image(rng: np.random.Generator) -> Callable[[int], Any]:
    """Return a maker of images with a camera's noise."""
    rows, columns = np.mgrid[0:720, 0:1280]
    base = (rows // 4 + columns // 8)[..., None] + np.array([0, 40, 80])
    variants = [
        ((base + rng.integers(0, 12, base.shape)) % 256).astype(np.uint8).reshape(-1)
        for _ in range(4)
    ]

    def make(time_ns: int) -> Any:
        return T["sensor_msgs/msg/Image"](
            header=header(time_ns, "camera"),
            height=720,
            width=1280,
            encoding="rgb8",
            is_bigendian=0,
            step=3840,
            data=variants[time_ns % len(variants)],
        )

    return make


def imu(rng: np.random.Generator) -> Callable[[int], Any]:
    """Return a maker of IMU messages."""

    def make(time_ns: int) -> Any:
        turn, push = rng.standard_normal((2, 3))
        vector = T["geometry_msgs/msg/Vector3"]
        return T["sensor_msgs/msg/Imu"](
            header=header(time_ns, "imu"),
            orientation=T["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
            orientation_covariance=np.zeros(9),
            angular_velocity=vector(*turn),
            angular_velocity_covariance=np.zeros(9),
            linear_acceleration=vector(*push),
            linear_acceleration_covariance=np.zeros(9),
        )

    return make


def transform(time_ns: int) -> Any:
    """Make a tf message."""
    moved = T["geometry_msgs/msg/Transform"](
        translation=T["geometry_msgs/msg/Vector3"](time_ns % SECOND_NS / SECOND_NS, 0.0, 0.0),
        rotation=T["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0),
    )
    stamped = T["geometry_msgs/msg/TransformStamped"](header(time_ns, "odom"), "base", moved)
    return T["tf2_msgs/msg/TFMessage"]([stamped])


def cones(rng: np.random.Generator) -> Callable[[int], Any]:
    """Return a maker of ground truth with 30 cones."""

    def make(time_ns: int) -> Any:
        places = rng.uniform(0, 20, (30, 2))
        made = [
            T["eufs_msgs/msg/ConeWithCovariance"](
                T["geometry_msgs/msg/Point"](float(x), float(y), 0.0), np.zeros(4)
            )
            for x, y in places
        ]
        return T[CONES](header(time_ns, "base_footprint"), made[:15], made[15:], [], [], [])

    return make


def messages(seconds: float) -> Iterator[tuple[int, str, str, bytes]]:
    """Yield (log_ns, topic, type, bytes) in time order."""
    rng = np.random.default_rng(0)
    topics: list[tuple[str, str, float, Callable[[int], Any]]] = [
        ("/lidar_128/points", "sensor_msgs/msg/PointCloud2", 10, cloud(rng, 128, 1024, 32)),
        ("/lidar_16/points", "sensor_msgs/msg/PointCloud2", 10, cloud(rng, 16, 1875, 22)),
        ("/camera/image_raw", "sensor_msgs/msg/Image", 15, image(rng)),
        ("/imu/data", "sensor_msgs/msg/Imu", 200, imu(rng)),
        ("/tf", "tf2_msgs/msg/TFMessage", 100, transform),
        ("/ground_truth/cones", CONES, 25, cones(rng)),
    ]
    streams = [
        [
            (START_NS + round(n / hz * SECOND_NS) + 1000 * place, place)
            for n in range(int(seconds * hz))
        ]
        for place, (_, _, hz, _) in enumerate(topics)
    ]
    for time_ns, place in heapq.merge(*streams):
        topic, type_name, _, make = topics[place]
        yield time_ns, topic, type_name, bytes(STORE.serialize_cdr(make(time_ns), type_name))


def write_mcap(path: Path, seconds: float, compression: str) -> None:
    """Write a bare MCAP."""
    with path.open("wb") as stream:
        writer = Writer(
            stream,
            chunk_size=1 << 20,
            compression=CompressionType[compression.upper()],
        )
        writer.start(profile="ros2", library="benchmark")
        channels: dict[str, int] = {}
        for time_ns, topic, type_name, data in messages(seconds):
            if topic not in channels:
                text = STORE.generate_msgdef(type_name, ros_version=2)[0].encode()
                schema = writer.register_schema(type_name, "ros2msg", text)
                metadata = {"offered_qos_profiles": QOS}
                channels[topic] = writer.register_channel(topic, "cdr", schema, metadata)
            writer.add_message(channels[topic], time_ns, data, time_ns)
        writer.finish()  # type: ignore[no-untyped-call]


def write_sqlite(path: Path, seconds: float) -> None:
    """Write a rosbag2 directory."""
    with Rosbag2Writer(path, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connections: dict[str, Any] = {}
        for time_ns, topic, type_name, data in messages(seconds):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type_name, typestore=STORE)
            writer.write(connections[topic], time_ns, data)


def main() -> int:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--compression", choices=["zstd", "lz4", "none"], default="zstd")
    arguments = parser.parse_args()
    if arguments.out.suffix == ".mcap":
        write_mcap(arguments.out, arguments.seconds, arguments.compression)
    else:
        write_sqlite(arguments.out, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
