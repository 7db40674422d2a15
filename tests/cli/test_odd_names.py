"""Topics whose names are no text: shown, copied, and refused where a format cannot hold them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcap.writer import Writer

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import PassThrough, WriteOptions
from bagnoise.errors import BagError

ROOT = Path(__file__).parents[2]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
ODD = "/\udcff\udcfe"


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    path = tmp_path / "in.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream, use_chunking=False, enable_crcs=False)
        writer.start("ros2")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data\n")
        channel = writer.register_channel("/xx", "cdr", schema)
        writer.add_message(channel, 1, b"\0\1\0\0", 1)
        writer.finish()  # type: ignore[no-untyped-call]
    path.write_bytes(path.read_bytes().replace(b"/xx", b"/\xff\xfe"))
    return path


def test_info_shows_it_escaped(bag: Path) -> None:
    for flags in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "bagnoise", "info", str(bag), *flags],
            env=ENV,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "\\udcff\\udcfe" in done.stdout


@pytest.mark.parametrize("target", ["out.mcap", "out"])
def test_a_copy_keeps_it(bag: Path, tmp_path: Path, target: str) -> None:
    with open_bag(bag) as source:
        rewrite(source, tmp_path / target, PassThrough())
    with open_bag(tmp_path / target) as copy:
        assert [channel.topic for channel in copy.channels] == [ODD]


def test_sqlite3_cannot_hold_it(bag: Path, tmp_path: Path) -> None:
    options = WriteOptions(format="sqlite3")
    with open_bag(bag) as source, pytest.raises(BagError, match=r"udcff.* is not UTF-8"):
        rewrite(source, tmp_path / "out", PassThrough(), options=options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mcap"]
