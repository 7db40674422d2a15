"""Steps on what lies within a region."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, camera_from_info, inverse
from bagnoise.lidar.crop import azimuths_rad, in_rings, in_sector, ranges_m, within
from bagnoise.lidar.rings import elevations_deg
from bagnoise.messages.cloud_misses import Misses, hits, without
from bagnoise.messages.cloud_rings import rings
from bagnoise.steps.base import CloudStep, ConeStep, Moment
from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.limits import Amount, Number, Span  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.polar import seen_by_sensor
from bagnoise.steps.view import Mount, View
from bagnoise.steps.world import measured_ns

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.payload import Cones

Rings = Annotated[tuple[Annotated[int, Field(ge=0, le=65_535)], ...], Field(strict=False)]
Bound = tuple[float | None, float | None, Callable[[NDArray[Any]], NDArray[Any]]]


class Crop(ConeStep, CloudStep, Mount):
    """Keep what lies strictly within bounds, in the frame of the message.

    Sectors of azimuth and rings include their borders. Range, elevation and azimuth are about the
    frame's origin, or about a sensor's frame or pose; x, y and z are always of the message's frame.
    """

    name: ClassVar[str] = "crop"
    min_x_m: Number | None = Field(None, description="x greater than this, in metres")
    max_x_m: Number | None = Field(None, description="x less than this, in metres")
    min_y_m: Number | None = Field(None, description="y greater than this, in metres")
    max_y_m: Number | None = Field(None, description="y less than this, in metres")
    min_z_m: Number | None = Field(None, description="z greater than this, in metres")
    max_z_m: Number | None = Field(None, description="z less than this, in metres")
    min_range_m: Amount | None = Field(None, ge=0, description="range greater than this, in metres")
    max_range_m: Amount | None = Field(None, ge=0, description="range less than this, in metres")
    min_elevation_deg: float | None = Field(
        None, ge=-90, le=90, description="elevation greater than this, in degrees"
    )
    max_elevation_deg: float | None = Field(
        None, ge=-90, le=90, description="elevation less than this, in degrees"
    )
    azimuth_deg: Span | None = Field(
        None, description="from, to: counterclockwise from +x; [350, 10] is the 20 deg ahead"
    )
    rings: Rings = Field((), description="rings of a cloud that stay; none: all")
    misses: Misses | None = Field(
        None, description="how a cropped point is written; null: nan if organised, else removed"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by position; a position that is not a number is outside."""
        if self.rings:
            msg = "crop by rings works on clouds; cones have none"
            raise UsageError(msg)
        mount = self._mount(cones.frame_id, measured_ns(cones, moment), moment)
        inside = self._inside(cones.xyz, mount)
        if inside.all():
            return cones
        moment.tally["cones cropped"] += int((~inside).sum())
        return cones.take(inside)

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Turn points outside into misses."""
        if not len(cloud):
            return cloud
        mount = self._mount(cloud.frame_id, cloud.stamp_ns or moment.log_ns, moment)
        inside = self._inside(cloud.xyz(), mount)
        if self.rings:
            origin = (0.0, 0.0, 0.0) if mount is None else mount[:3, 3]
            inside &= in_rings(rings(cloud, origin), self.rings)
        lost = hits(cloud) & ~inside
        moment.tally["returns cropped"] += int(lost.sum())
        return without(cloud, lost, self.misses) if lost.any() else cloud

    def needs(self) -> Needs:
        """Read the transforms where the sensor is a frame."""
        return self.mount_needs()

    def check(self) -> list[str]:
        """Check the mount."""
        return self.mount_problems()

    def _mount(self, frame_id: str, stamp_ns: int, moment: Moment) -> NDArray[np.float64] | None:
        if self.frame is None and not any(self.xyz_m) and not any(self.rpy_deg):
            return None
        return self.mounted(frame_id, stamp_ns, moment.context)

    def _inside(self, xyz: NDArray[Any], mount: NDArray[np.float64] | None) -> NDArray[np.bool_]:
        inside = np.ones(len(xyz), np.bool_)
        seen = xyz if mount is None else apply(inverse(mount), xyz)
        for low, high, value in self._box():
            if low is not None or high is not None:
                inside &= within(value(xyz), low, high)
        for low, high, value in self._angles():
            if low is not None or high is not None:
                inside &= within(value(seen), low, high)
        if self.azimuth_deg is not None:
            inside &= in_sector(azimuths_rad(seen), *self.azimuth_deg)
        return inside

    def _box(self) -> tuple[Bound, ...]:
        return (
            (self.min_x_m, self.max_x_m, lambda xyz: xyz[:, 0]),
            (self.min_y_m, self.max_y_m, lambda xyz: xyz[:, 1]),
            (self.min_z_m, self.max_z_m, lambda xyz: xyz[:, 2]),
        )

    def _angles(self) -> tuple[Bound, ...]:
        return (
            (self.min_range_m, self.max_range_m, ranges_m),
            (self.min_elevation_deg, self.max_elevation_deg, elevations_deg),
        )


class FieldOfView(ConeStep, View):
    """Keep what the sensor can see: ranges, horizontal and vertical angle, borders included.

    Measured from the `sensor` step's mount, or else from the origin of the message's frame.
    """

    name: ClassVar[str] = "field_of_view"
    min_x_m: Number | None = Field(
        None, description="cut what is behind this x of the message's frame, in metres"
    )

    camera_topic: str | None = Field(
        None, description="a CameraInfo: keep what is in its image, too (its frame from /tf)"
    )
    rectified: bool = Field(
        True, description="with camera_topic: the image is rectified (P counts), not raw (K, D)"
    )

    def needs(self) -> Needs:
        """Read the camera where there is one."""
        if self.camera_topic is None:
            return NOTHING
        return Needs(tf=True, camera_topics=(self.camera_topic,))

    def check(self) -> list[str]:
        """Compare the limits."""
        return self.view_problems()

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by position, false positives too."""
        seen = self.sees(seen_by_sensor(cones))
        if self.camera_topic is not None:
            seen &= self._in_image(self.camera_topic, cones, moment)
        if self.min_x_m is not None:
            with np.errstate(invalid="ignore"):
                seen &= cones.xyz[:, 0] >= self.min_x_m
        if seen.all():
            return cones
        moment.tally["cones out of view"] += int((~seen).sum())
        return cones.take(seen)

    def _in_image(self, topic: str, cones: Cones, moment: Moment) -> NDArray[np.bool_]:
        stamp_ns = measured_ns(cones, moment)
        info = moment.context.camera(topic, stamp_ns)
        camera = camera_from_info(info, rectified=self.rectified)
        optical_from_frame = moment.context.transform(
            info.header.frame_id, cones.frame_id, stamp_ns
        )
        return camera.sees(apply(optical_from_frame, cones.xyz))
