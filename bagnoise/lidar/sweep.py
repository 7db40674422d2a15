"""A revolution in parts: while the lidar turns, the vehicle moves.

All beams of one part are sensed from one pose, the seed's approximation ("all samples of an update
at its last pose"). One part is a snapshot; many parts give the distortion of a real sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.lidar.resample import CameraLidar, Mode, Sensed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams


@dataclass(frozen=True, eq=False)
class SubSweep:
    """Part of a revolution.

    Attributes:
        beams: of its columns.
        start_ns: of its first column, after the start of the revolution.
        end_ns: of its last column.
    """

    beams: Beams
    start_ns: int
    end_ns: int

    @property
    def middle_ns(self) -> int:
        """Halfway between its first and last column."""
        return (self.start_ns + self.end_ns) // 2


def sub_sweeps(beams: Beams, count: int) -> list[SubSweep]:
    """Split a revolution into parts of as equal a number of columns as possible.

    Raises:
        UsageError: no part, or more parts than columns.
    """
    if not 1 <= count <= beams.columns:
        msg = f"sub_sweeps is {count}; it must be from 1 to the {beams.columns} columns of a turn"
        raise UsageError(msg)
    column_ns = beams.time_ns.reshape(beams.columns, beams.channels)[:, 0]
    edges = [beams.columns * part // count for part in range(count + 1)]
    return [
        SubSweep(beams.part(first, end), int(column_ns[first]), int(column_ns[end - 1]))
        for first, end in pairwise(edges)
    ]


class SweepLidar:
    """Senses a revolution part by part, each from its own pose."""

    def __init__(
        self,
        parts: Sequence[SubSweep],
        max_approx_error_deg: float,
        cameras: int = 4,
        mode: Mode = "nearest",
        spacing_rad: tuple[float, float] | None = None,
    ) -> None:
        """Prepare the cameras of every part; see `CameraLidar`."""
        self.parts = tuple(parts)
        self.lidars = [
            CameraLidar(part.beams, max_approx_error_deg, cameras, mode, spacing_rad)
            for part in self.parts
        ]

    def sense(
        self, xyz_of_part: Sequence[NDArray[Any]], range_m: tuple[float, float] = (0.0, np.inf)
    ) -> Sensed:
        """Sense a cloud.

        Args:
            xyz_of_part: for each part, the cloud, (n, 3), about the lidar as posed in that part.
            range_m: nearest and farthest return.

        Returns:
            all beams of the revolution, in its order; positions are to be taken with `positions`:
            each is about the lidar as posed when it fired, like a real driver's.
        """
        seen = [
            lidar.sense(xyz, range_m) for lidar, xyz in zip(self.lidars, xyz_of_part, strict=True)
        ]
        return Sensed(
            np.concatenate([part.source for part in seen]),
            np.concatenate([part.range_m for part in seen]),
        )

    def positions(self, sensed: Sensed) -> NDArray[np.float32]:
        """Return the points on their beams, (n, 3) float32 metres, NaN for a miss."""
        directions = np.concatenate([lidar.directions for lidar in self.lidars])
        return directions * sensed.range_m[:, None]
