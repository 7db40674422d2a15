"""The beams of one revolution: directions and times, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.model import LidarModel

BEHIND_DEG: Final = 180.0
_NS_PER_US: Final = 1_000


@dataclass(frozen=True, eq=False)
class Beams:
    """Beams of one revolution, n = columns * channels rows, in the order they are fired by column.

    Attributes:
        azimuth_rad: (n,), counterclockwise from +x, within [-pi, pi).
        elevation_rad: (n,), positive up.
        ring: (n,) the driver's number.
        time_ns: (n,) int64 after the start of the revolution.
        columns: of the revolution.
        channels: beams a column.
    """

    azimuth_rad: NDArray[np.float64]
    elevation_rad: NDArray[np.float64]
    ring: NDArray[np.int32]
    time_ns: NDArray[np.int64]
    columns: int
    channels: int

    def __len__(self) -> int:
        """Count the beams."""
        return len(self.azimuth_rad)

    def directions(self) -> NDArray[np.float64]:
        """Return unit vectors, (n, 3)."""
        flat = np.cos(self.elevation_rad)
        return np.stack(
            [
                flat * np.cos(self.azimuth_rad),
                flat * np.sin(self.azimuth_rad),
                np.sin(self.elevation_rad),
            ],
            axis=1,
        )

    def part(self, first_column: int, end_column: int) -> Beams:
        """Return the beams of some columns: a sub-sweep."""
        rows = slice(first_column * self.channels, end_column * self.channels)
        return Beams(
            self.azimuth_rad[rows],
            self.elevation_rad[rows],
            self.ring[rows],
            self.time_ns[rows],
            end_column - first_column,
            self.channels,
        )


def revolution(
    model: LidarModel,
    rate_hz: float | None = None,
    columns: int | None = None,
    *,
    start_deg: float = BEHIND_DEG,
    clockwise: bool = True,
) -> Beams:
    """Lay out the beams of one turn.

    Args:
        model: whose beams.
        rate_hz: turns a second; the model's default where None.
        columns: of the turn; the model's own at this rate where None.
        start_deg: azimuth of the first column, from +x. Behind by default, so that the seam of a
            revolution, where a moving car tears the picture, is not ahead.
        clockwise: the way it spins, seen from above; all known models do.

    Raises:
        UsageError: an impossible rate, or fewer than one column.
    """
    rate = model.default_rate_hz if rate_hz is None else rate_hz
    count = model.columns_at(rate) if columns is None else columns
    if count < 1:
        msg = f"a revolution of {count} columns; at least 1 is needed"
        raise UsageError(msg)
    step = (-1 if clockwise else 1) * 2 * np.pi / count
    column_azimuth = np.radians(start_deg) + step * np.arange(count)
    azimuth = column_azimuth[:, None] + np.radians(model.azimuth_offsets_deg)[None, :]
    azimuth = (azimuth + np.pi) % (2 * np.pi) - np.pi
    channels = model.channels
    return Beams(
        azimuth_rad=azimuth.ravel(),
        elevation_rad=np.tile(np.radians(model.elevations_deg), count),
        ring=np.tile(np.arange(channels, dtype=np.int32), count),
        time_ns=_times_ns(model, rate, count),
        columns=count,
        channels=channels,
    )


def _times_ns(model: LidarModel, rate_hz: float, columns: int) -> NDArray[np.int64]:
    turn_ns = round(1e9 / rate_hz)
    column_ns = np.arange(columns, dtype=np.int64) * turn_ns // columns
    firing = np.asarray(model.firing_offsets_us or (0.0,) * model.channels)
    firing_ns = np.rint(firing * _NS_PER_US).astype(np.int64)
    times: NDArray[np.int64] = column_ns[:, None] + firing_ns[None, :]
    return times.ravel()
