"""Returns of a cloud as echoes: range, power, intensity; and echoes written back as a cloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.lidar.noise import Arms, arms_of, stretched
from bagnoise.lidar.receiver import target_power
from bagnoise.messages.cloud import INTENSITY_NAMES
from bagnoise.messages.cloud_lengths import with_measured
from bagnoise.messages.cloud_misses import Misses, without

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.receiver import Echoes, Seen
    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.base import Moment

USUAL_REFLECTIVITY: Final = 0.3  # where a cloud does not say; of a car's paint, roughly
_SHORTEST_M: Final = 1e-3  # a return never becomes the sensor's own origin, which means a miss
_HALF: Final = 0.5
_FEW: Final = 1000
_BRIGHTEST: Final = 1e12
_TOO_MANY: Final = 0.5  # share of returns that clear air would not let through


class Reading(NamedTuple):
    """What intensities mean.

    Attributes:
        reflectivity: of every target; None: of each from its intensity.
        full: intensity of a white target (at 1 m where it is power).
        field: that holds them; None: the usual names.
        is_power: whether they fall with the square of the range.
    """

    reflectivity: float | None
    full: float
    field: str | None
    is_power: bool


@dataclass(frozen=True, eq=False)
class Targets:
    """The returns of a cloud, (n,) each; misses have range 1 and power of the least.

    Attributes:
        cloud: as it is.
        xyz: (n, 3) its positions.
        origin: (3,) of the beams.
        arms: from the origin to the returns.
        hit: which rows are returns.
        range_m: from the origin.
        power: in clear air.
        intensity: float64, or None where there is no field.
        name: of that field.
        reading: what intensities mean.
        what: the step's name, for what is told to the user.
    """

    cloud: Cloud
    xyz: NDArray[Any]
    origin: NDArray[np.float64]
    arms: Arms
    range_m: NDArray[np.float64]
    power: NDArray[np.float64]
    intensity: NDArray[np.float64] | None
    name: str | None
    reading: Reading
    what: str

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Return which rows are returns, (n,)."""
        return self.arms.hit

    def intensity_of(self, echo: Echoes, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return what the lidar reports of echoes of the air in some rows, (r,)."""
        power, range_m = echo.power[rows], echo.range_m[rows]
        own = self.range_m[rows]
        assert self.intensity is not None
        if self.reading.reflectivity is None:
            scale: NDArray[np.float64] | float = self.reading.full
        else:  # the intensity of this return stands for the reflectivity
            scale = np.nan_to_num(self.intensity[rows]) / self.reading.reflectivity
            scale = scale * own**2 if self.reading.is_power else scale
        return np.asarray(scale * power * (1 if self.reading.is_power else range_m**2))


def targets_of(
    cloud: Cloud,
    origin: NDArray[np.float64],
    reading: Reading,
    least: float,
    moment: Moment,
    what: str,
) -> Targets:
    """Read a cloud's returns.

    Args:
        cloud: the points.
        origin: (3,) of the beams.
        reading: what intensities mean.
        least: power that is detected.
        moment: that hears what is odd.
        what: the step's name.

    Raises:
        MessageError: the field that is asked for is none of the cloud's.
    """
    xyz = cloud.xyz()
    arms = arms_of(xyz, origin)
    range_m = np.where(arms.hit, arms.ranges, 1.0)
    names = INTENSITY_NAMES if reading.field is None else (reading.field,)
    name = cloud.find(*names) if reading.field is None else cloud.need(*names, why=what)
    intensity = None
    if name is not None:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            intensity = cloud.column(name).astype(np.float64)
    reflectivity = _reflectivities(intensity, range_m, arms.hit, reading, moment, what)
    power = target_power(range_m, reflectivity, least)
    if arms.hit.any() and np.mean(power[arms.hit] <= least) > _TOO_MANY:
        moment.warn(
            f"{what}: most returns are too faint for clear_range_m, as full_intensity"
            f" {reading.full:g} reads them; check these options, or give reflectivity"
        )
    return Targets(cloud, xyz, origin, arms, range_m, power, intensity, name, reading, what)


def _reflectivities(
    intensity: NDArray[np.float64] | None,
    range_m: NDArray[np.float64],
    hit: NDArray[np.bool_],
    reading: Reading,
    moment: Moment,
    what: str,
) -> NDArray[np.float64] | float:
    if reading.reflectivity is not None:
        return reading.reflectivity
    if intensity is None:
        return USUAL_REFLECTIVITY
    # fmin and fmax take the number where the other is NaN
    known = np.fmin(np.fmax(intensity, 0), _BRIGHTEST)
    known[~hit] = 0
    if hit.any() and not known.any():
        moment.warn(
            f"{what}: all intensities are 0; every target is taken to have the reflectivity"
            f" {USUAL_REFLECTIVITY}; give reflectivity"
        )
        return USUAL_REFLECTIVITY
    if _are_whole(known):  # 0 means less than a half
        known = np.maximum(known, _HALF)
    known *= 1 / reading.full
    if reading.is_power:
        known *= np.square(range_m)
    return known


def _are_whole(values: NDArray[np.float64]) -> bool:
    return all(bool((np.rint(part) == part).all()) for part in (values[:_FEW], values[_FEW:]))


def with_echoes(
    targets: Targets,
    factor: NDArray[np.float64],
    noise_m: NDArray[np.float64],
    reported: Seen,
    air: Echoes,
    misses: Misses | None,
    moment: Moment,
) -> Cloud:
    """Write what the lidar reports; misses keep their bits.

    Args:
        targets: of the cloud.
        factor: (n,) by which the targets' echoes are weaker.
        noise_m: (n,) that is added to the targets' ranges.
        reported: which rows show their target, and which the air.
        air: echoes of the air.
        misses: how a lost point is written.
        moment: whose tally counts what is lost.
    """
    cloud, hit = targets.cloud, targets.hit
    own, soft = reported.target & hit, reported.air & hit
    if soft.any():
        moment.tally[f"echoes of {targets.what}"] += int(soft.sum())
    columns: dict[str, NDArray[Any]] = {}
    moved = soft | (own & (noise_m != 0))
    changed = moved
    if targets.name is not None and targets.intensity is not None:
        changed = soft | (own & ((factor != 1) | (noise_m != 0)))
        intensity = targets.intensity * factor
        rows = np.flatnonzero(soft)
        intensity[rows] = targets.intensity_of(air, rows)
        columns[targets.name] = intensity
    if moved.any():
        longer = np.maximum(targets.range_m + noise_m, _SHORTEST_M)
        longer[soft] = air.range_m[soft]
        arms = targets.arms._replace(hit=moved)
        xyz = stretched(targets.xyz, targets.origin, arms, longer).xyz
        cloud = with_measured(cloud, xyz, changed, targets.origin, columns)
    elif columns:
        cloud = cloud.with_columns(columns, where=changed)
    lost = hit & ~own & ~soft
    if not lost.any():
        return cloud
    moment.tally["returns lost"] += int(lost.sum())
    return without(cloud, lost, misses)
