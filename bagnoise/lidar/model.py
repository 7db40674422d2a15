"""What a spinning lidar is: a table of beams, how fast it turns, how far it sees."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ZENITH_DEG: Final = 90.0
_CIRCLE_DEG: Final = 360.0
_MOST_BEAMS: Final = 1024
_MOST_COLUMNS: Final = 20_000
_MICROSECONDS: Final = 1_000_000
_USUAL_RATE_HZ: Final = 10.0


@dataclass(frozen=True)
class LidarModel:
    """A spinning lidar; beams in the order of the driver's ring numbers.

    Attributes:
        name: as recipes call it.
        elevations_deg: of each beam, positive up.
        azimuth_offsets_deg: of each beam from its column, counterclockwise seen from above.
        firing_offsets_us: of each beam from its column's time, or None where not known.
        cycle_us: from one column to the next, or None where columns are chosen.
        columns: that a revolution can have, where they are chosen; empty otherwise.
        rates_hz: revolutions a second that it can do.
        range_m: nearest and farthest return.
        accuracy_m: standard deviation or typical accuracy of a range, or None where not known.
        accuracy_source: where that number is from.
        resolution_m: step of its ranges, or None where not known.
        layout: name of its driver's point layout.
        beam_origin_offset_m: farthest that a beam starts from the sensor's origin, or None.
        vendor: who makes it.
        aliases: further names.
        note: what to know about the table.
        sources: links.
    """

    name: str
    elevations_deg: tuple[float, ...]
    azimuth_offsets_deg: tuple[float, ...]
    firing_offsets_us: tuple[float, ...] | None = None
    cycle_us: float | None = None
    columns: tuple[int, ...] = ()
    rates_hz: tuple[float, ...] = (_USUAL_RATE_HZ,)
    range_m: tuple[float, float] = (0.0, math.inf)
    accuracy_m: float | None = None
    accuracy_source: str = ""
    resolution_m: float | None = None
    layout: str = "velodyne"
    beam_origin_offset_m: float | None = None
    vendor: str = ""
    aliases: tuple[str, ...] = ()
    note: str = ""
    sources: tuple[str, ...] = ()

    @property
    def channels(self) -> int:
        """Count the beams."""
        return len(self.elevations_deg)

    @property
    def default_rate_hz(self) -> float:
        """10 Hz where the lidar can do it, else its slowest."""
        return _USUAL_RATE_HZ if _USUAL_RATE_HZ in self.rates_hz else min(self.rates_hz)

    @property
    def default_columns(self) -> int | None:
        """The middle choice of columns, None where the rate decides."""
        return self.columns[len(self.columns) // 2] if self.columns else None

    def columns_at(self, rate_hz: float) -> int:
        """Count the columns of one revolution.

        Raises:
            UsageError: a rate that is not above 0, or one that leaves no or countless columns.
        """
        if not (math.isfinite(rate_hz) and rate_hz > 0):
            msg = f"lidar rate is {rate_hz} Hz; it must be above 0"
            raise UsageError(msg)
        chosen = self.default_columns
        if chosen is not None:
            return chosen
        assert self.cycle_us is not None
        count = round(_MICROSECONDS / (rate_hz * self.cycle_us))
        if not 1 <= count <= _MOST_COLUMNS:
            known = ", ".join(f"{rate:g}" for rate in self.rates_hz)
            msg = (
                f"{self.name} at {rate_hz:g} Hz has {count} columns a revolution, 1 to"
                f" {_MOST_COLUMNS} are possible; it turns at {known} Hz"
            )
            raise UsageError(msg)
        return count


def parse_model(entry: Mapping[str, Any], name: str) -> LidarModel:
    """Make a model of one table entry.

    Raises:
        UsageError: an unknown key, a missing or impossible value.
    """
    _check_keys(entry, name)
    if "elevations_deg" not in entry:
        msg = f"lidar model {name!r} lacks elevations_deg: degrees of each beam, positive up"
        raise UsageError(msg)
    reader = _Reader(name, entry)
    elevations = reader.numbers("elevations_deg", -_ZENITH_DEG, _ZENITH_DEG)
    count = len(elevations)
    columns = tuple(int(value) for value in reader.numbers("columns", 1, _MOST_COLUMNS, ()))
    cycle_us = reader.number("cycle_us", 0, math.inf)
    if not columns and not cycle_us:
        msg = f"lidar model {name!r} needs columns (a revolution) or cycle_us (above 0)"
        raise UsageError(msg)
    offsets = reader.per_beam("azimuth_offsets_deg", count, _CIRCLE_DEG)
    firing = reader.per_beam("firing_offsets_us", count, _MICROSECONDS)
    return LidarModel(
        name=name,
        elevations_deg=elevations,
        azimuth_offsets_deg=offsets or (0.0,) * count,
        firing_offsets_us=firing,
        cycle_us=None if columns else cycle_us,
        columns=columns,
        rates_hz=reader.numbers("rates_hz", 0.01, 1000, (_USUAL_RATE_HZ,)),
        range_m=reader.span("range_m"),
        accuracy_m=reader.number("accuracy_m", 0, math.inf),
        resolution_m=reader.number("resolution_m", 0, math.inf),
        beam_origin_offset_m=reader.number("beam_origin_offset_m", 0, math.inf),
        layout=str(entry.get("layout", "velodyne")),
        vendor=str(entry.get("vendor", "")),
        accuracy_source=str(entry.get("accuracy_source", "")),
        note=str(entry.get("note", "")),
        aliases=reader.texts("aliases"),
        sources=reader.texts("sources"),
    )


def _check_keys(entry: Mapping[str, Any], name: str) -> None:
    known = {field.name for field in fields(LidarModel)} - {"name"}
    for key in entry:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            msg = f"lidar model {name!r} has an unknown key {key!r}; {hint}"
            raise UsageError(msg)


class _Reader:
    """Reads values of one entry; errors name the model, the key and what would be right."""

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.entry = entry

    def fail(self, key: str, wanted: str) -> UsageError:
        """Make the error."""
        return UsageError(
            f"lidar model {self.name!r}: {key} is {self.entry.get(key)!r}; it must be {wanted}"
        )

    def number(self, key: str, low: float, high: float) -> float | None:
        """Read a number that may be missing."""
        value = self.entry.get(key)
        if value is None:
            return None
        if not _is_number(value) or not low <= value <= high:
            raise self.fail(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def numbers(
        self, key: str, low: float, high: float, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Read a list of numbers, or one alone."""
        if default is not None and self.entry.get(key) is None:
            return default
        raw = self.entry.get(key)
        values: list[Any] = list(raw) if isinstance(raw, list | tuple) else [raw]
        fits = all(_is_number(value) and low <= value <= high for value in values)
        if not fits or not 0 < len(values) <= _MOST_BEAMS:
            raise self.fail(key, f"1 to {_MOST_BEAMS} numbers from {low:g} to {high:g}")
        return tuple(float(value) for value in values)

    def per_beam(self, key: str, count: int, limit: float) -> tuple[float, ...] | None:
        """Read one number a beam, or one for all of them."""
        if self.entry.get(key) is None:
            return None
        values = self.numbers(key, -limit, limit)
        if len(values) == 1:
            return values * count
        if len(values) != count:
            raise self.fail(key, f"one number, or one for each of the {count} elevations_deg")
        return values

    def span(self, key: str) -> tuple[float, float]:
        """Read nearest and farthest."""
        values = self.numbers(key, 0, math.inf, (0.0, math.inf))
        if len(values) != 2 or values[0] >= values[1]:  # noqa: PLR2004
            raise self.fail(key, "[nearest, farthest] in metres")
        return values[0], values[1]

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts, or one alone."""
        raw = self.entry.get(key) or ()
        return (raw,) if isinstance(raw, str) else tuple(str(item) for item in raw)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
