"""The other end of the pipe: a process that makes outputs until its parent is gone."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from bagnoise.dataset.make import failed, make

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import FrameType

_PR_SET_PDEATHSIG = 1


def serve(connection: Connection, parent_pid: int) -> None:
    """Take (variants, input digest), send their lines, then None; end when the pipe does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, _as_interrupt)
    _die_with_parent(parent_pid)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            variants, input_digest = connection.recv()
            left = {variant.name: variant for variant in variants}
            try:
                for line in make(variants, input_digest):
                    left.pop(line["output"], None)
                    connection.send(line)
            except Exception as error:  # noqa: BLE001 - a fault of ours must not stop the others
                text = f"internal error: {type(error).__name__}: {error}"
                for variant in left.values():
                    connection.send(failed(variant, input_digest, text))
            connection.send(None)


def _as_interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt


def _die_with_parent(parent_pid: int) -> None:
    """Ask the system to kill this process with its parent, so that no orphan goes on writing."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        sys.exit(1)
