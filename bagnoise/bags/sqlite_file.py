"""One sqlite3 storage file of a rosbag2 recording, of any rosbag2 version, read only."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.bags.file_copy import copy_file
from bagnoise.bags.private_folder import PrivateFolder
from bagnoise.bags.sqlite_schema import (
    message_columns,
    read_own_metadata,
    read_topics,
    time_index,
)
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from threading import Event


class Row(NamedTuple):
    """A row of the table ``messages``."""

    log_ns: int
    topic_id: int
    rowid: int
    data: bytes
    publish_ns: int


@dataclass
class TopicStats:
    """What a scan of the table ``messages`` found for one topic id."""

    count: int
    start_ns: int
    end_ns: int


class SqliteFile:
    """A database that is opened for as long as it is read; the file and its folder never change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._private: PrivateFolder | None = None
        self._readable = self._make_readable()
        with self.connect() as connection:
            self.columns = message_columns(connection, path)
            self.time_index = time_index(connection)
            self.topics = read_topics(connection)
            self.own_metadata = read_own_metadata(connection)
            self.stats, self.orphans = self._scan(connection)

    def _make_readable(self) -> str:
        """Return the URI to open: the file itself, or a private copy where a log belongs to it."""
        path = self.path.resolve()  # sqlite keeps its logs beside the real file
        wal, journal = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
        if _is_filled(wal):
            self._private = PrivateFolder()
            linked = self._private.link_or_copy(path)  # a read-only reader never checkpoints
            self._private.copy(wal)
            return f"{linked.as_uri()}?mode=ro"
        if _is_filled(journal):
            self._private = PrivateFolder()
            copied = self._private.copy(path)  # rolling back writes into the database
            self._private.copy(journal)
            return f"{copied.as_uri()}?mode=rw"
        return f"{path.as_uri()}?mode=ro&immutable=1"

    @property
    def is_plain(self) -> bool:
        """Whether the database is whole by itself, without a log beside it."""
        return self._private is None

    def copy_to(self, target: Path, stop: Event) -> None:
        """Copy the database, and the log that belongs to it, to be opened and changed there.

        Raises:
            BagError: ``stop`` was set meanwhile.
        """
        path = self.path.resolve()
        copy_file(path, target, stop)
        for suffix in ("-wal", "-journal"):
            log = path.with_name(path.name + suffix)
            if _is_filled(log):
                copy_file(log, target.with_name(target.name + suffix), stop)

    def close(self) -> None:
        """Remove the private copy, if there is one."""
        if self._private is not None:
            self._private.close()

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open the database; errors of sqlite become ours, naming the file."""
        with sqlite_errors(self.path):
            connection = sqlite3.connect(self._readable, uri=True, isolation_level=None)
            with closing(connection):
                connection.text_factory = _decode
                connection.execute("PRAGMA query_only=ON")
                connection.execute("PRAGMA trusted_schema=OFF")
                yield connection

    def _scan(self, connection: sqlite3.Connection) -> tuple[dict[int, TopicStats], int]:
        """Count messages by topic id; the second value counts those of no topic."""
        query = (
            "SELECT topic_id, count(*), min(timestamp), max(timestamp) FROM messages"
            " GROUP BY topic_id"
        )
        known = {topic.id for topic in self.topics}
        stats: dict[int, TopicStats] = {}
        orphans = 0
        for topic_id, count, start_ns, end_ns in connection.execute(query):
            if topic_id not in known:
                orphans += count
                continue
            stats[topic_id] = TopicStats(
                count, self._whole(start_ns, topic_id), self._whole(end_ns, topic_id)
            )
        self._check_index(connection, orphans + sum(entry.count for entry in stats.values()))
        return stats, orphans

    def _check_index(self, connection: sqlite3.Connection, rows: int) -> None:
        """Refuse an index that leads to more or fewer rows than there are: it would hide them."""
        if self.time_index is None:
            return
        query = f"SELECT count(*) FROM messages INDEXED BY {self.time_index}"  # noqa: S608
        (indexed,) = connection.execute(query).fetchone()
        if indexed != rows:
            msg = f"{self.path}: damaged: {rows} messages, but {indexed} entries in their index"
            raise DamagedBagError(msg)

    def _whole(self, value: object, topic_id: int) -> int:
        if not isinstance(value, int):
            msg = f"{self.path}: topic id {topic_id} has the timestamp {value!r}, not a number"
            raise DamagedBagError(msg)
        return value

    def rows(
        self, topic_ids: Collection[int], start_ns: int | None = None, end_ns: int | None = None
    ) -> Iterator[Row]:
        """Yield messages by time, equal times by row id."""
        with self.connect() as connection:
            rows = self._indexed if self.time_index else self._unindexed
            for row in rows(connection, topic_ids, start_ns, end_ns):
                if type(row[3]) is not bytes or type(row[0]) is not int:
                    msg = f"{self.path}: message row {row[2]} does not hold a time and bytes"
                    raise DamagedBagError(msg)
                yield Row(*row)

    def _send_time(self) -> str:
        """SQL of the publish time: send_timestamp where it is set."""
        if "send_timestamp" not in self.columns:
            return "timestamp"
        return "CASE WHEN send_timestamp > 0 THEN send_timestamp ELSE timestamp END"

    def _indexed(
        self,
        connection: sqlite3.Connection,
        topic_ids: Collection[int],
        start_ns: int | None,
        end_ns: int | None,
    ) -> Iterator[tuple[Any, ...]]:
        where, values = self._where(topic_ids, start_ns, end_ns)
        query = (
            f"SELECT timestamp, topic_id, rowid, data, {self._send_time()} FROM messages"  # noqa: S608
            f" INDEXED BY {self.time_index} WHERE {where} ORDER BY timestamp, rowid"
        )
        return iter(connection.execute(query, values))

    def _unindexed(
        self,
        connection: sqlite3.Connection,
        topic_ids: Collection[int],
        start_ns: int | None,
        end_ns: int | None,
    ) -> Iterator[tuple[Any, ...]]:
        """Sort rows without their data (sqlite spills them to disk), fetch data one by one."""
        where, values = self._where(topic_ids, start_ns, end_ns)
        query = (
            f"SELECT timestamp, topic_id, rowid, {self._send_time()} FROM messages"  # noqa: S608
            f" WHERE {where} ORDER BY timestamp, rowid"
        )
        fetch = connection.cursor()
        for log_ns, topic_id, rowid, publish_ns in connection.execute(query, values):
            found = fetch.execute("SELECT data FROM messages WHERE rowid = ?", (rowid,)).fetchone()
            yield log_ns, topic_id, rowid, found[0] if found else None, publish_ns

    def _where(
        self, topic_ids: Collection[int], start_ns: int | None, end_ns: int | None
    ) -> tuple[str, list[int]]:
        # The unary plus keeps sqlite from choosing an index on topic_id and sorting whole rows.
        marks = ",".join("?" * len(topic_ids))
        clauses, values = [f"+topic_id IN ({marks})"], sorted(topic_ids)
        if start_ns is not None:
            clauses.append("timestamp >= ?")
            values.append(_clamp(start_ns))
        if end_ns is not None and end_ns <= _MAX:
            clauses.append("timestamp < ?")
            values.append(_clamp(end_ns))
        return " AND ".join(clauses), values


_MAX = 2**63 - 1


def _clamp(value: int) -> int:
    """Bring a bound into sqlite's range of integers."""
    return max(-(2**63), min(value, _MAX))


def _is_filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn sqlite's errors into ours, naming the file."""
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.InterfaceError) as error:
        msg = f"{path}: sqlite3 cannot read it: {error}"
        raise BagError(msg) from error
    except sqlite3.DatabaseError as error:
        msg = f"{path}: the sqlite3 database is damaged ({error}); --recover reads what is intact"
        raise DamagedBagError(msg) from error
