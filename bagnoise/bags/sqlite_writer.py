"""Write one sqlite3 storage file as rosbag2 does since Iron (Humble reads it too)."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from bagnoise.bags.metadata import pack_records, render_information
from bagnoise.bags.sqlite_tables import (
    INSERT_MESSAGE,
    DefinitionTable,
    Shortfall,
    WriteErrors,
    create_tables,
    insert_topic,
)
from bagnoise.bags.stats import FileStats
from bagnoise.bags.writer import LARGEST_NS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bagnoise.bags.model import Attachment, Channel, Message, MetadataRecord


SMALL_PAGE_BYTES = 4096  # sqlite's default: a bag of a few messages takes some 40 kB
LARGE_PAGE_BYTES = 16384  # clouds and images are written twice as fast
_CACHE_KIB = 16 << 10


class SqliteWriter:
    """A new database in one transaction. `warnings` name what the format cannot hold."""

    largest_ns = LARGEST_NS

    def __init__(
        self,
        path: Path,
        *,
        metadata_version: int = 8,
        custom_data: Mapping[str, str] | None = None,
        page_bytes: int = SMALL_PAGE_BYTES,
    ) -> None:
        self.path = path
        self.stats = FileStats(path.name)
        self._version = metadata_version
        self._custom_data = dict(custom_data or {})
        self._records: list[MetadataRecord] = []
        self._shortfall = Shortfall()
        self.warnings = self._shortfall.warnings
        self._errors = WriteErrors(path)
        with self._errors:
            self._connection = sqlite3.connect(path, isolation_level=None)
            try:
                self._prepare(page_bytes)
            except BaseException:
                self._connection.close()
                raise
        self._definitions = DefinitionTable(self._connection)

    def _prepare(self, page_bytes: int) -> None:
        """Create the tables. The file is new and under a temporary name: no way back is needed."""
        for pragma in (
            f"page_size={page_bytes}",
            f"cache_size=-{_CACHE_KIB}",
            "journal_mode=OFF",
            "synchronous=OFF",
            "locking_mode=EXCLUSIVE",
        ):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        create_tables(self._connection)
        self._connection.execute("BEGIN")

    def add_channel(self, channel: Channel) -> None:
        """Announce a channel, with its definition."""
        with self._errors:
            insert_topic(self._connection, channel.id, channel)
            if not self._definitions.add(channel):
                self._shortfall.name(f"a second definition of {channel.type_name}")
        self.stats.add_channel(channel)
        self._shortfall.check_channel(channel)

    def write(self, message: Message) -> None:
        """Write one message."""
        channel, log_ns, publish_ns, sequence, data = message
        if publish_ns != log_ns or sequence:
            self._shortfall.check_message(message)
        with self._errors:
            self._connection.execute(INSERT_MESSAGE, (channel.id, log_ns, data))
        self.stats.add(channel.id, log_ns)

    def add_attachment(self, attachment: Attachment) -> None:  # noqa: ARG002 - nowhere to put it
        """Warn that attachments are lost."""
        self._shortfall.name("attachments")

    def add_metadata(self, record: MetadataRecord) -> None:
        """Keep a record; it is written into the custom data."""
        self._records.append(record)

    @property
    def custom_data(self) -> dict[str, str]:
        """Custom data with the records in it, as the metadata.yaml beside must have it."""
        return pack_records(self._custom_data, self._records)

    def close(self) -> None:
        """Write the copy of metadata.yaml and commit."""
        with self._errors:
            information = render_information(
                [self.stats], "sqlite3", self._version, self.custom_data
            )
            self._connection.execute(
                "INSERT INTO metadata (metadata_version, metadata) VALUES (?, ?)",
                (self._version, information),
            )
            self._connection.execute("COMMIT")
            self._connection.close()

    def abort(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self._connection.close()
