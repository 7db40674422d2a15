"""Names of the classes of cones in recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from bagnoise.messages.payload import ConeClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

ClassName = Literal["blue", "yellow", "small_orange", "big_orange", "unknown"]
CLASS_COUNT = len(ConeClass)


def class_of(name: ClassName) -> ConeClass:
    """Return the class that a recipe's name means."""
    return ConeClass[name.upper()]


def shuffled_rows(cones: Cones, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order of the rows, (n,): each source row has its own draw, then the rest."""
    by_source = generator.random(cones.source_count)
    others = generator.random(len(cones))
    real = cones.index >= 0
    rank = (
        np.where(real, by_source[np.where(real, cones.index, 0)], others)
        if len(by_source)
        else others
    )
    return np.argsort(rank, kind="stable")
