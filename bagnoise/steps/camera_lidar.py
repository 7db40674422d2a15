"""Step that senses a cloud as another lidar would, through the depth texture of pinhole cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from bagnoise.messages.cloud_misses import Misses  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.base import CloudStep, DepthStep, Moment
from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.limits import Amount, Number  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.view import Mount  # noqa: TC001 - as above

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.depth_image import DepthImage

Mode = Literal["nearest", "visible", "plane"]


class CameraLidar(CloudStep, DepthStep):
    """Sense the cloud as another lidar would, approximated by sector cameras (SensorSDK's way).

    The angle between a beam and the centre of its pixel is at most max_approx_error_deg. All beams
    leave one pinhole at the lidar's origin. One cloud comes out for each that comes in. The source
    may be a depth image, too (16UC1 or mono16 in millimetres, 32FC1 in metres), with camera_topic.
    """

    name: ClassVar[str] = "camera_lidar"
    model: str = Field(description="lidar, see 'bagnoise lidars', or a YAML file of your own")
    sensor_frame: str | None = Field(None, description="frame of the lidar in /tf")
    mount: Mount | None = Field(None, description="pose of the lidar in the cloud's frame")
    max_approx_error_deg: Number | Literal["auto"] = Field(
        "auto", description="angular bound; auto: the source's spacing / sqrt 2"
    )
    cameras: int = Field(4, ge=1, le=64, description="around the circle; 3 or fewer see >= 120 deg")
    mode: Mode = Field(
        "nearest",
        description="nearest: point of the pixel, range put on the beam; visible: with occlusion, "
        "nearest in angle; plane: range of the plane through the visible points",
    )
    rate_hz: float | None = Field(
        None, ge=0.001, le=10_000, description="turns a second; null: the model's"
    )
    columns: int | None = Field(None, ge=1, le=20_000, description="null: the model's at its rate")
    min_range_m: Amount | None = Field(None, ge=0, description="null: the model's")
    max_range_m: Amount | None = Field(None, gt=0, description="null: the model's")
    layout: str | None = Field(
        None, description="point layout, e.g. velodyne; source: the cloud's own; null: the model's"
    )
    misses: Misses | None = Field(None, description="how a miss is written; null: the layout's way")
    time: Literal["source", "zero", "model"] = Field(
        "source", description="per-point time; model needs pose_topic and sub_sweeps"
    )
    sub_sweeps: int = Field(
        1,
        ge=1,
        le=3600,
        description="parts of a turn, each sensed from its own pose; the turn starts at the stamp",
    )
    pose_topic: str | None = Field(None, description="topic of the car's pose, for sub_sweeps")
    map_frame: str | None = Field(
        None, description="frame that stands still, in /tf, instead of pose_topic"
    )
    camera_topic: str | None = Field(
        None,
        description="CameraInfo of the camera that took the source: needed for depth images; "
        "nothing returns from outside its image",
    )
    rectified: bool = Field(
        True, description="with camera_topic: the image is rectified (P counts), not raw (K, D)"
    )

    @property
    def moves(self) -> bool:
        """Whether it was told where to find the car's pose."""
        return self.pose_topic is not None or self.map_frame is not None

    def needs(self) -> Needs:
        """Read transforms, poses and the camera."""
        needs = NOTHING
        if self.camera_topic is not None:
            needs |= Needs(tf=True, camera_topics=(self.camera_topic,))
        if self.sensor_frame is not None or self.map_frame is not None:
            needs |= Needs(tf=True)
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
        if self.pose_topic is not None and self.map_frame is not None:
            found.append("give pose_topic or map_frame, not both")
        if self.sub_sweeps > 1 and not self.moves:
            found.append("sub_sweeps needs pose_topic, e.g. /ground_truth/odom, or map_frame")
        if self.time == "model" and self.sub_sweeps == 1:
            found.append(
                "time: model needs sub_sweeps: on a snapshot it would make deskewing bend walls"
            )
        from bagnoise.steps.sensing_setup import problems  # noqa: PLC0415 - slow to import

        return found + problems(self)

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Sense."""
        from bagnoise.steps.sensing import sense_cloud  # noqa: PLC0415 - slow to import

        return sense_cloud(self, cloud, moment)

    def on_depth(self, image: DepthImage, moment: Moment) -> Cloud:
        """Sense what the camera saw; without a mount the lidar looks along the camera's axis."""
        from bagnoise.steps.sensing import sense_depth  # noqa: PLC0415 - slow to import

        return sense_depth(self, image, moment)
