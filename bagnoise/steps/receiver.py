"""Options of steps that weaken echoes, or add echoes of the air: what the receiver can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from bagnoise.lidar.particle_echoes import (
    ParticleAir,
    farthest_echoes,
    particle_table,
    strongest_echoes,
)
from bagnoise.lidar.receiver import (
    Echoes,
    faint_range_noise,
    least_power,
    seen,
    transmission,
)
from bagnoise.messages.cloud_misses import Misses  # noqa: TC001 - pydantic reads it
from bagnoise.steps.draws import row_draws
from bagnoise.steps.echoes import Reading, Targets, targets_of, with_echoes
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.limits import Amount, Span  # noqa: TC001 - pydantic reads it at run time

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bagnoise.lidar.particles import Particles
    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.base import Moment
    from bagnoise.steps.context import Needs

IntensityKind = Literal["reflectivity", "power"]
Returns = Literal["strongest", "last"]
_NEAREST_CROSSOVER_M = 0.1  # backscatter of the volume grows without bound towards the lidar


class Receiver(LidarOrigin):
    """Options that say how strong an echo is and which are still detected."""

    reflectivity: float | None = Field(
        None,
        gt=0,
        le=1e6,
        description="of every target, 1: white; null: of each from its intensity, 0.3 without any",
    )
    full_intensity: Amount = Field(
        100.0, gt=0, description="intensity of a white target (at 1 m where intensity is power)"
    )
    intensity_is: IntensityKind = Field(
        "reflectivity", description="calibrated reflectivity, or power that falls with range^2"
    )
    field: str | None = Field(None, description="point field; null: intensity, i, reflectivity …")
    clear_range_m: float = Field(
        200.0,
        ge=0.01,
        le=1e5,
        description="farthest range of a target of clear_reflectivity in clear air",
    )
    clear_reflectivity: float = Field(
        0.9, ge=1e-9, le=1e6, description="reflectivity that clear_range_m is stated for"
    )
    range_accuracy_m: float = Field(
        0.09, ge=0, le=100, description="a in sigma = a / sqrt(2 SNR), the noise of faint echoes"
    )
    misses: Misses | None = Field(
        None, description="how a lost point is written; null: nan if organised, else removed"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    @property
    def least(self) -> float:
        """Return the power that is just detected."""
        return least_power(self.clear_range_m, self.clear_reflectivity)

    def targets(self, cloud: Cloud, moment: Moment, what: str) -> Targets:
        """Read ranges and powers of the returns for a step of the name ``what``."""
        falls = self.intensity_is == "power"
        reading = Reading(self.reflectivity, self.full_intensity, self.field, falls)
        return targets_of(cloud, self.origin(cloud, moment), reading, self.least, moment, what)

    def faint_noise(
        self, targets: Targets, left: NDArray[np.float64], moment: Moment
    ) -> NDArray[np.float64]:
        """Draw the range errors, (n,) metres, of echoes that are fainter than in clear air."""
        if self.range_accuracy_m == 0:
            return np.zeros(len(left))
        draws = row_draws(targets.cloud, moment, "range")
        return faint_range_noise(targets.power, left, self.least, self.range_accuracy_m, draws)


class AirEcho(Receiver):
    """Options of steps in which the air itself returns echoes."""

    crossover_m: Span = Field(
        (1.0, 10.0), description="ranges at which the receiver begins and ends to see all the beam"
    )
    returns: Returns = Field("strongest", description="which echo of a beam the lidar reports")

    def echo_problems(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        found = self.origin_problems()
        if not _NEAREST_CROSSOVER_M <= self.crossover_m[0] < self.crossover_m[1]:
            found.append(
                f"crossover_m is {list(self.crossover_m)}; it must start at"
                f" {_NEAREST_CROSSOVER_M} or more and end later"
            )
        return found

    def through_air(
        self,
        cloud: Cloud,
        moment: Moment,
        what: str,
        alpha_per_m: float,
        echoes: Callable[[Targets, NDArray[np.float64]], Echoes],
    ) -> Cloud:
        """Weaken the returns by an extinction, and let the air's own echoes compete with them.

        Args:
            cloud: not empty.
            moment: whose draws count.
            what: the step's name.
            alpha_per_m: extinction.
            echoes: of the air, given the targets and the powers, (n,), that an echo must exceed
                to be reported; inf where nothing can.
        """
        targets = self.targets(cloud, moment, what)
        factor = transmission(targets.range_m, alpha_per_m)
        left = targets.power * factor
        if self.returns == "last":
            above = np.where(left >= self.least, np.inf, self.least)
        else:
            above = np.maximum(left, self.least)
        above[~targets.hit] = np.inf
        air = echoes(targets, above)
        reported = seen(left, air.power, self.least, last=self.returns == "last")
        noise_m = self.faint_noise(targets, left, moment)
        return with_echoes(targets, factor, noise_m, reported, air, self.misses, moment)


class Beam(AirEcho):
    """Options of steps in which single particles cross the beam."""

    divergence_mrad: float = Field(
        3.0, gt=0, le=500, description="full angle of the beam, in milliradians"
    )
    exit_diameter_mm: float = Field(
        10.0, ge=0, le=1000, description="diameter of the beam where it leaves the lidar"
    )
    alpha_per_m: float | None = Field(
        None, ge=0, le=100, description="extinction; null: of the particles, by their sizes"
    )
    smallest_mm: float = Field(
        0.05, ge=0, le=100, description="diameter from which single particles return echoes"
    )

    def beam_problems(self, rate_mm_h: float) -> list[str]:
        """Say what is wrong with the options taken together, at a rate."""
        found = self.echo_problems()
        if rate_mm_h == 0 and self.alpha_per_m:
            found.append("alpha_per_m needs rate_mm_h above 0: at 0 nothing falls")
        return found

    def on_particles(self, cloud: Cloud, moment: Moment, what: str, particles: Particles) -> Cloud:
        """Send the beams through particles."""
        alpha = particles.extinction_per_m if self.alpha_per_m is None else self.alpha_per_m
        air = ParticleAir(
            particles,
            alpha,
            self.exit_diameter_mm,
            self.divergence_mrad,
            self.crossover_m,
            self.least,
        )
        table = particle_table(air)

        def echoes(targets: Targets, above: NDArray[np.float64]) -> Echoes:
            if table is None:
                return Echoes(targets.range_m, np.zeros(len(above)))
            draws = row_draws(cloud, moment, "echo")
            if self.returns == "last":
                wanted = above < np.inf
                return farthest_echoes(table, air, targets.range_m, wanted, draws)
            return strongest_echoes(table, targets.range_m, above, draws)

        return self.through_air(cloud, moment, what, alpha, echoes)
