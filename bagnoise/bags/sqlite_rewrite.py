"""Rewrite a sqlite3 bag by copying its file and changing only the rows that an edit changes.

The edit is shown the source's messages while the file is copied.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from bagnoise.bags.detect import ZSTD_MAGIC
from bagnoise.bags.directory_writer import storage_name, write_metadata
from bagnoise.bags.generic import check_times, remaining_channels
from bagnoise.bags.metadata import pack_records, render_information
from bagnoise.bags.model import Message, Selection, WriteReport
from bagnoise.bags.sqlite_bag import SqliteBag
from bagnoise.bags.sqlite_file import SqliteFile
from bagnoise.bags.sqlite_later import LaterDatabase
from bagnoise.bags.sqlite_tables import (
    INSERT_MESSAGE,
    DefinitionTable,
    Shortfall,
    WriteErrors,
    create_tables,
    insert_topic,
)
from bagnoise.bags.stats import FileStats
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from bagnoise.bags.model import (
        Bag,
        Channel,
        Edit,
        MetadataRecord,
        Output,
        Progress,
        WriteOptions,
    )

_COLUMNS = ["id", "topic_id", "timestamp", "data"]
_TABLES = {"schema", "metadata", "topics", "messages", "message_definitions"}
_MOST_FREE = 0.1  # of the pages, before the file is packed
_PROGRESS_BYTES = 4 << 20


def can_copy(bag: Bag, selection: Selection, options: WriteOptions) -> bool:
    """Whether copying the file and changing rows gives what writing row by row would give."""
    if not isinstance(bag, SqliteBag) or len(bag.files) != 1 or not selection.is_everything:
        return False
    if options.split_bytes is not None or options.split_ns is not None or options.sort_file:
        return False
    file = bag.files[0]
    if type(file) is not SqliteFile or file.time_index is None or file.orphans:
        return False
    with file.connect() as connection:
        return _is_known_schema(connection, file) and not _is_compressed(connection)


def _is_known_schema(connection: sqlite3.Connection, file: SqliteFile) -> bool:
    """No triggers, views or tables of somebody else, and the columns that we know."""
    objects = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
    if any(kind not in ("table", "index") or table not in _TABLES for kind, _, table in objects):
        return False
    keys = connection.execute("SELECT name FROM pragma_table_info('messages') WHERE pk > 0")
    return file.columns == _COLUMNS and keys.fetchall() == [("id",)]


def _is_compressed(connection: sqlite3.Connection) -> bool:
    """Whether the first message is a zstd frame (rosbag2 compresses all or none)."""
    first = connection.execute("SELECT data FROM messages ORDER BY rowid LIMIT 1").fetchone()
    return first is not None and bytes(first[0][:4]) == ZSTD_MAGIC


class SqliteCopy:
    """One run: copies the file, applies the edit to the copy, writes metadata.yaml."""

    def __init__(
        self,
        bag: SqliteBag,
        folder: Path,
        name: str,
        edit: Edit,
        options: WriteOptions,
        records: Sequence[MetadataRecord],
    ) -> None:
        self.report = WriteReport()
        self._bag = bag
        self._edit = edit
        self._version = options.metadata_version
        self._records = [*bag.metadata_records(), *records]
        self._file = bag.files[0]
        self._channels = bag.by_topic_id[0]
        self._topic_ids = {channel.id: id_ for id_, channel in self._channels.items()}
        self._shortfall = Shortfall()
        self._folder = folder
        self._path = folder / storage_name(name, "sqlite3", 0)
        self._errors = WriteErrors(self._path)

    def run(self, progress: Progress | None, total_bytes: int) -> WriteReport:
        """Do it."""
        self._folder.mkdir()
        database = LaterDatabase(lambda stop: self._file.copy_to(self._path, stop), self._open_copy)
        with self._errors, closing(database):
            self._database = database
            self._write_topics()
            self._apply(progress, total_bytes)
            connection = self._connection = database.open()
            stats = self._finish()
            connection.execute("COMMIT")
            packed = self._pack()
        if packed is not None:
            packed.replace(self._path)
        custom_data = pack_records(self._bag.custom_data, self._records)
        write_metadata(self._folder, [stats], "sqlite3", self._version, custom_data)
        self.report.warnings += self._shortfall.warnings
        if progress is not None:
            progress(total_bytes, total_bytes)
        return self.report

    def _open_copy(self) -> sqlite3.Connection:
        """Open the copy for writing, its log taken in, without a way back: it is only a copy."""
        connection = sqlite3.connect(self._path, isolation_level=None)
        try:
            for pragma in (
                "synchronous=OFF",
                "wal_checkpoint(TRUNCATE)",
                "journal_mode=DELETE",
                "locking_mode=EXCLUSIVE",
                "journal_mode=OFF",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            create_tables(connection)
            connection.execute("BEGIN")
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_topics(self) -> None:
        """Bring the tables of topics and definitions to what the output has."""
        database = self._database
        remaining = remaining_channels(self._bag, self._edit, Selection())
        for channel in self._bag.channels:
            if channel not in remaining:
                topic_id = self._topic_ids.pop(channel.id)
                database.execute("DELETE FROM topics WHERE id = ?", (topic_id,))
        database.execute("DELETE FROM message_definitions")
        self._definitions = DefinitionTable(database)
        for channel in remaining:
            self._add_definition(channel)
        next_id = max(self._channels, default=0) + 1
        new = [channel for channel in self._edit.adds if channel.id not in self._topic_ids]
        for topic_id, channel in enumerate(new, next_id):
            insert_topic(database, topic_id, channel)
            self._topic_ids[channel.id] = topic_id
            self._add_definition(channel)
            self._shortfall.check_channel(channel)

    def _add_definition(self, channel: Channel) -> None:
        if not self._definitions.add(channel):
            self._shortfall.name(f"a second definition of {channel.type_name}")

    def _apply(self, progress: Progress | None, total_bytes: int) -> None:
        """Show the edit what it reads, and change rows as it says."""
        edit, counts = self._edit, self._bag.counts
        for channel in self._bag.channels:
            if channel.id not in edit.replaces:
                self.report.copied[channel.id] = counts[channel.id]
        for channel in edit.adds:
            self.report.written[channel.id] = 0
        wanted = {id_ for id_, channel in self._channels.items() if channel.id in edit.reads}
        done, shown, now_ns = 0, 0, None
        for row in self._file.rows(wanted) if wanted else ():
            if row.log_ns != now_ns:
                now_ns = row.log_ns
                self._insert_all(edit.advance(now_ns))
            channel = self._channels[row.topic_id]
            message = Message(channel, row.log_ns, row.publish_ns, 0, row.data)
            self._take(message, row.rowid, list(edit.process(message)))
            done += len(row.data)
            if progress is not None and done - shown >= _PROGRESS_BYTES:
                shown = done
                progress(min(done, total_bytes), total_bytes)
        self._insert_all(edit.finish())

    def _take(self, message: Message, rowid: int, outputs: list[Output]) -> None:
        """Put the outputs of one message in: the first in-place one into its own row."""
        replaced = message.channel.id in self._edit.replaces
        kept = False
        for output in outputs:
            fits = output.in_place and output.message.log_ns == message.log_ns
            if replaced and fits and not kept:
                kept = True
                self._update(rowid, output.message)
            else:
                self._insert(output.message)
        if replaced and not kept:
            self._database.execute("DELETE FROM messages WHERE id = ?", (rowid,))

    def _update(self, rowid: int, message: Message) -> None:
        self._count(message)
        self._database.execute(
            "UPDATE messages SET topic_id = ?, data = ? WHERE id = ?",
            (self._topic_ids[message.channel.id], message.data, rowid),
        )

    def _insert_all(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self._insert(output.message)

    def _insert(self, message: Message) -> None:
        """Append a row: its id is higher than every source message's, so it follows them."""
        self._count(message)
        topic_id = self._topic_ids[message.channel.id]
        self._database.execute(INSERT_MESSAGE, (topic_id, message.log_ns, message.data))

    def _count(self, message: Message) -> None:
        check_times(message)
        if message.publish_ns != message.log_ns or message.sequence:
            self._shortfall.check_message(message)
        self.report.written[message.channel.id] += 1

    def _finish(self) -> FileStats:
        """Write the copy of metadata.yaml; return what the file holds now."""
        connection = self._connection
        stats = FileStats(self._path.name)
        known = {channel.id: channel for channel in (*self._bag.channels, *self._edit.adds)}
        for id_ in self._topic_ids:
            stats.add_channel(known[id_])
        for counts in (self.report.copied, self.report.written):
            for id_, count in counts.items():
                stats.counts[id_] += count
        stats.start_ns, stats.end_ns = self._bounds()
        self.report.span = stats.span
        custom_data = pack_records(self._bag.custom_data, self._records)
        information = render_information([stats], "sqlite3", self._version, custom_data)
        connection.execute("DELETE FROM metadata")
        connection.execute(
            "INSERT INTO metadata (metadata_version, metadata) VALUES (?, ?)",
            (self._version, information),
        )
        return stats

    def _bounds(self) -> tuple[int | None, int | None]:
        """First and last time, from the index."""
        connection = self._connection
        (first,) = connection.execute("SELECT min(timestamp) FROM messages").fetchone()
        (last,) = connection.execute("SELECT max(timestamp) FROM messages").fetchone()
        if first is not None and not 0 <= first <= last:
            msg = f"{self._file.path}: holds a message at {first} ns, before time 0"
            raise BagError(msg)
        return first, last

    def _pack(self) -> Path | None:
        """Write the database anew without free pages where there are many."""
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        if free <= pages * _MOST_FREE:
            return None
        packed = self._folder / f"{self._path.name}.packed"
        self._connection.execute("VACUUM INTO ?", (str(packed),))
        return packed
