from __future__ import annotations

import random
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from sqlite_samples import T0, Row, Topic, found_rows, listing, payload, rows_of, write_db3

from bagnoise.bags import open_bag
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from pathlib import Path

TOPICS = [Topic("/a"), Topic("/b")]
ROWS = sorted(
    rows_of("/a", range(T0, T0 + 40), 400) + rows_of("/b", range(T0, T0 + 40, 2), 9000),
    key=lambda row: row.log_ns,
)


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    return write_db3(tmp_path / "good.db3", TOPICS, ROWS).read_bytes()


def read(path: Path, *, recover: bool) -> list[Row] | None:
    """Return what is read, None after one of our errors."""
    try:
        with open_bag(path, recover=recover) as bag:
            rows = found_rows(bag)
            assert len(rows) == sum(bag.counts.values())
            assert len(rows) == len(ROWS) or not recover or bag.warnings
            return rows
    except BagError:
        return None


def test_cut_file_is_an_error_and_recover_reads_what_is_intact(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.db3"
    recovered = []
    for cut in range(4096, len(good), 4096 * 3 + 1):
        path.write_bytes(good[:cut])
        assert read(path, recover=False) is None
        rows = read(path, recover=True)
        recovered.append(-1 if rows is None else len(rows))
        assert set(rows or ()) <= set(ROWS)
    assert max(recovered) > len(ROWS) // 2
    assert sorted(recovered) == recovered


def test_the_error_names_the_file(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.db3"
    path.write_bytes(good[:50_000])
    with pytest.raises(DamagedBagError, match=r"cut\.db3: the sqlite3 database is damaged"):
        open_bag(path)
    with open_bag(path, recover=True) as bag:
        assert f"cut at byte 50000 of {len(good)}" in " ".join(bag.warnings)


def test_flipped_bits_never_give_a_foreign_error(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "flip.db3"
    generator = random.Random(5)
    for number in range(150):
        limit = len(good) if number % 2 else 6 * 4096
        altered = bytearray(good)
        altered[generator.randrange(limit)] ^= 1 << generator.randrange(8)
        path.write_bytes(altered)
        read(path, recover=False)
        read(path, recover=True)


def test_a_lost_page_costs_only_its_messages(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hole.db3"
    lost = []
    for page in range(8, len(good) // 4096, 9):
        altered = bytearray(good)
        altered[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
        path.write_bytes(altered)
        rows = read(path, recover=True)
        if rows is not None:
            assert {row._replace(data=b"") for row in rows} <= {
                row._replace(data=b"") for row in ROWS
            }
            lost.append(len(ROWS) - len(rows))
    assert lost
    assert 0 < max(lost) < len(ROWS) // 2


def test_recover_of_a_healthy_file_reads_all_without_warning(good: bytes, tmp_path: Path) -> None:
    with open_bag(tmp_path / "good.db3", recover=True) as bag:
        assert found_rows(bag) == sorted(ROWS, key=lambda row: row.log_ns)
        assert bag.warnings == []
        assert len(good) > 0


def test_verify_finds_an_index_that_lies(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, ROWS)
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA writable_schema=ON")
    con.execute("CREATE INDEX other ON messages (topic_id)")
    con.execute(
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE"
        " name = 'other') WHERE name = 'timestamp_idx'"
    )
    con.close()
    with pytest.raises(DamagedBagError):
        open_bag(path, verify=True)


def test_an_index_that_misses_messages(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, ROWS)
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA writable_schema=ON")
    con.execute("UPDATE sqlite_master SET sql = sql || ' WHERE topic_id > 1' WHERE type = 'index'")
    con.close()
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("REINDEX")
    con.execute("PRAGMA writable_schema=ON")
    con.execute("UPDATE sqlite_master SET sql = replace(sql, ' WHERE topic_id > 1', '')")
    con.close()
    with pytest.raises(DamagedBagError, match="60 messages, but 20 entries"):
        open_bag(path)
    with open_bag(path, recover=True) as bag:
        assert len(found_rows(bag)) == len(ROWS)


@pytest.mark.parametrize("value", [None, "text", 1.5])
def test_rows_of_a_wrong_kind(tmp_path: Path, value: object) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, [Row("/a", T0, payload(0))])
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(
        "ALTER TABLE messages RENAME TO old;"
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data);"
        "INSERT INTO messages SELECT * FROM old; DROP TABLE old;"
    )
    con.execute("INSERT INTO messages VALUES (2, 1, ?, x'00')", (value,))
    con.execute("INSERT INTO messages VALUES (3, 1, 5, ?)", (value,))
    con.close()
    with pytest.raises(DamagedBagError), open_bag(path) as bag:
        found_rows(bag)
    with open_bag(path, recover=True) as bag:
        assert found_rows(bag) == [Row("/a", T0, payload(0))]
        assert "2 messages" in bag.warnings[0]


def test_messages_of_no_topic_are_reported(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, [Row("/a", T0, payload(0))])
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("INSERT INTO messages VALUES (9, 77, 5, x'00')")
    con.close()
    with open_bag(path) as bag:
        assert found_rows(bag) == [Row("/a", T0, payload(0))]
        assert "1 messages belong to no topic" in bag.warnings[0]


def test_a_view_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, [])
    con = sqlite3.connect(path, isolation_level=None)
    con.executescript(
        "DROP TABLE messages; CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL"
        " SELECT x + 1 FROM n) SELECT x AS topic_id, x AS timestamp, x AS data FROM n;"
    )
    con.close()
    with pytest.raises(BagError, match="table 'messages' is no table"):
        open_bag(path)


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A recording as a crash leaves it: one message in the database, fifty in its log."""
    folder = tmp_path / "crashed"
    folder.mkdir()
    live = write_db3(
        tmp_path / "x.db3", [Topic("/a")], rows_of("/a", [T0]), pragmas=["journal_mode=WAL"]
    )
    con = sqlite3.connect(live, isolation_level=None)
    con.execute("PRAGMA wal_autocheckpoint=0")
    for number in range(1, 51):
        con.execute(
            "INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)",
            (T0 + number, payload(number)),
        )
    for suffix in ("", "-wal"):
        shutil.copy(f"{live}{suffix}", folder / f"x.db3{suffix}")
    con.close()
    return folder


def test_uncheckpointed_log_is_read_and_nothing_is_touched(crashed: Path) -> None:
    before = listing(crashed)
    stamps = [path.stat().st_mtime_ns for path in sorted(crashed.iterdir())]
    for path in (crashed, crashed / "x.db3"):
        with open_bag(path) as bag:
            assert found_rows(bag) == rows_of("/a", range(T0, T0 + 51))
    assert listing(crashed) == before
    assert [path.stat().st_mtime_ns for path in sorted(crashed.iterdir())] == stamps


def test_log_beside_the_file_that_a_link_leads_to(crashed: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db3").symlink_to(crashed / "x.db3")
    with open_bag(tmp_path / "link.db3") as bag:
        assert len(found_rows(bag)) == 51


def test_log_in_a_read_only_folder(crashed: Path) -> None:
    crashed.chmod(0o555)
    try:
        with open_bag(crashed) as bag:
            assert len(found_rows(bag)) == 51
    finally:
        crashed.chmod(0o755)


def test_private_copies_vanish(
    crashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    with open_bag(crashed):
        assert len(list(place.iterdir())) == 1
    assert list(place.iterdir()) == []


def test_hot_journal_is_rolled_back_in_private(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", [Topic("/a")], rows_of("/a", range(T0, T0 + 30), 4000))
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA cache_size=1")
    con.execute("BEGIN")
    con.execute("UPDATE messages SET data = zeroblob(4000)")  # spills into the file
    folder = tmp_path / "crashed"
    folder.mkdir()
    for suffix in ("", "-journal"):
        shutil.copy(f"{path}{suffix}", folder / f"x.db3{suffix}")
    con.execute("ROLLBACK")
    con.close()
    before = listing(folder)
    with open_bag(folder) as bag:
        assert found_rows(bag) == rows_of("/a", range(T0, T0 + 30), 4000)
    assert listing(folder) == before
