"""Range of a beam from the points around it: on a plane 1/z is affine in the image plane.

n . x = d gives 1/z = (n_x + n_y u + n_z v) / d, so a least-squares fit of 1/z is exact on planes,
whatever the plane's tilt. Across a depth edge it would make phantom points between foreground and
background; two gates prevent that: on the depth of the points that take part, and on how well one
plane fits them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.visible import Neighbours

LARGEST_STEP: Final = 0.3  # relative depth from the nearest point
LARGEST_MISFIT: Final = 0.01  # relative depth, root mean square
_FEWEST_POINTS: Final = 3
_PROVEN: Final = 4
_SMALL_STEP: Final = 0.1
_SMALLEST_DETERMINANT: Final = 1e-4


def beam_depths(
    around: Neighbours,
    inverse_depth: NDArray[np.float32],
    pitch: float,
    inner: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Return the depth along the camera's axis where each beam meets the plane around it, (b,).

    Args:
        around: the visible points of b beams, each with at least one.
        inverse_depth: (k, b), 1 / metres, of those points.
        pitch: pixel size in focal lengths.
        inner: (k,) the closer points, tried alone where no plane fits all of them: a car's roof
            is narrower than the window.

    Returns:
        (b,) metres; the nearest point's depth where the points form no plane.
    """
    reference = around.pick(inverse_depth)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        relative = inverse_depth / reference - 1
        # a depth within the step: z0/z is between 1/(1 + step) and 1/(1 - step)
        usable = around.present & (relative >= -LARGEST_STEP / (1 + LARGEST_STEP))
        usable &= relative <= LARGEST_STEP / (1 - LARGEST_STEP)
        value, fits = _plane(around.du, around.dv, relative, usable, pitch)
        again = np.flatnonzero(~fits)
        part = np.ix_(inner, again)
        value[again], fits[again] = _plane(
            around.du[part], around.dv[part], relative[part], usable[part], pitch
        )
        depth = 1 / (reference * (1 + np.where(fits, value, np.float32(0))))
    out: NDArray[np.float32] = depth.astype(np.float32)
    return out


def _plane(
    du: NDArray[np.float32],
    dv: NDArray[np.float32],
    relative: NDArray[np.float32],
    usable: NDArray[np.bool_],
    pitch: float,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the plane's relative inverse depth at each beam, (b,), and where there is one."""
    q = np.where(usable, relative, np.float32(0))
    value, fits = _intercept(du, dv, q, usable, np.float32(1 / pitch))
    lowest = np.where(usable, relative, np.float32(np.inf)).min(axis=0, initial=np.inf)
    highest = np.where(usable, relative, np.float32(-np.inf)).max(axis=0, initial=-np.inf)
    # three points fit a plane always; they count if they are of one depth, more or less
    fits &= (usable.sum(axis=0) >= _PROVEN) | (highest - lowest <= _SMALL_STEP)
    # a beam may be outside the points, but not by more than half their span
    slack = (highest - lowest) / 2
    return np.clip(value, lowest - slack, highest + slack), fits


def _intercept(
    du: NDArray[np.float32],
    dv: NDArray[np.float32],
    q: NDArray[np.float32],
    usable: NDArray[np.bool_],
    scale: np.float32,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Fit q = a + b du + c dv by least squares; return a, and whether one plane explains q."""
    weight = usable.astype(np.float32)
    du = du * scale * weight  # in pixels, so that the sums are of one size
    dv = dv * scale * weight
    count = weight.sum(axis=0)
    u, v = du.sum(axis=0), dv.sum(axis=0)
    uu, uv, vv = (du * du).sum(axis=0), (du * dv).sum(axis=0), (dv * dv).sum(axis=0)
    q0, qu, qv = q.sum(axis=0), (q * du).sum(axis=0), (q * dv).sum(axis=0)
    c00 = uu * vv - uv * uv
    c01 = uv * v - u * vv
    c02 = u * uv - uu * v
    determinant = count * c00 + u * c01 + v * c02
    a = (c00 * q0 + c01 * qu + c02 * qv) / determinant
    c11 = count * vv - v * v
    c12 = u * v - count * uv
    c22 = count * uu - u * u
    b = (c01 * q0 + c11 * qu + c12 * qv) / determinant
    c = (c02 * q0 + c12 * qu + c22 * qv) / determinant
    misfit = (q * q).sum(axis=0) - a * q0 - b * qu - c * qv
    fits = (count >= _FEWEST_POINTS) & (determinant > _SMALLEST_DETERMINANT * count**3)
    fits &= misfit <= count * np.float32(LARGEST_MISFIT**2)
    return a, fits
