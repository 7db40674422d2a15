"""Where the sensors of a recording sit in the truth's frame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import ContextError, UsageError
from bagnoise.geometry import (
    apply,
    inverse,
    matrix_from_rpy_deg,
    rpy_deg_from_matrix,
    transform,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones
    from bagnoise.steps.context import Context

_DIGITS = 9


class Mounts:
    """Mounts by frame: as asked, or as the transforms of either bag say."""

    def __init__(self, asked: Mapping[str, tuple[float, ...]], contexts: Sequence[Context]) -> None:
        """``asked``: frame -> x, y, z in m and roll, pitch, yaw in degrees."""
        self._asked = {
            frame: transform(matrix_from_rpy_deg(pose[3:]), pose[:3])
            for frame, pose in asked.items()
        }
        self._contexts = contexts
        self._options: dict[str, dict[str, Any]] = {}

    def placed(self, true: Cones, frame: str, stamp_ns: int) -> tuple[Cones, NDArray[np.float64]]:
        """Return the true cones in a frame of the recording, and frame_from_sensor, (4, 4).

        Raises:
            UsageError: the frame is another one, and nothing says where it is.
        """
        same = not frame or not true.frame_id or frame == true.frame_id
        if same:
            mount = self._asked.get(frame)
            if mount is None:
                return true, np.eye(4)
            self._note(frame, mount, moved=False)
            return true, mount
        mount = self._asked.get(frame)
        if mount is None:
            mount = self._looked_up(true.frame_id, frame, stamp_ns)
        self._note(frame, mount, moved=True)
        return replace(true, frame_id=frame, xyz=apply(inverse(mount), true.xyz)), np.eye(4)

    def options_of(self, frame: str) -> dict[str, Any] | None:
        """Return the options of the step `sensor` for a frame, None where it needs none."""
        return self._options.get(frame)

    def _note(self, frame: str, mount: NDArray[np.float64], *, moved: bool) -> None:
        if frame in self._options:
            return
        options: dict[str, Any] = {
            "xyz_m": [round(v, _DIGITS) + 0.0 for v in mount[:3, 3].tolist()],
            "rpy_deg": [round(float(v), _DIGITS) + 0.0 for v in rpy_deg_from_matrix(mount[:3, :3])],
        }
        if moved:
            options |= {"output_frame": "sensor", "frame_name": frame}
        self._options[frame] = options

    def _looked_up(self, car: str, frame: str, stamp_ns: int) -> NDArray[np.float64]:
        for context in self._contexts:
            try:
                return context.transform(car, frame, stamp_ns)
            except ContextError:
                continue
        msg = (
            f"the recording's cones are in frame {frame!r}, the truth's in {car!r}, and neither "
            f"bag's /tf says how they lie; give --mount {frame}=x,y,z,roll,pitch,yaw (m, degrees)"
        )
        raise UsageError(msg)
