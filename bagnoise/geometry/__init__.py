"""Where things are: rigid transforms, poses over time, pinhole cameras."""

from bagnoise.geometry.camera_info import camera_from_info
from bagnoise.geometry.pinhole import Distortion, PinholeCamera
from bagnoise.geometry.track import Track
from bagnoise.geometry.transforms import (
    BODY_FROM_OPTICAL,
    apply,
    inverse,
    matrix_from_quaternion,
    matrix_from_rpy_deg,
    motion_between,
    quaternion_from_matrix,
    rotation_angle_deg,
    rpy_deg_from_matrix,
    transform,
)

__all__ = [
    "BODY_FROM_OPTICAL",
    "Distortion",
    "PinholeCamera",
    "Track",
    "apply",
    "camera_from_info",
    "inverse",
    "matrix_from_quaternion",
    "matrix_from_rpy_deg",
    "motion_between",
    "quaternion_from_matrix",
    "rotation_angle_deg",
    "rpy_deg_from_matrix",
    "transform",
]
