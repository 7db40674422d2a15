"""Make an output complete or absent: write beside its final name, check, move into place."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bagnoise.bags.detect import foreign_entry
from bagnoise.bags.private_folder import PrivateFolder
from bagnoise.bags.remote_path import RemotePath
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PARTIAL_PREFIX = ".bagnoise-partial-"
_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def check_target(target: Path, source: Path, *, overwrite: bool) -> None:
    """Refuse an output that would destroy its input or anything that is not ours to replace.

    Raises:
        UsageError: With the reason; nothing has been touched.
    """
    if isinstance(target, RemotePath):
        from bagnoise.bags.remote_publish import check_remote_target  # noqa: PLC0415 - for URLs

        check_remote_target(target, source, overwrite=overwrite)
        return
    _check_apart(target, source)
    if not target.parent.is_dir():
        msg = f"{target}: its folder {target.parent} does not exist"
        raise UsageError(msg)
    if not os.path.lexists(target):
        return
    if not overwrite:
        msg = f"{target}: exists already; choose another name or give --overwrite"
        raise UsageError(msg)
    foreign = foreign_entry(target)
    if foreign is not None:
        msg = f"{target}: not overwritten, because {foreign} is not part of a bag"
        raise UsageError(msg)


def _check_apart(target: Path, source: Path) -> None:
    """Refuse an output that is its input, lies in it or holds it (through links too)."""
    real_target, real_source = _resolve(target), _resolve(source)
    inputs = [real_source]
    if real_source.is_dir():
        inputs += sorted(real_source.iterdir())
    if any(_is_same(real_target, path) for path in inputs):
        msg = f"{target}: output and input are the same; write to a new name"
        raise UsageError(msg)
    outputs = sorted(real_target.iterdir()) if real_target.is_dir() else []
    if any(_is_same(mine, path) for mine in outputs for path in inputs if path.is_file()):
        msg = f"{target}: holds a file of the input; write to a new name"
        raise UsageError(msg)
    if real_source in real_target.parents:
        msg = f"{target}: lies inside the input {source}; write beside it"
        raise UsageError(msg)
    if real_target in real_source.parents:
        msg = f"{target}: holds the input {source}; write to a new name"
        raise UsageError(msg)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links
        msg = f"{path}: cannot be resolved: {error}"
        raise UsageError(msg) from error


def _is_same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


@contextmanager
def publish(
    target: Path, *, overwrite: bool = False, fsync: bool = False, check: Callable[[Path], None]
) -> Iterator[Path]:
    """Lend a path to write to; afterwards check what is there and move it to ``target``.

    The caller makes a file or a directory of it. On any exception, Ctrl-C included, nothing
    remains. A killed process leaves a name with `PARTIAL_PREFIX`, which nothing reads. What goes
    to an object store is written to a private folder first.
    """
    if isinstance(target, RemotePath):
        with _publish_remote(target, overwrite=overwrite, check=check) as partial:
            yield partial
        return
    partial = target.with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(4)}-{target.name[:40]}")
    try:
        with _os_errors(partial):
            yield partial
            check(partial)
            if fsync:
                _fsync_tree(partial)
            move_into_place(partial, target, overwrite=overwrite)
            if fsync:
                _fsync(target.parent)
    finally:
        _remove(partial)


@contextmanager
def _publish_remote(
    target: RemotePath, *, overwrite: bool, check: Callable[[Path], None]
) -> Iterator[Path]:
    from bagnoise.bags.remote_publish import upload  # noqa: PLC0415 - for URLs only

    folder = PrivateFolder()
    try:
        partial = folder.path / target.name
        with _os_errors(partial):
            yield partial
            check(partial)
        upload(partial, target, overwrite=overwrite)
    finally:
        folder.close()


@contextmanager
def _os_errors(partial: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        where = error.filename or partial
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            msg = f"{partial.parent}: the disk is full ({reason}); nothing was kept"
        else:
            msg = f"{where}: cannot be written: {reason}"
        raise BagError(msg) from error


def move_into_place(partial: Path, target: Path, *, overwrite: bool) -> None:
    """Give a finished output on the same file system its name.

    Raises:
        BagError: without ``overwrite``, something is there; with it, what is there is no bag.
    """
    if overwrite and os.path.lexists(target):
        _exchange(partial, target)
    else:
        _rename_to_new(partial, target)


def _rename_to_new(partial: Path, target: Path) -> None:
    """Give the finished output its name, without replacing what has appeared there meanwhile."""
    try:
        if _renameat2(partial, target, _NOREPLACE):
            return
        if partial.is_dir():
            partial.rename(target)  # fails where a filled directory exists
        else:
            os.link(partial, target)  # fails where anything exists
    except FileExistsError as error:
        msg = f"{target}: has appeared while the output was written; it is left alone"
        raise BagError(msg) from error
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EPERM, errno.ENOTSUP, errno.ENOTDIR}:
            raise
        if os.path.lexists(target):
            msg = f"{target}: has appeared while the output was written; it is left alone"
            raise BagError(msg) from error
        partial.rename(target)  # a file system without links


def _exchange(partial: Path, target: Path) -> None:
    """Swap the finished output with the bag it replaces, which is removed under its new name."""
    foreign = foreign_entry(target)
    if foreign is not None:
        msg = f"{target}: left alone, because {foreign} is not part of a bag"
        raise BagError(msg)
    if target.is_file() and partial.is_file():
        partial.replace(target)
    elif not _renameat2(partial, target, _EXCHANGE):
        aside = target.with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(4)}-old-{target.name[:40]}")
        target.rename(aside)
        try:
            partial.rename(target)
        except BaseException:
            aside.rename(target)
            raise
        _remove(aside)


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    """Rename with flags; False where the system cannot."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    paths = os.fsencode(source), os.fsencode(target)
    if function(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(target))


def _fsync_tree(path: Path) -> None:
    if path.is_dir():
        for entry in sorted(path.iterdir()):
            _fsync(entry)
    _fsync(path)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Remove what is left under a temporary name; sqlite's helpers beside a file too."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    for name in (path.name, f"{path.name}-journal", f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(OSError):
            path.with_name(name).unlink()
