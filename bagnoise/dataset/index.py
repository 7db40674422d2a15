"""A page over a data set: key figures of every output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bagnoise.dataset.manifest import Line


def write_index(folder: Path, title: str, lines: Sequence[Line]) -> None:
    """Write ``index.html`` beside the manifest."""
