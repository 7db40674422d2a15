"""Copy within the kernel, which may share blocks, where it can."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

_CANNOT_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
_STEP_BYTES = 1 << 26


def copy_in_kernel(from_fd: int, offset: int, count: int, to_fd: int) -> int | None:
    """Copy some bytes to the end of a file; how many, 0 at the end, None where it cannot."""
    try:
        return os.copy_file_range(from_fd, to_fd, count, offset)
    except AttributeError:  # not Linux
        return None
    except OSError as error:
        if error.errno in _CANNOT_COPY:
            return None
        raise


def copy_file(source: Path, target: Path, stop: Event) -> None:
    """Copy a file, until somebody says stop.

    Raises:
        BagError: somebody did.
        OSError: it cannot be read or written.
    """
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        at = 0
        while True:
            if stop.is_set():
                msg = f"{target}: interrupted; nothing of it was kept"
                raise BagError(msg)
            done = copy_in_kernel(reader.fileno(), at, _STEP_BYTES, writer.fileno())
            if done is None:
                reader.seek(at)
                shutil.copyfileobj(reader, writer)
                return
            if done == 0:
                return
            at += done
