"""Plain data -> Recipe, with every error named in the user's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from bagnoise.recipe.model import Also, Recipe, Stream
from bagnoise.recipe.problems import Problem, RecipeError, did_you_mean
from bagnoise.steps.registry import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic_core import ErrorDetails

    from bagnoise.recipe.document import Document, Path


def recipe_of(document: Document) -> Recipe:
    """Validate a document.

    Raises:
        RecipeError: with all problems and their places.
    """
    if not isinstance(document.data, dict):
        problem = f"a recipe is a mapping with 'streams', not {_kind(document.data)}"
        raise RecipeError([Problem(document.where(()), problem)])
    try:
        recipe = Recipe.model_validate(document.data)
    except ValidationError as error:
        raise field_errors(document, error, _known_at) from None
    problems = [
        Problem(document.where(("streams", name)), text)
        for name, stream in recipe.streams.items()
        for text in _cross_field(stream)
    ]
    if problems:
        raise RecipeError(problems)
    return recipe


def field_errors(
    document: Document, error: ValidationError, known_at: Callable[[Path], list[str]]
) -> RecipeError:
    """Turn pydantic's errors over a document into problems with their places, in file order.

    ``known_at`` lists the options of the mapping around a path, for "did you mean".
    """
    details = _once_a_list(error.errors())
    inner = {detail["loc"][:-1] for detail in details}  # a bad item also makes its list short
    problems = [
        _problem(document, detail, known_at)
        for detail in details
        if not (detail["type"] == "too_short" and detail["loc"] in inner)
    ]
    return RecipeError(_in_file_order(problems))


def _cross_field(stream: Stream) -> list[str]:
    """Check rules over several fields; each step's own come from its `check`."""
    found = [
        f"{step.name}: {text}"
        for step in (*stream.steps, *(s for also in stream.also for s in also.steps))
        for text in step.check()
    ]
    if stream.target is not None and _is_pattern(stream.source):
        found.append(f"source {stream.source!r} matches several topics, so it cannot have a target")
    return found


def _is_pattern(topic: str) -> bool:
    return any(character in topic for character in "*?[")


def _once_a_list(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Of the values that a list lacks keep the last one: its index tells how many there must be."""
    last = {d["loc"][:-1]: d["loc"] for d in details if d["type"] == "missing"}
    return [
        d
        for d in details
        if d["type"] != "missing" or isinstance(d["loc"][-1], str) or d["loc"] in last.values()
    ]


def _problem(
    document: Document, detail: ErrorDetails, known_at: Callable[[Path], list[str]]
) -> Problem:
    path = _user_path(document.data, detail["loc"])
    text = _text(document.data, path, detail, known_at)
    return Problem(document.where(path), f"{_dotted(path)}: {text}")


def _user_path(data: Any, location: tuple[str | int, ...]) -> Path:
    """Leave out what pydantic adds to a location: union tags and markers."""
    path: list[str | int] = []
    node = data
    parts = list(location)
    while parts:
        part = parts.pop(0)
        if part in ("[key]", None):
            continue
        if node is None:  # an empty body: its options are all missing
            if not parts:
                path.append(part)
        elif isinstance(node, dict) and (part in node or not parts or parts == ["[key]"]):
            path.append(part)
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            path.append(part)
            node = node[part]
            if parts and isinstance(node, dict) and parts[0] in node and parts[1:2] == parts[:1]:
                parts.pop(0)  # the tag before the step's own key
    return tuple(path)


def _text(
    data: Any, path: Path, detail: ErrorDetails, known_at: Callable[[Path], list[str]]
) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return f"unknown option; {did_you_mean(str(path[-1]), known_at(path))}"
    if kind == "missing":
        return _lacking(_value_at(data, path), detail["loc"][-1])
    if kind == "union_tag_invalid":
        return f"unknown step {_name_of_item(data, path)!r}; " + did_you_mean(
            _name_of_item(data, path), STEPS
        )
    if kind == "union_tag_not_found":
        return "a step is exactly one key, e.g. '- noise: {std_m: 0.25}'"
    if kind == "string_pattern_mismatch" and len(path) == 2:  # noqa: PLR2004  (streams.NAME)
        return "a stream's name is made of letters, digits, _ and -"
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    return f"{_wanted(detail)}, not {_value_at(data, path)!r}"


def _wanted(detail: ErrorDetails) -> str:
    if detail["type"] == "too_long":
        return f"expected at most {detail['ctx']['max_length']} values"
    if detail["type"] in {"model_type", "model_attributes_type", "dict_type"}:
        return "expected a mapping"
    if detail["type"] == "tuple_type":
        return "expected a list"
    return _lower_first(detail["msg"])


def _lacking(given: Any, place: str | int) -> str:
    if isinstance(given, list) and isinstance(place, int):
        return f"expected {place + 1} values, not {given!r}"
    return "is required"


def _known_at(path: Path) -> list[str]:
    """List the options that the mapping around a path knows."""
    model: type[BaseModel] = Recipe
    for part in path[:-1]:
        if part in STEPS and model in (Stream, Also):
            model = STEPS[str(part)]
        elif model not in (Recipe, Stream, Also) and part in model.model_fields:
            model = _options_within(model, str(part))
        elif part == "streams":
            model = Stream
        elif part == "also":
            model = Also
    if model is Stream and len(path) == 2:  # noqa: PLR2004  (streams.NAME)
        model = Recipe
    return [info.alias or name for name, info in model.model_fields.items()]


def _options_within(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return the model of an option that is a mapping of options itself."""
    kind = model.model_fields[name].annotation
    for choice in (kind, *get_args(kind)):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice
    return model


def _name_of_item(data: Any, path: Path) -> str:
    item = _value_at(data, path)
    return str(next(iter(item))) if isinstance(item, dict) and item else str(item)


def _value_at(data: Any, path: Path) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path) or "the file"


def _kind(data: Any) -> str:
    return "empty" if data is None else f"a {type(data).__name__}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _in_file_order(problems: list[Problem]) -> list[Problem]:
    def key(problem: Problem) -> tuple[str, int, int]:
        parts = problem.where.rsplit(":", 2)
        if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():  # noqa: PLR2004
            return parts[0], int(parts[1]), int(parts[2])
        return problem.where, 0, 0

    return sorted(dict.fromkeys(problems), key=key)
