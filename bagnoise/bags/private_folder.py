"""Private copies of input files, for what cannot be read where it lies."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from bagnoise.bags.remote_path import RemotePath
from bagnoise.errors import BagError

_STEP_BYTES = 1 << 20


class PrivateFolder:
    """A temporary folder (in ``TMPDIR``) that vanishes on `close`, at the latest at exit.

    Raises:
        BagError: there is no place for one.
    """

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="bagnoise-"))
        except OSError as error:
            msg = (
                f"no temporary folder can be made (set TMPDIR to choose a place): {error.strerror}"
            )
            raise BagError(msg) from error
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def link_or_copy(self, source: Path) -> Path:
        """Put a file in here without copying its bytes where that is possible.

        A link shares the bytes: whoever opens it must not write.
        """
        target = self.path / source.name
        with suppress(OSError):
            os.link(source.resolve(), target)
            return target
        return self.copy(source)

    def copy(self, source: Path) -> Path:
        """Copy a file in here."""
        target = self.path / source.name
        try:
            if isinstance(source, RemotePath):
                with source.open("rb") as stream, target.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, _STEP_BYTES)
            else:
                shutil.copyfile(source, target)
        except OSError as error:
            msg = f"{source}: cannot be copied to {self.path} (set TMPDIR to choose a place): "
            raise BagError(msg + str(error.strerror)) from error
        return target

    def close(self) -> None:
        """Remove the folder."""
        self._remove()
