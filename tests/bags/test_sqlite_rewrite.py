"""Copying the file must give what writing row by row gives."""

from __future__ import annotations

import random
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from sqlite_samples import (
    QOS_INTS,
    T0,
    Row,
    Topic,
    found_rows,
    listing,
    payload,
    rows_of,
    write_db3,
)

from bagnoise.bags import open_bag, rewrite, rewriting, sqlite_rewrite
from bagnoise.bags.model import (
    Bag,
    Channel,
    Message,
    MetadataRecord,
    Output,
    PassThrough,
    Schema,
    Selection,
    WriteOptions,
)
from bagnoise.bags.sqlite_bag import SqliteBag
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

TOPICS = [Topic("/a", qos=QOS_INTS, type_hash="RIHS01_1"), Topic("/b"), Topic("/c")]
NEW = Channel(20, "/new", Schema("x/msg/T", "ros2msg", b"int8 a\n"))
OTHER_TYPE = Channel(21, "/b", Schema("x/msg/T", "ros2msg", b"int8 a\n"))


class Scripted(PassThrough):
    """Random, but equal for an equal seed."""

    def __init__(self, seed: int, *, takes_over: bool, bag: Bag) -> None:
        self._random = random.Random(seed)
        self._next_ns = T0 + 2
        self._b = next(channel for channel in bag.channels if channel.topic == "/b")
        self.reads = frozenset({channel.id for channel in bag.channels if channel.topic != "/c"})
        self.replaces = frozenset({self._b.id})
        self.adds = (NEW, OTHER_TYPE if takes_over else self._b)
        self._target = OTHER_TYPE if takes_over else self._b

    def process(self, message: Message) -> Iterable[Output]:
        kind = self._random.randrange(6)
        data = bytes(message.data) + bytes(self._random.randrange(30))
        if message.channel.id == self._b.id:
            changed = message._replace(channel=self._target, data=data)
            if kind in (0, 1):
                yield Output(changed, in_place=True)
            if kind in (1, 2):
                log_ns = message.log_ns + self._random.randrange(-3, 4)
                yield Output(changed._replace(log_ns=log_ns, publish_ns=log_ns))
        elif kind > 3:
            yield Output(Message(NEW, message.log_ns, message.log_ns, 0, data))

    def advance(self, log_ns: int) -> Iterable[Output]:
        while self._next_ns < log_ns:
            yield Output(Message(NEW, self._next_ns, self._next_ns, 0, b"tick"))
            self._next_ns += 5

    def finish(self) -> Iterable[Output]:
        yield from self.advance(T0 + 60)
        yield Output(Message(NEW, T0 + 500, T0 + 500, 0, b"end"))


def sample_rows(seed: int) -> list[Row]:
    generator = random.Random(seed)
    return [
        Row(
            generator.choice(["/a", "/b", "/c"]),
            T0 + generator.randrange(40),
            payload(number, 4 * generator.choice([1, 50, 2000])),
        )
        for number in range(120)
    ]


def both_ways(
    source: Path, tmp_path: Path, make: Callable[[Bag], PassThrough]
) -> tuple[Path, Path]:
    """Rewrite by copying and row by row; return both directories."""
    results = []
    for name in ("copied", "rows"):
        target = tmp_path / name / "out"
        target.parent.mkdir()
        with open_bag(source) as bag, pytest.MonkeyPatch.context() as patch:
            if name == "rows":
                patch.setattr(sqlite_rewrite, "can_copy", lambda *_: False)
            else:
                assert sqlite_rewrite.can_copy(bag, Selection(), WriteOptions())
            rewrite(bag, target, make(bag), records=[MetadataRecord("bagnoise", {"a": "b"})])
        results.append(target)
    return results[0], results[1]


def contents(path: Path) -> tuple[object, ...]:
    with open_bag(path) as bag:
        assert bag.warnings == []
        channels = sorted(
            (c.topic, c.schema, c.message_encoding, tuple(c.metadata.items()), bag.counts[c.id])
            for c in bag.channels
        )
        return found_rows(bag), channels, bag.span(), list(bag.metadata_records())


@pytest.mark.parametrize("takes_over", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_copying_gives_what_rows_give(tmp_path: Path, seed: int, takes_over: bool) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, sample_rows(seed))
    before = source.read_bytes()
    copied, rows = both_ways(
        source, tmp_path, lambda bag: Scripted(seed, takes_over=takes_over, bag=bag)
    )
    assert contents(copied) == contents(rows)
    assert source.read_bytes() == before
    topics = [channel[0] for channel in contents(copied)[1]]  # type: ignore[attr-defined]
    assert topics == ["/a", "/b", "/c", "/new"]
    assert sorted(p.name for p in copied.iterdir()) == ["metadata.yaml", "out_0.db3"]


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_earlier_schemas_are_brought_up_to_date(tmp_path: Path, version: int) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, sample_rows(1), version=version)
    copied, rows = both_ways(source, tmp_path, lambda bag: Scripted(3, takes_over=False, bag=bag))
    assert contents(copied) == contents(rows)
    assert (copied / "metadata.yaml").read_text() == (rows / "metadata.yaml").read_text()
    con = sqlite3.connect(copied / "out_0.db3")
    found = con.execute("SELECT topic_type FROM message_definitions WHERE topic_type = 'x/msg/T'")
    assert len(found.fetchall()) == 1
    assert con.execute("SELECT schema_version FROM schema").fetchall() == [(4,)]
    con.close()


def test_a_log_beside_the_input_is_taken_in(tmp_path: Path) -> None:
    live = write_db3(
        tmp_path / "live.db3", TOPICS, rows_of("/a", [T0]), pragmas=["journal_mode=WAL"]
    )
    con = sqlite3.connect(live, isolation_level=None)
    con.execute("PRAGMA wal_autocheckpoint=0")
    for number in range(1, 9):
        con.execute(
            "INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)",
            (T0 + number, payload(number)),
        )
    source = tmp_path / "source"
    source.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{live}{suffix}", source / f"in.db3{suffix}")
    con.close()
    before = listing(source)
    copied, rows = both_ways(source, tmp_path, lambda _: PassThrough())
    assert contents(copied) == contents(rows)
    assert contents(copied)[0] == rows_of("/a", range(T0, T0 + 9))
    assert listing(source) == before
    assert sorted(p.name for p in copied.iterdir()) == ["metadata.yaml", "out_0.db3"]
    assert (copied / "out_0.db3").read_bytes()[18:20] == b"\x01\x01"  # no log needed to read it


def test_a_replaced_channel_that_stays_keeps_its_place(tmp_path: Path) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, sample_rows(4))
    for path in both_ways(source, tmp_path, lambda bag: Scripted(4, takes_over=False, bag=bag)):
        with open_bag(path) as bag:
            assert [channel.topic for channel in bag.channels] == ["/a", "/b", "/c", "/new"]


class DropB(PassThrough):
    reads = frozenset({2})
    replaces = frozenset({2})


@pytest.mark.parametrize(("kept", "packed"), [(2, True), (200, False)])
def test_packed_only_when_much_is_free(tmp_path: Path, kept: int, packed: bool) -> None:
    rows = rows_of("/a", range(T0, T0 + kept), 4000) + rows_of("/b", range(T0, T0 + 10), 4000)
    source = write_db3(tmp_path / "in.db3", TOPICS, rows)
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", DropB())
    assert ((tmp_path / "out" / "out_0.db3").stat().st_size < source.stat().st_size) == packed
    assert contents(tmp_path / "out")[0] == rows[:kept]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
        "CREATE TABLE notes(text)",
        "CREATE VIEW v AS SELECT 1",
        "DROP INDEX timestamp_idx",
        "ALTER TABLE messages ADD COLUMN send_timestamp INTEGER",
        "UPDATE messages SET data = x'28b52ffd2000010000' WHERE id = 1",
    ],
)
def test_unknown_schemas_go_row_by_row(tmp_path: Path, statement: str) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, rows_of("/a", range(T0, T0 + 5)))
    con = sqlite3.connect(source, isolation_level=None)
    con.execute(statement)
    con.close()
    with open_bag(source) as bag:
        assert not sqlite_rewrite.can_copy(bag, Selection(), WriteOptions())
        rewrite(bag, tmp_path / "out", PassThrough())
        assert contents(tmp_path / "out")[0] == found_rows(bag)


def test_what_must_go_row_by_row(tmp_path: Path) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, rows_of("/a", range(T0, T0 + 5)))
    with open_bag(source) as bag:
        assert isinstance(bag, SqliteBag)
        assert sqlite_rewrite.can_copy(bag, Selection(), WriteOptions())
        for selection, options in [
            (Selection(start_ns=3), WriteOptions()),
            (Selection(channels=frozenset({1})), WriteOptions()),
            (Selection(), WriteOptions(split_bytes=5)),
            (Selection(), WriteOptions(split_ns=5)),
            (Selection(), WriteOptions(sort_file=True)),
        ]:
            assert not sqlite_rewrite.can_copy(bag, selection, options)
    with open_bag(source, recover=True) as bag:
        assert not sqlite_rewrite.can_copy(bag, Selection(), WriteOptions())


def test_negative_time_of_an_untouched_message(tmp_path: Path) -> None:
    source = write_db3(tmp_path / "in.db3", TOPICS, rows_of("/a", [-5, T0]))
    with open_bag(source) as bag, pytest.raises(BagError, match="-5 ns"):
        rewrite(bag, tmp_path / "out", PassThrough())
    assert not (tmp_path / "out").exists()
    assert rewriting.target_format(bag, tmp_path / "out", WriteOptions()) == "sqlite3"


@pytest.mark.parametrize("kept", [2, 200])
@pytest.mark.parametrize("by_rows", [True, False])
def test_equal_input_and_edit_give_equal_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int, by_rows: bool
) -> None:
    rows = rows_of("/a", range(T0, T0 + kept), 4000) + rows_of("/b", range(T0, T0 + 10), 4000)
    source = write_db3(tmp_path / "in.db3", TOPICS, rows)
    if by_rows:
        monkeypatch.setattr(sqlite_rewrite, "can_copy", lambda *_: False)
    found = []
    for run in ("one", "two"):
        (tmp_path / run).mkdir()
        with open_bag(source) as bag:
            rewrite(bag, tmp_path / run / "out", DropB())
        found.append(listing(tmp_path / run / "out"))
    assert found[0] == found[1]
