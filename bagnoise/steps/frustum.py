"""Step on what a pinhole camera sees, of cones and of clouds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from bagnoise.geometry import PinholeCamera, apply, camera_from_info, inverse
from bagnoise.messages.cloud_misses import Misses, hits, without
from bagnoise.steps.base import CloudStep, ConeStep, Moment
from bagnoise.steps.context import Needs
from bagnoise.steps.limits import Amount  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.view import Mount

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.payload import Cones

_OWN_CAMERA = ("frame", "xyz_m", "rpy_deg", "horizontal_deg", "image_px")
Pixels = Annotated[int, Field(ge=0, le=1_000_000)]
Size = Annotated[tuple[Pixels, Pixels], Field(strict=False)]


class Frustum(ConeStep, CloudStep, Mount):
    """Keep (or drop) what a camera sees.

    The camera is a CameraInfo topic with its frame in /tf, or given here: field of view, image
    size and pose. The pose is that of the optical frame: z forward, x right, y down.
    """

    name: ClassVar[str] = "frustum"
    camera_topic: str | None = Field(None, description="CameraInfo topic; its frame is in /tf")
    rectified: bool = Field(True, description="the image is rectified (P counts), not raw (K, D)")
    horizontal_deg: float = Field(
        90.0, ge=0.001, lt=180, description="without a topic: field of view"
    )
    image_px: Size = Field((1280, 720), description="without a topic: width and height")
    near_m: Amount = Field(0.0, ge=0, description="depth greater than this, in metres")
    far_m: Amount | None = Field(None, gt=0, description="depth at most this, in metres")
    keep: Literal["inside", "outside"] = Field("inside", description="which part stays")
    misses: Misses | None = Field(
        None, description="how a dropped point is written; null: nan if organised, else removed"
    )

    def needs(self) -> Needs:
        """Read the camera and the transforms."""
        if self.camera_topic is None:
            return self.mount_needs()
        return Needs(tf=True, camera_topics=(self.camera_topic,))

    def check(self) -> list[str]:
        """Check mount, size and depths."""
        found = self.mount_problems()
        fields = type(self).model_fields  # a record of a recipe writes defaults out, too
        own = [name for name in _OWN_CAMERA if getattr(self, name) != fields[name].default]
        if self.camera_topic is not None and own:
            found.append(f"give camera_topic or {', '.join(own)}, not both")
        if min(self.image_px) < 1:
            found.append("image_px must be two numbers of at least 1")
        if self.far_m is not None and self.far_m <= self.near_m:
            found.append(f"far_m {self.far_m} must be beyond near_m {self.near_m}")
        return found

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask cones."""
        stays = self._stays(cones.xyz, cones.frame_id, cones.stamp_ns or moment.log_ns, moment)
        if stays.all():
            return cones
        moment.tally["cones out of view"] += int((~stays).sum())
        return cones.take(stays)

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Turn points into misses."""
        if not len(cloud):
            return cloud
        stays = self._stays(cloud.xyz(), cloud.frame_id, cloud.stamp_ns or moment.log_ns, moment)
        lost = hits(cloud) & ~stays
        moment.tally["returns out of view"] += int(lost.sum())
        return without(cloud, lost, self.misses) if lost.any() else cloud

    def _stays(
        self, xyz: NDArray[Any], frame_id: str, stamp_ns: int, moment: Moment
    ) -> NDArray[np.bool_]:
        camera, optical_from_frame = self._camera(frame_id, stamp_ns, moment)
        seen: NDArray[np.bool_] = camera.sees(
            apply(optical_from_frame, xyz), near_m=self.near_m, far_m=self.far_m or math.inf
        )
        return seen if self.keep == "inside" else ~seen

    def _camera(
        self, frame_id: str, stamp_ns: int, moment: Moment
    ) -> tuple[PinholeCamera, NDArray[np.float64]]:
        if self.camera_topic is not None:
            info = moment.context.camera(self.camera_topic, stamp_ns)
            camera = camera_from_info(info, rectified=self.rectified)
            frame = info.header.frame_id
            return camera, moment.context.transform(frame, frame_id, stamp_ns)
        camera = PinholeCamera.from_fov(self.horizontal_deg, *self.image_px)
        return camera, inverse(self.mounted(frame_id, stamp_ns, moment.context))
