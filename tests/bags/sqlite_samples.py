"""sqlite3 bags as the versions of rosbag2 wrote them, made without the code under test."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.bags import open_bag

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bagnoise.bags.model import Bag

T0 = 1_700_000_000_123_456_789
STRING = "std_msgs/msg/String"
QOS_INTS = """- history: 1
  depth: 1
  reliability: 1
  durability: 1
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false"""


class Topic(NamedTuple):
    name: str
    type: str = STRING
    qos: str = ""
    definition: str = "string data\n"
    type_hash: str = ""


class Row(NamedTuple):
    topic: str
    log_ns: int
    data: bytes


def payload(number: int, size: int = 8) -> bytes:
    return b"\x00\x01\x00\x00" + number.to_bytes(4, "little") * (size // 4)


def rows_of(topic: str, times: Sequence[int], size: int = 8) -> list[Row]:
    return [Row(topic, t, payload(number, size)) for number, t in enumerate(times)]


def write_db3(
    path: Path,
    topics: Sequence[Topic],
    rows: Sequence[Row],
    *,
    version: int = 4,
    index: bool = True,
    pragmas: Sequence[str] = (),
    send_times: dict[int, int] | None = None,
) -> Path:
    """Version 1: crystal; 2: QoS; 3: tables schema and metadata; 4: definitions and hashes."""
    con = sqlite3.connect(path, isolation_level=None)
    for pragma in pragmas:
        con.execute(f"PRAGMA {pragma}").fetchall()
    columns = ["id INTEGER PRIMARY KEY", "name TEXT NOT NULL", "type TEXT NOT NULL"]
    columns += ["serialization_format TEXT NOT NULL"]
    columns += ["offered_qos_profiles TEXT NOT NULL"] if version >= 2 else []
    columns += ["type_description_hash TEXT NOT NULL"] if version >= 4 else []
    con.execute(f"CREATE TABLE topics({', '.join(columns)})")
    extra = ", send_timestamp INTEGER" if send_times is not None else ""
    con.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,"
        f" timestamp INTEGER NOT NULL{extra}, data BLOB NOT NULL)"
    )
    if index:
        con.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
    if version >= 3:
        con.execute(
            "CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)"
        )
        con.execute(
            "CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL,"
            " metadata TEXT NOT NULL)"
        )
        con.execute("INSERT INTO schema VALUES (?, 'test')", (version,))
    if version >= 4:
        con.execute(
            "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,"
            " encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,"
            " type_description_hash TEXT NOT NULL)"
        )
    _fill(con, topics, rows, version, send_times)
    con.close()
    return path


def _fill(
    con: sqlite3.Connection,
    topics: Sequence[Topic],
    rows: Sequence[Row],
    version: int,
    send_times: dict[int, int] | None,
) -> None:
    con.execute("BEGIN")
    ids = {}
    for number, topic in enumerate(topics, 1):
        values: list[Any] = [number, topic.name, topic.type, "cdr"]
        values += [topic.qos] if version >= 2 else []
        values += [topic.type_hash] if version >= 4 else []
        con.execute(f"INSERT INTO topics VALUES ({','.join('?' * len(values))})", values)
        ids[topic.name] = number
        if version >= 4 and topic.definition:
            con.execute(
                "INSERT INTO message_definitions (topic_type, encoding,"
                " encoded_message_definition, type_description_hash) VALUES (?, ?, ?, ?)",
                (topic.type, "ros2msg", topic.definition, topic.type_hash),
            )
    for row in rows:
        con.execute(
            "INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)",
            (ids[row.topic], row.log_ns, row.data),
        )
    for rowid, send_ns in (send_times or {}).items():
        con.execute("UPDATE messages SET send_timestamp = ? WHERE id = ?", (send_ns, rowid))
    con.execute("COMMIT")


def found_rows(bag: Bag) -> list[Row]:
    return [Row(m.channel.topic, m.log_ns, bytes(m.data)) for m in bag.messages()]


def read_rows(path: Path) -> list[Row]:
    with open_bag(path) as bag:
        return found_rows(bag)


def listing(folder: Path) -> dict[str, bytes]:
    """Everything below a folder, to see that nothing has changed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
