"""Statements for a database that is being copied: held until it is there, or they become many."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

_MOST_BYTES = 1 << 23  # of data that is held


class LaterDatabase:
    """A database that a thread is copying, to be written to meanwhile; its one thread uses it.

    Nothing may be asked of it before `open`; what `execute` is given is done in order.
    """

    def __init__(
        self,
        copy: Callable[[threading.Event], object],
        connect: Callable[[], sqlite3.Connection],
    ) -> None:
        """Begin to copy.

        Args:
            copy: copies until the event is set.
            connect: opens what has been copied, ready for statements.
        """
        self._stop = threading.Event()
        self._executor = ThreadPoolExecutor(1, "bagnoise-copy")
        self._copied = self._executor.submit(copy, self._stop)
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._held: list[tuple[str, Sequence[Any]]] = []
        self._held_bytes = 0

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Carry a statement out, now or later."""
        if self._connection is not None:
            self._connection.execute(statement, values)
            return
        kept = [bytes(value) if isinstance(value, memoryview) else value for value in values]
        self._held.append((statement, kept))
        self._held_bytes += sum(len(value) for value in kept if isinstance(value, bytes))
        if self._copied.done() or self._held_bytes > _MOST_BYTES:
            self.open()

    def open(self) -> sqlite3.Connection:
        """Wait for the copy, and do what is held.

        Raises:
            OSError: it could not be copied.
        """
        if self._connection is None:
            self._copied.result()
            self._connection = self._connect()
            held, self._held = self._held, []
            for statement, values in held:
                self._connection.execute(statement, values)
        return self._connection

    def close(self) -> None:
        """Let go of it; end the copy if it still goes on."""
        self._stop.set()
        self._executor.shutdown()
        if self._connection is not None:
            self._connection.close()
