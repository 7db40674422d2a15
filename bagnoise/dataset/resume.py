"""What is there already, and what has to be made: new, changed, missing, damaged, failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.dataset.digest import digest_of, etag_of, stamp_of
from bagnoise.dataset.make import versions
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

Status = Literal["done", "new", "failed before", "changed", "missing", "damaged"]


@dataclass(frozen=True)
class Planned:
    """An output, what its input is now, and why it has to be made (``done``: it has not)."""

    variant: Variant
    input_digest: dict[str, Any]
    status: Status
    why: str = ""


class Inputs:
    """Digests of inputs, each computed once; an old one counts while size and time are equal."""

    def __init__(self, lines: Mapping[str, Line]) -> None:
        """Learn from earlier manifest lines."""
        self._known: dict[str, dict[str, Any]] = {}
        for line in lines.values():
            entry = line.get("input")
            if isinstance(entry, dict) and "sha256" in entry:
                self._known[str(entry.get("path"))] = entry
        self._now: dict[str, dict[str, Any]] = {}

    def digest(self, source: str) -> dict[str, Any]:
        """Return path, size, time and sha256 of an input (at a URL: the store's etag).

        Raises:
            BagError: it cannot be read.
        """
        if source not in self._now:
            path = location(source)
            self._now[source] = {"path": source, **stamp_of(path), **self._content(path)}
        return self._now[source]

    def _content(self, path: Path) -> dict[str, str]:
        """Say what is in an input: the store's etag where it would have to be fetched whole."""
        if isinstance(path, RemotePath):
            return {"etag": etag_of(path)}
        known = self._known.get(str(path), {})
        same = all(known.get(name) == value for name, value in stamp_of(path).items())
        return {"sha256": known["sha256"] if same else digest_of(path)}


def survey(
    variants: Sequence[Variant], lines: Mapping[str, Line], *, verify: bool
) -> list[Planned]:
    """Compare a plan with what the manifest says and what is on disk.

    With ``verify`` the content of every output is hashed; without it an output of the recorded
    size and time is taken to be whole.
    """
    inputs = Inputs(lines)
    planned = []
    for variant in variants:
        digest = inputs.digest(variant.source)
        status, why = _status(variant, digest, lines.get(variant.name), verify=verify)
        planned.append(Planned(variant, digest, status, why))
    return planned


def _status(
    variant: Variant, input_digest: dict[str, Any], line: Line | None, *, verify: bool
) -> tuple[Status, str]:
    if line is None:
        return "new", ""
    if line.get("state") != "done":
        return "failed before", str(line.get("error", ""))
    changed = _changed(variant, input_digest, line)
    if changed:
        return "changed", changed
    return _on_disk(location(variant.target), line, verify=verify)


def _changed(variant: Variant, input_digest: dict[str, Any], line: Line) -> str:
    recorded = line.get("input")
    if not isinstance(recorded, dict) or _content_of(recorded) != _content_of(input_digest):
        return "the input"
    if line.get("variant_sha256") != variant.digest:
        return "the recipe or how it is written"
    made_with = line.get("versions")
    mine = versions()["bagnoise"]
    if not isinstance(made_with, dict) or made_with.get("bagnoise") != mine:
        return "bagnoise itself"
    return ""


def _content_of(digest: Mapping[str, Any]) -> tuple[object, object]:
    return digest.get("sha256"), digest.get("etag")


def _on_disk(target: Path, line: Line, *, verify: bool) -> tuple[Status, str]:
    try:
        stamp = stamp_of(target)
    except BagError:
        return "missing", ""
    if stamp["bytes"] != line.get("output_bytes"):
        return "damaged", f"{stamp['bytes']} bytes, not {line.get('output_bytes')}"
    touched = stamp["mtime_ns"] != line.get("output_mtime_ns")
    if (verify or touched) and digest_of(target) != line.get("output_sha256"):
        return "damaged", "its content has changed"
    return "done", ""
