"""A stream on one line, for shells: ``'SOURCE | step option=value | step -> TARGET as TYPE'``."""

from __future__ import annotations

import re
import shlex
from typing import Any

from bagnoise.recipe.document import read_value
from bagnoise.recipe.problems import Problem, RecipeError

FORM = "'SOURCE | step option=value … | step -> TARGET as TYPE'"


def parse_stream(text: str) -> tuple[str, dict[str, Any]]:
    """Read the line into a stream's name and its plain data.

    The name is the target's (else the source's) with ``_`` for what a name cannot hold.

    Raises:
        RecipeError: saying which part is not understood.
    """
    try:
        words = shlex.split(text.replace("|", " | ").replace("->", " -> "))
    except ValueError as error:
        raise _wrong(text, f"{error}") from None
    words, target, type_name = _split_target(text, words)
    source, *steps = _split_at_bars(words)
    if len(source) != 1:
        raise _wrong(text, f"expected one source topic, got {' '.join(source) or 'none'!r}")
    stream: dict[str, Any] = {"source": source[0], "steps": [_step(text, s) for s in steps]}
    if target is not None:
        stream["target"] = target
    if type_name is not None:
        stream["type"] = type_name
    return re.sub(r"[^A-Za-z0-9_-]+", "_", (target or source[0])).strip("_") or "stream", stream


def _split_target(text: str, words: list[str]) -> tuple[list[str], str | None, str | None]:
    if "->" not in words:
        return words, None, None
    arrow = words.index("->")
    after = words[arrow + 1 :]
    if len(after) == 1:
        return words[:arrow], after[0], None
    if len(after) == 3 and after[1] == "as":  # noqa: PLR2004  (TARGET as TYPE)
        return words[:arrow], after[0], after[2]
    raise _wrong(text, f"expected 'TARGET' or 'TARGET as TYPE' after '->', got {' '.join(after)!r}")


def _split_at_bars(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _step(text: str, words: list[str]) -> dict[str, Any]:
    if not words:
        raise _wrong(text, "a step is missing after a '|'")
    name, *options = words
    body: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise _wrong(text, f"expected option=value after step {name!r}, got {option!r}")
        if key in body:
            raise _wrong(text, f"step {name!r} is given {key} twice")
        body[key] = read_value(value)
    return {name: body}


def _wrong(text: str, problem: str) -> RecipeError:
    return RecipeError([Problem(f"--stream {text!r}", f"{problem}; the form is {FORM}")])
