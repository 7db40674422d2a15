"""The camera-approximated lidar: what its beams would have returned from a cloud of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.lidar.camera import BeamPixels, beam_pixels, texture_for
from bagnoise.lidar.plane import beam_depths
from bagnoise.lidar.visible import (
    Cells,
    Window,
    at_outline,
    beside_everything,
    cells,
    closed,
    neighbours,
    visible_rows,
    window_for,
)
from bagnoise.lidar.zbuffer import (
    Projection,
    SparsePixels,
    pack,
    pixel_numbers,
    project,
    two_layers,
    unpack_depths,
    unpack_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams

Mode = Literal["nearest", "visible", "plane"]
MISS: Final = -1
_MOST_DENSE_PIXELS: Final = 1 << 26
_BLOCK: Final = 1 << 15  # window pixels handled at once
_SPACINGS_OF_A_PLANE: Final = 1.5  # a window of one spacing often holds too few points to fit


@dataclass(frozen=True, eq=False)
class Sensed:
    """What each beam returned, n rows as in `Beams`.

    Attributes:
        source: (n,) int64 row of the source cloud whose point is seen, `MISS` for none.
        range_m: (n,) float32 along the beam, NaN for a miss.
    """

    source: NDArray[np.int64]
    range_m: NDArray[np.float32]

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Which beams returned, (n,)."""
        return self.source >= 0


class _Sector(NamedTuple):
    """One camera and the beams that it senses."""

    camera: int
    beams: NDArray[np.intp]
    u: NDArray[np.float32]
    v: NDArray[np.float32]
    pixels: NDArray[np.int64]
    sparse: SparsePixels
    cell: Cells

    def part(self, start: int, end: int) -> _Sector:
        """Return some of the beams."""
        rows = slice(start, end)
        cell = Cells(self.cell.across[rows], self.cell.down[rows], self.cell.shear[rows])
        return self._replace(
            beams=self.beams[rows],
            u=self.u[rows],
            v=self.v[rows],
            pixels=self.pixels[rows],
            cell=cell,
        )


class _View(NamedTuple):
    """What one camera sees: its points, their ranges, the closed surface, the visible rows."""

    points: Projection
    ranges_m: NDArray[np.float32]
    surface: NDArray[np.float32]
    seen: NDArray[np.int32]


class CameraLidar:
    """Senses clouds for one set of beams; everything that depends on the beams is made once.

    Every beam leaves the one pinhole at the lidar's origin. The angle between a beam and the
    centre of its pixel is at most ``max_approx_error_deg``; the point that the pixel holds lies
    anywhere in it, so that a beam and its point are up to (k + 1) times that apart for a window of
    k pixels.
    """

    def __init__(
        self,
        beams: Beams,
        max_approx_error_deg: float,
        cameras: int = 4,
        mode: Mode = "nearest",
        spacing_rad: tuple[float, float] | None = None,
    ) -> None:
        """Prepare the cameras.

        Args:
            beams: of a revolution, or part of one.
            max_approx_error_deg: e, the angular bound.
            cameras: around the circle.
            mode: ``nearest`` takes the nearest point of the beam's own pixel, ``visible`` the
                angularly nearest visible point of a window, ``plane`` the range of the plane
                through the visible points.
            spacing_rad: between the source's points, in azimuth and elevation; needed by
                ``visible`` and ``plane`` to size the window.

        Raises:
            UsageError: see `texture_for`; or a texture too large for a mode that keeps it whole.
        """
        self.beams = beams
        self.max_approx_error_deg = max_approx_error_deg
        self.mode: Mode = mode
        self.texture = texture_for(beams, max_approx_error_deg, cameras)
        self.directions = beams.directions().astype(np.float32)
        self.spacing_rad = (0.0, 0.0)
        self.window = self.closing = Window(1, 1)
        if mode != "nearest":
            if spacing_rad is None:
                msg = "modes visible and plane need the spacing of the source's points"
                raise UsageError(msg)
            self.spacing_rad = (spacing_rad[0], spacing_rad[1])
            self.closing = self._window(1.0)
            self.window = self._window(_SPACINGS_OF_A_PLANE) if mode == "plane" else self.closing
        every = np.ones(self.closing.columns * self.closing.rows, np.bool_)
        self.inner = np.concatenate([self.window.inner(self.closing), every])
        self.image = self.texture.grown(self.window.margin)
        if mode != "nearest" and self.image.pixels > _MOST_DENSE_PIXELS:
            msg = (
                f"max_approx_error_deg {max_approx_error_deg:g} needs a texture of"
                f" {self.image.columns} x {self.image.rows} pixels a camera; mode {mode!r} keeps"
                " it whole: use a larger value, or mode nearest"
            )
            raise UsageError(msg)
        self.sectors = self._make_sectors(beam_pixels(beams, self.texture))

    def _window(self, spacings: float) -> Window:
        steepest = float(np.abs(self.beams.elevation_rad).max())
        return window_for(
            self.texture.pitch, self.spacing_rad, self.texture.sweep_rad / 2, steepest, spacings
        )

    def _make_sectors(self, where: BeamPixels) -> list[_Sector]:
        margin = self.window.margin
        numbers = (where.row + margin) * self.image.columns + where.column + margin
        sectors = []
        for camera in np.unique(where.camera):
            rows = np.flatnonzero(where.camera == camera)
            u, v = where.u[rows].astype(np.float32), where.v[rows].astype(np.float32)
            pixels = numbers[rows]
            cell = cells(where.u[rows], where.v[rows], self.spacing_rad)
            sectors.append(_Sector(int(camera), rows, u, v, pixels, SparsePixels(pixels), cell))
        return sectors

    def sense(self, xyz: NDArray[Any], range_m: tuple[float, float] = (0.0, np.inf)) -> Sensed:
        """Sense a cloud.

        Args:
            xyz: (n, 3) metres, about the lidar's origin and along its axes; misses allowed.
            range_m: nearest and farthest return; what is nearer still hides what is behind it.
        """
        with np.errstate(invalid="ignore", over="ignore"):  # misses of any spelling
            x, y, z = (np.ascontiguousarray(xyz[:, axis], np.float32) for axis in range(3))
        source = np.full(len(self.beams), MISS, np.int64)
        ranges = np.full(len(self.beams), np.nan, np.float32)
        for sector in self.sectors:
            points = project(x, y, z, self.image, sector.camera)
            if len(points.rows) == 0:
                continue
            if self.mode == "nearest":
                rows, seen_m = self._nearest(sector, points)
            else:
                rows, seen_m = self._through_window(sector, points)
            source[sector.beams] = rows
            ranges[sector.beams] = seen_m
        near_m, far_m = range_m
        with np.errstate(invalid="ignore"):
            lost = (source == MISS) | (ranges < near_m) | (ranges > far_m)
        source[lost] = MISS
        ranges[lost] = np.nan
        return Sensed(source, ranges)

    def positions(self, sensed: Sensed) -> NDArray[np.float32]:
        """Return the points on their beams, (n, 3) float32 metres, NaN for a miss."""
        return self.directions * sensed.range_m[:, None]

    def _nearest(
        self, sector: _Sector, points: Projection
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Take the nearest point of each beam's pixel, at its own range."""
        places, slots = sector.sparse.find(pixel_numbers(points, self.image))
        near = points.take(places)
        packed = sector.sparse.nearest(slots, pack(_ranges(near), near.rows))
        return unpack_rows(packed), unpack_depths(packed)

    def _through_window(
        self, sector: _Sector, points: Projection
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Take a visible point of each beam's window: the nearest in angle, or their plane."""
        ranges = _ranges(points)
        layers = two_layers(self.image, pixel_numbers(points, self.image), ranges)
        depth = unpack_depths(layers)
        surface = closed(depth[0], self.closing)
        seen = visible_rows(depth, surface, unpack_rows(layers))
        view = _View(points, ranges, surface, seen)
        # in blocks, so that the windows of a block stay in the processor's cache
        size = max(256, _BLOCK // (self.window.columns * self.window.rows))
        starts = range(0, len(sector.beams), size)
        looks = [self._look(sector.part(start, start + size), view) for start in starts]
        return np.concatenate([rows for rows, _ in looks]), np.concatenate([r for _, r in looks])

    def _look(self, beams: _Sector, view: _View) -> tuple[NDArray[Any], NDArray[np.float32]]:
        around = neighbours(
            view.seen,
            beams.pixels,
            (beams.u, beams.v),
            (view.points.u, view.points.v),
            (self.window, self.closing),
        )
        chosen = around.pick(around.rows)
        hit = (chosen >= 0) & np.isfinite(view.surface.ravel()[beams.pixels])
        outline = np.flatnonzero(at_outline(view.surface, beams.pixels, self.closing))
        hit[outline] &= ~beside_everything(around.of(outline), beams.cell.of(outline))
        seen_m = view.ranges_m[chosen]
        if self.mode == "plane":
            inverse = np.reciprocal(view.points.forward_m)[around.rows]
            forward = beam_depths(around, inverse, self.texture.pitch, self.inner)
            seen_m = forward * np.sqrt(1 + beams.u**2 + beams.v**2)
        return np.where(hit, view.points.rows[chosen], MISS), seen_m


def _ranges(points: Projection) -> NDArray[np.float32]:
    """Return distances from the pinhole, float32 metres."""
    stretch: NDArray[np.float32] = np.sqrt(1 + points.u * points.u + points.v * points.v)
    return points.forward_m * stretch
