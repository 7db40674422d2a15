"""Names of the classes of cones in recipes."""

from __future__ import annotations

from typing import Literal

from bagnoise.messages.payload import ConeClass

ClassName = Literal["blue", "yellow", "small_orange", "big_orange", "unknown"]
CLASS_COUNT = len(ConeClass)


def class_of(name: ClassName) -> ConeClass:
    """Return the class that a recipe's name means."""
    return ConeClass[name.upper()]
