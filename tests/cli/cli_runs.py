"""A command run in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]
