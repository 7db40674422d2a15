"""What stands around the circuit, and where straight rays hit it.

The ground is the plane z = 0 of the map, walls are upright rectangles, cones are cones. All hits
are closed formulas, made of exact operations only (see ``exact``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from circuit import COLORS, Cones

if TYPE_CHECKING:
    from exact import Array

Ints = npt.NDArray[np.int64]


class Material(NamedTuple):
    """How a surface looks: lidar reflectivity (0-255, as velodyne calibrates it) and color."""

    reflectivity: float
    rgb: tuple[int, int, int]


class Wall(NamedTuple):
    """An upright rectangle that stands on the ground between two points."""

    start_m: tuple[float, float]
    end_m: tuple[float, float]
    height_m: float
    material: str


class ConeShape(NamedTuple):
    """A cone whose tip, at ``tip_m``, is cut off at ``height_m``; its stripe's two edges."""

    radius_m: float
    tip_m: float
    height_m: float
    stripe_m: tuple[float, float]


MATERIALS = {
    "sky": Material(0, (0, 0, 0)),
    "asphalt": Material(11, (70, 70, 74)),
    "concrete": Material(42, (170, 168, 160)),
    "cladding": Material(64, (150, 44, 40)),
    "blue": Material(22, (20, 60, 190)),
    "yellow": Material(68, (240, 200, 10)),
    "orange": Material(57, (240, 110, 10)),
    "big_orange": Material(57, (240, 100, 10)),
    "white_stripe": Material(96, (235, 235, 235)),
    "black_stripe": Material(6, (22, 22, 22)),
}
WALLS = (
    Wall((-26.0, -6.0), (40.0, -6.0), 1.0, "concrete"),
    Wall((-14.0, 12.0), (4.0, 16.0), 3.5, "cladding"),
    Wall((-14.0, 12.0), (-16.0, 21.0), 3.5, "cladding"),
    Wall((66.0, -8.0), (66.0, 24.0), 2.5, "concrete"),
)
SMALL_CONE = ConeShape(0.10, 0.36, 0.325, (0.13, 0.21))
BIG_CONE = ConeShape(0.13, 0.56, 0.505, (0.20, 0.35))
SHAPES = (SMALL_CONE, SMALL_CONE, SMALL_CONE, BIG_CONE)
STRIPES = ("white_stripe", "black_stripe", "white_stripe", "white_stripe")
NAMES = tuple(MATERIALS)


@dataclass
class Hits:
    """The nearest hit of each of n rays, in multiples of its direction's length; inf is a miss."""

    distance: Array
    material: Ints
    cosine: Array

    @classmethod
    def none(cls, count: int) -> Hits:
        """No ray has hit anything yet."""
        return cls(np.full(count, np.inf), np.zeros(count, np.int64), np.ones(count))

    def keep_nearer(self, distance: Array, material: Ints | int, cosine: Array) -> None:
        """Take the hits that are nearer than those known."""
        nearer = distance < self.distance
        self.distance = np.where(nearer, distance, self.distance)
        self.material = np.where(nearer, material, self.material)
        self.cosine = np.where(nearer, np.abs(cosine), self.cosine)


def _length(vectors: Array) -> Array:
    x, y, z = (vectors[..., axis] for axis in range(3))
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _hit_ground(hits: Hits, origins: Array, directions: Array) -> None:
    down = directions[:, 2] < 0
    steepness = np.where(down, directions[:, 2], -1.0)
    distance = np.where(down, -origins[:, 2] / steepness, np.inf)
    cosine = steepness / _length(directions)
    hits.keep_nearer(distance, NAMES.index("asphalt"), cosine)


def _hit_wall(hits: Hits, origins: Array, directions: Array, wall: Wall) -> None:
    (ax, ay), (bx, by) = wall.start_m, wall.end_m
    nx, ny = by - ay, ax - bx
    square = nx * nx + ny * ny
    towards = directions[:, 0] * nx + directions[:, 1] * ny
    meets = towards != 0
    gap = (ax - origins[:, 0]) * nx + (ay - origins[:, 1]) * ny
    distance = gap / np.where(meets, towards, 1.0)
    x, y, z = (origins[:, axis] + distance * directions[:, axis] for axis in range(3))
    along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square
    inside = meets & (distance > 0) & (along >= 0) & (along <= 1) & (z >= 0) & (z <= wall.height_m)
    cosine = towards / (np.sqrt(square) * _length(directions))
    hits.keep_nearer(np.where(inside, distance, np.inf), NAMES.index(wall.material), cosine)


def _hit_cone(
    hits: Hits, origins: Array, directions: Array, xy_m: tuple[float, float], color: int
) -> None:
    shape = SHAPES[color]
    slope = shape.radius_m / shape.tip_m
    slope2 = slope * slope
    ox, oy, below_tip = (
        origins[:, 0] - xy_m[0],
        origins[:, 1] - xy_m[1],
        shape.tip_m - origins[:, 2],
    )
    dx, dy, dz = directions.T
    a = dx * dx + dy * dy - slope2 * (dz * dz)
    b = ox * dx + oy * dy + slope2 * (below_tip * dz)
    c = ox * ox + oy * oy - slope2 * (below_tip * below_tip)
    root2 = b * b - a * c
    meets = (root2 >= 0) & (a > 0)
    distance = (-b - np.sqrt(np.where(meets, root2, 0.0))) / np.where(meets, a, 1.0)
    x, y, z = ox + distance * dx, oy + distance * dy, origins[:, 2] + distance * dz
    inside = meets & (distance > 0) & (z >= 0) & (z <= shape.height_m)
    low, high = shape.stripe_m
    striped = (z >= low) & (z <= high)
    material = np.where(striped, NAMES.index(STRIPES[color]), NAMES.index(COLORS[color]))
    normal = np.stack([x, y, slope2 * (shape.tip_m - z)], axis=1)
    into = normal[:, 0] * dx + normal[:, 1] * dy + normal[:, 2] * dz
    cosine = into / np.where(inside, _length(normal) * _length(directions), 1.0)
    hits.keep_nearer(np.where(inside, distance, np.inf), material, cosine)


def cast(origins: Array, directions: Array, cones: Cones, reach_m: float) -> Hits:
    """The nearest hit of each ray, (n, 3) origins and directions in the map, among all there is."""
    hits = Hits.none(len(origins))
    _hit_ground(hits, origins, directions)
    for wall in WALLS:
        _hit_wall(hits, origins, directions, wall)
    away = cones.xy_m - origins[0, :2]
    near = away[:, 0] ** 2 + away[:, 1] ** 2 < reach_m**2
    for (x, y), color in zip(cones.xy_m[near], cones.color[near], strict=True):
        _hit_cone(hits, origins, directions, (float(x), float(y)), int(color))
    return hits


def reflectivity(hits: Hits) -> Array:
    """Whole-numbered intensity of each hit, falling with the angle of incidence."""
    table = np.array([material.reflectivity for material in MATERIALS.values()])
    return np.round(table[hits.material] * hits.cosine)


def shaded_rgb(hits: Hits) -> npt.NDArray[np.uint32]:
    """Packed 0x00RRGGBB of each hit, darker where the surface turns away."""
    table = np.array([material.rgb for material in MATERIALS.values()], dtype=np.float64)
    shaded = np.round(table[hits.material] * (0.4 + 0.6 * hits.cosine)[:, None]).astype(np.uint32)
    return np.asarray(shaded[:, 0] << 16 | shaded[:, 1] << 8 | shaded[:, 2], dtype=np.uint32)
