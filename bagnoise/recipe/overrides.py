"""Changes to a recipe from the command line: ``--set``, the simulator's flags, ``--source``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.recipe.document import read_value
from bagnoise.recipe.problems import Problem, RecipeError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bagnoise.recipe.document import Document, Path

# the settings of ConeNoiseSimulator -> the values of a recipe with streams camera and lidar
SIMULATOR_SETTINGS = {
    "camera_hz": "camera.rate.hz",
    "lidar_hz": "lidar.rate.hz",
    "camera_noise_std": "camera.noise.std_m",
    "lidar_noise_std": "lidar.noise.std_m",
    "camera_delay_mean": "camera.latency.mean_s",
    "camera_delay_std": "camera.latency.std_s",
    "lidar_delay_mean": "lidar.latency.mean_s",
    "lidar_delay_std": "lidar.latency.std_s",
}


class Override(NamedTuple):
    """One value to set: ``target`` is ``stream.step.option`` or ``stream.field``."""

    target: str
    value: Any
    flag: str  # how the user wrote it, for errors


def parse_set(text: str) -> Override:
    """Read ``stream.step.option=value``; the value is YAML."""
    target, equals, value = text.partition("=")
    flag = f"--set {text}"
    if not equals or not target.strip():
        problem = "expected stream.step.option=value, e.g. camera.noise.std_m=0.3"
        raise RecipeError([Problem(flag, problem)])
    return Override(target.strip(), read_value(value), flag)


def apply_overrides(document: Document, overrides: Sequence[Override]) -> None:
    """Set the values in the document; later ones win.

    Raises:
        RecipeError: with every target that names nothing.
    """
    problems = []
    for override in overrides:
        try:
            path = _resolve(document.data, override.target)
            _put(document.data, path, override.value)
        except LookupError as error:
            problems.append(Problem(override.flag, str(error.args[0])))
            continue
        document.overrides[path] = override.flag
    if problems:
        raise RecipeError(problems)


def settings_of(document: Document) -> list[str]:
    """List the values that the steps of a recipe are given, as ``--set`` writes them."""
    found = []
    for name, stream in _streams(document.data).items():
        steps: Any = stream.get("steps") if isinstance(stream, dict) else None
        for label, index in _labels(steps):
            body = steps[index][label.split("#", maxsplit=1)[0]]
            options = body.items() if isinstance(body, dict) else ()
            found += [
                f"{name}.{label}.{option}={_as_written(value)}"
                for option, value in options
                if not isinstance(value, (dict, list))
            ]
    return found


def rename_source(document: Document, topic: str) -> None:
    """Make every stream read another topic, where they all read one and the same."""
    streams = _streams(document.data)
    sources = {str(s.get("source")) for s in streams.values() if isinstance(s, dict)}
    flag = f"--source {topic}"
    if len(sources) != 1:
        listed = ", ".join(sorted(sources)) or "none"
        problem = f"the recipe has {len(sources)} source topics ({listed}); use --set NAME.source="
        raise RecipeError([Problem(flag, problem)])
    apply_overrides(document, [Override(f"{name}.source", topic, flag) for name in streams])


def add_labels(document: Document) -> None:
    """Ask every stream for labels."""
    names = _streams(document.data)
    apply_overrides(document, [Override(f"{name}.labels", True, "--labels") for name in names])


def _as_written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolve(data: Any, target: str) -> Path:
    """Find the path that ``stream.step.option`` or ``stream.field`` means."""
    if target in {"seed", "description"}:
        return (target,)
    parts = target.split(".")
    streams = _streams(data)
    if parts[0] not in streams:
        msg = f"no stream {parts[0]!r}; {did_you_mean(parts[0], streams)}"
        raise LookupError(msg)
    stream = streams[parts[0]]
    base: Path = ("streams", parts[0])
    if len(parts) == 2:  # noqa: PLR2004  (stream.field)
        return (*base, parts[1])
    if len(parts) < 3 or not isinstance(stream, dict):  # noqa: PLR2004  (stream.step.option)
        msg = "expected stream.step.option or stream.field"
        raise LookupError(msg)
    if parts[1] in {"source_options", "type_options"}:
        return (*base, *parts[1:])
    return (*base, "steps", *_step_path(stream, parts[1], parts[0]), *parts[2:])


def _step_path(stream: dict[str, Any], label: str, stream_name: str) -> Path:
    found = dict(_labels(stream.get("steps")))
    if label not in found:
        msg = f"stream {stream_name!r} has no step {label!r}; {did_you_mean(label, found)}"
        raise LookupError(msg)
    index = found[label]
    return (index, label.split("#", maxsplit=1)[0])


def _labels(steps: Any) -> Iterator[tuple[str, int]]:
    seen: dict[str, int] = {}
    for index, item in enumerate(steps if isinstance(steps, list) else []):
        if isinstance(item, dict) and len(item) == 1:
            name = str(next(iter(item)))
            seen[name] = seen.get(name, 0) + 1
            yield name if seen[name] == 1 else f"{name}#{seen[name]}", index


def _streams(data: Any) -> dict[str, Any]:
    streams = data.get("streams") if isinstance(data, dict) else None
    return streams if isinstance(streams, dict) else {}


def _put(data: Any, path: Path, value: Any) -> None:
    """Set a value, making the mappings on the way (a null step body becomes one)."""
    node: Any = data
    for depth, part in enumerate(path[:-1], start=1):
        child: Any = node.get(part) if isinstance(node, dict) else node[part]
        if child is None:
            child = node[part] = {}
        if not isinstance(child, (dict, list)):
            msg = f"{'.'.join(map(str, path[:depth]))} is a value, not a mapping"
            raise LookupError(msg)
        node = child
    node[path[-1]] = value
