"""Standard streams that may be closed, full, or read by nobody any more."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


class _Lenient(io.RawIOBase):
    """Writes to the file of a stream; notes the first failure and swallows what comes after it.

    What a command was asked for is done by the time its summary is printed, so a summary that
    nobody can read must not end it, nor hide its exit code.
    """

    def __init__(self, beneath: TextIO) -> None:
        beneath.flush()
        self._beneath = beneath  # closes its file when nobody holds it
        self._fd = beneath.fileno()
        self.problem: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        if self.problem is None:
            try:
                return os.write(self._fd, data)
            except OSError as error:
                self.problem = error
        return len(data)


def open_closed_streams() -> None:
    """Put the null device where a standard stream is closed.

    Else the next file that is opened takes its place, and gets what is printed.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
            setattr(sys, name, open(fd, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def make_lenient() -> Callable[[], str | None]:
    """Let standard output and error swallow what nobody can read.

    Returns:
        What flushes standard output and says why not all was written, None where it was; that the
        reader has gone is no failure.
    """
    output = _Lenient(sys.stdout)
    for name, raw in (("stdout", output), ("stderr", _Lenient(sys.stderr))):
        before = getattr(sys, name)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw),  # type: ignore[type-var]
            encoding=before.encoding,
            errors="backslashreplace",  # a topic's name may be any bytes
            line_buffering=before.line_buffering,
        )
        setattr(sys, name, stream)

    def failure() -> str | None:
        sys.stdout.flush()
        if output.problem is None or output.problem.errno == errno.EPIPE:
            return None
        return f"standard output: {output.problem.strerror}; only what was printed is lost"

    return failure
