"""Make an output on an object store complete or absent.

An output is written to a private folder here, checked there as any is, and then uploaded in parts
(a multipart upload). Parts are not visible to anybody: the object appears, whole, when the upload
is completed. This beats a temporary key with a copy to the final one: there is no second copy to
pay for, and nothing that a killed run leaves under a name that a reader could find. Completing with
If-None-Match leaves the store itself to refuse a name that has been taken meanwhile. Every object
carries a mark of the upload that made it, so that an answer which was lost can be asked for, and
nothing is ever removed that another has written.
"""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bagnoise.bags.detect import foreign_entry
from bagnoise.bags.metadata import METADATA_NAME
from bagnoise.bags.remote_path import RemotePath
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PART_BYTES = 8 << 20
_MOST_PARTS = 9_000  # the store allows 10 000
_THREADS = 4


def check_remote_target(target: RemotePath, source: Path, *, overwrite: bool) -> None:
    """Refuse an output that would destroy its input or anything that is not ours to replace.

    Raises:
        UsageError: With the reason; nothing has been touched.
        BagError: The store cannot be asked, or has no such bucket.
    """
    if not target.key:
        msg = f"{target}: a bucket; a name within it would be right, e.g. {target}/noisy.mcap"
        raise UsageError(msg)
    if target == source or source in target.parents or target in source.parents:
        msg = f"{target}: output and input are, or hold, each other; write to another name"
        raise UsageError(msg)
    there = RemotePath(target)
    if not there.exists():
        return
    if not overwrite:
        msg = f"{target}: exists already; choose another name or give --overwrite"
        raise UsageError(msg)
    foreign = foreign_entry(there)
    if foreign is not None:
        msg = f"{target}: not overwritten, because {foreign} is not part of a bag"
        raise UsageError(msg)


def upload(local: Path, target: RemotePath, *, overwrite: bool = False) -> None:
    """Put a finished file, or a directory's files, under its name on the store.

    A directory's files appear one after the other once all have been sent, metadata.yaml last.

    Raises:
        BagError: It failed, or the name has been taken meanwhile; nothing of it stays.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(1, "bagnoise-upload") as executor:
        # Ctrl-C comes to this thread only, so that the other can always clear up behind itself
        future = executor.submit(_Upload(local, target, stop, overwrite=overwrite).run)
        try:
            future.result()
        except BaseException:
            stop.set()
            raise


@dataclass
class _File:
    """A file on its way: its parts are on the store, but not yet an object."""

    local: Path
    key: str
    upload: str = ""
    etags: list[str] = field(default_factory=list)


class _Upload:
    """One upload; `run` does it."""

    def __init__(
        self, local: Path, target: RemotePath, stop: threading.Event, *, overwrite: bool
    ) -> None:
        self._target, self._store, self._stop = target, target.store, stop
        self._overwrite = overwrite
        self._files = [_File(file, key) for file, key in _keys(local, target)]
        self._mark = secrets.token_hex(16)
        self._shown: list[str] = []

    def run(self) -> None:
        """Send everything, then show it; on any error drop what was sent."""
        try:
            for file in self._files:
                if not _is_small(file):
                    self._send(file)
            self._check_stop()
            old = set(_present(self._target))
            if old and not self._overwrite:
                msg = f"{self._target}: has appeared while the output was written; "
                raise BagError(msg + "it is left alone")  # noqa: TRY301
            for file in self._files:
                self._check_stop()
                self._show(file)
        except BaseException:
            self._clear_up()
            raise
        for key in old - {file.key for file in self._files}:
            self._store.delete(key)  # the output is whole, whatever becomes of the old one's files

    def _check_stop(self) -> None:
        if self._stop.is_set():
            msg = f"{self._target}: interrupted; nothing of it was kept"
            raise BagError(msg)

    def _send(self, file: _File) -> None:
        """Send the parts of a file, several at a time."""
        file.upload = self._store.begin(file.key, self._mark)
        size = file.local.stat().st_size
        step = max(_PART_BYTES, -(-size // _MOST_PARTS))
        with ThreadPoolExecutor(_THREADS, "bagnoise-part") as executor:
            futures = [
                executor.submit(self._send_part, file, number, start, min(step, size - start))
                for number, start in enumerate(range(0, size, step), start=1)
            ]
            try:
                file.etags = [future.result() for future in futures]
            except BaseException:
                executor.shutdown(wait=True, cancel_futures=True)
                raise

    def _send_part(self, file: _File, number: int, start: int, count: int) -> str:
        self._check_stop()
        with file.local.open("rb") as stream:
            stream.seek(start)
            data = stream.read(count)
        return self._store.put_part(file.key, file.upload, number, data, self._stop)

    def _show(self, file: _File) -> None:
        """Make what was sent an object; its store has checked it against our MD5s."""
        only_new = not self._overwrite
        self._shown.append(file.key)
        try:
            if file.upload:
                self._store.complete(file.key, file.upload, file.etags, only_new=only_new)
            else:
                data = file.local.read_bytes()
                self._store.put(file.key, data, mark=self._mark, only_new=only_new)
        except BagError:
            if not self._is_ours(file.key):  # else only the answer was lost
                raise
        file.upload = ""

    def _is_ours(self, key: str) -> bool:
        found = self._store.look(key)
        return found is not None and found.mark == self._mark

    def _clear_up(self) -> None:
        """Drop parts, and objects of an output that is not whole."""
        for file in self._files:
            if file.upload:
                with suppress(BagError):
                    self._store.abort(file.key, file.upload)
        if self._overwrite and len(self._files) == 1:
            return  # if it shows, then whole, and what it has replaced is gone
        for key in self._shown:
            with suppress(BagError):
                if self._is_ours(key):
                    self._store.delete(key)


def _is_small(file: _File) -> bool:
    """Whether one request sends it all, whole or not at all; metadata.yaml always does."""
    return file.local.stat().st_size <= _PART_BYTES


def _keys(local: Path, target: RemotePath) -> Iterator[tuple[Path, str]]:
    """Yield the files to send and their keys, metadata.yaml last."""
    if local.is_file():
        yield local, target.key
        return
    for file in sorted(local.iterdir(), key=lambda file: (file.name == METADATA_NAME, file.name)):
        yield file, f"{target.key}/{file.name}"


def _present(target: RemotePath) -> Iterator[str]:
    """Yield the keys of what has the target's name."""
    found = target.store.look(target.key)
    if found is not None:
        yield found.key
    for entry in target.store.under(f"{target.key}/"):
        yield entry.key
