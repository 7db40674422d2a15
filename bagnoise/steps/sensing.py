"""What the step camera_lidar does with a cloud; apart from its options, as it imports slowly."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, camera_from_info, inverse, motion_between
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model, load_model
from bagnoise.lidar.spacing import Spacing, source_spacing
from bagnoise.lidar.summary import CameraSummary, SenseFigures, sense_figures, summarise
from bagnoise.lidar.sweep import SweepLidar, sub_sweeps
from bagnoise.messages.cloud import RING_NAMES
from bagnoise.messages.cloud_labels import carries_index, with_index_field
from bagnoise.messages.cloud_layout import Layout, layout_named
from bagnoise.messages.cloud_sensed import Publishing, sensed_cloud
from bagnoise.steps.view import Mount
from bagnoise.steps.world import map_from_frame

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from bagnoise.lidar.beams import Beams
    from bagnoise.lidar.model import LidarModel
    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.depth_image import DepthImage
    from bagnoise.steps.base import Moment
    from bagnoise.steps.camera_lidar import CameraLidar

    Mode = Literal["nearest", "visible", "plane"]

_NS = 1_000_000_000
_RATE_TOLERANCE = 0.02
# x forward, z up in an optical frame (z forward, y down)
_ALONG_THE_AXIS = Mount(rpy_deg=(0.0, -90.0, 90.0))


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


def sense_cloud(step: CameraLidar, cloud: Cloud, moment: Moment) -> Cloud:
    """Sense."""
    model = _model(step.model)
    stamp_ns = cloud.stamp_ns or moment.log_ns
    frame_from_sensor = _mounted(step, cloud, stamp_ns, moment)
    xyz = cloud.xyz() if len(cloud) else np.empty((0, 3), np.float32)
    local = apply(inverse(frame_from_sensor), xyz) if len(cloud) else xyz
    spacing = _spacing(cloud, local)
    lidar = _lidar(step, model, spacing)
    parts = _parts(step, lidar, cloud, stamp_ns, frame_from_sensor, moment)
    near_m, far_m = model.range_m
    limits = (
        near_m if step.min_range_m is None else step.min_range_m,
        far_m if step.max_range_m is None else step.max_range_m,
    )
    sensed = lidar.sense([apply(part, xyz) if len(cloud) else xyz for part in parts], limits)
    positions = lidar.positions(sensed)
    beams = _beams(model, step.rate_hz, step.columns)
    _note(step, moment, lidar, spacing, model, sense_figures(beams, sensed, _bound(lidar)))
    if step.sensor_frame is None:
        positions = apply(frame_from_sensor, positions).astype(np.float32)
    layout = _layout(step, model)
    if layout is not None and carries_index(cloud):
        layout = with_index_field(layout)
    how = Publishing(layout, step.misses, step.time)
    frame_id = cloud.frame_id if step.sensor_frame is None else step.sensor_frame
    return sensed_cloud(cloud, sensed, beams, positions, how, frame_id=frame_id)


def _mounted(step: CameraLidar, cloud: Cloud, stamp_ns: int, moment: Moment) -> NDArray[np.float64]:
    if step.sensor_frame is not None:
        return moment.context.transform(cloud.frame_id, step.sensor_frame, stamp_ns)
    if step.mount is not None:
        return step.mount.mounted(cloud.frame_id, stamp_ns, moment.context)
    return np.eye(4)


def _lidar(step: CameraLidar, model: LidarModel, spacing: Spacing | None) -> SweepLidar:
    error = step.max_approx_error_deg
    if error == "auto":
        error = _rounded(spacing.auto_error_deg) if spacing is not None else 0.2
    spread = None
    if step.mode != "nearest":
        spread = tuple(_rounded(s) for s in spacing) if spacing else (0.01, 0.01)
    beams = _Beams(model, step.rate_hz, step.columns, step.sub_sweeps)
    return _prepared(beams, float(error), step.cameras, step.mode, spread)


def _layout(step: CameraLidar, model: LidarModel) -> Layout | None:
    return None if step.layout == "source" else layout_named(step.layout or model.layout)


def _parts(
    step: CameraLidar,
    lidar: SweepLidar,
    cloud: Cloud,
    stamp_ns: int,
    frame_from_sensor: NDArray[np.float64],
    moment: Moment,
) -> list[NDArray[np.float64]]:
    """Return sensor_from_frame, (4, 4), of each part of the turn."""
    still = inverse(frame_from_sensor)
    if step.pose_topic is None or step.sub_sweeps == 1:
        return [still] * len(lidar.parts)

    def at(time_ns: int) -> NDArray[np.float64]:
        assert step.pose_topic is not None
        return map_from_frame(step.pose_topic, cloud.frame_id, time_ns, moment.context)

    now = at(stamp_ns)
    return [still @ inverse(at(stamp_ns + part.middle_ns)) @ now for part in lidar.parts]


def _note(
    step: CameraLidar,
    moment: Moment,
    lidar: SweepLidar,
    spacing: Spacing | None,
    model: LidarModel,
    figures: SenseFigures,
) -> None:
    fact = moment.facts.get(step.name)
    if not isinstance(fact, SensingFact):
        camera = summarise(lidar.lidars[0], spacing, model.beam_origin_offset_m)
        fact = SensingFact(camera)
        moment.facts[step.name] = fact
        for text in camera.warnings:
            moment.warn(text)
        _warn_of_rate(step, model, moment)
    fact.figures = fact.figures.plus(figures)
    if step.pose_topic is not None and step.sub_sweeps == 1:
        turn_ns = round(_NS / (step.rate_hz or model.default_rate_hz))
        poses = [moment.context.pose(step.pose_topic, moment.log_ns - n) for n in (turn_ns, 0)]
        motion = motion_between(*poses)
        fact.motion_m = max(fact.motion_m or 0.0, float(motion[0]))
        fact.motion_deg = max(fact.motion_deg or 0.0, float(motion[1]))


def _warn_of_rate(step: CameraLidar, model: LidarModel, moment: Moment) -> None:
    rate_hz = step.rate_hz or model.default_rate_hz
    source_hz = moment.source_hz
    if source_hz is not None and abs(source_hz / rate_hz - 1) > _RATE_TOLERANCE:
        moment.warn(
            f"camera_lidar: {model.name} turns at {rate_hz:g} Hz, the source comes at "
            f"{source_hz:.3g} Hz; give rate_hz, or a rate step"
        )


def sense_depth(step: CameraLidar, image: DepthImage, moment: Moment) -> Cloud:
    """Sense the points of a depth image.

    Raises:
        UsageError: the camera of the image is not known.
    """
    if step.camera_topic is None:
        msg = "camera_lidar of a depth image needs camera_topic, its CameraInfo"
        raise UsageError(msg)
    info = moment.context.camera(step.camera_topic, image.stamp_ns or moment.log_ns)
    cloud = image.cloud(camera_from_info(info, rectified=True).pixel_rays())
    if step.sensor_frame is None and step.mount is None:
        step = step.model_copy(update={"mount": _ALONG_THE_AXIS})
    return sense_cloud(step, cloud, moment)


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
