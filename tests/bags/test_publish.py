from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlite_samples import T0, Topic, listing, read_rows, rows_of, write_db3

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags import publish as publishing
from bagnoise.bags.model import Message, PassThrough, WriteOptions
from bagnoise.bags.publish import PARTIAL_PREFIX, publish
from bagnoise.bags.sqlite_writer import SqliteWriter
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = rows_of("/a", range(T0, T0 + 300), 1000)
TARGETS = ["out", "out.mcap"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return write_db3(folder / "in.db3", [Topic("/a")], ROWS).parent


def copy(source: Path, target: Path, edit: PassThrough | None = None, **options: object) -> None:
    with open_bag(source) as bag:
        rewrite(bag, target, edit or PassThrough(), options=WriteOptions(**options))  # type: ignore[arg-type]


class Failing(PassThrough):
    """Raises when the source has come to its 200th message."""

    reads = frozenset({1})

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._seen = 0

    def process(self, message: Message) -> tuple[()]:
        assert message.log_ns >= T0
        self._seen += 1
        if self._seen == 200:
            raise self._error
        return ()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError()])
def test_an_interrupted_run_leaves_nothing(
    source: Path, tmp_path: Path, target: str, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        copy(source, tmp_path / target, Failing(error))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize("target", TARGETS)
def test_an_interrupted_run_leaves_the_old_output(
    source: Path, tmp_path: Path, target: str
) -> None:
    copy(source, tmp_path / target)
    before = listing(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        copy(source, tmp_path / target, Failing(KeyboardInterrupt()), overwrite=True)
    assert listing(tmp_path) == before


class Reading(PassThrough):
    """Looks at everything."""

    reads = frozenset({1})


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


POINTS = [
    "bagnoise.bags.sqlite_writer.SqliteWriter.write",
    "bagnoise.bags.sqlite_writer.SqliteWriter.close",
    "bagnoise.bags.directory_writer.write_metadata",
    "bagnoise.bags.publish._fsync",
    "bagnoise.bags.publish.move_into_place",
    "pathlib.Path.mkdir",
]


def full_database(*_: object, **__: object) -> None:
    msg = "database or disk is full"
    raise sqlite3.OperationalError(msg)


@pytest.mark.parametrize(
    ("point", "failure"),
    [
        ("bagnoise.bags.sqlite_file.SqliteFile.copy_to", full_disk),
        ("bagnoise.bags.sqlite_rewrite.SqliteCopy._apply", full_database),
        ("bagnoise.bags.sqlite_rewrite.SqliteCopy._pack", full_disk),
    ],
)
def test_full_disk_while_copying(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
    failure: Callable[..., None],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(point, failure)
        with pytest.raises(BagError, match="disk is full"):
            copy(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize("point", POINTS)
def test_full_disk(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(point, full_disk)
        with pytest.raises(BagError, match="disk is full"):
            copy(source, tmp_path / "out", Reading(), fsync=True, split_ns=10**9)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


KILLED = """
import sys, time
from pathlib import Path
from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import PassThrough
class Slow(PassThrough):
    reads = frozenset({1})
    def process(self, message):
        time.sleep(0.05)
        return ()
with open_bag(Path(sys.argv[1])) as bag:
    rewrite(bag, Path(sys.argv[2]), Slow())
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_killed_process_leaves_only_a_marked_partial(
    source: Path, tmp_path: Path, target: str
) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, str(source), str(tmp_path / target)]
    process = subprocess.Popen(command, cwd=root)
    try:
        for _ in range(600):
            if any(path.name.startswith(PARTIAL_PREFIX) for path in tmp_path.iterdir()):
                break
            time.sleep(0.05)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 2
    assert left[0].startswith(PARTIAL_PREFIX)
    copy(source, tmp_path / target)
    assert read_rows(tmp_path / target) == ROWS


def test_output_that_is_the_input(source: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    link, hard = tmp_path / "link", tmp_path / "hard.mcap"
    link.symlink_to(source)
    hard.hardlink_to(source / "in.db3")
    for given, target in [
        (source, source),
        (source, link),
        (source, tmp_path / "x" / ".." / "source"),
        (source, source / "inside"),
        (source, hard),
        (source / "in.db3", hard),
        (source / "in.db3", source),
        (source, tmp_path),
        (link, source),
    ]:
        with pytest.raises(UsageError):
            copy(given, target, overwrite=True)
    link.unlink()
    hard.unlink()
    assert listing(tmp_path) == before


def test_output_folder_that_holds_a_link_to_the_input(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other.db3").hardlink_to(source / "in.db3")
    with pytest.raises(UsageError, match="holds a file of the input"):
        copy(source, tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("name", ["notes.txt", "sub/x.db3", ".hidden"])
def test_overwrite_never_removes_what_is_no_bag(source: Path, tmp_path: Path, name: str) -> None:
    copy(source, tmp_path / "out")
    foreign = tmp_path / "out" / name
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_bytes(b"precious")
    before = listing(tmp_path)
    with pytest.raises(UsageError, match="not part of a bag"):
        copy(source, tmp_path / "out", overwrite=True)
    assert listing(tmp_path) == before


def test_overwrite_never_removes_a_file_that_is_no_bag(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.mcap").write_bytes(b"my thesis")
    with pytest.raises(UsageError, match="not part of a bag"):
        copy(source, tmp_path / "out.mcap", overwrite=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="not part of a bag"):
        copy(source, tmp_path / "empty", overwrite=True)


def test_folder_of_the_output_must_exist(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        copy(source, tmp_path / "no" / "out")


@pytest.mark.parametrize("has_renameat2", [True, False])
@pytest.mark.parametrize("target", TARGETS)
def test_moves_into_place_with_and_without_renameat2(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    has_renameat2: bool,
) -> None:
    if not has_renameat2:
        monkeypatch.setattr(publishing, "_renameat2", lambda *_: False)
    copy(source, tmp_path / target, fsync=True)
    copy(source, tmp_path / target, overwrite=True, compression="none")
    assert read_rows(tmp_path / target) == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([target, "source"])


def publish_late(target: Path, *, is_folder: bool) -> None:
    """Publish while somebody else makes something under the final name."""
    with publish(target, check=lambda _: None) as partial:
        for path in (partial, target):
            if is_folder:
                path.mkdir()
                (path / "file").write_text(path.name)
            else:
                path.write_text(path.name)


@pytest.mark.parametrize("has_renameat2", [True, False])
@pytest.mark.parametrize("is_folder", [True, False])
def test_what_appears_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_renameat2: bool, is_folder: bool
) -> None:
    if not has_renameat2:
        monkeypatch.setattr(publishing, "_renameat2", lambda *_: False)
    target = tmp_path / "out"
    with pytest.raises(BagError, match="has appeared"):
        publish_late(target, is_folder=is_folder)
    found = target / "file" if is_folder else target
    assert found.read_text() == "out"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_check_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = SqliteWriter.write

    def lose_one(self: SqliteWriter, message: Message) -> None:
        if message.log_ns != T0 + 5:
            write(self, message)

    monkeypatch.setattr(SqliteWriter, "write", lose_one)
    with pytest.raises(BagError, match=r"is wrong: it says 300 messages, there are 299"):
        copy(source, tmp_path / "out", Reading(), split_ns=10**9)
    assert not (tmp_path / "out").exists()
