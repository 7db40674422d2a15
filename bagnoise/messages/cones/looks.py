"""How RViz and Foxglove are to show each class of cone."""

from __future__ import annotations

from typing import NamedTuple

from bagnoise.messages.payload import ConeClass

CYLINDER, ADD, DELETE_ALL = 3, 0, 3


class Look(NamedTuple):
    """How a class of cone is shown: its namespace, size (rule book) and color."""

    namespace: str
    width_m: float
    height_m: float
    rgb: tuple[float, float, float]


LOOKS = {
    ConeClass.BLUE: Look("blue", 0.228, 0.325, (0.0, 0.25, 1.0)),
    ConeClass.YELLOW: Look("yellow", 0.228, 0.325, (1.0, 0.875, 0.0)),
    ConeClass.SMALL_ORANGE: Look("small_orange", 0.228, 0.325, (1.0, 0.5, 0.0)),
    ConeClass.BIG_ORANGE: Look("big_orange", 0.285, 0.505, (1.0, 0.375, 0.0)),
    ConeClass.UNKNOWN: Look("unknown", 0.228, 0.325, (0.625, 0.625, 0.625)),
}
