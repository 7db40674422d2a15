"""Where plans come from: a YAML file, with every error named at its line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ValidationError

from bagnoise.augment.selection import TIME_FORM, seconds_of
from bagnoise.bags.remote_path import location_in
from bagnoise.dataset.model import Bounds, Draws, Input, Plan, RecipeUse, Seeds, Sweep
from bagnoise.errors import UsageError
from bagnoise.recipe.check import field_errors
from bagnoise.recipe.document import Document, read_document
from bagnoise.recipe.problems import Problem, RecipeError

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.recipe.document import Path as Place

MAX_PLAN_BYTES = 4 << 20


class LoadedPlan(NamedTuple):
    """A plan, the folder that its paths are relative to, and where its values stand."""

    plan: Plan
    folder: Path
    document: Document

    @property
    def output(self) -> Path:
        """The folder of the outputs."""
        return location_in(self.folder, self.plan.output)


def load_plan(path: Path) -> LoadedPlan:
    """Read a plan.

    Raises:
        UsageError: with everything that is wrong with it.
    """
    document = read_document(_read(path), str(path))
    return LoadedPlan(plan_of(document), path.parent, document)


def plan_of(document: Document) -> Plan:
    """Validate a document.

    Raises:
        RecipeError: with all problems and their places.
    """
    if not isinstance(document.data, dict):
        kind = "empty" if document.data is None else f"a {type(document.data).__name__}"
        problem = f"a plan is a mapping with 'inputs', not {kind}"
        raise RecipeError([Problem(document.where(()), problem)])
    try:
        plan = Plan.model_validate(document.data)
    except ValidationError as error:
        raise field_errors(document, error, _known_at) from None
    problems = _cross_field(plan, document)
    if problems:
        raise RecipeError(problems)
    return plan


def _cross_field(plan: Plan, document: Document) -> list[Problem]:
    problems = []
    if not plan.seeds.all():
        problems.append(Problem(document.where(("seeds",)), "seeds: none; give a list or a count"))
    for name, text in (("start", plan.start), ("end", plan.end)):
        if text is not None and seconds_of(text) is None:
            told = f"{name}: expected {TIME_FORM}, not {text}"
            problems.append(Problem(document.where((name,)), told))
    for name, bounds in (plan.sweep.draws.values if plan.sweep.draws else {}).items():
        where = document.where(("sweep", "draws", "values", name))
        if bounds.min > bounds.max:
            problems.append(Problem(where, f"{name}: min {bounds.min} is above max {bounds.max}"))
        elif bounds.scale == "log" and bounds.min <= 0:
            problems.append(Problem(where, f"{name}: a log scale needs min > 0, not {bounds.min}"))
    return problems


def _known_at(path: Place) -> list[str]:
    """List the options of the mapping around a path."""
    models: dict[str, type[BaseModel]] = {
        "inputs": Input,
        "recipes": RecipeUse,
        "seeds": Seeds,
        "sweep": Sweep,
        "draws": Draws,
        "values": Bounds,
    }
    model: type[BaseModel] = Plan
    for part in path[:-1]:
        model = models.get(str(part), model)
    return [info.alias or name for name, info in model.model_fields.items()]


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_PLAN_BYTES:
            msg = f"{path}: not a plan: larger than {MAX_PLAN_BYTES} bytes"
            raise UsageError(msg)
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        msg = f"{path}: not a plan: not UTF-8 text"
        raise UsageError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None
