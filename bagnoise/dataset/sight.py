"""Do a cluster's workers see the same files, and would they make the same bytes?"""

from __future__ import annotations

import platform
import secrets
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagnoise import __version__
from bagnoise.bags.publish import PARTIAL_PREFIX
from bagnoise.dataset.digest import stamp_of
from bagnoise.errors import BagnoiseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@cache
def byte_versions() -> dict[str, str]:
    """Name what decides an output's bytes and may differ between machines."""
    import zstandard  # noqa: PLC0415 - slow to import

    return {
        "bagnoise": __version__,
        "numpy": version("numpy"),
        "zstandard": version("zstandard"),
        "zstd": ".".join(map(str, zstandard.ZSTD_VERSION)),
        "lz4": version("lz4"),
        "machine": platform.machine(),
    }


def version_difference(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Say how versions differ; empty if they do not."""
    return ", ".join(
        f"{name} {theirs.get(name)} instead of {value}"
        for name, value in mine.items()
        if theirs.get(name) != value
    )


def report(inputs: dict[str, int], folders: dict[str, str], mark: str) -> dict[str, Any]:
    """Say, on a worker, which versions it has and what it cannot see.

    ``inputs`` are paths and their bytes; ``folders`` hold a file of the given text each, beside
    which the worker writes its own, named ``mark``.
    """
    return {
        "versions": byte_versions(),
        "mark": mark,
        "unseen": [*_unseen_inputs(inputs), *_unseen_folders(folders, mark)],
    }


def _unseen_inputs(inputs: dict[str, int]) -> Iterable[str]:
    for path, size in inputs.items():
        try:
            if Path(path).is_file():
                with Path(path).open("rb"):
                    pass
            found = stamp_of(Path(path))["bytes"]
        except (OSError, BagnoiseError) as error:
            yield f"cannot read the input {path}: {_reason(error)}"
            continue
        if found != size:
            yield f"sees another input at {path}: {found} bytes, not {size}"


def _unseen_folders(folders: dict[str, str], mark: str) -> Iterable[str]:
    for probe, text in folders.items():
        folder = Path(probe).parent
        try:
            seen = Path(probe).read_text("utf-8")
        except OSError as error:
            yield f"does not see the output folder {folder} of the client: {_reason(error)}"
            continue
        if seen != text:
            yield f"sees another output folder at {folder}"
            continue
        try:
            (folder / mark).write_text(text, "utf-8")
        except OSError as error:
            yield f"cannot write to the output folder {folder}: {_reason(error)}"


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def require_sight(
    ask: Callable[[dict[str, int], dict[str, str]], Mapping[str, Any]],
    inputs: dict[str, int],
    folder: Path,
) -> None:
    """Ask every worker what it sees, through ``ask(inputs, folders) -> worker -> report or error``.

    Raises:
        UsageError: a worker sees other files, or has other versions; one line a worker.
    """
    probe = folder / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
    text = secrets.token_hex(16)
    probe.write_text(text, "utf-8")
    marks: list[Path] = []
    try:
        wrong = []
        for worker, said in ask(inputs, {str(probe): text}).items():
            if isinstance(said, dict):
                marks.append(folder / said["mark"])
            wrong += [f"worker {worker} {what}" for what in _wrong(said, folder, text)]
        if wrong:
            raise UsageError("\n".join(wrong))
    finally:
        for path in (probe, *marks):
            with suppress(OSError):
                path.unlink()


def _wrong(said: Any, folder: Path, text: str) -> list[str]:
    if isinstance(said, ImportError):
        return [f"cannot import {said.name}: install there what is installed here"]
    if isinstance(said, BaseException):
        return [f"cannot be asked: {type(said).__name__}: {said}"]
    difference = version_difference(byte_versions(), said["versions"])
    if difference:
        return [f"would make other bytes: it has {difference}"]
    if said["unseen"]:
        return list(said["unseen"])
    mark = folder / said["mark"]
    if not mark.is_file() or mark.read_text("utf-8") != text:
        return [f"writes to another output folder than the client's {folder}"]
    return []
