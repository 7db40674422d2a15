"""What is wrong with a recipe: all of it at once, each with its place."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Problem(NamedTuple):
    """One thing that is wrong, and where (``file:line:column`` or a flag)."""

    where: str
    text: str


class RecipeError(UsageError):
    """A recipe cannot be used; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{p.where}: {p.text}" for p in problems))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list them all."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else "none are known"
