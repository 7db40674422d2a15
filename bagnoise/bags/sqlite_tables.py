"""The tables of a sqlite3 storage file as rosbag2 has them since Iron."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Protocol

from bagnoise.bags.model import HASH_KEY, QOS_KEY
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bagnoise.bags.model import Channel, Message, Schema

SCHEMA_VERSION = 4
INSERT_MESSAGE = "INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)"
_TABLES = """
CREATE TABLE IF NOT EXISTS schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL,
  metadata TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
  serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
  encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
  timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS timestamp_idx ON messages (timestamp ASC);
"""
_LATER_TOPIC_COLUMNS = ("offered_qos_profiles", "type_description_hash")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create what is missing, in a new file or in one of an earlier version."""
    connection.executescript(_TABLES)
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(topics)")}
    for name in _LATER_TOPIC_COLUMNS:
        if name not in columns:
            connection.execute(f"ALTER TABLE topics ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")
    found = connection.execute("SELECT max(schema_version) FROM schema").fetchone()[0]
    if found is None or found < SCHEMA_VERSION:
        connection.execute("DELETE FROM schema")
        connection.execute("INSERT INTO schema VALUES (?, 'bagnoise')", (SCHEMA_VERSION,))


class Executes(Protocol):
    """What carries out statements."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> object:
        """Carry one out."""


def insert_topic(connection: Executes, topic_id: int, channel: Channel) -> None:
    """Write a row of the table ``topics``."""
    connection.execute(
        "INSERT INTO topics (id, name, type, serialization_format, offered_qos_profiles,"
        " type_description_hash) VALUES (?, ?, ?, ?, ?, ?)",
        (
            topic_id,
            channel.topic,
            channel.type_name,
            channel.message_encoding,
            channel.metadata.get(QOS_KEY, ""),
            channel.metadata.get(HASH_KEY, ""),
        ),
    )


class DefinitionTable:
    """Writes each definition once; a type has one for each hash."""

    def __init__(self, connection: Executes) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], Schema] = {}

    def add(self, channel: Channel) -> bool:
        """Write the channel's definition; False if another stands there in its place."""
        schema, type_hash = channel.schema, channel.metadata.get(HASH_KEY, "")
        if not schema.data and not schema.encoding:
            return True
        known = self._known.setdefault((schema.name, type_hash), schema)
        if known is schema:
            self._connection.execute(
                "INSERT INTO message_definitions (topic_type, encoding,"
                " encoded_message_definition, type_description_hash) VALUES (?, ?, ?, ?)",
                (schema.name, schema.encoding, _text_or_bytes(schema.data), type_hash),
            )
        return known == schema


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


class Shortfall:
    """Names once each thing that the format cannot hold."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._named: set[str] = set()

    def name(self, what: str) -> None:
        """Add a warning, the first time."""
        if what not in self._named:
            self._named.add(what)
            self.warnings.append(f"sqlite3 cannot hold {what}: left out")

    def check_channel(self, channel: Channel) -> None:
        """Name metadata of a channel that has no column."""
        if set(channel.metadata) - {QOS_KEY, HASH_KEY}:
            self.name("channel metadata other than QoS and type hash")

    def check_message(self, message: Message) -> None:
        """Name what of a message has no column."""
        if message.publish_ns != message.log_ns:
            self.name("publish times (they were other than the log times)")
        if message.sequence:
            self.name("sequence numbers")


class WriteErrors:
    """A context that turns sqlite's errors into ours, naming the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeEncodeError):
            msg = (
                f"{self._path}: sqlite3 cannot hold {error.object!a}, which is not UTF-8; MCAP can"
            )
            raise BagError(msg) from error
        if isinstance(error, (sqlite3.Error, OverflowError)):
            is_full = "disk is full" in str(error)
            reason = "the disk is full" if is_full else f"cannot be written: {error}"
            msg = f"{self._path}: {reason}"
            raise BagError(msg) from error
