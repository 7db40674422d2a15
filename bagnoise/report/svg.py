"""Plots as SVG text: axes with sensible ticks, and what is drawn between them."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from bagnoise.report.colors import FAINT, INK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEFT, RIGHT, TOP, BOTTOM = 66, 14, 14, 40
_TICKS = 6
_STEPS = (1, 2, 2.5, 5, 10)
Range = tuple[float, float]


def padded(values: Iterable[float], share: float = 0.05) -> Range:
    """Return a range around values with room at both ends."""
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = (high - low) * share or abs(low) * share or 1.0
    return low - room, high + room


def nice_ticks(low: float, high: float) -> list[float]:
    """Return round numbers within a range, about six."""
    raw = (high - low) / _TICKS
    if raw <= 0 or not math.isfinite(raw):
        return [low]
    power = 10 ** math.floor(math.log10(raw))
    step = next(s * power for s in _STEPS if s * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def number(value: float) -> str:
    """Write a coordinate or a tick shortly."""
    text = f"{value:.6g}"
    return "0" if text == "-0" else text


class Plot:
    """One pair of axes; draw, then ask for `text`."""

    def __init__(
        self,
        x: Range,
        y: Range,
        *,
        labels: tuple[str, str] = ("", ""),
        size: tuple[int, int] = (520, 300),
        title: str = "",
        equal: bool = False,
    ) -> None:
        """Set up axes over data ranges; ``equal``: a unit is as long on both."""
        self.width, self.height = size
        self._x, self._y = _equal(x, y, size) if equal else (x, y)
        self._title = title
        self._parts: list[str] = []
        self._legend: list[tuple[str, str, str]] = []
        self._axes(labels)

    def px(self, x: float) -> float:
        """Return the horizontal place of a value."""
        low, high = self._x
        return round(LEFT + (x - low) / (high - low) * (self.width - LEFT - RIGHT), 2)

    def py(self, y: float) -> float:
        """Return the vertical place of a value."""
        low, high = self._y
        bottom = self.height - BOTTOM
        return round(bottom - (y - low) / (high - low) * (bottom - TOP), 2)

    def line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        color: str,
        *,
        name: str = "",
        dash: str = "",
    ) -> None:
        """Draw a line through points."""
        points = " ".join(f"{self.px(x)},{self.py(y)}" for x, y in zip(xs, ys, strict=True))
        style = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{style}/>'
        )
        if name:
            self._legend.append((name, color, "line"))

    def points(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        color: str,
        *,
        name: str = "",
        radius: float = 1.6,
        opacity: float = 0.6,
        shape: str = "dot",
    ) -> None:
        """Draw markers: ``dot``, ``ring``, ``triangle`` or ``square``."""
        r = radius
        path = "".join(
            _MARKS[shape].format(x=self.px(x), y=self.py(y), r=r, d=2 * r, n=-r, m=-2 * r)
            for x, y in zip(xs, ys, strict=True)
        )
        hollow = shape == "ring"
        paint = f'fill="none" stroke="{color}"' if hollow else f'fill="{color}"'
        self._parts.append(f'<path d="{path}" {paint} opacity="{opacity}"/>')
        if name:
            self._legend.append((name, color, shape))

    def bars(
        self, edges: Sequence[float], heights: Sequence[float], color: str, *, name: str = ""
    ) -> None:
        """Draw bars from zero between edges (one more than heights)."""
        zero = self.py(max(0.0, self._y[0]))
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
            x, y = self.px(left), self.py(height)
            width = max(0.5, self.px(right) - x - 0.6)
            self._parts.append(
                f'<rect x="{x}" y="{y}" width="{width:.2f}" height="{max(0, zero - y):.2f}" '
                f'fill="{color}" opacity="0.55"/>'
            )
        if name:
            self._legend.append((name, color, "square"))

    def image(self, uri: str, x: Range, y: Range) -> None:
        """Place a picture over data ranges."""
        left, top = self.px(x[0]), self.py(y[1])
        width, height = self.px(x[1]) - left, self.py(y[0]) - top
        self._parts.append(
            f'<image href="{uri}" x="{left}" y="{top}" width="{width:.2f}" '
            f'height="{height:.2f}" preserveAspectRatio="none" '
            'style="image-rendering:pixelated"/>'
        )

    def label(
        self, x: float, y: float, text: str, color: str = INK, anchor: str = "middle"
    ) -> None:
        """Write text at a place in the data."""
        self._parts.append(
            f'<text x="{self.px(x)}" y="{self.py(y)}" fill="{color}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def box(self, x: Range, y: Range, color: str) -> None:
        """Fill a rectangle of the data."""
        left, top = self.px(x[0]), self.py(y[1])
        self._parts.append(
            f'<rect x="{left}" y="{top}" width="{self.px(x[1]) - left:.2f}" '
            f'height="{self.py(y[0]) - top:.2f}" fill="{color}" stroke="#fff"/>'
        )

    def names(self, places: Sequence[tuple[float, str]], axis: str) -> None:
        """Write names instead of ticks along an axis (``x`` or ``y``)."""
        for place, text in places:
            x, y, anchor = (
                (self.px(place), self.height - BOTTOM + 15, "middle")
                if axis == "x"
                else (LEFT - 6, self.py(place) + 4, "end")
            )
            self._parts.append(
                f'<text x="{x}" y="{y}" fill="{INK}" text-anchor="{anchor}">{escape(text)}</text>'
            )

    def text(self) -> str:
        """Return the SVG element."""
        label = escape(self._title, quote=True)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'role="img" aria-label="{label}" font-family="system-ui, sans-serif" '
            f'font-size="11">{"".join(self._parts)}{self._legend_text()}</svg>'
        )

    def _axes(self, labels: tuple[str, str]) -> None:
        right, bottom = self.width - RIGHT, self.height - BOTTOM
        parts = self._parts
        for tick in nice_ticks(*self._x) if labels[0] else ():
            x = self.px(tick)
            parts.append(f'<path d="M{x} {TOP}V{bottom}" stroke="#e5e7eb"/>')
            parts.append(
                f'<text x="{x}" y="{bottom + 15}" fill="{INK}" text-anchor="middle">'
                f"{number(tick)}</text>"
            )
        for tick in nice_ticks(*self._y) if labels[1] else ():
            y = self.py(tick)
            parts.append(f'<path d="M{LEFT} {y}H{right}" stroke="#e5e7eb"/>')
            parts.append(
                f'<text x="{LEFT - 6}" y="{y + 4}" fill="{INK}" text-anchor="end">'
                f"{number(tick)}</text>"
            )
        parts.append(
            f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="{FAINT}"/>'
            f'<text x="{(LEFT + right) / 2}" y="{self.height - 6}" fill="{INK}" '
            f'text-anchor="middle">{escape(labels[0])}</text>'
            f'<text transform="translate(13 {(TOP + bottom) / 2}) rotate(-90)" fill="{INK}" '
            f'text-anchor="middle">{escape(labels[1])}</text>'
        )

    def _legend_text(self) -> str:
        parts = []
        for row, (name, color, shape) in enumerate(self._legend):
            x, y = self.width - RIGHT - 12, TOP + 12 + 15 * row
            mark = (
                f'<path d="M{x - 6} {y - 4}h14" stroke="{color}" stroke-width="2"/>'
                if shape == "line"
                else f'<path d="{_MARKS[shape].format(x=x, y=y - 4, r=4, d=8, n=-4, m=-8)}" '
                + (f'fill="none" stroke="{color}"/>' if shape == "ring" else f'fill="{color}"/>')
            )
            parts.append(
                f'{mark}<text x="{x - 11}" y="{y}" fill="{INK}" text-anchor="end" '
                f'paint-order="stroke" stroke="#fff" stroke-width="3">{escape(name)}</text>'
            )
        return "".join(parts)


_CIRCLE = "M{x} {y}m{n} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 {m} 0"
_MARKS = {
    "dot": _CIRCLE,
    "ring": _CIRCLE,
    "triangle": "M{x} {y}m0 {n}l{r} {d}h{m}z",
    "square": "M{x} {y}m{n} {n}h{d}v{d}h{m}z",
}
SHAPES = ("triangle", "square", "dot")


def _equal(x: Range, y: Range, size: tuple[int, int]) -> tuple[Range, Range]:
    """Widen one range so that a unit is as long on both axes."""
    width, height = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM
    per_px = max((x[1] - x[0]) / width, (y[1] - y[0]) / height)
    return _around(x, per_px * width), _around(y, per_px * height)


def _around(some: Range, length: float) -> Range:
    middle = (some[0] + some[1]) / 2
    return middle - length / 2, middle + length / 2
