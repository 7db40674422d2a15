"""The drive: a standing start, one lap on the centre line, and a few metres past the line.

The speed is the fastest that the tyres, the engine and the brakes allow (friction ellipse), then
smoothed in time, because a real car's acceleration does not jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from circuit import START_LINE_M, STATION_STEP_M, CentreLine
from exact import Array, Poses, Times, quantise, unit_circle

TOP_SPEED_MPS = 17.0
LATERAL_LIMIT_MPS2 = 9.0
DRIVE_LIMIT_MPS2 = 5.5
BRAKE_LIMIT_MPS2 = 8.0
STANDING_S = 0.5
RUN_OUT_M = 8.0
SMOOTHING_S = 0.2
TICK_S = 0.001
POSITION_BITS = 20
RATE_BITS = 20


@dataclass(frozen=True)
class Motion:
    """What the car does at given instants (rows): speed, acceleration, yaw and yaw rate."""

    poses: Poses
    speed_mps: Array
    drive_mps2: Array
    lateral_mps2: Array
    heading_rad: Array
    yaw_rate_radps: Array


@dataclass(frozen=True)
class Drive:
    """The drive as speed and arc length on an even grid of seconds from its beginning."""

    line: CentreLine
    elapsed_s: Array
    station_m: Array
    speed_mps: Array
    drive_mps2: Array

    @property
    def duration_ns(self) -> int:
        """How long the drive takes."""
        return round(float(self.elapsed_s[-1]) * 1e9)

    def at(self, stamp_ns: Times, start_ns: int) -> Motion:
        """The motion at stamps of a recording whose drive begins at ``start_ns``."""
        elapsed = (stamp_ns - start_ns).astype(np.float64) * 1e-9
        station, speed, drive = (
            np.interp(elapsed, self.elapsed_s, values)
            for values in (self.station_m, self.speed_mps, self.drive_mps2)
        )
        xy, heading, curvature = self.line.at(station)
        poses = Poses(stamp_ns, quantise(xy, POSITION_BITS), *unit_circle(heading / 2))
        speed = quantise(speed, RATE_BITS)
        yaw_rate = quantise(speed * curvature, RATE_BITS)
        lateral = speed * yaw_rate
        return Motion(poses, speed, drive, lateral, heading, yaw_rate)


def _fastest_speed(line: CentreLine, end_m: float) -> Array:
    """The fastest possible speed at each station from the grid to ``end_m``."""
    station = np.arange(0.0, end_m, STATION_STEP_M)
    curvature = np.abs(line.at(station)[2])
    squared = np.minimum(TOP_SPEED_MPS**2, LATERAL_LIMIT_MPS2 / np.maximum(curvature, 1e-6))
    squared[0] = 0.0
    for order, limit in ((1, DRIVE_LIMIT_MPS2), (-1, BRAKE_LIMIT_MPS2)):
        _limit_gain(squared[::order], curvature[::order], limit)
    return np.asarray(np.sqrt(squared))


def _limit_gain(squared: Array, curvature: Array, limit_mps2: float) -> None:
    """Hold the gain of v^2 from one station to the next to what the friction ellipse leaves."""
    for i in range(len(squared) - 1):
        used = min(1.0, squared[i] * curvature[i] / LATERAL_LIMIT_MPS2)
        grip = limit_mps2 * float(np.sqrt(1 - used * used))
        squared[i + 1] = min(squared[i + 1], squared[i] + 2 * grip * STATION_STEP_M)


def _smooth(values: npt.NDArray[np.float64]) -> Array:
    """Average over a Hann window; the ends are held."""
    width = round(SMOOTHING_S / TICK_S) | 1
    window = np.hanning(width + 2)[1:-1]
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, window / window.sum(), mode="valid")


def drive_a_lap(line: CentreLine) -> Drive:
    """Drive from the grid over a whole lap, start line to start line, and a little further."""
    end_m = START_LINE_M + line.length_m + RUN_OUT_M
    speed = _fastest_speed(line, end_m)
    steps_s = 2 * STATION_STEP_M / (speed[1:] + speed[:-1])
    arrival_s = STANDING_S + np.concatenate([[0.0], np.cumsum(steps_s)])
    elapsed = np.arange(0.0, float(arrival_s[-1]), TICK_S)
    # Between stations v^2 is linear in arc length, so v is linear in time: no error here.
    rough = np.interp(elapsed, arrival_s, speed)
    smooth = _smooth(rough)
    smooth[elapsed < STANDING_S - SMOOTHING_S] = 0.0
    travelled = np.concatenate([[0.0], np.cumsum((smooth[1:] + smooth[:-1]) / 2 * TICK_S)])
    return Drive(line, elapsed, travelled, smooth, np.gradient(smooth, TICK_S))
