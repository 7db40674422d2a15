"""``manifest.jsonl``: a line an output, appended as each is done, the last of a name counts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bagnoise.bags.remote_path import RemotePath
from bagnoise.dataset import remote_manifest
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MANIFEST_NAME = "manifest.jsonl"
Line = dict[str, Any]  # see docs/datasets.md; "output" and "state" are always there
State = Literal["done", "failed"]


def read_manifest(folder: Path) -> dict[str, Line]:
    """Return the last line of each output by its name.

    A last line that a killed run left half written does not count.

    Raises:
        BagError: it cannot be read, or a line within it is not what bagnoise writes.
    """
    path = folder / MANIFEST_NAME
    try:
        rows = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        rows = [b""]
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise BagError(msg) from None
    lines: dict[str, Line] = {}
    for number, row in enumerate(rows[:-1], start=1):  # what follows the last newline is torn
        line = _parsed(row)
        if line is None:
            msg = f"{path}:{number}: not a manifest line; remove it to make its output again"
            raise BagError(msg)
        lines[line["output"]] = line
    if isinstance(folder, RemotePath):
        for line in remote_manifest.read_parts(folder, _parsed):
            lines[line["output"]] = line
    return lines


def _parsed(row: bytes) -> Line | None:
    try:
        line = json.loads(row)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or not isinstance(line.get("output"), str):
        return None
    return line


def write_manifest(folder: Path, lines: Iterable[Line]) -> None:
    """Replace the manifest whole."""
    lines = list(lines)
    write_whole(folder / MANIFEST_NAME, b"".join(_row(line) for line in lines))
    if isinstance(folder, RemotePath):
        remote_manifest.remove_parts(folder, [line["output"] for line in lines])


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file in one step."""
    if isinstance(path, RemotePath):
        path.write_bytes(data)
        return
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


class Writer(Protocol):
    """Keeps lines as they come."""

    def add(self, line: Line) -> None:
        """Keep one; it survives a kill of this process when this returns."""

    def close(self) -> None:
        """Keep no more."""


def manifest_writer(folder: Path) -> Writer:
    """Open the manifest of a folder for more lines; the caller has removed what is torn."""
    if isinstance(folder, RemotePath):
        return remote_manifest.PartWriter(folder, _row)
    return ManifestWriter(folder)


class ManifestWriter:
    """Appends lines; each is on disk, as far as the process is concerned, when `add` returns."""

    def __init__(self, folder: Path) -> None:
        """Open it for appending; the caller has removed what is torn."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._handle = os.open(folder / MANIFEST_NAME, flags, 0o644)

    def add(self, line: Line) -> None:
        """Append one line."""
        row = _row(line)
        while row:
            row = row[os.write(self._handle, row) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def _row(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
