"""Where the sensor of a stream sits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.geometry import apply, inverse, matrix_from_rpy_deg, transform
from bagnoise.rng import keyed
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.context import Needs
from bagnoise.steps.polar import MovedModel, rotated
from bagnoise.steps.view import NO_TRIPLE, Mount, Triple
from bagnoise.steps.world import measured_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

SENSOR_FRAME = "sensor"


class Sensor(ConeStep, Mount):
    """Say where the sensor sits: the origin of range, bearing, view and hiding from here on.

    Positions stay in the message's frame unless output_frame says otherwise. A miscalibrated
    sensor measures from where it really is, and reports as if it were where its mount says.
    """

    name: ClassVar[str] = "sensor"
    output_frame: str | None = Field(
        None,
        description="frame of the positions from here on: 'sensor', a frame in /tf, or null",
    )
    frame_name: str | None = Field(
        None, description="frame_id to write with output_frame: sensor; null: frame, or 'sensor'"
    )
    error_xyz_m: Triple = Field(
        NO_TRIPLE, description="miscalibration: real minus believed position, sensor axes, metres"
    )
    error_rpy_deg: Triple = Field(
        NO_TRIPLE, description="miscalibration: real from believed roll, pitch, yaw, degrees"
    )
    error_std_m: float = Field(
        0.0, ge=0, le=100, description="further miscalibration, drawn once: deviation of x, y, z"
    )
    error_std_deg: float = Field(
        0.0, ge=0, le=180, description="further miscalibration, drawn once: of roll, pitch, yaw"
    )

    def needs(self) -> Needs:
        """Read the transforms where a frame is named."""
        elsewhere = self.output_frame not in {None, SENSOR_FRAME}
        return self.mount_needs() | Needs(tf=elsewhere)

    def check(self) -> list[str]:
        """Compare the options."""
        return self.mount_problems()

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Note the mount, misplace the positions, change their frame."""
        stamp_ns = measured_ns(cones, moment)
        mount = self.mounted(cones.frame_id, stamp_ns, moment.context)
        error = self._error(moment)
        if error is not None:  # reported = mount * (mount * error)^-1 * true
            reported = mount @ inverse(error) @ inverse(mount)
            cones = replace(cones, xyz=apply(reported, cones.xyz))
        cones = replace(cones, sensor=mount)
        if self.output_frame is None:
            return cones
        if self.output_frame == SENSOR_FRAME:
            name = self.frame_name or self.frame or SENSOR_FRAME
            return in_frame(cones, inverse(mount), name)
        new_from_old = moment.context.transform(self.output_frame, cones.frame_id, stamp_ns)
        return in_frame(cones, new_from_old, self.output_frame)

    def _error(self, moment: Moment) -> NDArray[np.float64] | None:
        """Return believed_from_real, (4, 4): the same for the whole stream."""
        xyz, rpy = np.array(self.error_xyz_m), np.array(self.error_rpy_deg)
        if self.error_std_m or self.error_std_deg:
            draws = keyed(*moment.key[:3], "calibration").standard_normal((2, 3))
            xyz, rpy = xyz + self.error_std_m * draws[0], rpy + self.error_std_deg * draws[1]
        return transform(matrix_from_rpy_deg(rpy), xyz) if xyz.any() or rpy.any() else None


def in_frame(cones: Cones, new_from_old: NDArray[np.float64], frame_id: str) -> Cones:
    """Return cones in another frame: positions, covariances, sensor, noise models, truth."""
    covariance = cones.covariance
    truth = cones.truth
    return replace(
        cones,
        frame_id=frame_id,
        xyz=apply(new_from_old, cones.xyz),
        covariance=None if covariance is None else rotated(new_from_old, covariance),
        sensor=new_from_old if cones.sensor is None else new_from_old @ cones.sensor,
        noise_models=tuple(MovedModel(model, new_from_old) for model in cones.noise_models),
        truth=truth and replace(truth, frame_id=frame_id, xyz=apply(new_from_old, truth.xyz)),
    )
