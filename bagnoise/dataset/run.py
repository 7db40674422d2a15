"""Make a data set: survey, hand out what is missing, keep the manifest true at every moment."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from bagnoise.bags.publish import PARTIAL_PREFIX
from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.dataset.engine import Task
from bagnoise.dataset.manifest import manifest_writer, read_manifest, write_manifest
from bagnoise.dataset.resume import Planned, survey
from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bagnoise.dataset.engine import Engine
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.variant import Variant

LOCK_NAME = ".bagnoise-dataset.lock"


class Watcher(Protocol):
    """Told how the run goes."""

    def __call__(self, line: Line, outcome: Outcome, running: int) -> None:
        """Take the line of an output that is done or has failed."""


@dataclass
class Outcome:
    """What a run came to.

    Attributes:
        total: outputs of the plan.
        skipped: complete and true before.
        made: now.
        failed: the lines of those that could not be made.
        left: not begun, after ``fail_fast``.
        lines: the manifest's, of this plan, in its order.
    """

    total: int
    skipped: int = 0
    made: int = 0
    failed: list[Line] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Outputs that are neither there nor failed."""
        return self.total - self.skipped - self.made - len(self.failed)

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "total": self.total,
            "skipped": self.skipped,
            "made": self.made,
            "failed": len(self.failed),
            "left": self.left,
            "outputs": self.lines,
        }


def look(variants: Sequence[Variant], folder: Path, *, verify: bool = False) -> list[Planned]:
    """Say what is there already and what a run would make; change nothing."""
    return survey(variants, read_manifest(folder), verify=verify)


def make_dataset(
    variants: Sequence[Variant],
    folder: Path,
    engine: Engine,
    *,
    verify: bool = False,
    fail_fast: bool = False,
    watch: Watcher | None = None,
) -> Outcome:
    """Make what is missing of a plan.

    Raises:
        UsageError: another run works in the folder.
        BagError: the manifest or an input cannot be read.
    """
    with _locked(folder):
        _remove_partials(folder)
        lines = read_manifest(folder)
        planned = survey(variants, lines, verify=verify)
        write_manifest(folder, lines.values())  # without a torn end
        todo = [entry for entry in planned if entry.status != "done"]
        outcome = Outcome(len(planned), skipped=len(planned) - len(todo))
        try:
            _make(todo, folder, engine, lines, outcome, fail_fast=fail_fast, watch=watch)
        finally:
            engine.stop()
            _remove_partials(folder)  # of lost workers; whoever still writes one cannot publish it
        outcome.lines = [lines[v.name] for v in variants if v.name in lines]
        write_manifest(folder, _in_plan_order(variants, lines))
    return outcome


def _make(
    todo: Sequence[Planned],
    folder: Path,
    engine: Engine,
    lines: dict[str, Line],
    outcome: Outcome,
    *,
    fail_fast: bool,
    watch: Watcher | None,
) -> None:
    for parent in {location(entry.variant.target).parent for entry in todo}:
        parent.mkdir(parents=True, exist_ok=True)
    for entry in todo:
        engine.submit(Task(entry.variant, entry.input_digest))
    writer = manifest_writer(folder)
    try:
        for line in engine.lines():
            writer.add(line)
            lines[line["output"]] = line
            if line["state"] == "done":
                outcome.made += 1
            else:
                outcome.failed.append(line)
            if watch is not None:
                watch(line, outcome, engine.running)
            if fail_fast and outcome.failed:
                return
    finally:
        writer.close()


def _in_plan_order(variants: Sequence[Variant], lines: dict[str, Line]) -> list[Line]:
    """Order the lines as the plan does; outputs that it no longer has stay at the end."""
    planned = [variant.name for variant in variants if variant.name in lines]
    others = [name for name in lines if name not in set(planned)]
    return [lines[name] for name in (*planned, *others)]


def statuses(planned: Sequence[Planned]) -> Counter[str]:
    """Count the outputs by what is to be done with them."""
    return Counter(entry.status for entry in planned)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder; the lock goes with the process, however that ends.

    An object store has no such lock: two runs there may do work twice, but harm nothing, since
    every output and every line is written whole.
    """
    if isinstance(folder, RemotePath):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"{folder}: another run is making this data set; wait for it, or end it"
            raise UsageError(msg) from None
        yield
    finally:
        os.close(handle)


def _remove_partials(folder: Path) -> None:
    """Remove what a killed run left under temporary names; on an object store there are none."""
    if isinstance(folder, RemotePath):
        return
    for path in folder.rglob(f"{PARTIAL_PREFIX}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
