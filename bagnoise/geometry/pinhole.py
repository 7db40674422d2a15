"""Pinhole cameras: which points they see, and the rays of their pixels.

Camera frames are optical: x to the right, y down, z forward. Whole pixel coordinates are pixel
centres, so that an image of w columns reaches from -0.5 to w - 0.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Model = Literal["none", "plumb_bob", "rational_polynomial", "equidistant"]
_ROUNDS: Final = 30
_WIDEST: Final = 20.0  # tangent of 87 deg from the axis
_STEPS: Final = 8192


@dataclass(frozen=True)
class Distortion:
    """A lens, by OpenCV's formulas.

    Attributes:
        model: plumb_bob (k1 k2 p1 p2 k3), rational_polynomial (… k4 k5 k6), equidistant (k1 … k4).
        coefficients: missing ones are 0.
    """

    model: Model = "none"
    coefficients: tuple[float, ...] = ()

    def distort(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Move points of the ideal image plane, (n,) each, to where the lens puts them.

        Beyond the radius where the polynomial turns back they are NaN: it would fold what is far
        outside the image into it.
        """
        if self.model == "none":
            return x, y
        r = np.hypot(x, y)
        scale = np.where(r <= self.largest_radius(), self._scale(r), np.nan)
        if self.model == "equidistant":
            return x * scale, y * scale
        dx, dy = self._tangential(x, y)
        return x * scale + dx, y * scale + dy

    def undistort(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Invert `distort` by fixed-point iteration; NaN where it finds no inverse."""
        if self.model == "none":
            return x, y
        ideal_x, ideal_y = x.copy(), y.copy()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for _ in range(_ROUNDS):
                scale = self._scale(np.hypot(ideal_x, ideal_y))
                dx, dy = (0.0, 0.0)
                if self.model != "equidistant":
                    dx, dy = self._tangential(ideal_x, ideal_y)  # type: ignore[assignment]
                ideal_x, ideal_y = (x - dx) / scale, (y - dy) / scale
            again_x, again_y = self.distort(ideal_x, ideal_y)
            lost = ~(np.hypot(again_x - x, again_y - y) < 1e-6)  # noqa: PLR2004
        return np.where(lost, np.nan, ideal_x), np.where(lost, np.nan, ideal_y)

    def largest_radius(self) -> float:
        """Return the radius up to which a farther point is farther in the image."""
        r = np.linspace(0, _WIDEST, _STEPS)
        falling = np.flatnonzero(np.diff(r * self._scale(r)) <= 0)
        return float(r[falling[0]]) if len(falling) else math.inf

    def _padded(self, count: int) -> list[float]:
        return [*self.coefficients, *[0.0] * count][:count]

    def _scale(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the lens stretches a radius."""
        if self.model == "equidistant":
            k1, k2, k3, k4 = self._padded(4)
            t = np.arctan(r)
            t2 = t * t
            turned = t * (1 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4))))
            return np.where(r > 0, turned / np.where(r > 0, r, 1), 1.0)
        k1, k2, _, _, k3, k4, k5, k6 = self._padded(8)
        r2 = r * r
        above = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        if self.model == "plumb_bob":
            return np.asarray(above)
        return np.asarray(above / (1 + r2 * (k4 + r2 * (k5 + r2 * k6))))

    def _tangential(
        self, x: NDArray[np.float64], y: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        _, _, p1, p2 = self._padded(4)
        r2 = x * x + y * y
        return 2 * p1 * x * y + p2 * (r2 + 2 * x * x), p1 * (r2 + 2 * y * y) + 2 * p2 * x * y


@dataclass(frozen=True, eq=False)
class PinholeCamera:
    """A camera and the part of its sensor that its image shows.

    Attributes:
        fx, fy, cx, cy: in pixels of the whole, unbinned sensor.
        left, top, right, bottom: borders of the image on it; -0.5 is the first pixel's edge.
        binning: sensor pixels an image pixel, across and down.
        distortion: of the lens; none where the image is rectified.
        rotation: (3, 3) image_from_optical: of rectification, else the identity.
        shift: (tx, ty), the fourth column of a stereo camera's P, in pixels times metres.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    left: float
    top: float
    right: float
    bottom: float
    binning: tuple[int, int] = (1, 1)
    distortion: Distortion = field(default_factory=Distortion)
    rotation: NDArray[np.float64] = field(default_factory=lambda: np.eye(3))
    shift: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def from_fov(cls, horizontal_fov_deg: float, width: int, height: int) -> PinholeCamera:
        """Make an ideal camera with square pixels and its axis in the middle.

        Raises:
            UsageError: a field of view that no pinhole has, or no pixels.
        """
        if not 0 < horizontal_fov_deg < 180 or width < 1 or height < 1:  # noqa: PLR2004
            msg = (
                f"camera of {horizontal_fov_deg:g} deg and {width} x {height} pixels: the field of"
                " view must be above 0 and below 180 deg, with at least 1 x 1 pixels"
            )
            raise UsageError(msg)
        focal = width / 2 / math.tan(math.radians(horizontal_fov_deg) / 2)
        cx, cy = (width - 1) / 2, (height - 1) / 2
        return cls(focal, focal, cx, cy, -0.5, -0.5, width - 0.5, height - 0.5)

    def pixels(
        self, xyz_optical: NDArray[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Project positions, (n, 3) in the optical frame.

        Returns:
            u and v in pixels of the whole sensor, NaN where there is no image point, and the depth
            in metres, (n,) each.
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            x, y, depth = (np.asarray(xyz_optical, np.float64) @ self.rotation.T).T
            ahead = np.where(depth > 0, depth, np.nan)
            bent_x, bent_y = self.distortion.distort(x / ahead, y / ahead)
            u = self.fx * bent_x + self.cx + self.shift[0] / ahead
            v = self.fy * bent_y + self.cy + self.shift[1] / ahead
        return u, v, depth

    def sees(
        self, xyz_optical: NDArray[Any], near_m: float = 0.0, far_m: float = math.inf
    ) -> NDArray[np.bool_]:
        """Tell which positions, (n, 3) in the optical frame, are in the image, (n,).

        Depth must be above ``near_m`` and at most ``far_m``: what is behind the camera, or at its
        pinhole, mirrors or explodes into the image otherwise.
        """
        u, v, depth = self.pixels(xyz_optical)
        with np.errstate(invalid="ignore"):
            inside = (u >= self.left) & (u < self.right) & (v >= self.top) & (v < self.bottom)
            return inside & (depth > near_m) & (depth <= far_m)

    def pixel_rays(self) -> NDArray[np.float64]:
        """Return the rays of the image's pixels, (rows, columns, 3) optical, depth 1.

        NaN where the lens model has no ray.
        """
        across, down = self.binning
        columns = int((self.right - self.left) // across)
        rows = int((self.bottom - self.top) // down)
        u = self.left + (np.arange(columns) + 0.5) * across
        v = self.top + (np.arange(rows) + 0.5) * down
        x, y = np.meshgrid((u - self.cx) / self.fx, (v - self.cy) / self.fy)
        x, y = self.distortion.undistort(x, y)
        rays = np.stack([x, y, np.ones_like(x)], axis=-1) @ self.rotation
        scaled: NDArray[np.float64] = rays / rays[..., 2:]
        return scaled
