"""What the step camera_lidar does with a cloud; apart from its options, as it imports slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, camera_from_info, inverse
from bagnoise.lidar.summary import sense_figures, summarise
from bagnoise.messages.cloud_labels import carries_index, with_index_field
from bagnoise.messages.cloud_sensed import Publishing, sensed_cloud
from bagnoise.steps.sensing_facts import fact_of
from bagnoise.steps.sensing_scene import Scene
from bagnoise.steps.sensing_setup import (
    beams_of,
    layout_of,
    lidar_of,
    limits_of,
    model_of,
    returns_of,
    spacing_of,
)
from bagnoise.steps.view import Mount

if TYPE_CHECKING:
    from bagnoise.lidar.model import LidarModel
    from bagnoise.lidar.resample import Sensed
    from bagnoise.lidar.spacing import Spacing
    from bagnoise.lidar.sweep import SweepLidar
    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.depth_image import DepthImage
    from bagnoise.steps.base import Moment
    from bagnoise.steps.camera_lidar import CameraLidar

_RATE_TOLERANCE = 0.02
# x forward, z up in an optical frame (z forward, y down)
_ALONG_THE_AXIS = Mount(rpy_deg=(0.0, -90.0, 90.0))


def sense_cloud(
    step: CameraLidar, cloud: Cloud, moment: Moment, *, is_image: bool = False
) -> Cloud:
    """Sense; ``is_image``: the cloud is in the frame of the camera of `camera_topic`."""
    model = model_of(step.model)
    scene = Scene(step, cloud, moment)
    xyz = returns_of(cloud)
    local = apply(inverse(scene.frame_from_sensor), xyz)
    spacing = spacing_of(cloud, local)
    lidar = lidar_of(step, model, spacing)
    parts = scene.parts(lidar)
    sensed = lidar.sense([apply(part, xyz) for part in parts], limits_of(step, model))
    positions = lidar.positions(sensed)
    if step.camera_topic is not None:
        optical = np.eye(4) if is_image else scene.optical_from_frame()
        sensed = scene.within_image(optical, lidar, parts, sensed)
        positions = lidar.positions(sensed)
    _note(step, moment, lidar, spacing, model, sensed)
    if step.moves and len(parts) == 1:
        scene.note_motion(model)
    if step.sensor_frame is None:
        positions = apply(scene.frame_from_sensor, positions).astype(np.float32)
    layout = layout_of(step, model)
    if layout is not None and carries_index(cloud):
        layout = with_index_field(layout)
    how = Publishing(layout, step.misses, step.time)
    frame_id = cloud.frame_id if step.sensor_frame is None else step.sensor_frame
    beams = beams_of(model, step.rate_hz, step.columns)
    return sensed_cloud(cloud, sensed, beams, positions, how, frame_id=frame_id)


def sense_depth(step: CameraLidar, image: DepthImage, moment: Moment) -> Cloud:
    """Sense the points of a depth image.

    Raises:
        UsageError: the camera of the image is not known.
    """
    if step.camera_topic is None:
        msg = "camera_lidar of a depth image needs camera_topic, its CameraInfo"
        raise UsageError(msg)
    info = moment.context.camera(step.camera_topic, image.stamp_ns or moment.log_ns)
    cloud = image.cloud(camera_from_info(info, rectified=step.rectified).pixel_rays())
    if step.sensor_frame is None and step.mount is None:
        step = step.model_copy(update={"mount": _ALONG_THE_AXIS})
    return sense_cloud(step, cloud, moment, is_image=True)


def _note(
    step: CameraLidar,
    moment: Moment,
    lidar: SweepLidar,
    spacing: Spacing | None,
    model: LidarModel,
    sensed: Sensed,
) -> None:
    first = lidar.lidars[0]
    fact = fact_of(moment, summarise(first, spacing, model.beam_origin_offset_m))
    beams = beams_of(model, step.rate_hz, step.columns)
    fact.figures = fact.figures.plus(sense_figures(beams, sensed, first.max_approx_error_deg))
    rate_hz = step.rate_hz or model.default_rate_hz
    source_hz = moment.source_hz
    if source_hz is not None and abs(source_hz / rate_hz - 1) > _RATE_TOLERANCE:
        moment.warn(
            f"camera_lidar: {model.name} turns at {rate_hz:g} Hz, the source comes at "
            f"{source_hz:.3g} Hz; give rate_hz, or a rate step before"
        )
