"""Steps on returns lost for a reason: dark objects, dead beams, patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import numpy as np
from pydantic import Field

from bagnoise.lidar.crop import in_box
from bagnoise.lidar.cutout import PatchSize, in_patches
from bagnoise.lidar.dropout import lost_rings, random_dropout
from bagnoise.lidar.rings import usual_beams
from bagnoise.messages.cloud import INTENSITY_NAMES
from bagnoise.messages.cloud_misses import Misses, hits, without
from bagnoise.messages.cloud_rings import rings
from bagnoise.rng import keyed
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.curves import Options
from bagnoise.steps.draws import row_draws
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.limits import Amount, Integers, Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.context import Needs

_STREAM_KEY: Final = 3  # (seed, stream, step label)
OBJECT_NAMES: Final = ("instance", "instance_id", "object_id", "label", "class", "semantic")
_DARK: Final = 10.0  # intensity below which points are dark, where nothing says what objects are
Box = Annotated[tuple[Number, Number, Number, Number, Number, Number], Field(strict=False)]
Boxes = Annotated[tuple[Box, ...], Field(strict=False)]


class Losing(Options):
    """Options of steps that take returns away."""

    misses: Misses | None = Field(
        None, description="how a lost point is written; null: nan if organised, else removed"
    )

    def losing(self, cloud: Cloud, chosen: NDArray[np.bool_], moment: Moment) -> Cloud:
        """Lose the returns among the rows that are chosen, (n,), and count them."""
        lost = hits(cloud) & chosen
        if not lost.any():
            return cloud
        moment.tally["returns lost"] += int(lost.sum())
        return without(cloud, lost, self.misses)


class IncompleteEcho(CloudStep, Losing):
    """Lose returns of dark objects, as Robo3D does (Kong et al., ICCV 2023).

    Objects are the points that fit all of field and values, boxes, and faint_below, as far as they
    are given. Where none is given: points of a label field other than 0, or, where the cloud has
    none, points of an intensity below 10.
    """

    name: ClassVar[str] = "incomplete_echo"
    probability: float = Field(
        0.0, ge=0, le=1, description="chance that a return of an object is lost"
    )
    field: str | None = Field(
        None, description=f"point field that labels objects; null: {', '.join(OBJECT_NAMES)}"
    )
    values: Integers | None = Field(None, description="labels of dark objects; null: all but 0")
    boxes: Boxes | None = Field(
        None, description="least x, y, z and most x, y, z of boxes in the cloud's frame, metres"
    )
    faint_below: Amount | None = Field(
        None, gt=0, description="intensity below which a point is dark"
    )

    def check(self) -> list[str]:
        """Check the boxes."""
        found = []
        for number, box in enumerate(self.boxes or ()):
            if not all(low < high for low, high in zip(box[:3], box[3:], strict=True)):
                found.append(f"boxes[{number}] is {list(box)}; each most must be above its least")
        if self.boxes == ():
            found.append("boxes is empty; name at least one, or null")
        if self.values == ():
            found.append("values is empty; name at least one, or null")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw for every row."""
        if not len(cloud) or self.probability == 0:
            return cloud
        kept = random_dropout(len(cloud), self.probability, row_draws(cloud, moment))
        return self.losing(cloud, ~kept & self._objects(cloud, moment), moment)

    def _objects(self, cloud: Cloud, moment: Moment) -> NDArray[np.bool_]:
        faint_below = self.faint_below
        by_field = self.field is not None or self.values is not None
        if not by_field and self.boxes is None and faint_below is None:
            by_field = cloud.find(*OBJECT_NAMES) is not None
            if not by_field:
                faint_below = _DARK
                moment.warn(
                    f"incomplete_echo: the cloud has no field that labels objects, so points"
                    f" of intensity below {_DARK:g} are dark; give field, boxes or faint_below"
                )
        chosen = np.ones(len(cloud), np.bool_)
        if by_field:
            names = OBJECT_NAMES if self.field is None else (self.field,)
            labels = cloud.column(cloud.need(*names, why="incomplete_echo"))
            chosen &= (labels != 0) if self.values is None else np.isin(labels, self.values)
        if self.boxes is not None:
            xyz = cloud.xyz()
            chosen &= np.any([in_box(xyz, box[:3], box[3:]) for box in self.boxes], axis=0)
        if faint_below is not None:
            name = cloud.need(*INTENSITY_NAMES, why="incomplete_echo of dark points")
            with np.errstate(invalid="ignore"):
                chosen &= cloud.column(name) < faint_below
        return chosen


class BeamMissing(CloudStep, LidarOrigin, Losing):
    """Lose whole beams: different ones, drawn once for the stream, by their ring.

    As Robo3D's missing beams, which are drawn with replacement there, so that fewer go than said.
    """

    name: ClassVar[str] = "beam_missing"
    count: int | None = Field(None, ge=0, le=1024, description="beams that are lost")
    keep: int | None = Field(None, ge=0, le=1024, description="beams that are left")
    share: float | None = Field(None, ge=0, le=1, description="share of the beams that is lost")
    beams: int | None = Field(
        None, ge=1, le=1024, description="of the lidar; null: the usual number of the rings seen"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check what goes together."""
        found = self.origin_problems()
        if sum(value is not None for value in (self.count, self.keep, self.share)) > 1:
            found.append("give only one of count, keep and share")
        for what, value in (("count", self.count), ("keep", self.keep)):
            if value is not None and self.beams is not None and value > self.beams:
                found.append(f"{what} {value} is more than beams {self.beams}")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw the beams; of one lidar they are the same in every cloud."""
        if not len(cloud) or not (self.count or self.keep is not None or self.share):
            return cloud
        ring = rings(cloud, self.origin(cloud, moment))
        beams = self.beams or usual_beams(ring)
        count = self._lost_of(beams, moment)
        lost = lost_rings(beams, count, keyed(*moment.key[:_STREAM_KEY], "beams"))
        return self.losing(cloud, np.isin(ring, lost), moment)

    def _lost_of(self, beams: int, moment: Moment) -> int:
        wanted = self.count or 0
        if self.keep is not None:
            wanted = beams - self.keep
        elif self.share is not None:
            wanted = round(self.share * beams)
        if not 0 <= wanted <= beams:
            asked = f"keep {self.keep}" if self.keep is not None else f"count {self.count}"
            moment.warn(f"beam_missing: {asked} is more than the {beams} beams of the lidar")
        return min(max(wanted, 0), beams)


class Cutout(CloudStep, LidarOrigin, Losing):
    """Lose patches about random returns, as behind dirt on the window."""

    name: ClassVar[str] = "cutout"
    patches: int = Field(0, ge=0, le=200, description="number of patches in each cloud")
    radius_deg: float | None = Field(
        None, gt=0, le=180, description="of a patch, seen from the lidar; 3 where no size is given"
    )
    radius_m: float | None = Field(None, gt=0, le=1e5, description="of a patch, in metres")
    nearest_share: float | None = Field(
        None, gt=0, le=1, description="of the returns, those nearest to its middle make a patch"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check what goes together."""
        found = self.origin_problems()
        sizes = (self.radius_deg, self.radius_m, self.nearest_share)
        if sum(size is not None for size in sizes) > 1:
            found.append("give only one of radius_deg, radius_m and nearest_share")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw for every row."""
        if not len(cloud) or self.patches == 0:
            return cloud
        size = PatchSize(self.radius_deg, self.radius_m, self.nearest_share)
        if size == PatchSize():
            size = PatchSize(radius_deg=3.0)
        origin, draws = self.origin(cloud, moment), row_draws(cloud, moment)
        return self.losing(
            cloud, in_patches(cloud.xyz(), origin, self.patches, size, draws), moment
        )
