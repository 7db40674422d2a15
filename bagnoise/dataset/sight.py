"""Do a cluster's workers see the same files, and would they make the same bytes?"""

from __future__ import annotations

import platform
import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagnoise import __version__
from bagnoise.bags.publish import PARTIAL_PREFIX
from bagnoise.dataset.digest import stamp_of
from bagnoise.errors import BagnoiseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


@dataclass(frozen=True)
class Beacon:
    """A file that the client keeps in its output folder as long as it wants outputs there.

    Whoever finds the text in the file sees the client's folder, not another of the same name.
    """

    path: str
    text: str

    @classmethod
    def lit(cls, folder: Path) -> Beacon:
        """Write one."""
        path = folder / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
        beacon = cls(str(path), secrets.token_hex(16))
        path.write_text(beacon.text, "utf-8")
        return beacon

    @property
    def folder(self) -> Path:
        """The output folder."""
        return Path(self.path).parent

    def trouble(self) -> str:
        """Say why it does not shine here; empty if it does."""
        try:
            seen = Path(self.path).read_text("utf-8")
        except OSError as error:
            where = f"the output folder {self.folder} of the client"
            return f"does not see {where}: {_reason(error)}"
        return "" if seen == self.text else f"sees another output folder at {self.folder}"

    def put_out(self) -> None:
        """Remove it; what is still being made for it will not be published."""
        with suppress(OSError):
            Path(self.path).unlink()


def report(inputs: dict[str, int], beacon: Beacon) -> dict[str, Any]:
    """Say, on a worker, which versions it has and what it cannot see.

    ``inputs`` are paths and their bytes. Beside the beacon the worker leaves a file of its own,
    with the beacon's text, which the report names.
    """
    mark = f"{PARTIAL_PREFIX}{secrets.token_hex(8)}"
    unseen = [*unseen_inputs(inputs), *_unseen_folder(beacon, mark)]
    return {"versions": byte_versions(), "mark": mark, "unseen": unseen}


def unseen_inputs(inputs: dict[str, int]) -> Iterable[str]:
    """Say which inputs cannot be read here, or are of another size."""
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


def _unseen_folder(beacon: Beacon, mark: str) -> Iterable[str]:
    trouble = beacon.trouble()
    if trouble:
        yield trouble
        return
    try:
        (beacon.folder / mark).write_text(beacon.text, "utf-8")
    except OSError as error:
        yield f"cannot write to the output folder {beacon.folder}: {_reason(error)}"


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def require_fit(said: Mapping[str, Any], beacon: Beacon) -> None:
    """Judge what each worker, by its name, has said: its `report`, or an error.

    Raises:
        UsageError: a worker sees other files, or has other versions; one line a worker.
    """
    try:
        wrong = [
            f"worker {name} {what}" for name, one in said.items() for what in _wrong(one, beacon)
        ]
    finally:
        for one in said.values():
            if isinstance(one, dict):
                with suppress(OSError):
                    (beacon.folder / one["mark"]).unlink()
    if wrong:
        raise UsageError("\n".join(wrong))


def _wrong(said: Any, beacon: Beacon) -> list[str]:
    if isinstance(said, ImportError):
        return [f"cannot import {said.name}: install there what is installed here"]
    if isinstance(said, BaseException):
        return [f"cannot be asked: {type(said).__name__}: {said}"]
    difference = version_difference(byte_versions(), said["versions"])
    if difference:
        return [f"would make other bytes: it has {difference}"]
    if said["unseen"]:
        return list(said["unseen"])
    mark = beacon.folder / said["mark"]
    if not mark.is_file() or mark.read_text("utf-8") != beacon.text:
        return [f"writes to another output folder than the client's {beacon.folder}"]
    return []
