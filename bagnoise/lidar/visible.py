"""What is visible through a cloud's holes: closing of a depth image, and the points around a beam.

A recorded cloud is points, not surfaces: between them a camera sees through to what is behind.
Closing (a sliding minimum, then a sliding maximum) fills gaps narrower than the window and leaves
outer edges where they are; a point is visible if it is not behind the closed surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPTH_TOLERANCE: Final = 0.05  # relative; a surface seen at a grazing angle is not behind itself

OUTLINE_REACH: Final = (
    0.375  # of a cell; half would be fair, less keeps beams inside a field of view
)


class Window(NamedTuple):
    """Odd sizes, in pixels, of the neighbourhood that must hold a point of every surface."""

    columns: int
    rows: int

    @property
    def margin(self) -> int:
        """Pixels around an image that closing and gathering may touch."""
        return 3 * (max(self) // 2)

    def inner(self, other: Window) -> NDArray[np.bool_]:
        """Tell which of the window's pixels a smaller one holds, too, (columns * rows,)."""
        across = np.abs(np.arange(self.columns) - self.columns // 2) <= other.columns // 2
        down = np.abs(np.arange(self.rows) - self.rows // 2) <= other.rows // 2
        return np.logical_and.outer(down, across).ravel()

    def offsets(self, image_columns: int) -> NDArray[np.int64]:
        """Return pixel number differences of the window's pixels, (columns * rows,)."""
        across = np.arange(self.columns) - self.columns // 2
        down = np.arange(self.rows) - self.rows // 2
        return (down[:, None] * image_columns + across[None, :]).ravel().astype(np.int64)


def window_for(
    pitch: float,
    spacing_rad: tuple[float, float],
    half_sweep_rad: float,
    steepest_rad: float,
    spacings: float = 1.0,
) -> Window:
    """Size a window so that no surface has a hole: (k - 1) pitch >= spacing, k odd.

    Args:
        pitch: pixel size in focal lengths.
        spacing_rad: between neighbouring points, in azimuth and in elevation.
        half_sweep_rad: azimuth of the image's border from the axis, where an angle is widest in
            pixels.
        steepest_rad: elevation of the steepest beam.
        spacings: that the window spans.
    """
    stretch = 1 / np.cos(half_sweep_rad)
    across = spacings * spacing_rad[0] * stretch**2
    down = spacings * spacing_rad[1] * stretch / np.cos(steepest_rad) ** 2
    return Window(_odd_size(across / pitch), _odd_size(down / pitch))


def _odd_size(pixels: float) -> int:
    size = int(np.ceil(pixels - 1e-9)) + 1
    return max(3, size + 1 - size % 2)


def closed(depth: NDArray[np.float32], window: Window) -> NDArray[np.float32]:
    """Close a depth image, (rows, columns); inf where there is nothing within the window."""
    shrunk = _sliding(depth, window, np.minimum, np.float32(np.inf))
    return _sliding(shrunk, window, np.maximum, np.float32(-np.inf))


def _sliding(
    image: NDArray[np.float32], window: Window, pick: Any, outside: np.float32
) -> NDArray[np.float32]:
    """Take the extreme of each pixel's window, axis by axis."""
    for axis, size in ((1, window.columns), (0, window.rows)):
        half = size // 2
        pad = [(0, 0), (0, 0)]
        pad[axis] = (half, half)
        wide = np.moveaxis(np.pad(image, pad, constant_values=outside), axis, 0)
        count = image.shape[axis]
        extreme = wide[:count].copy()
        for start in range(1, size):
            pick(extreme, wide[start : start + count], out=extreme)
        image = np.moveaxis(extreme, 0, axis)
    return image


def visible_rows(
    depth: NDArray[np.float32], surface: NDArray[np.float32], rows: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the layers of point rows with -1 for the points behind the closed surface."""
    with np.errstate(invalid="ignore"):
        seen = (depth <= surface * np.float32(1 + DEPTH_TOLERANCE)) & (rows >= 0)
    return np.where(seen, rows, np.int32(-1))


class Neighbours(NamedTuple):
    """The points in the windows of b beams: (k, b) each, but for ``nearest``.

    ``du`` and ``dv`` are from the beam, on the image plane; ``nearest`` is the place in the window
    of the point with the smallest angle from the beam, (b,).
    """

    rows: NDArray[np.int32]
    present: NDArray[np.bool_]
    du: NDArray[np.float32]
    dv: NDArray[np.float32]
    nearest: NDArray[np.intp]

    def of(self, beams: NDArray[np.intp]) -> Neighbours:
        """Return the neighbours of some beams."""
        return Neighbours(
            self.rows[:, beams],
            self.present[:, beams],
            self.du[:, beams],
            self.dv[:, beams],
            self.nearest[beams],
        )

    def pick(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the nearest point's entry of a (k, b) array, (b,)."""
        picked: NDArray[Any] = np.take_along_axis(values, self.nearest[None, :], axis=0)[0]
        return picked


class Cells(NamedTuple):
    """What one spacing of the source looks like around image points, (b,) each.

    A step of (du, dv) is one of du in azimuth and of dv - shear * du in elevation: rings are
    hyperbolas in the image, not rows.
    """

    across: NDArray[np.float32]
    down: NDArray[np.float32]
    shear: NDArray[np.float32]

    def of(self, beams: NDArray[np.intp]) -> Cells:
        """Return the cells of some beams."""
        return Cells(self.across[beams], self.down[beams], self.shear[beams])


def cells(
    u: NDArray[np.float64], v: NDArray[np.float64], spacing_rad: tuple[float, float]
) -> Cells:
    """Measure the cells around image points, (b,)."""
    stretch = 1 + u * u
    across = spacing_rad[0] * stretch
    down = spacing_rad[1] * np.sqrt(stretch) * (1 + v * v / stretch)
    shear = u * v / stretch
    return Cells(across.astype(np.float32), down.astype(np.float32), shear.astype(np.float32))


def at_outline(
    surface: NDArray[np.float32], pixels: NDArray[np.int64], window: Window
) -> NDArray[np.bool_]:
    """Tell which pixels, (b,), have nothing closed somewhere within a window's reach of them.

    Elsewhere a beam is inside a surface, however sparse its points are there.
    """
    flat = surface.ravel()
    steps = [window.columns // 2, window.rows // 2 * surface.shape[1]]
    around = [flat[pixels + sign * step] for step in steps for sign in (-1, 1)]
    return np.asarray(~np.isfinite(np.stack(around)).all(axis=0))


def beside_everything(around: Neighbours, cell: Cells) -> NDArray[np.bool_]:
    """Tell which beams pass beside all the points around them, (b,).

    A point stands for a cell of the source's spacing about it. A beam that has every point of its
    window on one side, farther than part of a cell, is outside the surface's outline.
    """
    beside = np.zeros(around.du.shape[1], np.bool_)
    far = np.float32(np.inf)
    climb = around.dv - cell.shear * around.du
    for offsets, size in ((around.du, cell.across), (climb, cell.down)):
        reach = size * np.float32(OUTLINE_REACH)
        beside |= np.where(around.present, offsets, far).min(axis=0) > reach
        beside |= np.where(around.present, offsets, -far).max(axis=0) < -reach
    return beside


def neighbours(
    seen: NDArray[np.int32],
    pixels: NDArray[np.int64],
    beam_uv: tuple[NDArray[np.float32], NDArray[np.float32]],
    point_uv: tuple[NDArray[np.float32], NDArray[np.float32]],
    windows: tuple[Window, ...],
) -> Neighbours:
    """Gather the visible points around beams.

    Args:
        seen: (layers, rows, columns) images of point rows, -1 for none.
        pixels: (b,) pixel numbers of the beams, away from the border by half a window.
        beam_uv: (b,) each.
        point_uv: (m,) each, by point row.
        windows: whose pixels are looked at, one a layer.
    """
    offsets = np.concatenate(
        [
            window.offsets(seen.shape[2]) + layer * seen[0].size
            for layer, window in enumerate(windows)
        ]
    )
    rows = seen.ravel()[pixels[None, :] + offsets[:, None]]
    present = rows >= 0
    u, v = beam_uv
    du = point_uv[0][rows] - u
    dv = point_uv[1][rows] - v
    # angle on the sphere from a small step in the plane, to first order, but for a common factor
    angle = du * (1 + v * v)
    angle -= dv * (2 * u * v)
    angle *= du
    angle += dv * dv * (1 + u * u)
    angle[~present] = np.inf
    return Neighbours(rows, present, du, dv, angle.argmin(axis=0))
