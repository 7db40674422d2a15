"""How fitted values are written: digits that their intervals carry, and a comment beside each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from bagnoise.fit.estimate import Estimate

MOST_DIGITS = 12


def rounded(estimate: Estimate) -> float:
    """Return the value with as many digits as its interval tells apart, and one more."""
    return _round(estimate.value, _digits(estimate))


def interval_text(estimate: Estimate) -> str:
    """Return ``95 %: low … high``."""
    digits = _digits(estimate)
    return f"95 %: {_shown(estimate.low, digits)} … {_shown(estimate.high, digits)}"


def comment(estimate: Estimate, unit: str = "") -> str:
    """Return the comment beside a value: count, interval, ranges, note."""
    parts = []
    if estimate.bin_m is not None:
        parts.append(f"{estimate.bin_m[0]:g} to {estimate.bin_m[1]:g} m")
    parts += [f"n = {estimate.count}", interval_text(estimate) + (f" {unit}" if unit else "")]
    return ", ".join(parts) + (f"; {estimate.note}" if estimate.note else "")


def _digits(estimate: Estimate) -> int:
    half = estimate.half_width
    if half <= 0:
        return MOST_DIGITS
    return min(MOST_DIGITS, max(0, 1 - math.floor(math.log10(half))))


def _shown(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _round(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # no -0


class Commented:
    """Plain data of a recipe that grows together with its comments, by path."""

    def __init__(self) -> None:
        """Start empty."""
        self.comments: dict[tuple[str | int, ...], str] = {}

    def note(self, path: tuple[str | int, ...], text: str) -> None:
        """Put a comment behind the value at a path."""
        self.comments[path] = text

    def curve(
        self,
        path: tuple[str | int, ...],
        estimates: list[Estimate],
        write: Callable[[Estimate], float] = rounded,
    ) -> Any:
        """Return a number, or a table by range; commented either way."""
        if len(estimates) == 1 and estimates[0].bin_m is None:
            self.note(path, comment(estimates[0]))
            return write(estimates[0])
        for n, estimate in enumerate(estimates):
            self.note((*path, "table", "values", n), comment(estimate))
        edges = [e.bin_m[1] for e in estimates if e.bin_m is not None]
        return {"table": {"up_to_m": edges, "values": [write(e) for e in estimates]}}
