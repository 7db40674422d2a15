"""Which point each pixel sees: the nearest one, and of equally near ones the first.

A float32 depth above 0 sorts like its own bits read as an integer, so depth and row number packed
into 64 bits find the nearest point and its row with one `np.minimum.at`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.camera import Texture

NOTHING: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_INFINITE_BITS: Final = np.uint32(0x7F80_0000)
_DEPTH_SHIFT: Final = np.uint64(32)
_FILTER_BITS: Final = 18  # a quarter of a million entries: fits the cache, whatever the texture
_NEAREST_M: Final = 1e-6
_FARTHEST_M: Final = 1e6


@dataclass(frozen=True, eq=False)
class Projection:
    """The points that fall into one camera's image, m rows.

    Attributes:
        rows: (m,) of the cloud.
        u: (m,) float32 on the image plane.
        v: (m,) float32.
        forward_m: (m,) float32 along the camera's axis.
    """

    rows: NDArray[np.intp]
    u: NDArray[np.float32]
    v: NDArray[np.float32]
    forward_m: NDArray[np.float32]

    def take(self, places: NDArray[np.intp]) -> Projection:
        """Return some of the points."""
        return Projection(self.rows[places], self.u[places], self.v[places], self.forward_m[places])


def project(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    z: NDArray[np.float32],
    texture: Texture,
    camera: int,
) -> Projection:
    """Project positions about the lidar's origin, (n,) each, into a sector camera.

    Points behind the camera, outside its image, at its pinhole, or not finite are left out.
    """
    axis = texture.axis_rad(camera)
    cosine, sine = np.float32(np.cos(axis)), np.float32(np.sin(axis))
    right = np.float32(texture.left + texture.columns * texture.pitch)
    bottom = np.float32(texture.top - texture.rows * texture.pitch)
    forward: NDArray[np.float32]
    across: NDArray[np.float32]
    with np.errstate(invalid="ignore", over="ignore"):
        forward = x * cosine + y * sine
        across = y * cosine - x * sine
        # written so that NaN fails every comparison
        inside = np.abs(across) <= right * forward
        inside &= z <= np.float32(texture.top) * forward
        inside &= z >= bottom * forward
        inside &= forward > _NEAREST_M
        inside &= forward < _FARTHEST_M
    rows = np.flatnonzero(inside)
    forward = forward[rows]
    return Projection(rows, across[rows] / forward, z[rows] / forward, forward)


def pixel_numbers(projection: Projection, texture: Texture) -> NDArray[np.int64]:
    """Number the pixels that points fall into, row by row, (m,)."""
    scale = np.float32(1 / texture.pitch)
    column = ((projection.u - np.float32(texture.left)) * scale).astype(np.int32)
    row = ((np.float32(texture.top) - projection.v) * scale).astype(np.int32)
    # float32 may put a point of the last pixel on the border behind it
    np.clip(column, 0, texture.columns - 1, out=column)
    np.clip(row, 0, texture.rows - 1, out=row)
    return row.astype(np.int64) * texture.columns + column


def pack(depth_m: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Pack depths above 0 and row numbers below 2^31 so that nearer, then earlier, is smaller."""
    bits = np.ascontiguousarray(depth_m).view(np.uint32).astype(np.uint64)
    return (bits << _DEPTH_SHIFT) | rows.astype(np.uint64)


def unpack_rows(packed: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the row numbers, -1 where there is nothing: its low bits, read as signed."""
    return packed.astype(np.uint32).view(np.int32)


def unpack_depths(packed: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the depths, inf where there is nothing."""
    bits = (packed >> _DEPTH_SHIFT).astype(np.uint32)
    np.minimum(bits, _INFINITE_BITS, out=bits)  # the bits of nothing are beyond those of inf
    return bits.view(np.float32)


class SparsePixels:
    """The few pixels that some beam reads, however fine the texture is.

    Finding a pixel among them costs one look into a table of fixed size; its size, and the memory
    of the z-buffer, depend on the beams alone.
    """

    def __init__(self, pixels: NDArray[np.int64]) -> None:
        """Remember pixel numbers, (b,), one a beam; several beams may read one pixel."""
        self.keys, self.slot_of_beam = np.unique(pixels, return_inverse=True)
        self.filter = np.full(1 << _FILTER_BITS, -1, np.int32)
        backwards = np.arange(len(self.keys), dtype=np.int32)[::-1]
        self.filter[self.keys[::-1] & (len(self.filter) - 1)] = backwards

    @property
    def nbytes(self) -> int:
        """Memory held, but for a z-buffer of 8 bytes a pixel."""
        return self.keys.nbytes + self.slot_of_beam.nbytes + self.filter.nbytes

    def find(self, pixels: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find which of some pixel numbers, (m,), are read.

        Returns:
            their places among ``pixels``, and their slots.
        """
        guess = self.filter[pixels & (len(self.filter) - 1)]
        places = np.flatnonzero(guess >= 0)
        slots = guess[places].astype(np.intp)
        wanted = pixels[places]
        wrong = self.keys[slots] != wanted
        if wrong.any():  # another pixel of the same remainder, or one that nobody reads
            searched = np.searchsorted(self.keys, wanted[wrong])
            slots[wrong] = np.minimum(searched, len(self.keys) - 1)
            found = self.keys[slots] == wanted
            return places[found], slots[found]
        return places, slots

    def nearest(self, slots: NDArray[np.intp], packed: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what each beam sees, (b,) packed."""
        table = np.full(len(self.keys), NOTHING)
        np.minimum.at(table, slots, packed)
        return table[self.slot_of_beam]


def two_layers(
    texture: Texture, pixels: NDArray[np.int64], depth_m: NDArray[np.float32]
) -> NDArray[np.uint64]:
    """Return the nearest and the second nearest point of every pixel, (2, rows, columns) packed.

    The nearest alone would eat the outlines of round things: of two points on a pole, the one at
    its edge is the farther one.
    """
    layers = np.full((2, texture.pixels), NOTHING)
    packed = pack(depth_m, np.arange(len(depth_m)))
    np.minimum.at(layers[0], pixels, packed)
    rest = layers[0][pixels] != packed
    np.minimum.at(layers[1], pixels[rest], packed[rest])
    return layers.reshape(2, texture.rows, texture.columns)
