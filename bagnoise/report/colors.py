"""Colors that color-blind people tell apart: Okabe and Ito's, cividis, and a blue-orange scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

INK, FAINT, PAPER = "#1b1f24", "#8a929b", "#ffffff"
SERIES = ("#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#0072B2")
# by ConeClass: blue, yellow, small orange, big orange, unknown
CLASSES = ("#0072B2", "#C79A00", "#D55E00", "#A03C00", "#6b7280")

_CIVIDIS = "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838"
_DIVERGING = "004f80 0072b2 7fb8d8 f7f7f7 eaae7f d55e00 943f00"


def cividis(share: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return colors (..., 3) of values from 0 (dark blue) to 1 (yellow)."""
    return _scale(share, _CIVIDIS)


def diverging(share: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return colors (..., 3) of values from -1 (blue) over 0 (white) to 1 (orange)."""
    return _scale((share + 1) / 2, _DIVERGING)


def _scale(share: NDArray[np.float64], anchors: str) -> NDArray[np.uint8]:
    table = np.array([[int(a[i : i + 2], 16) for i in (0, 2, 4)] for a in anchors.split()])
    place = np.clip(share, 0, 1) * (len(table) - 1)
    channels = [np.interp(place, np.arange(len(table)), table[:, c]) for c in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)
