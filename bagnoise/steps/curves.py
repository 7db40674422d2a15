"""Values that depend on range: constant, linear, quadratic, exponential, sigmoid, or a table."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from bagnoise.steps.limits import Amount, Number

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

Floats = Annotated[tuple[Number, ...], Field(strict=False, min_length=1)]


class Options(BaseModel):
    """Options within a step's options."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


class Linear(Options):
    """base + per_m * d."""

    base: Number = Field(0.0, description="value at range 0")
    per_m: Number = Field(0.0, description="change per metre")

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges, (n,)."""
        return self.base + self.per_m * range_m


class Quadratic(Options):
    """max(floor, start + per_m * (d - from_m) + per_m2 * (d - from_m)^2)."""

    start: Number = Field(description="value at from_m")
    per_m: Number = Field(0.0, description="change per metre")
    per_m2: Number = Field(0.0, description="change per square metre")
    from_m: Number = Field(0.0, description="range at which the value is start")
    floor: Number | None = Field(None, description="least value")

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges, (n,)."""
        d = range_m - self.from_m
        value = self.start + self.per_m * d + self.per_m2 * d * d
        return value if self.floor is None else np.maximum(value, self.floor)


class Exponential(Options):
    """base + a * min(cap, exp(b_per_m * d))."""

    a: Number = Field(description="factor of the exponential")
    b_per_m: Number = Field(description="growth per metre")
    cap: Amount | None = Field(None, gt=0, description="largest value of the exponential itself")
    base: Number = Field(0.0, description="added to it")

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges, (n,)."""
        with np.errstate(over="ignore"):
            growth = np.exp(self.b_per_m * range_m)
        limit = np.finfo(float).max if self.cap is None else self.cap
        return self.base + self.a * np.minimum(growth, limit)


class Sigmoid(Options):
    """top / (1 + exp(slope_per_m * (d - mid_m)))."""

    mid_m: Number = Field(description="range of half the top")
    slope_per_m: Number = Field(0.5, description="steepness; positive falls with range")
    top: Number = Field(1.0, description="value far below mid_m")

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges, (n,)."""
        with np.errstate(over="ignore"):
            return self.top / (1 + np.exp(self.slope_per_m * (range_m - self.mid_m)))


class Table(Options):
    """The value of the first bin whose up_to_m is not below the range."""

    up_to_m: Floats = Field(description="upper ends of the bins, ascending")
    values: Floats = Field(description="value of each bin")
    beyond: Number | None = Field(None, description="value past the last bin; null: as in it")

    @model_validator(mode="after")
    def _matching(self) -> Table:
        if len(self.up_to_m) != len(self.values):
            msg = f"{len(self.up_to_m)} bins in up_to_m, but {len(self.values)} values"
            raise ValueError(msg)
        if any(b <= a for a, b in zip(self.up_to_m, self.up_to_m[1:], strict=False)):
            msg = "up_to_m must ascend"
            raise ValueError(msg)
        return self

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges, (n,)."""
        ends, values = self._arrays
        found: NDArray[np.float64] = values[ends.searchsorted(range_m, side="left")]
        return found

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        last = self.values[-1] if self.beyond is None else self.beyond
        return np.array(self.up_to_m), np.array((*self.values, last))


class Curve(Options):
    """A value by range: a number, or one of these forms."""

    constant: Number | None = Field(None, description="the same at every range")
    linear: Linear | None = Field(None, description=Linear.__doc__)
    quadratic: Quadratic | None = Field(None, description=Quadratic.__doc__)
    exponential: Exponential | None = Field(None, description=Exponential.__doc__)
    sigmoid: Sigmoid | None = Field(None, description=Sigmoid.__doc__)
    table: Table | None = Field(None, description=Table.__doc__)

    @model_validator(mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return {"constant": value} if is_number else value

    @model_validator(mode="after")
    def _one_form(self) -> Curve:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            forms = ", ".join(type(self).model_fields)
            msg = f"give a number or exactly one of {forms}"
            raise ValueError(msg)
        return self

    @model_serializer(mode="wrap")
    def _short(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.constant is not None:
            return self.constant
        return {name: form for name, form in handler(self).items() if form is not None}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Let editors accept a plain number, too."""
        return {"anyOf": [{"type": "number"}, handler(core_schema)]}

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 at every range."""
        return self.constant == 0

    def at(self, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate at ranges in metres, (n,)."""
        if self.constant is not None:
            return np.full(np.shape(range_m), self.constant)
        for form in (self.linear, self.quadratic, self.exponential, self.sigmoid, self.table):
            if form is not None:
                return form.at(range_m)
        raise AssertionError


_LOOKED_AT_M = np.arange(101.0)  # cones are nearer


def _within(low: float, high: float) -> AfterValidator:
    """Check the values that a curve spells out, and that a form comes to any that is allowed.

    Where a form leaves the limits at some range, its step cuts it; one that is out of them at every
    range is a mistake.
    """

    def check(curve: Curve) -> Curve:
        told = _told(curve)
        for value in told:
            if not low <= value <= high:
                msg = f"expected {low:g} to {high:g}, not {value:g}"
                raise ValueError(msg)
        if told:
            return curve
        with np.errstate(over="ignore", invalid="ignore"):  # then it is out of every limit
            values = curve.at(_LOOKED_AT_M)
        if not ((values >= low) & (values <= high)).any():
            ends = f"{values[0]:g} at 0 m, {values[-1]:g} at {_LOOKED_AT_M[-1]:g} m"
            msg = f"expected {low:g} to {high:g}, but at no range is it ({ends})"
            raise ValueError(msg)
        return curve

    return AfterValidator(check)


def _told(curve: Curve) -> tuple[float, ...]:
    if curve.constant is not None:
        return (curve.constant,)
    if curve.table is None:
        return ()
    last = curve.table.beyond
    return (*curve.table.values, *(() if last is None else (last,)))


Chance = Annotated[Curve, _within(0, 1)]
Deviation = Annotated[Curve, _within(0, 1e6)]  # in metres
AngleDeviation = Annotated[Curve, _within(0, 4)]  # in radians; the whole circle, whatever is drawn
Bias = Annotated[Curve, _within(-1e3, 1e3)]  # in metres


@lru_cache(maxsize=256)
def constant(value: float) -> Curve:
    """Make the curve that is the same at every range."""
    return Curve(constant=value)


ZERO = constant(0.0)
ONE = constant(1.0)
