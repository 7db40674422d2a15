"""Write one sqlite3 storage file as rosbag2 does since Iron (Humble reads it too)."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from bagnoise.bags.metadata import pack_records, render_information
from bagnoise.bags.model import HASH_KEY, QOS_KEY, Schema
from bagnoise.bags.stats import FileStats
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bagnoise.bags.model import Attachment, Channel, Message, MetadataRecord

SCHEMA_VERSION = 4
_TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL,
  metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
  serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
  encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
  timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""
_INSERT = "INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)"


class SqliteWriter:
    """A new database in one transaction. `warnings` name what the format cannot hold."""

    def __init__(
        self, path: Path, *, metadata_version: int = 8, custom_data: Mapping[str, str] | None = None
    ) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.stats = FileStats(path.name)
        self._version = metadata_version
        self._custom_data = dict(custom_data or {})
        self._records: list[MetadataRecord] = []
        self._definitions: dict[tuple[str, str], Schema] = {}
        self._warned: set[str] = set()
        with self._errors():
            self._connection = sqlite3.connect(path, isolation_level=None)
            # The file is new and under a temporary name: nothing to roll back to.
            self._connection.execute("PRAGMA journal_mode=OFF")
            self._connection.execute("PRAGMA synchronous=OFF")
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.executescript(_TABLES)
            self._connection.execute("BEGIN")
            self._connection.execute("INSERT INTO schema VALUES (?, 'bagnoise')", (SCHEMA_VERSION,))

    def _errors(self) -> _WriteErrors:
        return _WriteErrors(self.path)

    def add_channel(self, channel: Channel) -> None:
        """Announce a channel, with its definition."""
        with self._errors():
            self._connection.execute(
                "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)",
                (
                    channel.id,
                    channel.topic,
                    channel.type_name,
                    channel.message_encoding,
                    channel.metadata.get(QOS_KEY, ""),
                    channel.metadata.get(HASH_KEY, ""),
                ),
            )
            self._add_definition(channel)
        self.stats.add_channel(channel)
        if set(channel.metadata) - {QOS_KEY, HASH_KEY}:
            self._warn("channel metadata other than QoS and type hash")

    def _add_definition(self, channel: Channel) -> None:
        schema = channel.schema
        type_hash = channel.metadata.get(HASH_KEY, "")
        if not schema.data and not schema.encoding:
            return
        known = self._definitions.setdefault((schema.name, type_hash), schema)
        if known is not schema and known != schema:
            self._warn(f"a second definition of {schema.name}")
        if known is not schema:
            return
        try:
            text: str | bytes = schema.data.decode()
        except UnicodeDecodeError:
            text = schema.data
        self._connection.execute(
            "INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition,"
            " type_description_hash) VALUES (?, ?, ?, ?)",
            (schema.name, schema.encoding, text, type_hash),
        )

    def write(self, message: Message) -> None:
        """Write one message."""
        channel, log_ns, publish_ns, sequence, data = message
        if publish_ns != log_ns:
            self._warn("publish times (they were other than the log times)")
        if sequence:
            self._warn("sequence numbers")
        try:
            self._connection.execute(_INSERT, (channel.id, log_ns, data))
        except (sqlite3.Error, OverflowError) as error:
            raise _write_error(self.path, error) from error
        self.stats.add(channel.id, log_ns)

    def add_attachment(self, attachment: Attachment) -> None:  # noqa: ARG002 - nowhere to put it
        """Warn that attachments are lost."""
        self._warn("attachments")

    def add_metadata(self, record: MetadataRecord) -> None:
        """Keep a record; it is written into the custom data."""
        self._records.append(record)

    @property
    def custom_data(self) -> dict[str, str]:
        """Custom data with the records in it, as the metadata.yaml beside must have it."""
        return pack_records(self._custom_data, self._records)

    def _warn(self, what: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self.warnings.append(f"sqlite3 cannot hold {what}: left out")

    def close(self) -> None:
        """Write the copy of metadata.yaml and commit."""
        with self._errors():
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


class _WriteErrors:
    """Turns sqlite's errors into ours, naming the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _write_error(self._path, error) from error


def _write_error(path: Path, error: Exception) -> BagError:
    return BagError(f"{path}: cannot be written: {error}")
