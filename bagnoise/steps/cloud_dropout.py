"""Step on returns that do not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.lidar.crop import azimuths_rad, ranges_m
from bagnoise.lidar.dropout import (
    burst_dropout,
    intensity_dropout,
    lost_rings,
    random_dropout,
    range_dropout,
    rings_every,
)
from bagnoise.lidar.rings import usual_beams
from bagnoise.messages.cloud import INTENSITY_NAMES
from bagnoise.messages.cloud_misses import Misses, hits, without
from bagnoise.messages.cloud_rings import rings
from bagnoise.rng import keyed
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.draws import row_draws
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.limits import Amount, Span  # noqa: TC001 - pydantic reads it at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.context import Needs

_STREAM_KEY = 3  # (seed, stream, step label)


class Dropout(CloudStep, LidarOrigin):
    """Lose returns: at random, far ones, faint ones, in sectors, or whole beams."""

    name: ClassVar[str] = "dropout"
    probability: float = Field(0.0, ge=0, le=1, description="chance that any return is lost")
    far_probability: float = Field(
        0.0, ge=0, le=1, description="chance at the end of far_range_m, rising from 0 at its start"
    )
    far_range_m: Span = Field((0.0, 100.0), description="start and end of the rise, in metres")
    faint_probability: float = Field(
        0.0, ge=0, le=1, description="chance at intensity 0, falling to 0 at faint_below"
    )
    faint_below: Amount = Field(10.0, gt=0, description="intensity from which none is lost so")
    keep_every_ring: int = Field(1, ge=1, le=1024, description="keep each n-th ring only")
    first_ring: int = Field(0, ge=0, le=1023, description="first ring kept by keep_every_ring")
    lost_beams: int = Field(0, ge=0, le=1024, description="beams that never return, drawn once")
    beams: int | None = Field(
        None, ge=1, le=1024, description="of the lidar; null: the usual number of the rings seen"
    )
    bursts: float = Field(0.0, ge=0, le=1000, description="mean number of lost sectors a cloud")
    burst_deg: float = Field(5.0, gt=0, le=360, description="mean width of a lost sector")
    misses: Misses | None = Field(
        None, description="how a lost point is written; null: nan if organised, else removed"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check what goes together."""
        found = self.origin_problems()
        if not 0 <= self.far_range_m[0] < self.far_range_m[1]:
            found.append("far_range_m must start at 0 or more and end later")
        if self.first_ring >= self.keep_every_ring:
            found.append("first_ring must be below keep_every_ring")
        if self.beams is not None and self.lost_beams > self.beams:
            found.append(f"lost_beams {self.lost_beams} are more than beams {self.beams}")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw each way of losing by itself, for every row."""
        if not len(cloud):
            return cloud
        kept = np.ones(len(cloud), np.bool_)
        for keep in self._ways(cloud, moment):
            kept &= keep
        lost = hits(cloud) & ~kept
        if not lost.any():
            return cloud
        moment.tally["returns lost"] += int(lost.sum())
        return without(cloud, lost, self.misses)

    def _ways(self, cloud: Cloud, moment: Moment) -> Iterator[NDArray[np.bool_]]:
        if self.probability > 0:
            draws = row_draws(cloud, moment, "random")
            yield random_dropout(len(cloud), self.probability, draws)
        origin = self.origin(cloud, moment)
        if self.far_probability > 0:
            far = ranges_m(cloud.xyz(), origin)
            draws = row_draws(cloud, moment, "far")
            yield range_dropout(far, *self.far_range_m, self.far_probability, draws)
        if self.faint_probability > 0:
            intensity = cloud.column(cloud.need(*INTENSITY_NAMES, why="dropout of faint returns"))
            draws = row_draws(cloud, moment, "faint")
            yield intensity_dropout(intensity, self.faint_below, self.faint_probability, draws)
        if self.bursts > 0:
            azimuth = azimuths_rad(cloud.xyz(), origin)
            yield burst_dropout(azimuth, self.bursts, self.burst_deg, moment.generator("bursts"))
        if self.keep_every_ring > 1 or self.lost_beams > 0:
            yield self._by_ring(rings(cloud, origin), moment)

    def _by_ring(self, ring: NDArray[np.int32], moment: Moment) -> NDArray[np.bool_]:
        kept = rings_every(ring, self.keep_every_ring, self.first_ring)
        if self.lost_beams > 0:
            channels = self.beams or usual_beams(ring)
            generator = keyed(*moment.key[:_STREAM_KEY], "lost beams")
            lost = lost_rings(channels, min(self.lost_beams, channels), generator)
            kept &= ~np.isin(ring, lost)
        return kept
