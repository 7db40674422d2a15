"""Where recipes come from: files, presets, the command line."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from bagnoise.errors import UsageError
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import Document, read_document
from bagnoise.recipe.families import corruptions, family_names, family_text
from bagnoise.recipe.overrides import Override, add_labels, apply_overrides, rename_source
from bagnoise.recipe.problems import did_you_mean
from bagnoise.recipe.stream_text import parse_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.recipe.model import Recipe

DEFAULT_PRESET = "cone-noise-simulator"
MAX_RECIPE_BYTES = 4 << 20


@dataclass(frozen=True)
class Request:
    """What the command line asks for, in order of increasing precedence."""

    recipe: str | None = None  # file or preset; None: the default preset, unless streams are given
    streams: Sequence[str] = ()
    source: str | None = None
    flags: Sequence[Override] = ()
    sets: Sequence[Override] = ()
    seed: int | None = None
    labels: bool = False


def preset_names() -> list[str]:
    """List the shipped recipes, those of the families last."""
    return [*single_presets(), *family_names()]


def single_presets() -> list[str]:
    """List the shipped recipes that have a file of their own."""
    folder = resources.files("bagnoise") / "presets"
    return sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )


def preset_text(name: str) -> str:
    """Return a shipped recipe's YAML.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in single_presets():
        text = family_text(name)
        if text is None:
            msg = f"no preset {name!r}; {_suggestion(name)}"
            raise UsageError(msg)
        return text
    return (resources.files("bagnoise") / "presets" / f"{name}.yaml").read_text("utf-8")


def _suggestion(name: str) -> str:
    """Suggest the nearest preset, or list them all, families in short."""
    close = did_you_mean(name, preset_names())
    if close.startswith("did you mean"):
        return close
    families = (f"{c.prefix}-{'|'.join(c.severities)}" for c in corruptions())
    return f"known: {', '.join([*single_presets(), *families])}"


def recipe_document(name: str) -> Document:
    """Read a recipe by file name, or else by preset name."""
    path = Path(name)
    if path.is_file():
        return read_document(_read(path), name)
    looks_like_file = path.suffix in {".yaml", ".yml"} or len(path.parts) > 1
    if looks_like_file:
        msg = f"no recipe file {name!r}"
        raise UsageError(msg)
    return read_document(preset_text(name), f"preset {name}")


def load_recipe(request: Request) -> Recipe:
    """Put a recipe together: file or preset, streams, flags, ``--set``, seed.

    Raises:
        UsageError: with everything that is wrong with it.
    """
    document = _base(request)
    if request.source is not None:
        rename_source(document, request.source)
    apply_overrides(document, [*request.flags, *request.sets])
    if request.seed is not None and isinstance(document.data, dict):
        document.data["seed"] = request.seed
        document.overrides[("seed",)] = f"--seed {request.seed}"
    if request.labels:
        add_labels(document)
    return recipe_of(document)


def _base(request: Request) -> Document:
    if request.recipe is not None or not request.streams:
        document = recipe_document(request.recipe or DEFAULT_PRESET)
    else:
        document = Document("command line", {"streams": {}})
    for text in request.streams:
        _add_stream(document, text)
    return document


def _add_stream(document: Document, text: str) -> None:
    name, stream = parse_stream(text)
    if not isinstance(document.data, dict):
        return
    streams = document.data.setdefault("streams", {})
    if isinstance(streams, dict):
        free, number = name, 2
        while free in streams:
            free, number = f"{name}_{number}", number + 1
        streams[free] = stream
        document.overrides[("streams", free)] = f"--stream {text!r}"


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_RECIPE_BYTES:
            msg = f"{path}: not a recipe: larger than {MAX_RECIPE_BYTES} bytes"
            raise UsageError(msg)
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        msg = f"{path}: not a recipe: not UTF-8 text"
        raise UsageError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None
