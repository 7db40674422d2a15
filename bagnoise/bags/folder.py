"""Find the storage files of a rosbag2 directory, whatever its metadata.yaml says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bagnoise.bags.detect import MCAP_MAGIC, SQLITE_MAGIC, ZSTD_MAGIC
from bagnoise.bags.metadata import METADATA_NAME, BagMetadata, read_metadata
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPRESSED = (".zstd", ".zst")
_MAGICS = (MCAP_MAGIC, SQLITE_MAGIC, ZSTD_MAGIC)
_STORAGE_SUFFIXES = (".mcap", ".db3")


@dataclass
class Folder:
    """The storage files of a directory in their order, and what its metadata.yaml claims."""

    files: list[Path]
    metadata: BagMetadata | None
    warnings: list[str] = field(default_factory=list)


def read_folder(path: Path, *, recover: bool = False) -> Folder:
    """List the storage files of a rosbag2 directory.

    Raises:
        BagError: There is none, or one that metadata.yaml lists is missing (not with ``recover``).
    """
    warnings: list[str] = []
    metadata = _metadata(path, warnings)
    present = _present_files(path)
    listed = _listed_files(path, metadata)
    if not present and not listed:
        raise BagError(_nothing_there(path))
    files = _choose(path, present, listed, warnings, recover=recover)
    return Folder(files, metadata, warnings)


def _metadata(path: Path, warnings: list[str]) -> BagMetadata | None:
    file = path / METADATA_NAME
    if not file.is_file():
        return None
    try:
        return read_metadata(file)
    except BagError as error:
        warnings.append(f"{error}; the storage files are read without it")
        return None


def _present_files(path: Path) -> list[Path]:
    """All files that look like storage, by name or content, in natural order."""
    try:
        entries = [entry for entry in path.iterdir() if entry.is_file()]
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise BagError(msg) from error
    names = {entry.name for entry in entries}
    files = []
    for entry in sorted(entries, key=lambda entry: natural_key(entry.name)):
        if entry.name.startswith(".") or not _is_storage(entry):
            continue
        plain = _without_compression(entry.name)
        if plain != entry.name and plain in names:
            continue  # an interrupted compression left both
        files.append(entry)
    return files


def _is_storage(path: Path) -> bool:
    if _without_compression(path.name).lower().endswith(_STORAGE_SUFFIXES):
        return True
    if path.suffix.lower() in {".yaml", ".db3-wal", ".db3-shm", ".db3-journal"}:
        return False
    try:
        with path.open("rb") as stream:
            return stream.read(16).startswith(_MAGICS)
    except OSError:
        return False


def _without_compression(name: str) -> str:
    for suffix in COMPRESSED:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _listed_files(path: Path, metadata: BagMetadata | None) -> list[Path | str]:
    """Resolve the listed names; a name that leads to no file stays a text."""
    return [_resolve(path, name) or name for name in (metadata.files if metadata else ())]


def _resolve(path: Path, name: str) -> Path | None:
    """Find a listed file; early versions put the folder before it, compression adds a suffix."""
    base = PurePosixPath(name.replace("\\", "/")).name
    for candidate in (base, *(base + suffix for suffix in COMPRESSED), _without_compression(base)):
        file = path / candidate
        if candidate and file.is_file():
            return file
    return None


def _choose(
    path: Path,
    present: list[Path],
    listed: list[Path | str],
    warnings: list[str],
    *,
    recover: bool,
) -> list[Path]:
    found = list(dict.fromkeys(item for item in listed if isinstance(item, Path)))
    missing = [item for item in listed if isinstance(item, str)]
    extra = [file for file in present if file not in found]
    if not listed:
        return present
    if not missing:
        if extra:
            warnings.append(
                f"{path / METADATA_NAME} does not list {_names(extra)}, so it is not read"
            )
        return found
    if len(present) >= len(listed):
        warnings.append(
            f"{path / METADATA_NAME} lists {_quoted(missing)}, which is not there; the files were"
            f" renamed, so all {len(present)} are read in the order of their names"
        )
        return present
    text = f"{path / METADATA_NAME} lists {_quoted(missing)}, which is not there"
    if not recover:
        msg = f"{text}; --recover reads what is left"
        raise BagError(msg)
    warnings.append(f"{text}; its messages are lost")
    return found or present


def _names(files: Iterable[Path]) -> str:
    return ", ".join(file.name for file in files)


def _quoted(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004


def _nothing_there(path: Path) -> str:
    ros1 = sorted(path.glob("*.bag"))
    if ros1:
        return f"{path}: a folder with ROS 1 bags; give one of them, e.g. {ros1[0]}"
    inner = [entry for entry in sorted(path.iterdir()) if (entry / METADATA_NAME).is_file()]
    if inner:
        return f"{path}: holds bags, but is none; give one of them, e.g. {inner[0]}"
    return f"{path}: a folder without .mcap or .db3 files, so no bag"


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts ``_2`` before ``_10``."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
