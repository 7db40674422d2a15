"""A recipe: a seed and named streams, each a source topic, steps and a target."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
)

from bagnoise.steps.base import Step  # noqa: TC001 - pydantic reads it at run time
from bagnoise.steps.registry import STEPS

TOPIC_PATTERN = r"^\S(.*\S)?$"
NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"


class _Strict(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )


def _body(value: object) -> object:
    """Read a null body as: all defaults."""
    return {} if value is None else value


def _item_model(name: str, step: type[Step]) -> Any:
    """Make the model of the one-key mapping ``{name: options}``."""
    body: Any = Annotated[step, BeforeValidator(_body)]
    fields: Any = {name: (body, ...)}
    return create_model(name, __base__=_Strict, **fields)


def _only_key(value: object) -> str | None:
    if isinstance(value, BaseModel):
        return next(iter(type(value).model_fields))
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return None


if TYPE_CHECKING:
    StepItems = tuple[Any, ...]
else:  # built at run time from the registry: one model a step, told apart by its key
    _ITEMS = [Annotated[_item_model(name, step), Tag(name)] for name, step in STEPS.items()]
    _ITEM = Annotated[functools.reduce(operator.or_, _ITEMS), Discriminator(_only_key)]
    StepItems = Annotated[tuple[_ITEM, ...], Field(strict=False)]
Topic = Annotated[str, Field(pattern=TOPIC_PATTERN, max_length=1024)]
Options = dict[str, Any]


def _unwrap(items: tuple[Any, ...]) -> tuple[Step, ...]:
    return tuple(getattr(item, next(iter(type(item).model_fields))) for item in items)


class Also(_Strict):
    """A further topic that a stream publishes, at the same times, from the same payload."""

    target: Topic = Field(description="topic to publish")
    type: str | None = Field(None, description="message type; null: as the source's")
    type_options: Options = Field(default_factory=dict, description="variant of the message type")
    step_items: StepItems = Field((), alias="steps", description="steps for this topic only")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        return _unwrap(self.step_items)


class Stream(_Strict):
    """One line of a recipe: source topic -> steps -> target topic."""

    source: Topic = Field(description="topic to read; * and ? match several, without a target")
    source_options: Options = Field(default_factory=dict, description="how to read the type")
    step_items: StepItems = Field((), alias="steps", description="transformations, in order")
    target: Topic | None = Field(None, description="topic to publish; null: replace the source")
    type: str | None = Field(None, description="message type to publish; null: as the source's")
    type_options: Options = Field(default_factory=dict, description="variant of the message type")
    labels: bool = Field(
        False, description="also publish TARGET/labels: which true cone each detection is"
    )
    also: Annotated[tuple[Also, ...], Field(strict=False)] = Field(
        (), description="further topics published with each message"
    )

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        return _unwrap(self.step_items)


class Recipe(_Strict):
    """What is done to a bag."""

    description: str = Field("", description="what it is, for people")
    seed: int = Field(0, ge=-(2**63), lt=2**63, description="equal seeds give equal bags")
    streams: dict[Annotated[str, Field(pattern=NAME_PATTERN)], Stream] = Field(
        default_factory=dict, description="name -> stream; the name is part of the random key"
    )

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data with every default written out."""
        return self.model_dump(mode="json", by_alias=True)


def step_labels(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Name the steps of a stream: ``noise``, and ``noise#2`` for the second of its kind."""
    seen: dict[str, int] = {}
    labels = []
    for step in steps:
        seen[step.name] = seen.get(step.name, 0) + 1
        labels.append(step.name if seen[step.name] == 1 else f"{step.name}#{seen[step.name]}")
    return tuple(labels)
