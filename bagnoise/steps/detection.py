"""Cones that a detector misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.steps.colors import ClassName, class_of
from bagnoise.steps.correlated import as_uniforms, correlated_normals
from bagnoise.steps.curves import ONE, Chance
from bagnoise.steps.draws import of_rows
from bagnoise.steps.polar import ranges, seen_by_sensor
from bagnoise.steps.world import InWorld, measured_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones
    from bagnoise.steps.base import Moment

Factor = Annotated[float, Field(ge=0, le=1e3)]
_WHOLE_SENSOR = np.zeros(1, np.int64)


class Detection(InWorld):
    """Miss cones with a probability by range and class; misses may stick and come in bursts.

    With correlation_s a cone is missed while a slow process of its own is beyond the quantile of
    its probability, so the share of misses is the same, but they last. In a burst all are missed.
    """

    name: ClassVar[str] = "detection"
    probability: Chance = Field(ONE, description="chance to see a cone, by range (cut to 0 … 1)")
    by_class: dict[ClassName, Factor] = Field(
        default_factory=dict, description="class -> factor on the probability"
    )
    correlation_s: float = Field(
        0.0, ge=0, le=1e6, description="how long misses stick, in seconds; 0: anew each message"
    )
    burst_share: float = Field(
        0.0, ge=0, le=1, description="share of the time in which everything is missed"
    )
    burst_s: float = Field(
        0.5, gt=0, le=1e6, description="correlation time of these bursts, in seconds"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask the source cones; false positives stay, but in a burst."""
        seen = of_rows(self._uniforms(cones, moment), cones.index) < self._chance(cones)
        seen |= cones.index < 0
        if self.burst_share > 0 and self._in_burst(cones, moment):
            seen[:] = False
        if seen.all():
            return cones
        moment.tally["cones missed"] += int((~seen).sum())
        return cones.take(seen)

    def _chance(self, cones: Cones) -> NDArray[np.float64]:
        chance = self.probability.at(ranges(seen_by_sensor(cones)))
        for name, factor in self.by_class.items():
            chance = np.where(cones.color == class_of(name), chance * factor, chance)
        return chance

    def _uniforms(self, cones: Cones, moment: Moment) -> NDArray[np.float64]:
        if self.correlation_s == 0:
            return moment.generator().random(cones.source_count)
        parts = (*moment.key[:3], "sticky")
        identities = self.identities(cones, moment)
        stamp_ns = measured_ns(cones, moment)
        slow = correlated_normals(parts, identities, stamp_ns, self.correlation_s)
        return as_uniforms(slow[:, 0])

    def _in_burst(self, cones: Cones, moment: Moment) -> bool:
        parts = (*moment.key[:3], "burst")
        stamp_ns = measured_ns(cones, moment)
        slow = correlated_normals(parts, _WHOLE_SENSOR, stamp_ns, self.burst_s)
        return bool(as_uniforms(slow[:, 0])[0] < self.burst_share)
