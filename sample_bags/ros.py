"""ROS messages as bytes: the types, and one function for each message that the bags hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import sensors
from circuit import COLORS, Cones
from exact import Array, Transform
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

if TYPE_CHECKING:
    from drive import Motion

EUFS_TEXTS = {
    "eufs_msgs/msg/ConeWithCovariance": (
        "geometry_msgs/Point point\nfloat64[4] covariance  # row-major 2x2: xx, xy, yx, yy\n"
    ),
    "eufs_msgs/msg/ConeArrayWithCovariance": (
        "std_msgs/Header header\n"
        "eufs_msgs/ConeWithCovariance[] blue_cones\n"
        "eufs_msgs/ConeWithCovariance[] yellow_cones\n"
        "eufs_msgs/ConeWithCovariance[] orange_cones\n"
        "eufs_msgs/ConeWithCovariance[] big_orange_cones\n"
        "eufs_msgs/ConeWithCovariance[] unknown_color_cones\n"
    ),
}
GRAVITY_MPS2 = 9.80665
ORIENTATION_NOISE_RAD = 0.002
GYRO_NOISE_RADPS = 0.003
ACCELERATION_NOISE_MPS2 = 0.06
GYRO_BITS, ACCELERATION_BITS = 13, 10
"""Steps of the IMU's converters: 2**-13 rad/s and 2**-10 m/s^2."""

store = get_typestore(Stores.ROS2_HUMBLE)
for _name, _text in EUFS_TEXTS.items():
    store.register(get_types_from_msg(_text, _name))


def definition(type_name: str) -> str:
    """The text of a type and of all types that it is made of, as rosbag2 records it."""
    text, _ = store.generate_msgdef(type_name, ros_version=2)
    return text.strip("\n") + "\n"


def type_hash(type_name: str) -> str:
    """The type's RIHS01 hash."""
    return store.hash_rihs01(type_name)


def _make(type_name: str, *values: Any) -> Any:
    return store.types[type_name](*values)


def _wire(message: Any) -> bytes:
    return bytes(store.serialize_cdr(message, message.__msgtype__))


def _stamp(stamp_ns: int) -> Any:
    return _make("builtin_interfaces/msg/Time", *divmod(stamp_ns, 1_000_000_000))


def _header(stamp_ns: int, frame: str) -> Any:
    return _make("std_msgs/msg/Header", _stamp(stamp_ns), frame)


def _point(x: float, y: float, z: float = 0.0) -> Any:
    return _make("geometry_msgs/msg/Point", x, y, z)


def _vector(x: float, y: float, z: float) -> Any:
    return _make("geometry_msgs/msg/Vector3", x, y, z)


def _quaternion(x: float, y: float, z: float, w: float) -> Any:
    return _make("geometry_msgs/msg/Quaternion", x, y, z, w)


def _cone(xy_m: Array) -> Any:
    x, y = xy_m.tolist()
    return _make("eufs_msgs/msg/ConeWithCovariance", _point(x, y), np.zeros(4))


def cones(stamp_ns: int, frame: str, by_color: dict[str, Array]) -> bytes:
    """Cones by color; EUFS sends ground truth with zero covariance."""
    arrays = [
        [_cone(xy) for xy in by_color.get(color, np.zeros((0, 2)))]
        for color in (*COLORS, "unknown_color")
    ]
    header = _header(stamp_ns, frame)
    return _wire(_make("eufs_msgs/msg/ConeArrayWithCovariance", header, *arrays))


def track(stamp_ns: int, course: Cones) -> bytes:
    """All cones of the course in the map."""
    return cones(stamp_ns, sensors.MAP, {color: course.of(color) for color in COLORS})


def odometry(motion: Motion, row: int) -> bytes:
    """True pose of the car in the map and its velocity in its own frame."""
    (x, y), qz, qw = motion.poses.xy_m[row].tolist(), motion.poses.qz[row], motion.poses.qw[row]
    pose = _make("geometry_msgs/msg/Pose", _point(x, y), _quaternion(0.0, 0.0, qz, qw))
    twist = _make(
        "geometry_msgs/msg/Twist",
        _vector(motion.speed_mps[row], 0.0, 0.0),
        _vector(0.0, 0.0, motion.yaw_rate_radps[row]),
    )
    message = _make(
        "nav_msgs/msg/Odometry",
        _header(int(motion.poses.stamp_ns[row]), sensors.MAP),
        sensors.CAR,
        _make("geometry_msgs/msg/PoseWithCovariance", pose, np.zeros(36)),
        _make("geometry_msgs/msg/TwistWithCovariance", twist, np.zeros(36)),
    )
    return _wire(message)


def _transform(stamp_ns: int, parent: str, child: str, transform: Transform) -> Any:
    return _make(
        "geometry_msgs/msg/TransformStamped",
        _header(stamp_ns, parent),
        child,
        _make(
            "geometry_msgs/msg/Transform",
            _vector(*transform.translation_m),
            _quaternion(*transform.quaternion),
        ),
    )


def car_transform(motion: Motion, row: int) -> bytes:
    """Where the car is, as a transform."""
    poses = motion.poses
    x, y = poses.xy_m[row].tolist()
    quaternion = (0.0, 0.0, float(poses.qz[row]), float(poses.qw[row]))
    transform = Transform((x, y, 0.0), quaternion)
    stamped = _transform(int(poses.stamp_ns[row]), sensors.ODOM, sensors.CAR, transform)
    return _wire(_make("tf2_msgs/msg/TFMessage", [stamped]))


def static_transforms(stamp_ns: int) -> bytes:
    """Where the sensors sit on the car."""
    stamped = [_transform(stamp_ns, *frames) for frames in sensors.STATIC_FRAMES]
    return _wire(_make("tf2_msgs/msg/TFMessage", stamped))


def imu(stamp_ns: int, quaternion_zw: Array, gyro: Array, acceleration: Array) -> bytes:
    """An IMU sample: yaw, turn rates in rad/s and specific force in m/s^2."""
    qz, qw = quaternion_zw.tolist()
    variances = (ORIENTATION_NOISE_RAD**2, GYRO_NOISE_RADPS**2, ACCELERATION_NOISE_MPS2**2)
    of_orientation, of_gyro, of_acceleration = (np.diag([v] * 3).reshape(9) for v in variances)
    message = _make(
        "sensor_msgs/msg/Imu",
        _header(stamp_ns, sensors.IMU),
        _quaternion(0.0, 0.0, qz, qw),
        of_orientation,
        _vector(*gyro.tolist()),
        of_gyro,
        _vector(*acceleration.tolist()),
        of_acceleration,
    )
    return _wire(message)


def camera_info(stamp_ns: int) -> bytes:
    """The pinhole camera without distortion."""
    width, height = sensors.IMAGE_SIZE_PX
    focal, (cx, cy) = sensors.FOCAL_PX, sensors.CENTRE_PX
    message = _make(
        "sensor_msgs/msg/CameraInfo",
        _header(stamp_ns, sensors.OPTICAL),
        height,
        width,
        "plumb_bob",
        np.zeros(5),
        np.array([focal, 0, cx, 0, focal, cy, 0, 0, 1.0]),
        np.eye(3).reshape(9),
        np.array([focal, 0, cx, 0, 0, focal, cy, 0, 0, 0, 1.0, 0]),
        0,
        0,
        _make("sensor_msgs/msg/RegionOfInterest", 0, 0, 0, 0, False),
    )
    return _wire(message)


POINT_FIELD_CODES = {"<u2": 4, "<f4": 7}


def cloud(stamp_ns: int, frame: str, points: npt.NDArray[np.void]) -> bytes:
    """A PointCloud2 of a structured array (height, width), fields at the offsets of its dtype."""
    fields = [
        _make("sensor_msgs/msg/PointField", name, offset, POINT_FIELD_CODES[kind.str], 1)
        for name, (kind, offset, *_) in (points.dtype.fields or {}).items()
    ]
    height, width = points.shape
    step = points.dtype.itemsize
    message = _make(
        "sensor_msgs/msg/PointCloud2",
        _header(stamp_ns, frame),
        height,
        width,
        fields,
        False,
        step,
        step * width,
        np.frombuffer(points.tobytes(), dtype=np.uint8),
        not np.isnan(points["x"]).any(),
    )
    return _wire(message)
