"""Sector cameras: depth textures fine enough that every beam has a pixel centre within e of it.

A camera looks along its axis at elevation 0; a direction at azimuth h from the axis and elevation
a meets its image plane, at unit focal length, in u = tan(h), v = tan(a) / cos(h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams

WIDEST_SWEEP_DEG: Final = 120.0  # exclusive
STEEPEST_DEG: Final = 60.0
FINEST_ERROR_DEG: Final = 0.001
COARSEST_ERROR_DEG: Final = 10.0
_ROUNDING: Final = 1e-12


def pixel_pitch(max_approx_error_deg: float) -> float:
    """Return the pixel size, in focal lengths, for which no beam is farther than e from a centre.

    A beam is at most half a pixel diagonal from its pixel's centre. That segment looks longest
    when it is centred on the axis, where it subtends 2 atan(p / (2 sqrt 2)); set equal to e. Holds
    for any alignment of the grid; shortened by 1e-12 so that rounding cannot break the bound.
    """
    half = math.radians(max_approx_error_deg) / 2
    return 2 * math.sqrt(2) * math.tan(half) * (1 - _ROUNDING)


def error_of_pitch(pitch: float) -> float:
    """Invert `pixel_pitch`, degrees."""
    return math.degrees(2 * math.atan(pitch / (2 * math.sqrt(2))))


@dataclass(frozen=True)
class Texture:
    """The image that each sector camera of a ring of them renders.

    Attributes:
        cameras: around the circle; camera i's axis is at azimuth (i + 1/2) * sweep - 180 deg.
        pitch: pixel size, in focal lengths.
        columns: pixels across.
        rows: pixels down.
        left: u of the first column's outer edge.
        top: v of the first row's outer edge; v falls from row to row.
    """

    cameras: int
    pitch: float
    columns: int
    rows: int
    left: float
    top: float

    @property
    def sweep_rad(self) -> float:
        """Azimuth that one camera covers."""
        return 2 * math.pi / self.cameras

    @property
    def pixels(self) -> int:
        """Pixels of one camera."""
        return self.columns * self.rows

    def axis_rad(self, camera: int) -> float:
        """Azimuth of a camera's optical axis."""
        return (camera + 0.5) * self.sweep_rad - math.pi

    def grown(self, margin: int) -> Texture:
        """Return the texture with a margin of pixels on every side; pixels keep their places."""
        return Texture(
            self.cameras,
            self.pitch,
            self.columns + 2 * margin,
            self.rows + 2 * margin,
            self.left - margin * self.pitch,
            self.top + margin * self.pitch,
        )


def texture_for(beams: Beams, max_approx_error_deg: float, cameras: int) -> Texture:
    """Size the texture.

    Rows are as tight as the beams allow: at the border of a sector an elevation is 1 / cos(sweep/2)
    higher in the image than in its middle.

    Raises:
        UsageError: a sweep of 120 deg or more a camera, beams too steep for a camera that looks
            level, or an e that no texture has.
    """
    e_deg = max_approx_error_deg
    if not FINEST_ERROR_DEG <= e_deg <= COARSEST_ERROR_DEG:
        msg = (
            f"max_approx_error_deg is {e_deg}; it must be from {FINEST_ERROR_DEG} to"
            f" {COARSEST_ERROR_DEG:g}"
        )
        raise UsageError(msg)
    sweep_deg = 360 / cameras if cameras > 0 else math.inf
    if sweep_deg >= WIDEST_SWEEP_DEG:
        msg = (
            f"{cameras} cameras sweep {sweep_deg:g} deg each; a pinhole camera must sweep less than"
            f" {WIDEST_SWEEP_DEG:g} deg: use 4 cameras or more"
        )
        raise UsageError(msg)
    _check_steepness(beams)
    pitch = pixel_pitch(e_deg)
    half_rad = math.pi / cameras
    half_width = math.tan(half_rad)
    columns = math.ceil(2 * half_width / pitch)
    corner = 1 / math.cos(half_rad)
    up = math.tan(float(beams.elevation_rad.max()))
    down = math.tan(float(beams.elevation_rad.min()))
    top = up * corner if up > 0 else up
    bottom = down * corner if down < 0 else down
    rows = max(1, math.ceil((top - bottom) / pitch))
    slack = rows * pitch - (top - bottom)
    return Texture(cameras, pitch, columns, rows, -columns * pitch / 2, top + slack / 2)


def _check_steepness(beams: Beams) -> None:
    steepest = math.degrees(float(np.abs(beams.elevation_rad).max()))
    if steepest > STEEPEST_DEG:
        msg = (
            f"a beam of this lidar is {steepest:g} deg steep; a camera that looks level senses up"
            f" to {STEEPEST_DEG:g} deg, so it cannot stand in for this lidar"
        )
        raise UsageError(msg)


@dataclass(frozen=True, eq=False)
class BeamPixels:
    """Where each beam meets a texture, n rows as in `Beams`.

    Attributes:
        texture: the image.
        camera: (n,) int32 number of the camera, by the beam's own azimuth.
        u: (n,) on the image plane, to the left positive (azimuth counterclockwise).
        v: (n,) on the image plane, up.
        column: (n,) int64 of the nearest pixel.
        row: (n,) int64 of the nearest pixel.
    """

    texture: Texture
    camera: NDArray[np.int32]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    column: NDArray[np.int64]
    row: NDArray[np.int64]

    def angles_to_centres_deg(self) -> NDArray[np.float64]:
        """Return the angle between each beam and the centre of its pixel, (n,)."""
        texture = self.texture
        beam = np.stack([np.ones_like(self.u), self.u, self.v], axis=1)
        centre_u = texture.left + (self.column + 0.5) * texture.pitch
        centre_v = texture.top - (self.row + 0.5) * texture.pitch
        centre = np.stack([np.ones_like(self.u), centre_u, centre_v], axis=1)
        across = np.linalg.norm(np.cross(beam, centre), axis=1)
        angles: NDArray[np.float64] = np.degrees(np.arctan2(across, (beam * centre).sum(axis=1)))
        return angles


def beam_pixels(beams: Beams, texture: Texture) -> BeamPixels:
    """Find the pixel of every beam, from its direction alone."""
    sweep = texture.sweep_rad
    camera = np.floor((beams.azimuth_rad + np.pi) / sweep).astype(np.int64) % texture.cameras
    relative = beams.azimuth_rad - ((camera + 0.5) * sweep - np.pi)
    relative = (relative + np.pi) % (2 * np.pi) - np.pi
    u = np.tan(relative)
    v = np.tan(beams.elevation_rad) / np.cos(relative)
    column, row = pixel_of(u, v, texture)
    # a beam on a border itself belongs to the last pixel before it: +-45 deg is no wrap-around
    np.clip(column, 0, texture.columns - 1, out=column)
    np.clip(row, 0, texture.rows - 1, out=row)
    return BeamPixels(texture, camera.astype(np.int32), u, v, column, row)


def pixel_of(
    u: NDArray[np.float64], v: NDArray[np.float64], texture: Texture
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return column and row of the pixels that contain image points."""
    column = np.floor((u - texture.left) / texture.pitch).astype(np.int64)
    row = np.floor((texture.top - v) / texture.pitch).astype(np.int64)
    return column, row
