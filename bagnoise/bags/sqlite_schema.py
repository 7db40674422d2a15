"""What the tables of a sqlite3 storage file say, in any rosbag2 version."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bagnoise.errors import BagError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path


class TopicRow(NamedTuple):
    """A row of the table ``topics``, with its definition where the file has one."""

    id: int
    name: str
    type_name: str
    serialization: str
    qos: str
    type_hash: str
    definition_encoding: str
    definition: bytes


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in found]


def message_columns(connection: sqlite3.Connection, path: Path) -> list[str]:
    """Check that the two tables every rosbag2 recording has are there, as ordinary tables."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    tables = {name for (name,) in connection.execute(query)}
    needed = {"messages": {"topic_id", "timestamp", "data"}, "topics": {"id", "name", "type"}}
    for table, columns in needed.items():
        missing = columns - set(_columns(connection, table))
        if table not in tables or missing:
            msg = f"{path}: a sqlite3 database, but no rosbag2 recording: table {table!r} "
            raise BagError(
                msg + (f"lacks {', '.join(sorted(missing))}" if missing else "is no table")
            )
    return _columns(connection, "messages")


def time_index(connection: sqlite3.Connection) -> str | None:
    """Return the quoted name of an index that gives rows by (timestamp, rowid)."""
    query = "SELECT name FROM pragma_index_list('messages') WHERE partial = 0"
    for (name,) in connection.execute(query).fetchall():
        columns = connection.execute("SELECT name, desc FROM pragma_index_xinfo(?)", (name,))
        if [*columns] == [("timestamp", 0), (None, 0)]:
            return '"' + str(name).replace('"', '""') + '"'
    return None


def read_topics(connection: sqlite3.Connection) -> list[TopicRow]:
    """Return the topics in the order of their ids."""
    have = _columns(connection, "topics")
    wanted = ("serialization_format", "offered_qos_profiles", "type_description_hash")
    parts = ", ".join(name if name in have else "''" for name in wanted)
    rows = connection.execute(f"SELECT id, name, type, {parts} FROM topics ORDER BY id").fetchall()  # noqa: S608 - fixed names
    definitions = _read_definitions(connection)
    topics = []
    for id_, *texts in rows:
        name, type_name, serialization, qos, type_hash = (
            "" if x is None else str(x) for x in texts
        )
        encoding, definition = definitions.get(
            (type_name, type_hash), definitions.get((type_name, None), ("", b""))
        )
        topics.append(
            TopicRow(
                id_, name, type_name, serialization or "cdr", qos, type_hash, encoding, definition
            )
        )
    return topics


def _read_definitions(
    connection: sqlite3.Connection,
) -> dict[tuple[str, str | None], tuple[str, bytes]]:
    """Map (type, hash), and (type, None) for the first one, to (encoding, definition)."""
    have = set(_columns(connection, "message_definitions"))
    if not {"topic_type", "encoding", "encoded_message_definition"} <= have:
        return {}
    hash_column = "type_description_hash" if "type_description_hash" in have else "''"
    query = (
        "SELECT topic_type, encoding, CAST(encoded_message_definition AS BLOB),"  # noqa: S608 - fixed names
        f" {hash_column} FROM message_definitions ORDER BY id"
    )
    found: dict[tuple[str, str | None], tuple[str, bytes]] = {}
    for type_name, encoding, definition, type_hash in connection.execute(query):
        value = (str(encoding), bytes(definition or b""))
        found.setdefault((type_name, type_hash), value)
        found.setdefault((type_name, None), value)
    return found


def read_own_metadata(connection: sqlite3.Connection) -> str:
    """Return the newest copy of metadata.yaml that the file carries, if any."""
    if "metadata" not in _columns(connection, "metadata"):
        return ""
    row = connection.execute("SELECT metadata FROM metadata ORDER BY id DESC LIMIT 1").fetchone()
    return str(row[0]) if row and row[0] is not None else ""
