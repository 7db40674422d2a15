"""The order in which an MCAP output writes, and what it does meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from mcap.reader import NonSeekingReader
from mcap_by_hand import T0, Sample, chunked

from bagnoise.bags import mcap_output
from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_bag import McapBag
from bagnoise.bags.mcap_compression import ZSTD, Compression, compress
from bagnoise.bags.mcap_output import ChunkBuilder, McapOutput, message_parts


def one(data: bytes) -> ChunkBuilder:
    """Make a chunk of one message."""
    builder = ChunkBuilder()
    builder.add(1, T0, *message_parts(1, 0, T0, T0, data))
    return builder


def begin(path: Path, workers: int) -> McapOutput:
    output = McapOutput(path, profile="ros2", library="test", workers=workers)
    output.add_schema(r.SchemaRecord(1, "std_msgs/msg/String", "ros2msg", b"string data\n"))
    for id_, topic in ((1, "/a"), (2, "/b")):
        output.add_channel(r.ChannelRecord(id_, 1, topic, "cdr", {}))
    return output


def file_order(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        reader = NonSeekingReader(stream, validate_crcs=True)
        return [m.data for *_, m in reader.iter_messages(log_time_order=False)]


def test_a_copy_keeps_its_place_and_lets_the_chunks_around_it_be_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=20)  # broken if the second never comes

    def meet(data: bytes, how: Compression) -> bytes | memoryview:
        both.wait()
        return compress(data, how)

    monkeypatch.setattr(mcap_output, "compress", meet)
    source = Sample(chunked(4, 4)).write(tmp_path / "in.mcap")
    out = tmp_path / "out.mcap"
    with McapBag([source]) as bag:
        output = begin(out, workers=2)
        output.add_chunk(one(b"before"), ZSTD)
        output.copy_chunk(bag.files[0].source, bag.files[0].layout.chunks[0])
        output.add_chunk(one(b"after"), ZSTD)
        output.finish()
    assert file_order(out) == [b"before", *file_order(source), b"after"]


def test_few_chunks_wait_however_many_are_given(tmp_path: Path) -> None:
    written = 0

    def count() -> None:
        nonlocal written
        written += 1

    output = begin(tmp_path / "out.mcap", workers=2)
    for given in range(1, 50):
        output.add_chunk(one(bytes(100)), ZSTD, count)
        assert given - written <= 3
    output.finish()
    assert written == 49
