"""A recipe put together: file or preset, and what the command line adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import Document
from bagnoise.recipe.overrides import Override, add_labels, apply_overrides, rename_source
from bagnoise.recipe.sources import DEFAULT_PRESET, recipe_document
from bagnoise.recipe.stream_text import parse_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.recipe.model import Recipe


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
