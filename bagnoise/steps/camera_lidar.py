"""Step that senses a cloud as another lidar would, through the depth texture of pinhole cameras."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.geometry import apply, inverse, motion_between
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model, load_model
from bagnoise.lidar.spacing import Spacing, source_spacing
from bagnoise.lidar.summary import CameraSummary, SenseFigures, sense_figures, summarise
from bagnoise.lidar.sweep import SweepLidar, sub_sweeps
from bagnoise.messages.cloud import RING_NAMES
from bagnoise.messages.cloud_layout import Layout, layout_named
from bagnoise.messages.cloud_misses import Misses  # noqa: TC001 - pydantic reads it at run time
from bagnoise.messages.cloud_sensed import Publishing, sensed_cloud
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.view import Mount  # noqa: TC001 - as above
from bagnoise.steps.world import map_from_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams
    from bagnoise.lidar.model import LidarModel
    from bagnoise.messages.cloud import Cloud

Mode = Literal["nearest", "visible", "plane"]
_NS = 1_000_000_000
_RATE_TOLERANCE = 0.02


@dataclass
class SensingFact:
    """What the summary says of a stream's sensing, added up over its clouds."""

    camera: CameraSummary
    figures: SenseFigures = field(default_factory=SenseFigures)
    motion_m: float | None = None
    motion_deg: float | None = None

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


class CameraLidar(CloudStep):
    """Sense the cloud as another lidar would, approximated by sector cameras (SensorSDK's way).

    The angle between a beam and the centre of its pixel is at most max_approx_error_deg. All beams
    leave one pinhole at the lidar's origin. One cloud comes out for each that comes in.
    """

    name: ClassVar[str] = "camera_lidar"
    model: str = Field(description="lidar, see 'bagnoise lidars', or a YAML file of your own")
    sensor_frame: str | None = Field(None, description="frame of the lidar in /tf")
    mount: Mount | None = Field(None, description="pose of the lidar in the cloud's frame")
    max_approx_error_deg: float | Literal["auto"] = Field(
        "auto", description="angular bound; auto: the source's spacing / sqrt 2"
    )
    cameras: int = Field(4, ge=1, le=64, description="around the circle; 3 or fewer see >= 120 deg")
    mode: Mode = Field(
        "nearest",
        description="nearest: point of the pixel, range put on the beam; visible: with occlusion, "
        "nearest in angle; plane: range of the plane through the visible points",
    )
    rate_hz: float | None = Field(None, gt=0, description="turns a second; null: the model's")
    columns: int | None = Field(None, ge=1, le=20_000, description="null: the model's at its rate")
    min_range_m: float | None = Field(None, ge=0, description="null: the model's")
    max_range_m: float | None = Field(None, gt=0, description="null: the model's")
    layout: str | None = Field(
        None, description="point layout, e.g. velodyne; source: the cloud's own; null: the model's"
    )
    misses: Misses | None = Field(None, description="how a miss is written; null: the layout's way")
    time: Literal["source", "zero", "model"] = Field(
        "source", description="per-point time; model needs pose_topic and sub_sweeps"
    )
    sub_sweeps: int = Field(
        1, ge=1, le=3600, description="parts of a turn, each sensed from its own pose"
    )
    pose_topic: str | None = Field(None, description="topic of the car's pose, for sub_sweeps")

    def needs(self) -> Needs:
        """Read transforms and poses."""
        needs = NOTHING if self.sensor_frame is None else Needs(tf=True)
        if self.mount is not None:
            needs |= self.mount.mount_needs()
        if self.pose_topic is not None:
            needs |= Needs(tf=True, pose_topics=(self.pose_topic,))
        return needs

    def check(self) -> list[str]:
        """Check what goes together, and that cameras can do it at all."""
        found = [] if self.mount is None else self.mount.mount_problems()
        if self.sensor_frame is not None and self.mount is not None:
            found.append("give sensor_frame or mount, not both")
        if self.sub_sweeps > 1 and self.pose_topic is None:
            found.append("sub_sweeps needs pose_topic, e.g. /ground_truth/odom")
        if self.time == "model" and self.sub_sweeps == 1:
            found.append(
                "time: model needs sub_sweeps: on a snapshot it would make deskewing bend walls"
            )
        error = self.max_approx_error_deg
        if isinstance(error, float) and not 0 < error <= 10:  # noqa: PLR2004 - degrees
            found.append(f"max_approx_error_deg must be above 0 and at most 10, not {error}")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Sense."""
        model = _model(self.model)
        stamp_ns = cloud.stamp_ns or moment.log_ns
        frame_from_sensor = self._mounted(cloud, stamp_ns, moment)
        xyz = cloud.xyz() if len(cloud) else np.empty((0, 3), np.float32)
        local = apply(inverse(frame_from_sensor), xyz) if len(cloud) else xyz
        spacing = _spacing(cloud, local)
        lidar = self._lidar(model, spacing)
        parts = self._parts(lidar, cloud, stamp_ns, frame_from_sensor, moment)
        near_m, far_m = model.range_m
        limits = (
            near_m if self.min_range_m is None else self.min_range_m,
            far_m if self.max_range_m is None else self.max_range_m,
        )
        sensed = lidar.sense([apply(part, xyz) if len(cloud) else xyz for part in parts], limits)
        positions = lidar.positions(sensed)
        beams = _beams(model, self.rate_hz, self.columns)
        self._note(moment, lidar, spacing, model, sense_figures(beams, sensed, _bound(lidar)))
        if self.sensor_frame is None:
            positions = apply(frame_from_sensor, positions).astype(np.float32)
        how = Publishing(self._layout(model), self.misses, self.time)
        frame_id = cloud.frame_id if self.sensor_frame is None else self.sensor_frame
        return sensed_cloud(cloud, sensed, beams, positions, how, frame_id=frame_id)

    def _mounted(self, cloud: Cloud, stamp_ns: int, moment: Moment) -> NDArray[np.float64]:
        if self.sensor_frame is not None:
            return moment.context.transform(cloud.frame_id, self.sensor_frame, stamp_ns)
        if self.mount is not None:
            return self.mount.mounted(cloud.frame_id, stamp_ns, moment.context)
        return np.eye(4)

    def _lidar(self, model: LidarModel, spacing: Spacing | None) -> SweepLidar:
        error = self.max_approx_error_deg
        if error == "auto":
            error = _rounded(spacing.auto_error_deg) if spacing is not None else 0.2
        spread = None
        if self.mode != "nearest":
            spread = tuple(_rounded(s) for s in spacing) if spacing else (0.01, 0.01)
        beams = _Beams(model, self.rate_hz, self.columns, self.sub_sweeps)
        return _prepared(beams, float(error), self.cameras, self.mode, spread)

    def _layout(self, model: LidarModel) -> Layout | None:
        return None if self.layout == "source" else layout_named(self.layout or model.layout)

    def _parts(
        self,
        lidar: SweepLidar,
        cloud: Cloud,
        stamp_ns: int,
        frame_from_sensor: NDArray[np.float64],
        moment: Moment,
    ) -> list[NDArray[np.float64]]:
        """Return sensor_from_frame, (4, 4), of each part of the turn."""
        still = inverse(frame_from_sensor)
        if self.pose_topic is None or self.sub_sweeps == 1:
            return [still] * len(lidar.parts)

        def at(time_ns: int) -> NDArray[np.float64]:
            assert self.pose_topic is not None
            return map_from_frame(self.pose_topic, cloud.frame_id, time_ns, moment.context)

        now = at(stamp_ns)
        return [still @ inverse(at(stamp_ns + part.middle_ns)) @ now for part in lidar.parts]

    def _note(
        self,
        moment: Moment,
        lidar: SweepLidar,
        spacing: Spacing | None,
        model: LidarModel,
        figures: SenseFigures,
    ) -> None:
        fact = moment.facts.get(self.name)
        if not isinstance(fact, SensingFact):
            camera = summarise(lidar.lidars[0], spacing, model.beam_origin_offset_m)
            fact = SensingFact(camera)
            moment.facts[self.name] = fact
            for text in camera.warnings:
                moment.warn(text)
            self._warn_of_rate(model, moment)
        fact.figures = fact.figures.plus(figures)
        if self.pose_topic is not None and self.sub_sweeps == 1:
            turn_ns = round(_NS / (self.rate_hz or model.default_rate_hz))
            poses = [moment.context.pose(self.pose_topic, moment.log_ns - n) for n in (turn_ns, 0)]
            motion = motion_between(*poses)
            fact.motion_m = max(fact.motion_m or 0.0, float(motion[0]))
            fact.motion_deg = max(fact.motion_deg or 0.0, float(motion[1]))

    def _warn_of_rate(self, model: LidarModel, moment: Moment) -> None:
        rate_hz = self.rate_hz or model.default_rate_hz
        source_hz = moment.source_hz
        if source_hz is not None and abs(source_hz / rate_hz - 1) > _RATE_TOLERANCE:
            moment.warn(
                f"camera_lidar: {model.name} turns at {rate_hz:g} Hz, the source comes at "
                f"{source_hz:.3g} Hz; give rate_hz, or a rate step"
            )


@dataclass(frozen=True)
class _Beams:
    model: LidarModel
    rate_hz: float | None
    columns: int | None
    sub_sweeps: int


@functools.lru_cache(maxsize=16)
def _prepared(
    beams: _Beams,
    error_deg: float,
    cameras: int,
    mode: Mode,
    spacing_rad: tuple[float, float] | None,
) -> SweepLidar:
    """Prepare cameras once for all clouds that need the same."""
    turn = _beams(beams.model, beams.rate_hz, beams.columns)
    return SweepLidar(sub_sweeps(turn, beams.sub_sweeps), error_deg, cameras, mode, spacing_rad)


@functools.lru_cache(maxsize=16)
def _beams(model: LidarModel, rate_hz: float | None, columns: int | None) -> Beams:
    return revolution(model, rate_hz, columns)


@functools.lru_cache(maxsize=16)
def _model(name: str) -> LidarModel:
    path = Path(name)
    return load_model(path) if path.suffix in {".yaml", ".yml"} else find_model(name)


def _bound(lidar: SweepLidar) -> float:
    return lidar.lidars[0].max_approx_error_deg


def _spacing(cloud: Cloud, local: NDArray[np.floating]) -> Spacing | None:
    """Estimate the source's spacing; None for a cloud of too few points."""
    finite = np.isfinite(local).all(axis=1) & (local != 0).any(axis=1)
    if np.count_nonzero(finite) < 8:  # noqa: PLR2004 - as source_spacing asks for
        return None
    name = cloud.find(*RING_NAMES)
    ring = None if name is None else cloud.column(name).astype(np.int32)
    return source_spacing(local, ring)


def _rounded(value: float) -> float:
    """Round up to two digits, so that clouds alike share their cameras."""
    if not (math.isfinite(value) and value > 0):
        return 0.01
    digits = 10.0 ** (1 - math.floor(math.log10(value)))
    return math.ceil(value * digits) / digits
