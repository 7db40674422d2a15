"""Steps on what color a cone has, and which colors pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.messages.payload import ConeClass
from bagnoise.steps.base import ConeStep, Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

ClassName = Literal["blue", "yellow", "small_orange", "big_orange", "unknown"]
CLASS_COUNT = len(ConeClass)


def class_of(name: ClassName) -> ConeClass:
    """Return the class that a recipe's name means."""
    return ConeClass[name.upper()]


class Classes(ConeStep):
    """Let only some classes of cones through; the summary counts the others."""

    name: ClassVar[str] = "classes"
    keep: Annotated[tuple[ClassName, ...], Field(strict=False)] = Field(
        ("blue", "yellow"), min_length=1, description="the classes that pass"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by class."""
        wanted = np.isin(cones.color, [class_of(name) for name in self.keep])
        if wanted.all():
            return cones
        moment.tally["cones left out by class"] += int((~wanted).sum())
        return cones.take(wanted)


class Color(ConeStep):
    """Take the color away (strip), or give classes another one (map).

    Stripping also shuffles the cones unless told not to: the usual order, blue before yellow,
    gives the color away.
    """

    name: ClassVar[str] = "color"
    strip: bool = Field(True, description="make every cone's class unknown")
    map: dict[ClassName, ClassName] = Field(
        default_factory=dict, description="class -> new class, instead of stripping"
    )
    shuffle: bool | None = Field(
        None, description="put the cones into random order; null: when the color is stripped"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Change the classes, then the order."""
        table = self._table()
        colored = replace(
            cones, color=table[cones.color], probabilities=_moved(cones.probabilities, table)
        )
        shuffle = self._strips if self.shuffle is None else self.shuffle
        return colored.take(shuffled_rows(cones, moment.generator())) if shuffle else colored

    @property
    def _strips(self) -> bool:
        return self.strip and not self.map

    def _table(self) -> NDArray[np.int8]:
        if self._strips:
            return np.full(CLASS_COUNT, ConeClass.UNKNOWN, np.int8)
        table = np.arange(CLASS_COUNT, dtype=np.int8)
        for old, new in self.map.items():
            table[class_of(old)] = class_of(new)
        return table


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


def _moved(
    probabilities: NDArray[np.float64] | None, table: NDArray[np.int8]
) -> NDArray[np.float64] | None:
    """Add up the probabilities (n, 5) of the classes that become one."""
    if probabilities is None:
        return None
    moved = np.zeros_like(probabilities)
    for old, new in enumerate(table):
        moved[:, new] += probabilities[:, old]
    return moved
