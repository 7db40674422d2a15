"""Step on fog: weaker echoes of targets, and echoes of the fog."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from bagnoise.lidar.fog import (
    FogAir,
    backscatter_of,
    extinction_of,
    fog_echoes,
    fog_profile,
)
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.draws import row_draws
from bagnoise.steps.receiver import AirEcho

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bagnoise.lidar.receiver import Echoes
    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.echoes import Targets


class Fog(CloudStep, AirEcho):
    """Weaken returns as fog does, lose them, or put them where the fog's own echo is stronger."""

    name: ClassVar[str] = "fog"
    meteorological_range_m: float | None = Field(
        None, ge=0.03, le=1e6, description="visibility (MOR), at which contrast falls to 5 percent"
    )
    alpha_per_m: float | None = Field(
        None, ge=0, le=100, description="extinction; null: ln 20 / meteorological_range_m"
    )
    beta_per_m_sr: float | None = Field(
        None, ge=0, le=100, description="backscatter; null: 0.046 / meteorological_range_m"
    )
    pulse_ns: float = Field(5.0, ge=0.01, le=1000, description="half-power width of the pulse")
    patchiness: float = Field(
        0.25, ge=0, lt=1, description="spread of the fog's density between spots, as a logarithm"
    )

    def check(self) -> list[str]:
        """Check what goes together."""
        found = self.echo_problems()
        if self.meteorological_range_m is not None and self.alpha_per_m is not None:
            found.append("give meteorological_range_m or alpha_per_m, not both")
        if self.beta_per_m_sr and self.meteorological_range_m is None and self.alpha_per_m is None:
            found.append("beta_per_m_sr needs meteorological_range_m or alpha_per_m")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw twice for the fog and once for the range, for every row."""
        alpha = self._alpha()
        if not len(cloud) or alpha == 0:
            return cloud
        beta = backscatter_of(alpha) if self.beta_per_m_sr is None else self.beta_per_m_sr
        air = FogAir(alpha, beta, self.pulse_ns, self.crossover_m, self.patchiness, self.least)

        def echoes(targets: Targets, above: NDArray[np.float64]) -> Echoes:
            draws = row_draws(cloud, moment, "echo")
            return fog_echoes(fog_profile(air), air, targets.range_m, above, draws)

        return self.through_air(cloud, moment, self.name, alpha, echoes)

    def _alpha(self) -> float:
        if self.alpha_per_m is not None:
            return self.alpha_per_m
        range_m = self.meteorological_range_m
        return 0.0 if range_m is None else extinction_of(range_m)
