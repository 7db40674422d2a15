"""A camera from the numbers of a sensor_msgs/CameraInfo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.geometry.pinhole import Distortion, Model, PinholeCamera

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MODELS: Final = {
    "": "plumb_bob",
    "plumb_bob": "plumb_bob",
    "rational_polynomial": "rational_polynomial",
    "equidistant": "equidistant",
    "fisheye": "equidistant",
}
_MOST: Final = {"plumb_bob": 5, "rational_polynomial": 8, "equidistant": 4}


def camera_from_info(info: Any, *, rectified: bool) -> PinholeCamera:
    """Make the camera that an image has.

    Args:
        info: anything with the members of sensor_msgs/msg/CameraInfo (ROS 1 capitals, too): width,
            height, k, d, r, p, distortion_model, binning_x, binning_y, roi.
        rectified: the image is rectified: P counts, without distortion; else K and D.

    Raises:
        MessageError: uncalibrated, an unknown distortion model, or an image without pixels.
    """
    k = _matrix(info, "k", (3, 3))
    p = _matrix(info, "p", (3, 4))
    left, top, right, bottom = _borders(info)
    binning = _binning(info)
    if rectified and p[0, 0] > 0 and p[1, 1] > 0:
        r = _matrix(info, "r", (3, 3))
        return PinholeCamera(
            *(p[0, 0], p[1, 1], p[0, 2], p[1, 2], left, top, right, bottom),
            binning=binning,
            rotation=r if r.any() else np.eye(3),
            shift=(float(p[0, 3]), float(p[1, 3])),
        )
    if not (k[0, 0] > 0 and k[1, 1] > 0):
        msg = (
            f"CameraInfo is uncalibrated: K has focal lengths {k[0, 0]:g} and {k[1, 1]:g}, P"
            f" {p[0, 0]:g} and {p[1, 1]:g}; they must be above 0"
        )
        raise MessageError(msg)
    lens = Distortion() if rectified else _distortion(info)
    return PinholeCamera(
        *(k[0, 0], k[1, 1], k[0, 2], k[1, 2], left, top, right, bottom),
        binning=binning,
        distortion=lens,
    )


def _member(info: Any, name: str) -> Any:
    return getattr(info, name, getattr(info, name.upper(), None))


def _matrix(info: Any, name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    values: ArrayLike = _member(info, name)
    flat = np.asarray(values if values is not None else [], np.float64).ravel()
    if flat.size not in (0, shape[0] * shape[1]) or not np.isfinite(flat).all():
        msg = f"CameraInfo's {name.upper()} is {flat.tolist()}; {shape[0]} x {shape[1]} finite"
        msg += " numbers are needed"
        raise MessageError(msg)
    return flat.reshape(shape) if flat.size else np.zeros(shape)


def _distortion(info: Any) -> Distortion:
    raw = _member(info, "d")
    coefficients = tuple(float(value) for value in (raw if raw is not None else ()))
    if not any(coefficients):
        return Distortion()
    name = str(info.distortion_model)
    model = _MODELS.get(name)
    if model is None:
        known = ", ".join(filter(None, _MODELS))
        msg = f"CameraInfo has distortion model {name!r}; known are: {known}"
        raise MessageError(msg)
    if any(coefficients[_MOST[model] :]):
        msg = f"CameraInfo's D has {len(coefficients)} coefficients, {model} uses {_MOST[model]}"
        raise MessageError(msg)
    return Distortion(cast("Model", model), coefficients[: _MOST[model]])


def _binning(info: Any) -> tuple[int, int]:
    return max(1, int(info.binning_x)), max(1, int(info.binning_y))


def _borders(info: Any) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom of the image on the whole sensor.

    A region of interest of size 0 means all of it; binning leaves incomplete groups out.
    """
    roi = info.roi
    width = int(roi.width) or int(info.width)
    height = int(roi.height) or int(info.height)
    across, down = _binning(info)
    width, height = width // across * across, height // down * down
    if width < 1 or height < 1:
        msg = f"CameraInfo describes an image of {width} x {height} pixels"
        raise MessageError(msg)
    x, y = float(roi.x_offset), float(roi.y_offset)
    return x - 0.5, y - 0.5, x + width - 0.5, y + height - 0.5
