"""What a cloud's per-point times mean, and how to keep them true when its stamp moves.

Drivers disagree: Velodyne writes float seconds against the stamp of the last packet (so they count
back from the end), Ouster integer nanoseconds against the stamp, Hesai and RoboSense absolute
seconds as doubles, Livox absolute nanoseconds as doubles. Type, name and values together tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.point_fields import fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

TIME_NAMES: Final = ("time", "t", "timestamp", "time_stamp", "offset_time", "time_offset", "stamp")
_ABSOLUTE_NAMES: Final = ("timestamp", "time_stamp", "stamp")
_UNITS_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_LONGEST_SWEEP_NS: Final = 5_000_000_000
_NARROW_BYTES: Final = 4


@dataclass(frozen=True)
class TimeKind:
    """The meaning of a time field.

    Attributes:
        field: its name.
        unit_ns: nanoseconds of one unit: 1e9 (s), 1e6, 1e3 or 1 (ns).
        is_absolute: counted from the epoch, not from the header stamp.
    """

    field: str
    unit_ns: int
    is_absolute: bool


def time_kind(cloud: Cloud, field: str | None = None) -> TimeKind | None:
    """Tell what the cloud's time field means; None where it has none.

    Args:
        cloud: whose values decide where name and type leave a choice.
        field: name of the time field; looked for among `TIME_NAMES` where None.

    Raises:
        MessageError: no reading of the field puts its points within 5 s of the header stamp.
    """
    name = field or cloud.find(*TIME_NAMES)
    if name is None:
        return None
    values = cloud.column(name)
    candidates = _candidates(name, values.dtype)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return candidates[0]
    ends = np.array([finite.min(), finite.max()])
    for kind in candidates:
        if np.abs(_to_offsets(ends, kind, cloud.stamp_ns)).max() <= _LONGEST_SWEEP_NS:
            return kind
    msg = (
        f"point times {name!r} run from {ends[0]} to {ends[1]}: neither as offsets nor as absolute"
        f" times, in s, ms, us or ns, are they within 5 s of the header stamp {cloud.stamp_ns} ns"
    )
    raise MessageError(msg)


def offsets_ns(cloud: Cloud, kind: TimeKind) -> NDArray[np.int64]:
    """Return each point's time after the header stamp, (n,) int64 ns; below 0 is before it."""
    return _to_offsets(cloud.column(kind.field), kind, cloud.stamp_ns)


def counts_from_end(cloud: Cloud, kind: TimeKind) -> bool:
    """Tell whether the header stamp is the end of the sweep, so that point times precede it."""
    offsets = offsets_ns(cloud, kind)
    return bool(len(offsets) and offsets.min() < 0 and offsets.max() <= 0)


def with_offsets_ns(cloud: Cloud, kind: TimeKind, offsets: NDArray[np.int64]) -> Cloud:
    """Return the cloud with each point's time set to the stamp plus ``offsets``, (n,) ns."""
    dtype = cloud.column(kind.field).dtype
    return cloud.with_columns({kind.field: from_offsets(offsets, kind, cloud.stamp_ns, dtype)})


def restamped(cloud: Cloud, stamp_ns: int) -> Cloud:
    """Move the header stamp, and absolute point times by as much; relative ones stay true as is."""
    kind = time_kind(cloud)
    moved = replace(cloud, stamp_ns=stamp_ns)
    if kind is None or not kind.is_absolute or stamp_ns == cloud.stamp_ns or not len(cloud):
        return moved
    return with_offsets_ns(moved, kind, offsets_ns(cloud, kind))


def from_offsets(
    offsets: NDArray[np.int64], kind: TimeKind, stamp_ns: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Spell offsets from the stamp, (n,) ns, as values of a time field, (n,) ``dtype``.

    Absolute nanoseconds stay integers until the division of the part below a second.
    """
    if dtype.kind in "iu":
        total = offsets + stamp_ns if kind.is_absolute else offsets
        return fitted(total // kind.unit_ns, dtype)
    if not kind.is_absolute:
        return (offsets / kind.unit_ns).astype(dtype)
    whole, rest = np.divmod(offsets + stamp_ns, _UNITS_NS["s"])
    per_second = _UNITS_NS["s"] // kind.unit_ns
    return (whole * per_second + rest / kind.unit_ns).astype(dtype)


def _candidates(name: str, dtype: np.dtype[Any]) -> list[TimeKind]:
    """List the readings of a field, likeliest first; of equal ones the coarser unit."""
    relative = [TimeKind(name, unit, is_absolute=False) for unit in _UNITS_NS.values()]
    absolute = [TimeKind(name, unit, is_absolute=True) for unit in _UNITS_NS.values()]
    if dtype.kind in "iu":
        if dtype.itemsize <= _NARROW_BYTES:
            return relative[::-1]
        return absolute[::-1] + relative[::-1]
    if dtype.itemsize <= _NARROW_BYTES:
        return relative  # float32 cannot tell the seconds of an epoch apart
    first, second = (absolute, relative) if name in _ABSOLUTE_NAMES else (relative, absolute)
    return [kind for pair in zip(first, second, strict=True) for kind in pair]


def _to_offsets(values: NDArray[Any], kind: TimeKind, stamp_ns: int) -> NDArray[np.int64]:
    if values.dtype.kind in "iu":
        total = _integers_ns(values, kind.unit_ns)
    else:
        total = _floats_ns(values, kind.unit_ns)
    return total - stamp_ns if kind.is_absolute else total


def _integers_ns(values: NDArray[Any], unit_ns: int) -> NDArray[np.int64]:
    largest = np.iinfo(np.int64).max // unit_ns
    wide: NDArray[np.int64] = fitted(values, np.dtype(np.int64)).clip(-largest, largest)
    return wide * unit_ns


def _floats_ns(values: NDArray[Any], unit_ns: int) -> NDArray[np.int64]:
    """Convert in two parts, so that the epoch's seconds cost no digits of the fraction."""
    with np.errstate(invalid="ignore"):
        wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    limit = float(np.iinfo(np.int64).max // 2 // unit_ns)
    wide = np.clip(wide, -limit, limit)
    whole = np.floor(wide)
    fraction_ns = np.rint((wide - whole) * unit_ns).astype(np.int64)
    return whole.astype(np.int64) * unit_ns + fraction_ns
