"""Cones that are not there."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.errors import ContextError
from bagnoise.geometry import apply, inverse
from bagnoise.messages.payload import FALSE_POSITIVE, changed, truth_of
from bagnoise.rng import keyed
from bagnoise.steps.clock import nanoseconds
from bagnoise.steps.colors import CLASS_COUNT, ClassName, class_of
from bagnoise.steps.curves import ZERO, Chance
from bagnoise.steps.draws import of_rows
from bagnoise.steps.limits import Number  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.polar import ranges, relative_to, seen_by_sensor
from bagnoise.steps.world import InWorld, measured_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones
    from bagnoise.steps.base import Moment

_ORIGIN = np.eye(4)
Place = Literal["view", "range", "near"]


def _unknown() -> dict[ClassName, float]:
    return {"unknown": 1.0}


class FalsePositives(InWorld):
    """Add cones that are not there: anew each message, near true cones, or fixed in the map.

    per_frame counts are Poisson; per_cone is a chance for each cone that is there at this step.
    The ghosts that are born at per_s stand still in the map for lifetime_s, seen while in view.
    """

    name: ClassVar[str] = "false_positives"
    per_frame: float = Field(0.0, ge=0, le=1e3, description="mean number a message, Poisson")
    per_cone: Chance = Field(ZERO, description="chance for each true cone, by its range")
    place: Place = Field(
        "view",
        description="where those of per_cone stand. view: anywhere in view; range: at the cone's "
        "range, any bearing in view; near: beside the cone",
    )
    near_std_m: float = Field(
        0.5, ge=0, le=1e3, description="with place near: deviation along x and y, in metres"
    )
    per_s: float = Field(
        0.0, ge=0, le=1e3, description="ghosts that appear a second and stay (needs the pose)"
    )
    lifetime_s: float = Field(
        2.0, gt=0, le=1e5, description="how long a ghost of per_s stays where it is, in seconds"
    )
    min_range_m: float = Field(1.0, ge=0, le=1e4, description="nearest, in metres")
    max_range_m: float = Field(15.0, gt=0, le=1e4, description="farthest, in metres")
    horizontal_deg: float = Field(
        120.0, gt=0, le=360, description="whole horizontal angle of the view, in degrees"
    )
    classes: dict[ClassName, Number] = Field(
        default_factory=_unknown,
        min_length=1,
        description="class -> weight among the false cones",
    )

    def check(self) -> list[str]:
        """Compare the options."""
        found = []
        if self.per_s > 0 and not self.knows_pose:
            found.append("per_s needs pose_topic or map_frame, to know where the car is")
        if self.min_range_m > self.max_range_m:
            found.append(f"min_range_m {self.min_range_m} is beyond max_range_m {self.max_range_m}")
        if min(self.classes.values()) < 0 or not sum(self.classes.values()) > 0:
            found.append("classes needs weights of at least 0 that are not all 0")
        return found

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Append the false cones behind the true ones."""
        sensor = _ORIGIN if cones.sensor is None else cones.sensor
        made = []
        if self.per_frame > 0:
            made.append(self._of_frame(cones, sensor, moment))
        if not self.per_cone.is_zero:
            made.append(self._of_cones(cones, sensor, moment))
        if self.per_s > 0:
            made.append(self._ghosts(cones, sensor, moment))
        made = [false for false in made if len(false[0])]
        if not made:
            return cones
        xyz, color = (np.concatenate(parts) for parts in zip(*made, strict=True))
        moment.tally["false positives"] += len(xyz)
        return appended(cones, xyz, color)

    def _of_frame(
        self, cones: Cones, sensor: NDArray[np.float64], moment: Moment
    ) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        generator = moment.generator("frame")
        count = int(generator.poisson(self.per_frame))
        draws = generator.random((count, 3))
        return self._in_view(draws, sensor, _ground_m(cones)), self._colors(draws[:, 2])

    def _of_cones(
        self, cones: Cones, sensor: NDArray[np.float64], moment: Moment
    ) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        generator = moment.generator("cone")
        draws = generator.random((cones.source_count, 4))
        distance = ranges(seen_by_sensor(cones))
        hit = of_rows(draws[:, 3], cones.index) < self.per_cone.at(distance)
        hit &= cones.index >= 0
        if not hit.any():
            return np.zeros((0, 3)), np.zeros(0, np.int8)
        rows, xyz, distance = cones.index[hit], cones.xyz[hit], distance[hit]
        draws = draws[rows]
        if self.place == "near":
            false = xyz.copy()
            beside = generator.standard_normal((cones.source_count, 2))[rows]
            false[:, :2] += beside * self.near_std_m
        elif self.place == "range":
            false = self._at(distance, draws[:, 1], sensor, xyz[:, 2])
        else:
            false = self._in_view(draws, sensor, _ground_m(cones))
        return false, self._colors(draws[:, 2])

    def _ghosts(
        self, cones: Cones, sensor: NDArray[np.float64], moment: Moment
    ) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Find the ghosts of now: births are Poisson in time slots of one lifetime, keyed by slot.

        A ghost is born in view of the car as it stands then; one whose birth lies before the first
        known pose does not exist.
        """
        stamp_ns = measured_ns(cones, moment)
        life_ns = max(1, nanoseconds(self.lifetime_s))
        found, colors = [np.zeros((0, 3))], [np.zeros(0, np.int8)]
        for slot in (stamp_ns // life_ns - 1, stamp_ns // life_ns):
            generator = keyed(*moment.key[:3], "ghosts", slot)
            draws = generator.random((int(generator.poisson(self.per_s * self.lifetime_s)), 4))
            for draw in draws:
                born_ns = slot * life_ns + round(draw[3] * life_ns)
                if not born_ns <= stamp_ns < born_ns + life_ns:
                    continue
                try:
                    map_from_then = self.map_from(cones.frame_id, born_ns, moment.context)
                except ContextError:
                    continue
                there = self._in_view(draw[None, :], sensor, _ground_m(cones))
                found.append(apply(map_from_then, there))
                colors.append(self._colors(draw[None, 2]))
        map_from = self.map_from(cones.frame_id, stamp_ns, moment.context)
        xyz = apply(inverse(map_from), np.concatenate(found))
        seen = self._is_in_view(relative_to(sensor, xyz))
        return xyz[seen], np.concatenate(colors)[seen]

    def _is_in_view(self, relative: NDArray[np.float64]) -> NDArray[np.bool_]:
        distance = ranges(relative)
        bearing = np.abs(np.arctan2(relative[:, 1], relative[:, 0]))
        near = (distance >= self.min_range_m) & (distance <= self.max_range_m)
        seen: NDArray[np.bool_] = near & (bearing <= math.radians(self.horizontal_deg / 2))
        return seen

    def _in_view(
        self, draws: NDArray[np.float64], sensor: NDArray[np.float64], ground_m: float
    ) -> NDArray[np.float64]:
        """Place uniforms (n, >= 2) evenly over the area of the view."""
        squares = self.min_range_m**2, self.max_range_m**2
        distance = np.sqrt(squares[0] + draws[:, 0] * (squares[1] - squares[0]))
        return self._at(distance, draws[:, 1], sensor, np.full(len(draws), ground_m))

    def _at(
        self,
        range_m: NDArray[np.float64],
        uniforms: NDArray[np.float64],
        sensor: NDArray[np.float64],
        z_m: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Place cones at ranges (n,) and even bearings (uniforms (n,)) around the sensor's yaw.

        The range is kept in three dimensions where the height difference leaves any of it.
        """
        yaw = math.atan2(sensor[1, 0], sensor[0, 0])
        bearing = yaw + (uniforms - 0.5) * math.radians(self.horizontal_deg)
        level = np.sqrt(np.maximum(range_m**2 - (z_m - sensor[2, 3]) ** 2, 0))
        xyz = np.empty((len(range_m), 3))
        xyz[:, 0] = sensor[0, 3] + level * np.cos(bearing)
        xyz[:, 1] = sensor[1, 3] + level * np.sin(bearing)
        xyz[:, 2] = z_m
        return xyz

    def _colors(self, uniforms: NDArray[np.float64]) -> NDArray[np.int8]:
        shares, codes = self._class_shares
        found: NDArray[np.int8] = codes[shares[:-1].searchsorted(uniforms, side="right")]
        return found

    @cached_property
    def _class_shares(self) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        shares = np.cumsum(list(self.classes.values()))
        codes = np.array([class_of(name) for name in self.classes], np.int8)
        return shares / shares[-1], codes


def _ground_m(cones: Cones) -> float:
    """Return the height at which cones stand, the median over the source's; 0 without any."""
    z = truth_of(cones).xyz[:, 2]
    return float(np.median(z)) if len(z) and np.isfinite(z).all() else 0.0


def appended(cones: Cones, xyz: NDArray[np.float64], color: NDArray[np.int8]) -> Cones:
    """Return cones with false ones, (k, 3) and (k,), at the end; further columns are zero there."""
    count = len(xyz)

    def blank(column: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.zeros((count, *column.shape[1:]), column.dtype)

    none = np.full(count, FALSE_POSITIVE, np.int32)
    covariance, chances, ids = cones.covariance, cones.probabilities, cones.ids
    certain = np.eye(CLASS_COUNT)[color]
    return changed(
        cones,
        xyz=np.concatenate([cones.xyz, xyz]),
        color=np.concatenate([cones.color, color]),
        index=np.concatenate([cones.index, none]),
        covariance=None
        if covariance is None
        else np.concatenate([covariance, np.zeros((count, 3, 3))]),
        probabilities=None if chances is None else np.concatenate([chances, certain]),
        ids=None if ids is None else np.concatenate([ids, none.astype(ids.dtype)]),
        extra={k: np.concatenate([column, blank(column)]) for k, column in cones.extra.items()},
    )
