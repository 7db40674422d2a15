"""Steps on light that is not the lidar's own: other lidars, the sun."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
from pydantic import Field

from bagnoise.lidar.interference import blinded_ranges, crosstalk, direction_of, glare
from bagnoise.messages.cloud import INTENSITY_NAMES
from bagnoise.messages.cloud_lengths import with_measured
from bagnoise.messages.cloud_misses import Misses, hits, without
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.context import Needs
from bagnoise.steps.draws import row_draws
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.limits import Span  # noqa: TC001 - pydantic reads it at run time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

_USUAL_STD_M: Final = 3.0  # that of Robo3D and 3D_Corruptions_AD


class RangeLimits(LidarOrigin):
    """Options of steps that make ranges up: those that the lidar reports."""

    limits_m: Span = Field(
        (0.5, 200.0),
        description="nearest and farthest range of the lidar; ranges outside are reflected",
    )

    def limit_problems(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        found = self.origin_problems()
        if not 0 < self.limits_m[0] < self.limits_m[1]:
            found.append(f"limits_m is {list(self.limits_m)}; it must start above 0 and end later")
        return found


class Crosstalk(CloudStep, RangeLimits):
    """Give some returns the range of another lidar's pulse, on the same beam.

    uniform: r' anywhere within limits_m, as pulses of a lidar with a clock of its own arrive.
    normal: r' = r + N(0, std_m^2), as the benchmarks Robo3D and 3D_Corruptions_AD have it, but
    along the beam and never in the intensity.
    """

    name: ClassVar[str] = "crosstalk"
    fraction: float = Field(0.0, ge=0, le=1, description="chance of each return")
    distribution: Literal["uniform", "normal"] = Field(
        "uniform", description="of the wrong range: anywhere, or about the true one"
    )
    std_m: float | None = Field(
        None, ge=0, le=1e4, description="deviation of the normal one, in metres; null: 3"
    )
    intensity: Span | None = Field(
        None, description="least and most of wrong returns, drawn uniformly; null: as they were"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check what goes together."""
        found = self.limit_problems()
        if self.distribution == "uniform" and self.std_m is not None:
            found.append("std_m is of distribution: normal; a uniform range has none")
        if self.intensity is not None and not 0 <= self.intensity[0] <= self.intensity[1]:
            found.append("intensity must start at 0 or more and not end before")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw twice for every row, and once more for intensities."""
        if not len(cloud) or self.fraction == 0:
            return cloud
        origin = self.origin(cloud, moment)
        moved = crosstalk(
            cloud.xyz(),
            origin,
            self.fraction,
            self.limits_m,
            row_draws(cloud, moment),
            std_m=self._std_m(),
        )
        if not moved.changed.any():
            return cloud
        moment.tally["crosstalk"] += int(moved.changed.sum())
        more = {}
        if self.intensity is not None:
            name = cloud.need(*INTENSITY_NAMES, why="crosstalk with intensity")
            least, most = self.intensity
            drawn = row_draws(cloud, moment, "intensity").random(len(cloud))
            more[name] = least + drawn * (most - least)
        return with_measured(cloud, moved.xyz, moved.changed, origin, more)

    def _std_m(self) -> float | None:
        """Return the deviation of the normal distribution; None: uniform."""
        if self.distribution == "uniform":
            return None
        return _USUAL_STD_M if self.std_m is None else self.std_m


class Sun(CloudStep, RangeLimits):
    """Lose returns towards the sun, or make their ranges noisy, the more the nearer to it.

    The chance at an angle a from the sun is p (1 - a / within_deg); falloff: none makes it p, and
    within_deg: 180 with it is the benchmark 3D_Corruptions_AD, which has no sun.
    """

    name: ClassVar[str] = "sun"
    azimuth_deg: float = Field(
        0.0, ge=-360, le=360, description="of the sun, counterclockwise from x, in degrees"
    )
    elevation_deg: float = Field(20.0, ge=-90, le=90, description="of the sun, in degrees")
    sun_frame: str | None = Field(
        None, description="frame in /tf of these angles, e.g. map; null: the cloud's"
    )
    within_deg: float = Field(
        20.0, gt=0, le=180, description="angle from the sun up to which it blinds"
    )
    falloff: Literal["linear", "none"] = Field(
        "linear", description="how the chances fall with the angle from the sun"
    )
    lost_probability: float = Field(
        0.0, ge=0, le=1, description="chance that a return towards the sun is lost"
    )
    noise_probability: float = Field(
        0.0, ge=0, le=1, description="chance that the range of a return towards the sun is noisy"
    )
    std_m: float = Field(2.0, ge=0, le=1e4, description="deviation of noisy ranges, in metres")
    misses: Misses | None = Field(
        None, description="how a lost point is written; null: nan if organised, else removed"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar or the sun are in other frames."""
        return Needs(tf=True) if self.sun_frame is not None else self.origin_needs()

    def check(self) -> list[str]:
        """Check what goes together."""
        return self.limit_problems()

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw three times for every row."""
        if not len(cloud) or not (self.lost_probability or self.noise_probability):
            return cloud
        xyz, origin = cloud.xyz(), self.origin(cloud, moment)
        blinded = glare(
            xyz,
            origin,
            self._towards_sun(cloud, moment),
            self.within_deg,
            falls=self.falloff == "linear",
        )
        if self.noise_probability:
            chance, draws = self.noise_probability * blinded, row_draws(cloud, moment, "noise")
            moved = blinded_ranges(xyz, origin, chance, self.std_m, self.limits_m, draws)
            if moved.changed.any():
                moment.tally["noisy in the sun"] += int(moved.changed.sum())
                cloud = with_measured(cloud, moved.xyz, moved.changed, origin)
        drawn = row_draws(cloud, moment, "lost").random(len(cloud))
        lost = hits(cloud) & (drawn < self.lost_probability * blinded)
        if not lost.any():
            return cloud
        moment.tally["returns lost"] += int(lost.sum())
        return without(cloud, lost, self.misses)

    def _towards_sun(self, cloud: Cloud, moment: Moment) -> NDArray[np.float64]:
        sun = direction_of(self.azimuth_deg, self.elevation_deg)
        if self.sun_frame is None:
            return sun
        stamp_ns = cloud.stamp_ns or moment.log_ns
        turned = moment.context.transform(cloud.frame_id, self.sun_frame, stamp_ns)[:3, :3]
        return np.asarray(turned @ sun)
