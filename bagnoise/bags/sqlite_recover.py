"""Read what is intact of a damaged sqlite3 storage file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from bagnoise.bags.losses import Losses
from bagnoise.bags.private_folder import PrivateFolder
from bagnoise.bags.sqlite_file import Row, SqliteFile, TopicStats

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_MOST_GAPS = 100_000  # a flipped bit may make a row id as large as it likes
_LEAST_PAGE_BYTES = 512
_UNKNOWN = "(unknown)"


class RecoveredFile(SqliteFile):
    """A storage file of which every row is tried once; `warnings` tell what is lost.

    Raises:
        DamagedBagError: Not even the tables can be read.
    """

    def _make_readable(self) -> str:
        """Leave out a last page that is not whole: sqlite would fill it up with zeros."""
        readable = super()._make_readable()
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            page_bytes = int.from_bytes(stream.read(18)[16:], "big")
        page_bytes = 1 << 16 if page_bytes == 1 else page_bytes
        if self.is_plain and page_bytes >= _LEAST_PAGE_BYTES and size % page_bytes:
            self._private = PrivateFolder()
            copied = self._private.copy(self.path)
            os.truncate(copied, size - size % page_bytes)
            return f"{copied.as_uri()}?mode=ro&immutable=1"
        return readable

    def _scan(self, connection: sqlite3.Connection) -> tuple[dict[int, TopicStats], int]:
        self.warnings: list[str] = []
        self._order: list[tuple[int, int, int]] = []  # time, row id, topic id
        known = {topic.id for topic in self.topics}
        indexed = dict(_both_ends(connection, self._index_query()))
        losses, orphans = Losses(), 0
        for rowid in self._candidates(connection, indexed):
            state, log_ns, topic_id = _try_row(connection, rowid)
            if state == "intact" and topic_id in known:
                self._order.append((log_ns, rowid, topic_id))
            elif state == "intact":
                orphans += 1
            elif state == "broken" or rowid in indexed:
                near_ns = self._order[-1][0] if self._order else 0
                losses.add(_UNKNOWN, indexed.get(rowid, near_ns))
        self._order.sort()
        self._report(connection, losses)
        return self._stats(), orphans

    def _index_query(self) -> str | None:
        if self.time_index is None:
            return None
        return (
            f"SELECT rowid, timestamp FROM messages INDEXED BY {self.time_index} ORDER BY timestamp"  # noqa: S608
        )

    def _candidates(
        self, connection: sqlite3.Connection, indexed: dict[int, int]
    ) -> Collection[int]:
        """Row ids worth trying: those seen from either end of table and index, and all between."""
        seen = {rowid for rowid, _ in _both_ends(connection, _TABLE_QUERY)} | indexed.keys()
        if not seen:
            return ()
        between = range(min(seen), max(seen) + 1)
        return between if len(between) <= _MOST_GAPS + 10 * len(seen) else sorted(seen)

    def _report(self, connection: sqlite3.Connection, losses: Losses) -> None:
        self.warnings += losses.texts(str(self.path))
        with suppress(sqlite3.Error):
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
            actual = self.path.stat().st_size
            claimed = (_claimed_pages(self.path) or pages) * size
            if actual < claimed:
                self.warnings.append(
                    f"{self.path}: cut at byte {actual} of {claimed}; what stood there is lost"
                )

    def _stats(self) -> dict[int, TopicStats]:
        stats: dict[int, TopicStats] = {}
        for log_ns, _, topic_id in self._order:
            entry = stats.setdefault(topic_id, TopicStats(0, log_ns, log_ns))
            entry.count += 1
            entry.end_ns = log_ns
        return stats

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open the database, also where it is shorter than it says."""
        with super().connect() as connection:
            connection.execute("PRAGMA writable_schema=ON")
            yield connection

    def rows(
        self, topic_ids: Collection[int], start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[Row]:
        """Yield the intact messages by time, equal times by row id."""
        send_time = self._send_time()
        query = f"SELECT data, {send_time} FROM messages WHERE rowid = ?"  # noqa: S608
        with self.connect() as connection:
            for log_ns, rowid, topic_id in self._order:
                wanted = topic_id in topic_ids and (start_ns is None or log_ns >= start_ns)
                if wanted and (end_ns is None or log_ns < end_ns):
                    data, publish_ns = connection.execute(query, (rowid,)).fetchone()
                    yield Row(log_ns, topic_id, rowid, data, publish_ns)


_TABLE_QUERY = "SELECT rowid, 0 FROM messages NOT INDEXED ORDER BY rowid"


def _both_ends(connection: sqlite3.Connection, query: str | None) -> list[tuple[int, int]]:
    """Follow a query up to the first damage, then the same backwards."""
    found: list[tuple[int, int]] = []
    if query is None:
        return found
    for direction in ("", " DESC"):
        try:
            for rowid, value in connection.execute(query + direction):
                if isinstance(value, int):
                    found.append((rowid, value))
        except sqlite3.Error:
            continue
        break
    return found


def _try_row(
    connection: sqlite3.Connection, rowid: int
) -> tuple[Literal["intact", "absent", "broken"], int, int]:
    """Return how a row is, and its time and topic id where it is intact."""
    query = "SELECT timestamp, topic_id, data FROM messages WHERE rowid = ?"
    try:
        row = connection.execute(query, (rowid,)).fetchone()
    except (sqlite3.Error, OverflowError):
        return "broken", 0, 0
    if row is None:
        return "absent", 0, 0
    log_ns, topic_id, data = row
    if not isinstance(log_ns, int) or not isinstance(data, bytes):
        return "broken", 0, 0
    return "intact", log_ns, topic_id


def _claimed_pages(path: Path) -> int:
    with path.open("rb") as stream:
        return int.from_bytes(stream.read(32)[28:], "big")
