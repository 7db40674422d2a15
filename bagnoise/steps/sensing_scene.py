"""Where the lidar, the car and the camera are while a cloud is sensed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import ContextError
from bagnoise.geometry import apply, camera_from_info, inverse, motion_between
from bagnoise.lidar.resample import MISS, Sensed
from bagnoise.steps.clock import SECOND_NS
from bagnoise.steps.world import map_from_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.model import LidarModel
    from bagnoise.lidar.sweep import SweepLidar
    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.base import Moment
    from bagnoise.steps.camera_lidar import CameraLidar


class Scene:
    """Where the lidar, the car and the camera are while a cloud is sensed."""

    def __init__(self, step: CameraLidar, cloud: Cloud, moment: Moment) -> None:
        self._step = step
        self._frame_id = cloud.frame_id
        self._moment = moment
        self._stamp_ns = cloud.stamp_ns or moment.log_ns
        self.frame_from_sensor = self._mounted(self._stamp_ns)

    def _mounted(self, time_ns: int) -> NDArray[np.float64]:
        context = self._moment.context
        if self._step.sensor_frame is not None:
            return context.transform(self._frame_id, self._step.sensor_frame, time_ns)
        if self._step.mount is not None:
            return self._step.mount.mounted(self._frame_id, time_ns, context)
        return np.eye(4)

    def _map_from_frame(self, time_ns: int) -> NDArray[np.float64]:
        context = self._moment.context
        if self._step.pose_topic is not None:
            return map_from_frame(self._step.pose_topic, self._frame_id, time_ns, context)
        assert self._step.map_frame is not None
        return context.transform(self._step.map_frame, self._frame_id, time_ns)

    def _map_from_sensor(self, since_ns: int) -> NDArray[np.float64]:
        time_ns = self._stamp_ns + since_ns
        mapped: NDArray[np.float64] = self._map_from_frame(time_ns) @ self._mounted(time_ns)
        return mapped

    def parts(self, lidar: SweepLidar) -> list[NDArray[np.float64]]:
        """Return sensor_from_frame, (4, 4), of each part of the turn; the frame is at the stamp."""
        if len(lidar.parts) == 1:
            return [inverse(self.frame_from_sensor)]
        now = self._map_from_frame(self._stamp_ns)
        return [inverse(self._map_from_sensor(part.middle_ns)) @ now for part in lidar.parts]

    def note_motion(self, model: LidarModel) -> None:
        """Note how far the lidar moves in a turn, where the poses reach so far."""
        turn_ns = round(SECOND_NS / (self._step.rate_hz or model.default_rate_hz))
        fact = self._moment.facts.get(str(self._moment.key[2]))
        try:
            moved = motion_between(self._map_from_sensor(0), self._map_from_sensor(turn_ns))
        except ContextError:
            return
        if fact is not None:
            fact.take_motion(*moved)

    def optical_from_frame(self) -> NDArray[np.float64]:
        """Return where the camera of the source is."""
        context = self._moment.context
        info = context.camera(str(self._step.camera_topic), self._stamp_ns)
        return context.transform(info.header.frame_id, self._frame_id, self._stamp_ns)

    def within_image(
        self,
        optical_from_frame: NDArray[np.float64],
        lidar: SweepLidar,
        parts: list[NDArray[np.float64]],
        sensed: Sensed,
    ) -> Sensed:
        """Take back returns outside the image of the camera that took the source.

        A pixel's return is put on the beam, which may pass beside the image by up to twice e.
        """
        info = self._moment.context.camera(str(self._step.camera_topic), self._stamp_ns)
        camera = camera_from_info(info, rectified=self._step.rectified)
        ends = np.cumsum([len(part.beams) for part in lidar.parts])[:-1]
        seen = [
            camera.sees(apply(optical_from_frame @ inverse(part), xyz))
            for part, xyz in zip(parts, np.split(lidar.positions(sensed), ends), strict=True)
        ]
        lost = ~np.concatenate(seen)
        source, range_m = sensed.source.copy(), sensed.range_m.copy()
        source[lost], range_m[lost] = MISS, np.nan
        return Sensed(source, range_m)
