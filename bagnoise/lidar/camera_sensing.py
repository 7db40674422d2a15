"""The camera-approximated lidar by the names of Unity's SensorSDK, over the same kernels.

| SensorSDK | here |
|---|---|
| ``maxApproxErrorDeg`` | ``max_approx_error_deg`` |
| ``samplingOffsets`` / ``beamPoses`` | directions of the beams of one sample, in its frame |
| ``SamplingStamps`` | a list of `SampleStamp` |
| ``UpdateSensingComponent`` | `CameraSensingComponent.update_sensing_component` |

Axes are ROS's (x forward, z up), where Unity's sensor looks along +Z and turns about +Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, inverse, rpy_deg_from_matrix
from bagnoise.lidar.beams import Beams
from bagnoise.lidar.camera import WIDEST_SWEEP_DEG
from bagnoise.lidar.resample import CameraLidar, Sensed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

_MOST_TILT_DEG: Final = 1.0
_CAMERAS: Final = 4


@dataclass(frozen=True, eq=False)
class SampleStamp:
    """A pose of the sensor, (4, 4) world_from_sensor, and the samples taken up to it."""

    world_from_sensor: NDArray[np.float64]
    count: int


class Frame(NamedTuple):
    """What an update sensed.

    ``xyz`` is in the sensor's last frame, (samples * beams, 3), NaN for a miss.
    """

    sensed: Sensed
    xyz: NDArray[np.float32]
    samples: int
    beams: int


class CameraSensingComponent:
    """Senses a scene of points as the beams of a turning sensor would.

    As in SensorSDK only the first and the last pose of an update count: the rotation between them
    is spread evenly over the samples, and all samples leave from the last position. Origins of
    single beams are ignored.
    """

    def __init__(self, max_approx_error_deg: float, scene: ArrayLike = ()) -> None:
        """Make it, inactive.

        Args:
            max_approx_error_deg: between a beam and the centre of its pixel.
            scene: (n, 3) points in the world; may be set later.
        """
        self.max_approx_error_deg = max_approx_error_deg
        self.scene = np.asarray(scene, np.float64).reshape(-1, 3)
        self._offsets: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self._callback: Callable[[Frame], Any] | None = None

    def activate(self, callback: Callable[[Frame], Any]) -> None:
        """Send every frame from now on to a callback."""
        self._callback = callback

    def deactivate(self) -> None:
        """Send no more frames."""
        self._callback = None

    def update_sampling_offsets(self, azimuth_deg: ArrayLike, elevation_deg: ArrayLike) -> None:
        """Set the beams of one sample, (b,) each, in the sensor's frame.

        Raises:
            UsageError: no beams, or not one elevation for each azimuth.
        """
        azimuth = np.radians(np.asarray(azimuth_deg, np.float64).ravel())
        elevation = np.radians(np.asarray(elevation_deg, np.float64).ravel())
        if len(azimuth) == 0 or len(azimuth) != len(elevation):
            msg = f"{len(azimuth)} azimuths and {len(elevation)} elevations: one of each a beam"
            raise UsageError(msg)
        self._offsets = azimuth, elevation

    def update_sensing_component(self, stamps: Sequence[SampleStamp]) -> Frame | None:
        """Take the samples of one update; None while inactive.

        Raises:
            UsageError: no beams or no samples, a turn of 120 deg or more, or one that is not about
                the sensor's own z axis.
        """
        if self._callback is None:
            return None
        frame = self._sense(stamps)
        self._callback(frame)
        return frame

    def _sense(self, stamps: Sequence[SampleStamp]) -> Frame:
        samples = sum(stamp.count for stamp in stamps)
        if self._offsets is None or samples < 1:
            msg = f"an update of {samples} samples, beams are {'' if self._offsets else 'not '}set;"
            msg += " give at least one sample, and call update_sampling_offsets first"
            raise UsageError(msg)
        last = stamps[-1].world_from_sensor
        turn_rad = _turn_rad(stamps[0].world_from_sensor, last)
        behind = turn_rad * (np.arange(samples) / max(samples - 1, 1) - 1)
        beams = _beams(behind, *self._offsets)
        lidar = CameraLidar(beams, self.max_approx_error_deg, _CAMERAS)
        sensed = lidar.sense(apply(inverse(last), self.scene))
        return Frame(sensed, lidar.positions(sensed), samples, beams.channels)


def _turn_rad(first: NDArray[np.float64], last: NDArray[np.float64]) -> float:
    """Return the angle from the first to the last pose about z."""
    roll, pitch, yaw = rpy_deg_from_matrix((inverse(first) @ last)[:3, :3])
    if max(abs(roll), abs(pitch)) > _MOST_TILT_DEG:
        msg = (
            f"the sensor rolls {roll:.3g} and pitches {pitch:.3g} deg within an update; it may only"
            " turn about its z axis: use shorter updates"
        )
        raise UsageError(msg)
    if abs(yaw) >= WIDEST_SWEEP_DEG:
        msg = f"the sensor turns {yaw:.4g} deg within an update; it must be less than"
        msg += f" {WIDEST_SWEEP_DEG:g} deg"
        raise UsageError(msg)
    return math.radians(yaw)


def _beams(
    turned_rad: NDArray[np.float64],
    azimuth_rad: NDArray[np.float64],
    elevation_rad: NDArray[np.float64],
) -> Beams:
    azimuth = np.add.outer(turned_rad, azimuth_rad)
    channels = len(azimuth_rad)
    return Beams(
        (azimuth.ravel() + np.pi) % (2 * np.pi) - np.pi,
        np.tile(elevation_rad, len(turned_rad)),
        np.tile(np.arange(channels, dtype=np.int32), len(turned_rad)),
        np.zeros(azimuth.size, np.int64),
        len(turned_rad),
        channels,
    )
