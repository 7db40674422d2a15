"""A lidar that is not where its calibration says: constant, or drifting slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, inverse, matrix_from_rpy_deg, transform
from bagnoise.lidar.noise import Moved, is_return

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

_REACH: Final = 2  # knots on either side that shape the present value


def misaligned(
    xyz: NDArray[Any],
    frame_from_sensor: NDArray[np.float64],
    error_xyz_m: ArrayLike,
    error_rpy_deg: ArrayLike,
) -> Moved:
    """Return a cloud as it looks when the sensor's mount is off by an error, in its own axes.

    Args:
        xyz: (n, 3) in the cloud's frame; misses keep their bits.
        frame_from_sensor: (4, 4), the mount that everybody believes in; the identity where the
            cloud is in the sensor's frame.
        error_xyz_m: (3,) where the sensor really is, in its believed frame.
        error_rpy_deg: (3,) how it is really turned.

    Returns:
        positions as the displaced sensor measures them and the believed mount reports them.
    """
    believed_from_real = transform(matrix_from_rpy_deg(error_rpy_deg), error_xyz_m)
    change = frame_from_sensor @ inverse(believed_from_real) @ inverse(frame_from_sensor)
    hit = is_return(xyz)
    if np.array_equal(believed_from_real, np.eye(4)):
        return Moved(xyz, np.zeros(len(xyz), np.bool_))
    out = xyz.copy()
    out[hit] = apply(change, xyz[hit])
    return Moved(out, hit)


def drift(
    t_ns: int, knot_ns: int, knot: Callable[[int], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return a slow random process at a time: N(0, 1) at every instant, in each component.

    Knots are independent normals, `knot_ns` apart on an absolute grid; the present value is their
    weighted sum over the root of the sum of squared weights. Plain interpolation would fall to
    0.71 sigma between knots.

    Args:
        t_ns: absolute time.
        knot_ns: between knots; values this far apart are hardly related.
        knot: the normals, (d,), of a knot's number; keyed, so that order does not matter.

    Raises:
        UsageError: knots that are not apart.
    """
    if knot_ns < 1:
        msg = f"drift over {knot_ns} ns; the time must be above 0"
        raise UsageError(msg)
    before, rest_ns = divmod(t_ns, knot_ns)
    share = rest_ns / knot_ns
    numbers = range(before - _REACH + 1, before + _REACH + 1)
    distances = np.array([number - before for number in numbers]) - share
    weights = np.cos(np.pi / 2 * distances / _REACH) ** 2
    values = np.stack([np.asarray(knot(number), np.float64) for number in numbers])
    mixed: NDArray[np.float64] = weights @ values / np.sqrt((weights**2).sum())
    return mixed
