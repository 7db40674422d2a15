"""Step on ground under a film of water."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import numpy as np
from pydantic import Field

from bagnoise.lidar.ground import Plane, ground_plane, plane_of
from bagnoise.lidar.receiver import Echoes, Seen
from bagnoise.lidar.wet import Film, faintest_by_range, wet_share
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.echoes import Targets, with_echoes
from bagnoise.steps.limits import Number
from bagnoise.steps.receiver import Receiver

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud

_FLATTEST: Final = 1e-3  # cosine
Coefficients = Annotated[tuple[Number, Number, Number, Number], Field(strict=False)]


class WetGround(CloudStep, Receiver):
    """Weaken returns of wet ground, by reflection at the water and absorption in it; lose them."""

    name: ClassVar[str] = "wet_ground"
    water_depth_mm: float = Field(
        0.0, ge=0, le=1000, description="depth of the water, in millimetres"
    )
    texture_depth_mm: float = Field(
        1.2, ge=0, le=1000, description="depth of the pavement's texture, under which peaks are dry"
    )
    refractive_index: float = Field(
        1.33, ge=1, le=3, description="of the water (1.33 at 905 nm, 1.32 at 1550 nm)"
    )
    absorption_per_m: float = Field(
        6.8, ge=0, le=1e5, description="of the water (6.8 at 905 nm, about 1100 at 1550 nm)"
    )
    ground_plane: Coefficients | None = Field(
        None, description="a, b, c, d of a x + b y + c z + d = 0; null: estimated in every cloud"
    )
    ground_band_m: float = Field(
        0.2, gt=0, le=10, description="distance from the plane up to which points are ground"
    )
    noise_floor: float | None = Field(
        None,
        ge=0,
        le=10,
        description="lose ground below this share of the faintest dry ground at its range, too",
    )

    def check(self) -> list[str]:
        """Check the origin and the plane."""
        found = self.origin_problems()
        if self.ground_plane is not None and self.ground_plane[2] == 0:
            found.append("ground_plane needs c other than 0: the ground is not upright")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Weaken the ground's echoes."""
        if not len(cloud) or self.water_depth_mm == 0:
            return cloud
        targets = self.targets(cloud, moment, self.name)
        plane = self._plane(targets, moment)
        if plane is None:
            return cloud
        # heights below the lidar: misses have arms of length 0
        fall = sum(n * arm for n, arm in zip(-plane.normal, targets.arms.xyz, strict=True))
        lidar_m = float(plane.heights_m(targets.origin[None])[0])
        ground = targets.hit & (np.abs(lidar_m - fall) <= self.ground_band_m)
        rows = np.flatnonzero(ground)
        ranges, dry = targets.range_m[rows], targets.power[rows]
        cosine = np.clip(fall[rows] / ranges, 0, 1)
        factor = np.ones(len(cloud))
        factor[rows] = wet_share(cosine, dry * ranges**2, self._film())
        left = targets.power * factor
        kept = ~ground | (left >= self.least)
        if self.noise_floor is not None:
            # what the ground's own brightness is, without incidence and distance
            bright = dry * ranges**2 / np.maximum(cosine, _FLATTEST)
            floor = self.noise_floor * faintest_by_range(ranges, bright) * cosine / ranges**2
            kept[rows] &= left[rows] >= floor
        noise_m = self.faint_noise(targets, left, moment)
        moment.tally["returns of wet ground"] += len(rows)
        nothing = np.zeros(len(cloud), np.bool_)
        air = Echoes(targets.range_m, targets.power)
        return with_echoes(targets, factor, noise_m, Seen(kept, nothing), air, self.misses, moment)

    def _film(self) -> Film:
        return Film(
            self.water_depth_mm / 1000,
            self.texture_depth_mm / 1000,
            self.refractive_index,
            self.absorption_per_m,
        )

    def _plane(self, targets: Targets, moment: Moment) -> Plane | None:
        if self.ground_plane is not None:
            return plane_of(self.ground_plane)
        found = ground_plane(targets.xyz, targets.origin, self.ground_band_m)
        if found is None:
            moment.warn("wet_ground: no ground was found in some clouds; give ground_plane")
        return found
