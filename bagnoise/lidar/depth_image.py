"""Positions from a depth image: the camera itself as a source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRES_PER_UNIT: Final = {"16UC1": 0.001, "mono16": 0.001, "32FC1": 1.0}


def positions(depth: NDArray[Any], rays: NDArray[np.float64], encoding: str) -> NDArray[np.float32]:
    """Return the points that the pixels see, (rows * columns, 3) float32, in the optical frame.

    Args:
        depth: (rows, columns), along the axis; 0, negative and NaN mean no return.
        rays: (rows, columns, 3) of depth 1, see `PinholeCamera.pixel_rays`.
        encoding: 16UC1 or mono16 (millimetres), or 32FC1 (metres).

    Raises:
        MessageError: another encoding, or an image of another size than the camera's.
    """
    scale = METRES_PER_UNIT.get(encoding)
    if scale is None:
        known = ", ".join(METRES_PER_UNIT)
        msg = f"depth image has encoding {encoding!r}; known are {known}"
        raise MessageError(msg)
    if depth.shape != rays.shape[:2]:
        msg = (
            f"depth image has {depth.shape[1]} x {depth.shape[0]} pixels, its CameraInfo"
            f" {rays.shape[1]} x {rays.shape[0]}"
        )
        raise MessageError(msg)
    metres = depth.astype(np.float64) * scale
    with np.errstate(invalid="ignore"):
        metres = np.where((metres > 0) & np.isfinite(metres), metres, np.nan)
    out: NDArray[np.float32] = (rays * metres[..., None]).reshape(-1, 3).astype(np.float32)
    return out
