"""What the summary says of a stream's sensing, added up over its clouds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bagnoise.lidar.summary import CameraSummary, SenseFigures

if TYPE_CHECKING:
    from bagnoise.steps.base import Moment


@dataclass
class SensingFact:
    """Figures of one camera_lidar step.

    Attributes:
        camera: of the coarsest texture that any cloud was sensed with, so that its bounds hold for
            all (with ``auto`` each cloud has its own).
        figures: added up.
        motion_m: farthest that the lidar moved in a turn that was sensed from one pose, or None.
        motion_deg: most that it turned then.
    """

    camera: CameraSummary
    figures: SenseFigures = field(default_factory=SenseFigures)
    motion_m: float | None = None
    motion_deg: float | None = None

    def take_camera(self, camera: CameraSummary) -> None:
        """Note the cameras of a further cloud."""
        if camera.bound_deg > self.camera.bound_deg:
            self.camera = camera

    def take_motion(self, metres: float, degrees: float) -> None:
        """Note how far the lidar moved in a turn sensed from one pose."""
        self.motion_m = max(self.motion_m or 0.0, metres)
        self.motion_deg = max(self.motion_deg or 0.0, degrees)

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        plain = asdict(self.camera) | asdict(self.figures)
        plain["miss_share"] = self.figures.miss_share
        plain["ignored_motion_m"] = self.motion_m
        plain["ignored_motion_deg"] = self.motion_deg
        return plain

    def __str__(self) -> str:
        """Write one paragraph."""
        c, f = self.camera, self.figures
        text = (
            f"{c.mode}: {c.cameras} cameras of {c.texture_columns} x {c.texture_rows} pixels, "
            f"beam to pixel centre <= {c.bound_deg:.3g} deg, to the point <= "
            f"{c.beam_to_point_deg:.3g} deg; {100 * f.miss_share:.1f} % of beams without return; "
            f"e*tan(incidence) up to {f.worst_error_m:.2f} m"
        )
        if c.source_spacing_deg is not None:
            across, down = c.source_spacing_deg
            text += f"; source spacing {across:.2g} x {down:.2g} deg"
        if c.ignored_origin_offset_m:
            text += f"; beam origins ignored: up to {c.ignored_origin_offset_m:.3f} m"
        if self.motion_m is not None and self.motion_deg is not None:
            text += f"; motion ignored: {self.motion_m:.2f} m, {self.motion_deg:.2f} deg a turn"
        return text


def fact_of(moment: Moment, camera: CameraSummary) -> SensingFact:
    """Return the fact of a stream's step, with the cameras of a cloud noted; warn of them once."""
    label = str(moment.key[2])
    fact = moment.facts.get(label)
    if not isinstance(fact, SensingFact):
        fact = moment.facts[label] = SensingFact(camera)
        for text in camera.warnings:
            moment.warn(text)
    fact.take_camera(camera)
    return fact
