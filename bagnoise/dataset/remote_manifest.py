"""The manifest of a data set on an object store, which cannot append to an object.

Each line is an object of its own as soon as its output is done; `manifest.write_manifest` puts them
all into ``manifest.jsonl`` and removes the parts. A run that was killed leaves parts, which the
next one reads: they are newer than the lines in ``manifest.jsonl``.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from bagnoise.bags.remote_path import RemotePath

PARTS_NAME = "manifest.parts"
_THREADS = 16
Line = dict[str, Any]


def read_parts(folder: RemotePath, parse: Callable[[bytes], Line | None]) -> list[Line]:
    """Read the lines that are not in ``manifest.jsonl`` yet.

    Raises:
        BagError: one is not what bagnoise writes.
    """
    paths = list((folder / PARTS_NAME).rglob("*.json"))
    with ThreadPoolExecutor(_THREADS) as executor:
        rows = list(executor.map(lambda path: path.read_bytes(), paths))
    lines = []
    for path, row in zip(paths, rows, strict=True):
        line = parse(row)
        if line is None:
            msg = f"{path}: not a manifest line; remove it to make its output again"
            raise BagError(msg)
        lines.append(line)
    return lines


def remove_parts(folder: RemotePath, outputs: Iterable[str]) -> None:
    """Remove the parts of outputs whose lines are in ``manifest.jsonl`` now."""
    known = {_part(folder, output).name for output in outputs}
    paths = [path for path in (folder / PARTS_NAME).rglob("*.json") if path.name in known]
    with ThreadPoolExecutor(_THREADS) as executor:
        list(executor.map(lambda path: path.unlink(), paths))


class PartWriter:
    """Writes each line as an object of its own."""

    def __init__(self, folder: RemotePath, row: Callable[[Line], bytes]) -> None:
        """Write into a data set's folder, lines made to bytes by ``row``."""
        self._folder, self._row = folder, row

    def add(self, line: Line) -> None:
        """Write one line; of an output the last counts."""
        _part(self._folder, line["output"]).write_bytes(self._row(line))

    def close(self) -> None:
        """Have nothing open."""


def _part(folder: RemotePath, output: str) -> Path:
    return folder / PARTS_NAME / f"{hashlib.sha256(output.encode()).hexdigest()[:32]}.json"
