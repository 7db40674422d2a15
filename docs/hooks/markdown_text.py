"""Markdown of the made pages: tables and cells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table; cells are Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Show a text as code; an empty one as nothing."""
    return f"`{text}`" if text else ""


def value(given: Any) -> str:
    """Show a value as recipes write it."""
    return code(json.dumps(given, ensure_ascii=False))


def plain(text: str) -> str:
    """Keep characters that Markdown would take for its own, outside of code."""
    for character in "\\*_[":
        text = text.replace(character, "\\" + character)
    return text.replace("<", "&lt;")


def paragraphs(text: str) -> str:
    """Show a docstring: what stands in double backquotes is code."""
    parts = text.replace("``", "`").split("`")
    return "".join(code(p) if number % 2 else plain(p) for number, p in enumerate(parts))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
