"""The sensors: where they sit on the car, what they see of cones, and the clouds they make."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import world
from circuit import COLORS, Cones
from exact import Array, Poses, Times, Transform, pitched, unit_circle

MAP, ODOM, CAR = "map", "odom", "base_footprint"
LIDAR, IMU, CAMERA, OPTICAL = "velodyne", "imu_link", "camera_link", "camera_optical_frame"
LIDAR_ON_CAR = Transform((1.55, 0.0, 0.5), (0.0, 0.0, 0.0, 1.0))
IMU_ON_CAR = Transform((0.0, 0.0, 0.25), (0.0, 0.0, 0.0, 1.0))
CAMERA_ON_CAR = pitched((-0.35, 0.0, 1.05), np.deg2rad(8.0))
OPTICAL_ON_CAMERA = Transform((0.0, 0.06, 0.0), (-0.5, 0.5, -0.5, 0.5))
STATIC_FRAMES = (
    (MAP, ODOM, Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))),
    (CAR, LIDAR, LIDAR_ON_CAR),
    (CAR, IMU, IMU_ON_CAR),
    (CAR, CAMERA, CAMERA_ON_CAR),
    (CAMERA, OPTICAL, OPTICAL_ON_CAMERA),
)

# EUFS decides in the car's frame which sensor sees a cone.
CAMERA_VIEW_M = (1.0, 15.0)
CAMERA_VIEW_TAN_HALF = 1.4281480067421144  # 110 degrees in all
LIDAR_VIEW_NEAR_M = 1.0
LIDAR_VIEW_BOX_M = 20.0

RINGS = 16
COLUMNS = 452
LASER_NS = 2_304
COLUMN_NS = 2 * 55_296
TURN_RAD_PER_NS = 2 * np.pi * 10 / 1e9
LIDAR_REACH_M = (0.9, 60.0)
LIDAR_POINT = np.dtype(
    {
        "names": ["x", "y", "z", "intensity", "ring", "time"],
        "formats": ["<f4", "<f4", "<f4", "<f4", "<u2", "<f4"],
        "offsets": [0, 4, 8, 12, 16, 18],
        "itemsize": 22,
    }
)

IMAGE_SIZE_PX = (1280, 720)
FOCAL_PX = 448.0
CENTRE_PX = (639.5, 359.5)
PIXEL_STEP = 16
CAMERA_REACH_M = (0.5, 20.0)
CAMERA_POINT = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<f4")])

Cloud = npt.NDArray[np.void]


def seen_cones(poses: Poses, cones: Cones) -> list[dict[str, Array]]:
    """For each pose, positions (k, 2) in the car's frame by color, as EUFS sends them.

    A cone in the camera's view keeps its color, one that only the lidar sees goes to
    ``unknown_color``, the others are absent.
    """
    positions = poses.to_car(cones.xy_m)
    x, y = positions[..., 0], positions[..., 1]
    square = x * x + y * y
    near, far = CAMERA_VIEW_M
    in_camera = (square >= near**2) & (square <= far**2) & (np.abs(y) <= CAMERA_VIEW_TAN_HALF * x)
    in_box = (x > 0) & (x <= LIDAR_VIEW_BOX_M) & (np.abs(y) <= LIDAR_VIEW_BOX_M)
    lidar_only = in_box & (square >= LIDAR_VIEW_NEAR_M**2) & ~in_camera
    views = []
    for place, camera, lidar in zip(positions, in_camera, lidar_only, strict=True):
        view = {name: place[camera & (cones.color == i)] for i, name in enumerate(COLORS)}
        views.append({**view, "unknown_color": place[lidar]})
    return views


def _lidar_pattern() -> tuple[Times, Array]:
    """Firing times (columns, rings), <= 0 and 0 for the last, and directions (..., 3).

    The turning head goes clockwise from left to right. The rings ascend, while the lasers fire in
    the VLP-16's order -15, 1, -13, 3, ... degrees.
    """
    ring = np.arange(RINGS)
    order = np.where(ring < RINGS // 2, 2 * ring, 2 * (ring - RINGS // 2) + 1)
    since = np.arange(COLUMNS)[:, None] * COLUMN_NS + order[None, :] * LASER_NS
    sin_azimuth, cos_azimuth = unit_circle(np.pi / 2 - since * TURN_RAD_PER_NS)
    sin_elevation, cos_elevation = unit_circle(np.deg2rad(2.0 * ring - 15.0))
    up = np.broadcast_to(sin_elevation, since.shape)
    directions = np.stack([cos_azimuth * cos_elevation, sin_azimuth * cos_elevation, up], axis=-1)
    return since - since.max(), directions


def lidar_scan(stamp_ns: int, poses: Poses, cones: Cones) -> Cloud:
    """One turn's front half, organised (firings, rings), NaN where nothing comes back.

    Each ray leaves from where the moving car is at that laser's firing; its point is in the frame
    that the lidar has at that instant, as a driver sends it. ``stamp_ns`` is the last firing.
    """
    offset_ns, directions = _lidar_pattern()
    rays = LIDAR_ON_CAR.rotate(directions.reshape(-1, 3))
    places = poses.at(stamp_ns + offset_ns.reshape(-1))
    origins = places.to_map(np.broadcast_to(np.array(LIDAR_ON_CAR.translation_m), rays.shape))
    hits = world.cast(origins, places.turn(rays), cones, LIDAR_REACH_M[1])
    returned = (hits.distance >= LIDAR_REACH_M[0]) & (hits.distance <= LIDAR_REACH_M[1])
    distance = np.where(returned, hits.distance, np.nan)
    cloud = np.zeros(offset_ns.shape, LIDAR_POINT)
    points = directions * distance.reshape(offset_ns.shape)[..., None]
    for axis, name in enumerate("xyz"):
        cloud[name] = points[..., axis]
    intensity = np.where(returned, world.reflectivity(hits), np.nan)
    cloud["intensity"] = intensity.reshape(offset_ns.shape)
    cloud["ring"] = np.arange(RINGS)
    cloud["time"] = offset_ns / 1e9
    return cloud


def camera_scan(stamp_ns: int, poses: Poses, cones: Cones) -> Cloud:
    """A depth camera's colored cloud (rows, columns) in its optical frame, NaN where no depth is.

    Its point (row, column) lies on the camera's ray through the middle of that block of
    ``PIXEL_STEP`` x ``PIXEL_STEP`` pixels of the image that CameraInfo describes.
    """
    columns, rows = (
        np.arange(0, size, PIXEL_STEP) + (PIXEL_STEP - 1) / 2 for size in IMAGE_SIZE_PX
    )
    right, down = np.meshgrid((columns - CENTRE_PX[0]) / FOCAL_PX, (rows - CENTRE_PX[1]) / FOCAL_PX)
    rays = np.stack([right, down, np.ones_like(right)], axis=-1).reshape(-1, 3)
    on_car = CAMERA_ON_CAR.rotate(OPTICAL_ON_CAMERA.rotate(rays))
    eye = CAMERA_ON_CAR.apply(np.array(OPTICAL_ON_CAMERA.translation_m))
    place = poses.at(np.full(len(rays), stamp_ns))
    origins = place.to_map(np.broadcast_to(eye, rays.shape))
    hits = world.cast(origins, place.turn(on_car), cones, 1.5 * CAMERA_REACH_M[1])
    in_reach = (hits.distance >= CAMERA_REACH_M[0]) & (hits.distance <= CAMERA_REACH_M[1])
    points = rays * np.where(in_reach, hits.distance, np.nan)[:, None]
    cloud = np.zeros(right.shape, CAMERA_POINT)
    for axis, name in enumerate("xyz"):
        cloud[name] = points[:, axis].reshape(right.shape)
    cloud["rgb"] = world.shaded_rgb(hits).view(np.float32).reshape(right.shape)
    return cloud
