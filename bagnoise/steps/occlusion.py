"""Cones that stand behind cones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.errors import MessageError
from bagnoise.messages.payload import ConeClass, truth_of
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.polar import relative_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

# FSG competition handbook, track layout: base and height of the cones that the rules describe
_MOST_PAIRS = 1 << 20  # looked at together
_MOST_CONES = 20_000  # of a message; all pairs are compared, which takes seconds then
SMALL_M, BIG_M = (0.228, 0.325), (0.285, 0.505)


class Occlusion(ConeStep):
    """Lose cones that nearer cones hide from the sensor.

    Seen from the sensor, a cone is a rectangle of bearings and elevations, as wide and high as its
    class. A cone is lost where nearer ones cover more than max_hidden of it (their overlaps with
    it added up). Every source cone hides others, also one that an earlier step has lost.
    """

    name: ClassVar[str] = "occlusion"
    max_hidden: float = Field(0.7, ge=0, le=1, description="share of a cone that may be hidden")
    width_m: float = Field(SMALL_M[0], gt=0, le=10, description="width of a cone, in metres")
    height_m: float = Field(SMALL_M[1], gt=0, le=10, description="height of a cone, in metres")
    big_width_m: float = Field(BIG_M[0], gt=0, le=10, description="width of a big orange cone")
    big_height_m: float = Field(BIG_M[1], gt=0, le=10, description="height of a big orange cone")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Decide over the source cones where they really are, then mask; ghosts stay."""
        truth = truth_of(cones)
        if len(truth.xyz) > _MOST_CONES:
            msg = f"{len(truth.xyz)} cones in a message; occlusion takes at most {_MOST_CONES}"
            raise MessageError(msg)
        big = truth.color == ConeClass.BIG_ORANGE
        width = np.where(big, self.big_width_m, self.width_m)
        height = np.where(big, self.big_height_m, self.height_m)
        hidden = hidden_shares(truth.xyz, width, height, cones.sensor) > self.max_hidden
        real = cones.index >= 0
        kept = np.ones(len(cones), bool)
        kept[real] = ~hidden[cones.index[real]]
        if kept.all():
            return cones
        moment.tally["cones occluded"] += int((~kept).sum())
        return cones.take(kept)


def hidden_shares(
    xyz: NDArray[np.float64],
    width_m: NDArray[np.float64],
    height_m: NDArray[np.float64],
    sensor: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return which share of each cone nearer cones hide, (n,), 0 to 1.

    Args:
        xyz: middle of each cone's base in the message's frame, (n, 3), whose z is up.
        width_m: (n,).
        height_m: (n,).
        sensor: frame_from_sensor, (4, 4), or None: the frame's origin.

    A cone seen from a range r has the half-angle atan(width / 2 / r) and the elevations of base
    and tip; the covered share is the sum over nearer cones of overlap area / own area, at most 1.
    """
    base = relative_to(sensor, xyz)
    tip = relative_to(sensor, xyz + height_m[:, None] * np.array((0.0, 0.0, 1.0)))
    distance = np.hypot(base[:, 0], base[:, 1])
    bearing = np.arctan2(base[:, 1], base[:, 0])
    half = np.arctan2(width_m / 2, distance)
    low, high = (np.arctan2(end[:, 2], np.hypot(end[:, 0], end[:, 1])) for end in (base, tip))
    area = 2 * half * (high - low)
    share = np.empty(len(xyz))
    few = max(1, _MOST_PAIRS // max(1, len(xyz)))
    for start in range(0, len(xyz), few):
        # rows: the cones that may be hidden, columns: those that may hide them
        rows = slice(start, start + few)
        own = half[rows, None]
        apart = np.abs((bearing[rows, None] - bearing[None, :] + np.pi) % (2 * np.pi) - np.pi)
        wide = np.minimum(own + half[None, :] - apart, 2 * own)
        wide = np.clip(np.minimum(wide, 2 * half[None, :]), 0, None)
        tall = np.minimum(high[rows, None], high[None, :]) - np.maximum(low[rows, None], low[None])
        covered = wide * np.clip(tall, 0, None) * (distance[None, :] < distance[rows, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            share[rows] = np.nansum(covered, axis=1) / area[rows]
    hidden: NDArray[np.float64] = np.minimum(np.nan_to_num(share), 1.0)
    return hidden
