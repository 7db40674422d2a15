"""Order and repetition of cones within a message."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.curves import ZERO, Chance
from bagnoise.steps.draws import shuffled_rows
from bagnoise.steps.polar import ranges, seen_by_sensor

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones


class Shuffle(ConeStep):
    """Put the cones into random order, so that the order tells nothing of color or distance."""

    name: ClassVar[str] = "shuffle"

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Reorder the rows by one draw a source row."""
        return cones.take(shuffled_rows(cones, moment.generator()))


class Duplicates(ConeStep):
    """See one cone twice: the second time a little beside, at the end of the message."""

    name: ClassVar[str] = "duplicates"
    probability: Chance = Field(ZERO, description="chance of a second detection, by range")
    std_m: float = Field(
        0.2, ge=0, le=1e3, description="distance from the first along x and y, in metres"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Draw for every source row; a duplicate has the index of the cone it is of."""
        generator = moment.generator()
        chance = generator.random(cones.source_count)
        offset_m = generator.standard_normal((cones.source_count, 2)) * self.std_m
        real = np.flatnonzero(cones.index >= 0)
        rows = cones.index[real]
        twice = chance[rows] < self.probability.at(ranges(seen_by_sensor(cones)[real]))
        if not twice.any():
            return cones
        moment.tally["cones seen twice"] += int(twice.sum())
        both = cones.take(np.concatenate([np.arange(len(cones)), real[twice]]))
        xyz = both.xyz.copy()
        xyz[len(cones) :, :2] += offset_m[rows[twice]]
        return replace(both, xyz=xyz)
