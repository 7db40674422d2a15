"""Writing a recipe or a page: whole or not at all, and never over something unasked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def check_new(target: Path, *, overwrite: bool) -> None:
    """Refuse a file that exists, or whose folder does not.

    Raises:
        UsageError: saying which.
    """
    if not target.parent.is_dir():
        msg = f"{target}: its folder {target.parent} does not exist"
        raise UsageError(msg)
    if os.path.lexists(target) and (not overwrite or not target.is_file()):
        msg = f"{target}: exists already; choose another name or give --overwrite"
        raise UsageError(msg)


def write_new(target: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        BagError: it cannot be written.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        msg = f"{target}: cannot be written: {error.strerror}"
        raise BagError(msg) from None
