"""Statements given while a database is copied, and a copy that is told to stop."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bagnoise.bags import file_copy
from bagnoise.bags.file_copy import copy_file
from bagnoise.bags.sqlite_later import LaterDatabase
from bagnoise.errors import BagError

INSERT = "INSERT INTO t VALUES (?)"


def connected() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE t (data BLOB)")
    return connection


def rows(connection: sqlite3.Connection) -> list[bytes]:
    return [row[0] for row in connection.execute("SELECT data FROM t ORDER BY rowid")]


def test_statements_wait_for_the_copy_and_keep_their_order() -> None:
    copied, opened = threading.Event(), threading.Event()

    def connect() -> sqlite3.Connection:
        opened.set()
        return connected()

    with closing(LaterDatabase(lambda _: copied.wait(30), connect)) as later:
        buffer = bytearray(b"first")
        later.execute(INSERT, (memoryview(buffer),))
        buffer[:] = b"later"  # the edit may use its buffer again
        later.execute(INSERT, (b"second",))
        assert not opened.is_set()
        copied.set()
        connection = later.open()
        later.execute(INSERT, (b"third",))
        assert rows(connection) == [b"first", b"second", b"third"]


def test_only_so_much_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bagnoise.bags.sqlite_later._MOST_BYTES", 10)
    copied = threading.Event()
    with closing(LaterDatabase(lambda _: copied.wait(30), connected)) as later:
        later.execute(INSERT, (b"12345",))
        threading.Timer(0.2, copied.set).start()
        later.execute(INSERT, (b"678901",))  # waits for the copy
        assert copied.is_set()
        assert rows(later.open()) == [b"12345", b"678901"]


def test_a_copy_that_fails_is_told_when_it_is_needed() -> None:
    def full(_: threading.Event) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with closing(LaterDatabase(full, connected)) as later, pytest.raises(OSError, match="No space"):
        later.open()


def test_closing_ends_the_copy() -> None:
    ended = threading.Event()

    def endless(stop: threading.Event) -> None:
        assert stop.wait(30)
        ended.set()

    LaterDatabase(endless, connected).close()
    assert ended.is_set()


@pytest.mark.parametrize("in_kernel", [True, False])
def test_a_file_is_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_kernel: bool
) -> None:
    if not in_kernel:

        def cannot(*_: object) -> int:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

        monkeypatch.setattr(os, "copy_file_range", cannot)
    monkeypatch.setattr(file_copy, "_STEP_BYTES", 1000)
    data = os.urandom(4321)
    (tmp_path / "in").write_bytes(data)
    copy_file(tmp_path / "in", tmp_path / "out", threading.Event())
    assert (tmp_path / "out").read_bytes() == data


def test_a_copy_stops_when_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"data")
    stop = threading.Event()
    stop.set()
    with pytest.raises(BagError, match="interrupted"):
        copy_file(tmp_path / "in", tmp_path / "out", stop)
