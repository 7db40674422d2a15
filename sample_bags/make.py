"""Write the sample bags: ``python sample_bags/make.py [OUTPUT_DIR]`` (default: this folder).

``lap.mcap`` is a lap of a Formula Student trackdrive as the EUFS simulator shows it, ``scan/`` one
second of the same lap with point clouds; README.md beside this file lists their topics. Everything
is drawn from one seed: the same packages write the same bytes again, and other versions of them, or
another machine, the same messages.

Facts that hold exactly and that tests may rely on:

- Every stamp of ``/ground_truth/cones`` is also a stamp of ``/ground_truth/odom`` and ``/tf``, and
  the cones are computed from the very pose that these carry: ``/ground_truth/track``, brought into
  the car's frame by that pose, gives the cones' positions to float64 rounding (1e-12 m), in the
  track's order, color by color. In ``unknown_color_cones`` they are the cones of all colors that
  the lidar sees and the camera does not: blue, yellow, orange, big orange, in the track's order.
- A message that is in both bags has the same bytes and log time in both.
- The ray of each lidar point leaves from the pose interpolated linearly between the odometry
  messages around (header stamp + the point's ``time``); its point is on a surface to float32
  rounding. No sensor but the IMU has noise: adding it is what bagnoise is for.
- Log time = stamp + a transport delay drawn per message, publish time is between them.
  ``/ground_truth/track`` and ``/tf_static`` are latched: one message each, logged when the
  recording begins (so in ``scan/`` much later than stamped).
"""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import ros
import sensors
from circuit import Cones, centre_line, course_cones
from containers import Record, Topic, write_mcap, write_rosbag2
from drive import Drive, Motion, drive_a_lap
from exact import Array, Times, quantise, unit_circle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = 20_250_711
START_NS = 1_752_234_567_123_456_789
SCAN_BEGINS_S = 28.63
SCAN_LASTS_S = 1.0
SCAN_MARGIN_NS, LAST_MARGIN_NS = 65_000_000, 20_000_000
JITTER_NS = 150_000

CONES = Topic("/ground_truth/cones", "eufs_msgs/msg/ConeArrayWithCovariance")
TRACK = Topic("/ground_truth/track", "eufs_msgs/msg/ConeArrayWithCovariance", latched=True)
ODOMETRY = Topic("/ground_truth/odom", "nav_msgs/msg/Odometry")
TF = Topic("/tf", "tf2_msgs/msg/TFMessage")
TF_STATIC = Topic("/tf_static", "tf2_msgs/msg/TFMessage", latched=True)
IMU = Topic("/imu/data", "sensor_msgs/msg/Imu", reliable=False)
CAMERA_INFO = Topic("/camera/camera_info", "sensor_msgs/msg/CameraInfo")
LIDAR = Topic("/velodyne_points", "sensor_msgs/msg/PointCloud2", reliable=False)
CAMERA_POINTS = Topic("/camera/points", "sensor_msgs/msg/PointCloud2")

DELAYS_MS = {
    CONES: (0.9, 3.4),
    TRACK: (1.5, 2.5),
    ODOMETRY: (0.2, 1.3),
    TF: (0.25, 1.5),
    TF_STATIC: (0.5, 1.0),
    IMU: (0.08, 0.6),
    CAMERA_INFO: (0.4, 2.8),
    LIDAR: (2.1, 6.0),
    CAMERA_POINTS: (9.0, 18.0),
}
CAMERA_POINTS_EVERY = 3


def _generator(purpose: str) -> np.random.Generator:
    """A generator of its own for each purpose: adding a topic does not change another."""
    return np.random.Generator(np.random.Philox(key=[SEED, zlib.crc32(purpose.encode())]))


def _stamps(purpose: str, rate_hz: float, duration_ns: int) -> Times:
    """Stamps near multiples of the period, but on none: jittered to odd nanoseconds."""
    period_ns = round(1e9 / rate_hz)
    count = duration_ns // period_ns
    jitter = _generator(f"{purpose} stamps").integers(-JITTER_NS, JITTER_NS, count)
    return START_NS + (np.arange(count) + 1) * period_ns + jitter


def _records(topic: Topic, stamp_ns: Times, write: Callable[[int], bytes]) -> Iterator[Record]:
    """One message for each stamp, logged after its transport delay; ``write`` takes the row."""
    low, high = (round(delay * 1e6) for delay in DELAYS_MS[topic])
    generator = _generator(f"{topic.name} delays")
    delays = generator.integers(low, high, len(stamp_ns))
    sending = generator.integers(low // 3, low, len(stamp_ns))
    for row, stamp in enumerate(stamp_ns.tolist()):
        yield Record(topic, stamp + int(delays[row]), stamp + int(sending[row]), write(row))


def _latched(begin_ns: int, topics: dict[Topic, bytes]) -> Iterator[Record]:
    """What the recorder gets at once, when it begins."""
    for topic, data in topics.items():
        log_ns = begin_ns + round(DELAYS_MS[topic][0] * 1e6) + 1
        yield Record(topic, log_ns, min(log_ns, START_NS + 1), data)


def _imu(drive: Drive, duration_ns: int) -> Iterator[Record]:
    stamp_ns = _stamps(IMU.name, 200, duration_ns)
    motion = drive.at(stamp_ns, START_NS)
    yaw, gyro, force = _imu_samples(motion)
    return _records(IMU, stamp_ns, lambda i: ros.imu(int(stamp_ns[i]), yaw[i], gyro[i], force[i]))


def _imu_samples(motion: Motion) -> tuple[Array, Array, Array]:
    """Quaternion parts z, w; turn rates; specific forces: noisy, on the converters' grids."""
    count = len(motion.speed_mps)
    noise = _generator("imu noise").standard_normal((count, 7))
    zero = np.zeros(count)
    gyro = np.stack([zero, zero, motion.yaw_rate_radps], axis=1)
    gravity = np.full(count, ros.GRAVITY_MPS2)
    force = np.stack([motion.drive_mps2, motion.lateral_mps2, gravity], axis=1)
    yaw = motion.heading_rad + ros.ORIENTATION_NOISE_RAD * noise[:, 0]
    return (
        np.stack(unit_circle(quantise(yaw, ros.GYRO_BITS) / 2), axis=1),
        quantise(gyro + ros.GYRO_NOISE_RADPS * noise[:, 1:4], ros.GYRO_BITS),
        quantise(force + ros.ACCELERATION_NOISE_MPS2 * noise[:, 4:], ros.ACCELERATION_BITS),
    )


def _lap(drive: Drive, course: Cones, odometry: Motion) -> list[Record]:
    """Everything in ``lap.mcap``."""
    duration_ns = drive.duration_ns
    stamp_ns = odometry.poses.stamp_ns
    cone_stamps = stamp_ns[1::2]
    views = sensors.seen_cones(odometry.poses.at(cone_stamps), course)
    camera = _stamps(CAMERA_INFO.name, 15, duration_ns)
    latched = {TRACK: ros.track(START_NS, course), TF_STATIC: ros.static_transforms(START_NS)}
    return [
        *_latched(START_NS, latched),
        *_records(
            CONES, cone_stamps, lambda i: ros.cones(int(cone_stamps[i]), sensors.CAR, views[i])
        ),
        *_records(ODOMETRY, stamp_ns, lambda i: ros.odometry(odometry, i)),
        *_records(TF, stamp_ns, lambda i: ros.car_transform(odometry, i)),
        *_records(CAMERA_INFO, camera, lambda i: ros.camera_info(int(camera[i]))),
        *_imu(drive, duration_ns),
    ]


def _scan(drive: Drive, course: Cones, odometry: Motion, lap: list[Record]) -> list[Record]:
    """Everything in ``scan/``: that second of the lap, and what lidar and camera see in it."""
    begin_ns = START_NS + round(SCAN_BEGINS_S * 1e9)
    end_ns = begin_ns + round(SCAN_LASTS_S * 1e9)

    def within(stamp_ns: Times) -> Times:
        """Those whose poses, also those of a scan's first ray, odometry of this bag encloses."""
        return stamp_ns[
            (stamp_ns > begin_ns + SCAN_MARGIN_NS) & (stamp_ns < end_ns - LAST_MARGIN_NS)
        ]

    scans = within(_stamps(LIDAR.name, 10, drive.duration_ns))
    images = within(_stamps(CAMERA_INFO.name, 15, drive.duration_ns))[::CAMERA_POINTS_EVERY]
    poses = odometry.poses

    def scan(row: int) -> bytes:
        stamp = int(scans[row])
        return ros.cloud(stamp, sensors.LIDAR, sensors.lidar_scan(stamp, poses, course))

    def image(row: int) -> bytes:
        stamp = int(images[row])
        return ros.cloud(stamp, sensors.OPTICAL, sensors.camera_scan(stamp, poses, course))

    shared = {CONES, ODOMETRY, TF, CAMERA_INFO}
    return [
        *(r for r in lap if r.topic in shared and begin_ns <= r.log_ns < end_ns),
        *_latched(begin_ns, {TF_STATIC: ros.static_transforms(START_NS)}),
        *_records(LIDAR, scans, scan),
        *_records(CAMERA_POINTS, images, image),
    ]


def make(folder: Path) -> None:
    """Write both bags into ``folder``."""
    line = centre_line()
    course = course_cones(line)
    drive = drive_a_lap(line)
    odometry = drive.at(_stamps(ODOMETRY.name, 100, drive.duration_ns), START_NS)
    folder.mkdir(parents=True, exist_ok=True)
    lap = _lap(drive, course, odometry)
    write_mcap(folder / "lap.mcap", lap)
    write_rosbag2(folder / "scan", _scan(drive, course, odometry, lap))


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
