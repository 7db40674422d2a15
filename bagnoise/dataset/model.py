"""A plan: inputs, recipes, seeds and a sweep, and how the outputs are named and written."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Scalar = bool | int | float | str
DEFAULT_NAME = "{input}-{recipe}-{sweep}-s{seed}"
MAX_OUTPUTS = 1_000_000
LARGEST_SEED = 2**63


class Strict(BaseModel):
    """What every part of a plan has in common: no unknown option, no silent conversion."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


def _short(option: str) -> BeforeValidator:
    """Let a bare text stand for the mapping ``{option: text}``."""
    return BeforeValidator(lambda value: {option: value} if isinstance(value, str) else value)


def _seed_list(value: object) -> object:
    """Let a bare list stand for ``{list: [...]}``."""
    return {"list": value} if isinstance(value, list) else value


def _spelled(value: object) -> object:
    """Let a number stand for the text of it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format(Decimal(repr(value)), "f") if math.isfinite(value) else repr(value)
    return value


class Input(Strict):
    """Bags to start from."""

    path: str = Field(min_length=1, description="a bag, or a pattern with *, ? or **")
    tags: dict[str, Scalar] = Field(
        default_factory=dict, description="free words about them, for names and the manifest"
    )


class RecipeUse(Strict):
    """A recipe that is applied to every input."""

    recipe: str = Field(min_length=1, description="preset, or recipe file beside the plan")
    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9._+-]+$", description="for output names; null: the file's"
    )
    set: dict[str, Any] = Field(
        default_factory=dict, description="stream.step.option -> value, as --set"
    )


class Seeds(Strict):
    """Which seeds: a list, or a count from a first one on."""

    values: Annotated[tuple[int, ...], Field(strict=False)] = Field(
        (), alias="list", description="these seeds"
    )
    first: int = Field(0, ge=-LARGEST_SEED, lt=LARGEST_SEED, description="first of a range")
    count: int = Field(0, ge=0, le=MAX_OUTPUTS, description="how many from the first on")

    def all(self) -> tuple[int, ...]:
        """List them."""
        return (*self.values, *range(self.first, self.first + self.count))


class Bounds(Strict):
    """Where a random draw may fall."""

    min: float = Field(description="smallest value")
    max: float = Field(description="largest value")
    scale: Literal["linear", "log"] = Field(
        "linear", description="even in the value, or in its logarithm"
    )


class Draws(Strict):
    """Random values of recipe options, equal for equal seed and option name."""

    count: int = Field(ge=1, le=MAX_OUTPUTS, description="how many sets of values")
    seed: int = Field(0, description="another seed gives other values")
    values: dict[str, Bounds] = Field(min_length=1, description="stream.step.option -> bounds")


Choices = Annotated[tuple[Any, ...], Field(strict=False, min_length=1)]
Points = Annotated[tuple[dict[str, Any], ...], Field(strict=False)]


class Sweep(Strict):
    """Values that recipe options take; grid, list and draws multiply each other."""

    grid: dict[str, Choices] = Field(
        default_factory=dict, description="stream.step.option -> values; every combination"
    )
    points: Points = Field(
        (), alias="list", description="one mapping stream.step.option -> value for each point"
    )
    draws: Draws | None = Field(None, description="random values within bounds")


if TYPE_CHECKING:
    Inputs = tuple[Input, ...]
    RecipeUses = tuple[RecipeUse, ...]
    SeedChoice = Seeds
    Moment = str | None
else:
    Moment = Annotated[str | None, BeforeValidator(_spelled)]
    Inputs = Annotated[
        tuple[Annotated[Input, _short("path")], ...], Field(strict=False, min_length=1)
    ]
    RecipeUses = Annotated[
        tuple[Annotated[RecipeUse, _short("recipe")], ...], Field(strict=False, min_length=1)
    ]
    SeedChoice = Annotated[Seeds, BeforeValidator(_seed_list)]


class Plan(Strict):
    """What a data set is made of. Paths are relative to the plan's own folder."""

    description: str = Field("", description="what it is, for people")
    output: str = Field("dataset", min_length=1, description="folder of the outputs")
    inputs: Inputs = Field(description="bags or patterns, with tags if wanted")
    recipes: RecipeUses = Field(
        (RecipeUse(recipe="cone-noise-simulator", name=None),), description="presets or files"
    )
    seeds: SeedChoice = Field(
        default_factory=lambda: Seeds(list=(0,)), description="a list, or {first, count}"
    )
    sweep: Sweep = Field(default_factory=Sweep, description="options that vary")
    name: str = Field(
        DEFAULT_NAME,
        min_length=1,
        description="output names: {input}, {recipe}, {seed}, {sweep}, {index}, a tag, an option",
    )
    format: Literal["mcap", "rosbag2-mcap", "rosbag2-sqlite3"] = Field(
        "mcap", description="one .mcap file, or a rosbag2 directory"
    )
    compression: str = Field("keep", description="keep, zstd[:LEVEL], lz4 or none")
    labels: bool = Field(False, description="write which true cone each detection is, too")
    replace_target: bool = Field(False, description="a target may take over a topic of the bag")
    msgs: str | None = Field(None, description="folder of .msg files")
    start: Moment = Field(None, description="take messages from here on, as --start")
    end: Moment = Field(None, description="up to here, as --end")
    only: Annotated[tuple[str, ...], Field(strict=False)] = Field((), description="as --only")
    exclude: Annotated[tuple[str, ...], Field(strict=False)] = Field((), description="as --exclude")
