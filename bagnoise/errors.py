"""Errors a person can act on: what is wrong, which value, what would be right, where."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class BagnoiseError(Exception):
    """The job failed for a reason its user can understand (exit code 1)."""


class UsageError(BagnoiseError):
    """The request itself is wrong; nothing was written (exit code 2)."""


class BagError(BagnoiseError):
    """A bag cannot be read or written."""


class DamagedBagError(BagError):
    """A bag is cut short or altered; the text names the file and the byte offset."""


class MessageError(BagnoiseError):
    """A message cannot be decoded or encoded as its channel says."""


class ContextError(BagnoiseError):
    """The bag does not say what a step must know: a transform, a pose, a camera."""


@contextmanager
def told_of(where: str) -> Iterator[None]:
    """Let errors say first where they arose."""
    try:
        yield
    except BagnoiseError as error:
        error.args = (f"{where}: {error}",)
        raise
