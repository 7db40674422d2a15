"""Steps on what color a cone has, and which colors pass."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.errors import UsageError
from bagnoise.messages.cloud_color import blanked, without_color
from bagnoise.messages.payload import ConeClass, changed
from bagnoise.steps.base import CloudStep, ConeStep, Moment
from bagnoise.steps.colors import CLASS_COUNT, ClassName, class_of
from bagnoise.steps.confusion import UNDETECTED, Outcome, classes_out, posteriors
from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.curves import Chance  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.draws import of_rows, shuffled_rows
from bagnoise.steps.limits import Amount, Number  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.polar import ranges, relative_to, seen_by_sensor
from bagnoise.steps.view import MountedView  # noqa: TC001 - as above
from bagnoise.steps.world import measured_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.payload import Cones

_SUM_TOLERANCE = 1e-6
COLORED = (ConeClass.BLUE, ConeClass.YELLOW, ConeClass.SMALL_ORANGE, ConeClass.BIG_ORANGE)


class Classes(ConeStep):
    """Let only some classes of cones through; the summary counts the others."""

    name: ClassVar[str] = "classes"
    keep: Annotated[tuple[ClassName, ...], Field(strict=False)] = Field(
        ("blue", "yellow"), min_length=1, description="the classes that pass"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by class."""
        wanted = self._wanted[cones.color]
        if wanted.all():
            return cones
        moment.tally["cones left out by class"] += int((~wanted).sum())
        return cones.take(wanted)

    @cached_property
    def _wanted(self) -> NDArray[np.bool_]:
        table = np.zeros(CLASS_COUNT, np.bool_)
        table[[class_of(name) for name in self.keep]] = True
        return table


def _unknown() -> dict[Outcome, float]:
    return {"unknown": 1.0}


class Color(ConeStep, CloudStep):
    """Confuse colors, map them, or take them away: everywhere, far off, or out of another's view.

    Without any other option it strips: every class becomes unknown, and the cones are shuffled,
    because the usual order, blue before yellow, gives the color away.
    """

    name: ClassVar[str] = "color"
    strip: bool = Field(
        True, description="make every cone's class unknown, if none of the following is given"
    )
    map: dict[ClassName, ClassName] = Field(
        default_factory=dict, description="class -> new class, after any confusion"
    )
    strip_beyond_m: Amount | None = Field(
        None, ge=0, description="no color farther from the sensor than this, in metres"
    )
    strip_outside: MountedView | None = Field(
        None, description="no color outside the view of another sensor, such as the camera"
    )
    confusion: dict[ClassName, dict[Outcome, Number]] = Field(
        default_factory=dict,
        description="true class -> seen class or 'undetected' -> chance; each row sums to 1",
    )
    correct: Chance | None = Field(
        None, description="chance of the true class, by range; instead of confusion"
    )
    wrong: Chance | None = Field(
        None, description="with correct: chance of another color, by range, all equally likely"
    )
    otherwise: dict[Outcome, Number] = Field(
        default_factory=_unknown,
        description="with correct: what it is seen as in the remaining cases, by weight",
    )
    probabilities: Literal["swap", "one_hot", "posterior"] = Field(
        "swap",
        description="class probabilities. swap: the source's, entries of true and seen class "
        "swapped; one_hot: 1 for the seen class; posterior: chance of each true class, were all "
        "equally frequent",
    )
    shuffle: bool | None = Field(
        None, description="put the cones into random order; null: when everything is stripped"
    )

    keep_layout: bool = Field(
        False,
        description="of a cloud: blank the color fields instead of removing them",
    )

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:  # noqa: ARG002
        """Take the color fields of points away."""
        if not self._strips:
            msg = "color can only strip a cloud; map, confusion and the like work on cones"
            raise UsageError(msg)
        return blanked(cloud) if self.keep_layout else without_color(cloud)

    def needs(self) -> Needs:
        """Read the transforms where the other sensor is a frame."""
        return NOTHING if self.strip_outside is None else self.strip_outside.mount_needs()

    def check(self) -> list[str]:
        """Check sums, and that only one way to confuse is asked for."""
        found = []
        if self.confusion and self.correct is not None:
            found.append("give confusion or correct, not both")
        if self.wrong is not None and self.correct is None:
            found.append("wrong needs correct")
        if not sum(self.otherwise.values()) > 0 or min(self.otherwise.values()) < 0:
            found.append("otherwise needs weights of at least 0 that are not all 0")
        for name, row in self.confusion.items():
            total = sum(row.values())
            if abs(total - 1) > _SUM_TOLERANCE or min(row.values(), default=0) < 0:
                found.append(f"confusion.{name} must hold chances that sum to 1, not {total:g}")
        if self.strip_outside is not None:
            found += self.strip_outside.mount_problems() + self.strip_outside.view_problems()
        return found

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Confuse, map, strip; then change the order."""
        generator = moment.generator()
        draws = generator.random(cones.source_count) if self._confuses else None
        if draws is not None:
            cones = self._confused(cones, draws, moment)
        if self._strips or self.map:
            cones = _recolored(cones, self._table())
        if self.strip_beyond_m is not None or self.strip_outside is not None:
            cones = _stripped(cones, self._out_of_color(cones, moment))
        shuffle = self._strips if self.shuffle is None else self.shuffle
        return cones.take(shuffled_rows(cones, generator)) if shuffle else cones

    @property
    def _confuses(self) -> bool:
        return bool(self.confusion) or self.correct is not None

    @property
    def _strips(self) -> bool:
        others = (self.map, self._confuses, self.strip_outside, self.strip_beyond_m is not None)
        return self.strip and not any(others)

    def _table(self) -> NDArray[np.int8]:
        if self._strips:
            return np.full(CLASS_COUNT, ConeClass.UNKNOWN, np.int8)
        table = np.arange(CLASS_COUNT, dtype=np.int8)
        for old, new in self.map.items():
            table[class_of(old)] = class_of(new)
        return table

    def _out_of_color(self, cones: Cones, moment: Moment) -> NDArray[np.bool_]:
        far = np.zeros(len(cones), bool)
        if self.strip_beyond_m is not None:
            far |= ranges(seen_by_sensor(cones)) > self.strip_beyond_m
        if self.strip_outside is not None:
            stamp_ns = measured_ns(cones, moment)
            mount = self.strip_outside.mounted(cones.frame_id, stamp_ns, moment.context)
            far |= ~self.strip_outside.sees(relative_to(mount, cones.xyz))
        return far

    def _confused(self, cones: Cones, draws: NDArray[np.float64], moment: Moment) -> Cones:
        ghosts = cones.index < 0
        distance = ranges(seen_by_sensor(cones))
        outcome = self._drawn(distance, cones.color, of_rows(draws, cones.index))
        lost = (outcome == UNDETECTED) & ~ghosts
        seen = np.where(lost | ghosts, cones.color, outcome).astype(np.int8)
        chances = cones.probabilities
        if self.probabilities == "one_hot":
            chances = np.eye(CLASS_COUNT)[seen]
        elif self.probabilities == "posterior":
            chances = np.eye(CLASS_COUNT)[seen]
            by_class = [self.outcomes(distance, np.full_like(seen, true)) for true in ConeClass]
            chances[~ghosts] = posteriors(np.stack(by_class, axis=1), seen)[~ghosts]
        elif chances is not None:
            chances = _swapped(chances, cones.color, seen)
        confused = changed(cones, color=seen, probabilities=chances)
        if not lost.any():
            return confused
        moment.tally["cones missed"] += int(lost.sum())
        return confused.take(~lost)

    def _drawn(
        self,
        range_m: NDArray[np.float64],
        color: NDArray[np.int8],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Draw an outcome for each true class, (n,); the few that fail are worked out alone."""
        if self.correct is None:
            return classes_out(self._matrix[color], uniforms)
        outcome = color.astype(np.int64)
        correct = self.correct.at(range_m)
        failed = np.flatnonzero((uniforms >= correct) & (color != ConeClass.UNKNOWN))
        if len(failed):
            beyond = uniforms[failed] - np.maximum(correct[failed], 0)
            left = 1 - np.maximum(correct[failed], 0)
            outcome[failed] = self._failed(range_m[failed], color[failed], beyond, left)
        return outcome

    def _failed(
        self,
        range_m: NDArray[np.float64],
        color: NDArray[np.int8],
        beyond: NDArray[np.float64],
        left: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Say what cones are seen as that are not seen as what they are.

        ``beyond`` is uniform in [0, left), left the chance of failing: the first part of it is
        the wrong colors', the rest goes by the weights of `otherwise`.
        """
        if self.wrong is None:
            return self._rest_sums.searchsorted(beyond / left, side="right")
        wrong = np.minimum(np.maximum(self.wrong.at(range_m), 0), left)
        rest = left - wrong
        share = (beyond - wrong) / np.where(rest > 0, rest, 1)
        otherwise = self._rest_sums.searchsorted(share, side="right")
        third = (3 * beyond / np.where(wrong > 0, wrong, 1)).astype(np.int64)
        return np.where(beyond < wrong, _OTHER_COLORS[color, np.minimum(third, 2)], otherwise)

    def outcomes(
        self, range_m: NDArray[np.float64], color: NDArray[np.int8]
    ) -> NDArray[np.float64]:
        """Return the chance of each outcome, (n, 5 classes and undetected), for true classes (n,).

        An unknown cone has no color to be confused; only the matrix ``confusion`` may name it.
        """
        own = self._matrix[color]
        if self.correct is None:
            return own
        correct = np.minimum(np.maximum(self.correct.at(range_m), 0), 1)[:, None]
        rest = 1 - correct
        made = correct * own
        if self.wrong is not None:
            wrong = np.minimum(np.maximum(self.wrong.at(range_m), 0)[:, None], rest)
            made += wrong * _OTHERS[color]
            rest -= wrong
        made += rest * self._rest
        made[color == ConeClass.UNKNOWN] = self._matrix[ConeClass.UNKNOWN]
        return made

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        matrix = np.eye(CLASS_COUNT, CLASS_COUNT + 1)
        for name, row in self.confusion.items():
            matrix[class_of(name)] = _weights(row)
        return matrix

    @cached_property
    def _rest_sums(self) -> NDArray[np.float64]:
        """Upper ends of the outcomes' shares, without the last: a rounded sum ends nothing."""
        sums = self._rest.cumsum()
        return sums[: int(self._rest.nonzero()[0][-1])]

    @cached_property
    def _rest(self) -> NDArray[np.float64]:
        weights = _weights(self.otherwise)
        weights /= weights.sum()
        return weights


def _weights(row: dict[Outcome, float]) -> NDArray[np.float64]:
    weights = np.zeros(CLASS_COUNT + 1)
    for name, weight in row.items():
        weights[UNDETECTED if name == "undetected" else class_of(name)] += weight
    return weights


def _others() -> NDArray[np.float64]:
    """For each true color, the three other colors with a third each."""
    matrix = np.zeros((CLASS_COUNT, CLASS_COUNT + 1))
    for true in COLORED:
        for seen in COLORED:
            matrix[true, seen] = (true != seen) / (len(COLORED) - 1)
    return matrix


_OTHERS = _others()
_OTHER_COLORS = np.array(
    [[int(seen) for seen in COLORED if seen != true][:3] for true in ConeClass], np.int64
)


def _recolored(cones: Cones, table: NDArray[np.int8]) -> Cones:
    """Give every class its entry of a table; probabilities of classes that become one add up."""
    chances = cones.probabilities
    if chances is not None:
        moved = np.zeros_like(chances)
        for old, new in enumerate(table):
            moved[:, new] += chances[:, old]
        chances = moved
    return changed(cones, color=table[cones.color], probabilities=chances)


def _stripped(cones: Cones, rows: NDArray[np.bool_]) -> Cones:
    """Make the rows of a mask unknown."""
    color = np.where(rows, np.int8(ConeClass.UNKNOWN), cones.color).astype(np.int8)
    chances = cones.probabilities
    if chances is not None:
        chances = np.where(rows[:, None], np.eye(CLASS_COUNT)[ConeClass.UNKNOWN], chances)
    return changed(cones, color=color, probabilities=chances)


def _swapped(
    chances: NDArray[np.float64], true: NDArray[np.int8], seen: NDArray[np.int8]
) -> NDArray[np.float64]:
    rows = np.arange(len(chances))
    swapped = chances.copy()
    swapped[rows, seen], swapped[rows, true] = chances[rows, true], chances[rows, seen]
    return swapped
