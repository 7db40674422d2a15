"""A plan -> its outputs: inputs x recipes x sweep x seeds, each with its complete recipe."""

from __future__ import annotations

import copy
import glob
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.bags.remote_path import RemotePath, location_in
from bagnoise.dataset import naming, sweep
from bagnoise.dataset.model import MAX_OUTPUTS
from bagnoise.dataset.variant import Variant
from bagnoise.errors import UsageError
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import Document
from bagnoise.recipe.model import Recipe, Stream
from bagnoise.recipe.overrides import Override, apply_overrides
from bagnoise.recipe.problems import Problem, RecipeError
from bagnoise.recipe.sources import preset_names, recipe_document

if TYPE_CHECKING:
    from bagnoise.dataset.load import LoadedPlan
    from bagnoise.dataset.model import Input, RecipeUse

SETTINGS = ("format", "compression", "replace_target", "start", "end", "only", "exclude")


class _Source(NamedTuple):
    path: Path
    name: str
    tags: dict[str, Any]


class _Filled(NamedTuple):
    """A recipe with one point of the sweep set in it."""

    name: str
    point: sweep.Point
    plain: dict[str, Any]


def expand(loaded: LoadedPlan) -> list[Variant]:
    """List the outputs of a plan in its order.

    Raises:
        UsageError: with what does not fit: inputs that are not there, options that a recipe does
            not have, names that clash.
    """
    plan = loaded.plan
    sources = _sources(loaded)
    seeds = plan.seeds.all()
    number = len(sources) * len(plan.recipes) * len(seeds) * sweep.count(plan.sweep)
    if number > MAX_OUTPUTS:
        msg = f"{loaded.document.origin}: {number} outputs; at most {MAX_OUTPUTS} can be planned"
        raise UsageError(msg)
    filled = _filled_recipes(loaded)
    settings = _settings(loaded)
    variants = [
        _variant(loaded, index, source, recipe, seed, settings)
        for index, (source, recipe, seed) in enumerate(itertools.product(sources, filled, seeds))
    ]
    _check_names(loaded, variants)
    return variants


def _variant(
    loaded: LoadedPlan,
    index: int,
    source: _Source,
    filled: _Filled,
    seed: int,
    settings: dict[str, Any],
) -> Variant:
    plan = loaded.plan
    values = {
        **source.tags,
        **filled.point,
        "input": source.name,
        "recipe": filled.name,
        "seed": seed,
        "sweep": naming.sweep_text(filled.point),
        "index": f"{index:05d}",
    }
    try:
        name = naming.output_name(plan.name, values)
    except UsageError as error:
        raise RecipeError([Problem(loaded.document.where(("name",)), str(error))]) from None
    if plan.format == "mcap":
        name += ".mcap"
    return Variant(
        name,
        str(loaded.output / name),
        str(source.path),
        {**filled.plain, "seed": seed},
        filled.name,
        seed,
        source.tags,
        filled.point,
        settings,
    )


def _settings(loaded: LoadedPlan) -> dict[str, Any]:
    plain = loaded.plan.model_dump(mode="json")
    settings = {name: plain[name] for name in SETTINGS}
    msgs = loaded.plan.msgs
    settings["msgs"] = None if msgs is None else str(loaded.folder / msgs)
    return settings


def _sources(loaded: LoadedPlan) -> list[_Source]:
    """Find the input bags; the first mention of a bag decides its tags."""
    found: dict[Path, Input] = {}
    problems = []
    for index, entry in enumerate(loaded.plan.inputs):
        where = loaded.document.where(("inputs", index))
        paths = _matching(loaded.folder, entry.path, loaded.output)
        if not paths:
            problems.append(Problem(where, f"no bag {entry.path!r} in {loaded.folder}"))
        for path in paths:
            found.setdefault(path, entry)
    if problems:
        raise RecipeError(problems)
    names = _short_names(list(found))
    return [_Source(path, names[path], dict(entry.tags)) for path, entry in found.items()]


def _matching(folder: Path, pattern: str, output: Path) -> list[Path]:
    path = location_in(folder, pattern)
    if not any(character in pattern for character in "*?["):
        return [path] if path.exists() else []
    if isinstance(path, RemotePath):
        plain = list(itertools.takewhile(lambda part: not set("*?[") & set(part), path.parts))
        root = path.parents[len(path.parts) - len(plain) - 1]
        found = root.glob("/".join(path.parts[len(plain) :]))
        return [bag for bag in found if output not in bag.parents]
    full = str(folder / pattern)
    names = sorted(glob.glob(full, recursive=True))  # noqa: PTH207 - Path has no absolute ones
    return [Path(n) for n in names if output.resolve() not in Path(n).resolve().parents]


def _short_names(paths: list[Path]) -> dict[Path, str]:
    """Name each input by its stem, or by as much of its path as tells it from the others."""
    stems = {path: path.stem if path.is_file() else path.name for path in paths}
    if len(set(stems.values())) == len(paths):
        return stems
    levels = zip(*(path.parent.parts for path in paths), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda level: len(set(level)) == 1, levels))
    return {path: "_".join((*path.parent.parts[common:], stems[path])) for path in paths}


def _filled_recipes(loaded: LoadedPlan) -> list[_Filled]:
    """Load every recipe and set every point of the sweep in it."""
    problems: list[Problem] = []
    filled: list[_Filled] = []
    places = {
        name: loaded.document.where(place) for place, name in sweep.targets(loaded.plan.sweep)
    }
    points = sweep.points(loaded.plan.sweep)
    for index, use in enumerate(loaded.plan.recipes):
        where = loaded.document.where(("recipes", index))
        name = use.name or Path(use.recipe).stem
        if any(name == other.name for other in filled):
            problems.append(Problem(where, f"another recipe is called {name!r}; give one a name"))
            continue
        try:
            document = _document(loaded.folder, use, where)
            if loaded.plan.labels:
                _ask_for_labels(document)
            for point in points:
                recipe = _with_point(document, name, point, places)
                filled.append(_Filled(name, point, recipe.to_plain()))
        except RecipeError as error:
            problems += error.problems
        except UsageError as error:
            problems.append(Problem(where, str(error)))
    if problems:
        raise RecipeError(list(dict.fromkeys(problems)))
    return filled


def _document(folder: Path, use: RecipeUse, where: str) -> Document:
    path = folder / use.recipe
    is_name = path.name == use.recipe and not path.suffix and not path.exists()
    document = recipe_document(use.recipe if is_name or use.recipe in preset_names() else str(path))
    changes = [Override(name, value, f"{where}: set {name}") for name, value in use.set.items()]
    apply_overrides(document, changes)
    return document


def _ask_for_labels(document: Document) -> None:
    """Set ``labels: true`` where recipes have it: as a whole, or in each stream."""
    if not isinstance(document.data, dict):
        return
    if "labels" in Recipe.model_fields:
        document.data["labels"] = True
    elif "labels" in Stream.model_fields:
        for stream in (document.data.get("streams") or {}).values():
            stream["labels"] = True
    else:
        msg = "labels: the recipes of this bagnoise have no labels"
        raise UsageError(msg)


def _with_point(
    document: Document, name: str, point: sweep.Point, places: dict[str, str]
) -> Recipe:
    mine = Document(
        document.origin,
        copy.deepcopy(document.data),
        document.positions,
        dict(document.overrides),
    )
    changes = [
        Override(target, value, f"{places[target]}: recipe {name!r}")
        for target, value in point.items()
    ]
    apply_overrides(mine, changes)
    return recipe_of(mine)


def _check_names(loaded: LoadedPlan, variants: list[Variant]) -> None:
    seen: dict[str, Variant] = {}
    for variant in variants:
        other = seen.setdefault(variant.name, variant)
        if other is not variant:
            text = f"name: two outputs are called {variant.name!r}; {_what_differs(other, variant)}"
            raise RecipeError([Problem(loaded.document.where(("name",)), text)])
    folders = {str(parent) for name in seen for parent in Path(name).parents}
    for name in seen:
        if name in folders:
            text = f"name: {name!r} is an output and the folder of another"
            raise RecipeError([Problem(loaded.document.where(("name",)), text)])


def _what_differs(one: Variant, other: Variant) -> str:
    pairs = {
        "{input}": (one.source, other.source),
        "{recipe}": (one.recipe_name, other.recipe_name),
        "{sweep}": (one.sweep, other.sweep),
        "{seed}": (one.seed, other.seed),
    }
    missing = [name for name, (a, b) in pairs.items() if a != b]
    return f"they differ in {', '.join(missing)}" if missing else "they are the same output twice"
