"""Command-line parameters: sizes, durations, the simulator's eight settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from bagnoise.recipe.overrides import SIMULATOR_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    _TextParameter = click.ParamType[str]
    _SizeParameter = click.ParamType[int]
    _SplitParameter = click.ParamType[tuple[int | None, int | None]]
else:  # generic only since click 8.4
    _TextParameter = click.ParamType[str]
    _TextParameter = _SizeParameter = _SplitParameter = click.ParamType

SECOND_NS = 1_000_000_000
MAX_ZSTD_LEVEL = 22
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SECONDS = {"ms": 10**6, "s": SECOND_NS, "min": 60 * SECOND_NS, "h": 3600 * SECOND_NS}

_UNITS = {"hz": "HZ", "noise_std": "METRES", "delay_mean": "SECONDS", "delay_std": "SECONDS"}


def flag_of(setting: str) -> str:
    """Return the flag of a setting: ``camera_hz`` -> ``--camera-hz``."""
    return "--" + setting.replace("_", "-")


def simulator_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the eight settings of ConeNoiseSimulator as options, in the table's order."""
    for name, path in reversed(SIMULATOR_SETTINGS.items()):
        unit = _UNITS[name.split("_", maxsplit=1)[1]]
        option = click.option(flag_of(name), name, type=float, metavar=unit, help=f"Sets {path}.")
        function = option(function)
    return function


class ByteCount(_SizeParameter):
    """A size such as 500000, 768k, 1M or 2G (powers of 1024)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?", str(value).lower())
        if match is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is not a size; give e.g. 500000, 768k, 1M or 2G", param, ctx)
        return max(1, int(float(match[1]) * _BYTES[match[2]]))


class Split(_SplitParameter):
    """A size, or a duration such as 60s, 500ms, 5min or 1h: (bytes, None) or (None, ns)."""

    name = "split"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, int | None]:
        """Read it."""
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|h)", str(value))
        if match is not None and float(match[1]) > 0:
            return None, round(float(match[1]) * _SECONDS[match[2]])
        return ByteCount().convert(value, param, ctx), None


class Compression(_TextParameter):
    """``keep``, ``none``, ``lz4``, ``zstd`` or ``zstd:LEVEL``."""

    name = "compression"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check it."""
        match = re.fullmatch(r"keep|none|lz4|zstd(?::(\d+))?", str(value))
        if match is None or not 1 <= int(match[1] or 1) <= MAX_ZSTD_LEVEL:
            known = f"keep, none, lz4, zstd or zstd:1 to zstd:{MAX_ZSTD_LEVEL}"
            self.fail(f"{value!r} is no compression; give {known}", param, ctx)
        return str(value)


byte_count = ByteCount()
compression = Compression()
split = Split()
