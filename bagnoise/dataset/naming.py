"""Output names from a pattern such as ``{input}-{recipe}-s{seed}``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bagnoise.errors import UsageError
from bagnoise.recipe.problems import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME_BYTES = 200  # of each part: file systems take 255, and there are suffixes
_FIELD = re.compile(r"\{([^{}]*)\}")


def output_name(pattern: str, values: Mapping[str, Any]) -> str:
    """Fill in a pattern; what a file name cannot hold becomes ``_``.

    A field that is empty takes one of the dashes around it along.

    Raises:
        UsageError: an unknown field, or a name that leaves the folder.
    """

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in values:
            msg = f"name: unknown field {{{name}}}; {did_you_mean(name, values)}"
            raise UsageError(msg)
        return re.sub(r"[^A-Za-z0-9._+=-]+", "_", text_of(values[name]))

    empty = [name for name, value in values.items() if value == ""]
    for name in empty:
        pattern = re.sub(rf"[-_]?\{{{re.escape(name)}\}}", "", pattern)
    name = _FIELD.sub(fill, pattern)
    for part in name.split("/"):
        if part in {"", ".", ".."} or part.startswith(".") or len(part.encode()) > MAX_NAME_BYTES:
            msg = (
                f"name: {name!r} has the part {part!r}; a part is 1 to {MAX_NAME_BYTES} bytes and "
                "does not start with a dot"
            )
            raise UsageError(msg)
    return name


def sweep_text(point: Mapping[str, Any]) -> str:
    """Name a point of a sweep: ``camera.noise.std_m=0.1`` gives ``noise.std_m=0.1``.

    The stream's name stays where two swept options would read the same without.
    """
    short = [name.split(".", 1)[-1] for name in point]
    names = short if len(set(short)) == len(short) else list(point)
    return "-".join(f"{n}={text_of(v)}" for n, v in zip(names, point.values(), strict=True))


def text_of(value: Any) -> str:
    """Write a value into a name."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
