"""Damaged MCAP files: cut at every byte, holes, bombs, numbers that lie.

Never anything but a BagnoiseError or a right result. Where a checksum covers what is wrong and it
is looked at, a wrong value never comes out; with ``recover`` exactly what is intact does.
"""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from mcap.writer import CompressionType, IndexType
from mcap_samples import QOS, Channel, Sent, Shape, plain_messages, write_mcap

from bagnoise.bags import mcap_records as r
from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.mcap_bag import McapBag
from bagnoise.bags.mcap_compression import CorruptChunkError, decompress
from bagnoise.bags.mcap_open import read_layout
from bagnoise.bags.mcap_source import Source
from bagnoise.bags.model import PassThrough
from bagnoise.errors import BagnoiseError, DamagedBagError

ONE = (Channel("/a", qos=QOS),)
Message = tuple[str, int, int, int, bytes]


def sample(path: Path, compression: CompressionType) -> Path:
    """Write three small chunks of one channel."""
    sent = [m._replace(channel=0) for m in plain_messages(9)]
    return write_mcap(path, sent, Shape(compression=compression, chunk_size=90), ONE)


def content(path: Path, *, recover: bool = False, verify: bool = False) -> list[Message]:
    with McapBag([path], recover=recover, verify=verify) as bag:
        found = [
            (m.channel.topic, m.log_ns, m.publish_ns, m.sequence, bytes(m.data))
            for m in bag.messages()
        ]
        list(bag.attachments())
        list(bag.metadata_records())
        return found


def outcome(path: Path, *, recover: bool = False, verify: bool = False) -> list[Message] | None:
    """Return the messages, None where it says that the file is damaged."""
    try:
        return content(path, recover=recover, verify=verify)
    except BagnoiseError:
        return None


@pytest.mark.parametrize("compression", list(CompressionType))
def test_cut_at_every_byte(tmp_path: Path, compression: CompressionType) -> None:
    whole = sample(tmp_path / "whole.mcap", compression)
    data, right = whole.read_bytes(), content(whole)
    with McapBag([whole]) as bag:
        chunks = [(chunk.end, sum(chunk.counts.values())) for chunk in bag.files[0].layout.chunks]
    cut = tmp_path / "cut.mcap"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        assert outcome(cut) is None, length
        recovered = outcome(cut, recover=True)
        intact = sum(count for end, count in chunks if end <= length)
        assert recovered == right[:intact] or (recovered is None and intact == 0), length


def lying(path: Path, tmp_path: Path, what: int, change: object) -> Path:
    """Change the body of the first record of a kind, checksums of the summary left out."""
    data = bytearray(path.read_bytes())
    at = data.find(bytes([what]), 8)
    assert callable(change)
    with_source = Source(path)
    for opcode, offset, length in with_source.records(8, with_source.size - 8):
        if opcode == what:
            change(data, offset + r.RECORD_HEAD.size, length - r.RECORD_HEAD.size)
            break
    else:
        pytest.fail(f"no record {what} at {at}")
    with_source.close()
    data[-12:-8] = bytes(4)
    target = tmp_path / "lying.mcap"
    target.write_bytes(data)
    return target


def put(position: int, value: int, count: int = 8) -> object:
    def change(data: bytearray, at: int, length: int) -> None:
        start = at + (position if position >= 0 else length + position)
        data[start : start + count] = value.to_bytes(count, "little")

    return change


@pytest.mark.parametrize(
    ("what", "change"),
    [
        (r.CHUNK, put(0, 5)),  # start time
        (r.CHUNK, put(8, 5)),  # end time
        (r.CHUNK_INDEX, put(0, 5)),
        (r.CHUNK_INDEX, put(16, 1 << 50)),  # offset beyond the file
        (r.CHUNK_INDEX, put(24, 1 << 50)),  # length beyond the file
        (r.STATISTICS, put(0, 1000)),  # message count
        (r.STATISTICS, put(0, 0)),
        (r.MESSAGE_INDEX, put(6, 7)),  # a time
        (r.MESSAGE_INDEX, put(14, 1 << 40)),  # an offset beyond the chunk
        (r.MESSAGE_INDEX, put(0, 77, 2)),  # a channel that is not there
    ],
)
def test_numbers_that_lie_lose_nothing_silently(tmp_path: Path, what: int, change: object) -> None:
    whole = sample(tmp_path / "whole.mcap", CompressionType.ZSTD)
    right = content(whole)
    path = lying(whole, tmp_path, what, change)
    with_verify = outcome(path, verify=True)
    assert with_verify is None or with_verify == right
    plain = outcome(path)
    assert plain is None or plain == right
    try:
        with open_bag(path) as bag:
            rewrite(bag, tmp_path / "copy.mcap", PassThrough())
    except BagnoiseError:
        assert not (tmp_path / "copy.mcap").exists()
    else:
        assert content(tmp_path / "copy.mcap") == right


def test_false_statistics_are_reported(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", CompressionType.ZSTD)
    path = lying(whole, tmp_path, r.STATISTICS, put(0, 1000))
    with McapBag([path]) as bag:
        assert sum(bag.counts.values()) == 9
        assert any("count 1000 messages, there are 9" in text for text in bag.warnings)


def test_what_is_lost_is_counted_by_topic_and_span(tmp_path: Path) -> None:
    whole = write_mcap(tmp_path / "whole.mcap", plain_messages(60), Shape(chunk_size=500))
    with McapBag([whole]) as bag:
        chunk = bag.files[0].layout.chunks[1]
        names = {id_: channel.topic for id_, channel in bag.files[0].channels.items()}
    data = bytearray(whole.read_bytes())
    data[chunk.offset + chunk.length // 2] ^= 0x10
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(data)
    with pytest.raises(DamagedBagError, match=f"broken.mcap: chunk at byte {chunk.offset}"):
        content(broken)
    with McapBag([broken], recover=True) as bag:
        assert sum(bag.counts.values()) == 60 - sum(chunk.counts.values())
        text = "\n".join(bag.warnings)
    for id_, span in chunk.spans.items():
        assert f"topic {names[id_]}: " in text
        assert f"between {span.start_ns} and {span.end_ns} ns are lost" in text or (
            names[id_] == "/a"  # two channels are one topic
        )


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", CompressionType.ZSTD)
    for size in (1 << 62, 1 << 40, 1 << 31):
        path = lying(whole, tmp_path, r.CHUNK, put(16, size))  # claimed size
        with pytest.raises(DamagedBagError, match="claims"):
            content(path)


def test_memory_is_taken_as_data_turn_up_not_as_claimed() -> None:
    packed = zstandard.ZstdCompressor().compress(os.urandom(30_000))
    tracemalloc.start()
    with pytest.raises(CorruptChunkError, match="decompresses to 30000 bytes"):
        decompress(memoryview(packed), "zstd", 1 << 29, bytearray())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_a_claim_far_beyond_the_likely_is_met_if_it_is_true() -> None:
    plain = bytes(70 << 20)
    packed = zstandard.ZstdCompressor().compress(plain)
    assert decompress(memoryview(packed), "zstd", len(plain), bytearray(9)) == plain


def test_a_chunk_of_nothing_but_zeros_is_refused_at_its_first_record(tmp_path: Path) -> None:
    zeros = zstandard.ZstdCompressor().compress(bytes(90_000_000))
    head = r.CHUNK_HEAD.pack(1, 1, 90_000_000, 0)
    path = tmp_path / "x.mcap"
    path.write_bytes(
        r.MAGIC
        + r.record(r.HEADER, r.text("ros2"), r.text("x"))
        + r.record(r.CHUNK, head, r.text("zstd"), len(zeros).to_bytes(8, "little"), zeros)
        + r.record(r.DATA_END, bytes(4))
        + r.record(r.FOOTER, bytes(20))
        + r.MAGIC
    )
    with pytest.raises(DamagedBagError, match="kind 0 at its byte 0, among messages"):
        content(path)


@pytest.mark.parametrize("data", [b"", r.MAGIC, r.MAGIC * 2, r.MAGIC + b"\xff" * 99])
def test_files_of_magic_and_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(data)
    with pytest.raises(BagnoiseError, match=r"x\.mcap"):
        open_bag(path)


def test_a_loose_file_cut_in_a_message(tmp_path: Path) -> None:
    shape = Shape(chunking=False, index=IndexType.NONE, statistics=False, repeat=False)
    sent = [Sent(0, 1000 + n, bytes([n]) * 50, 0, n) for n in range(20)]
    whole = write_mcap(tmp_path / "whole.mcap", sent, shape, ONE)
    right = content(whole)
    assert len(right) == 20
    source = Source(whole)
    ends = [offset + length for op, offset, length in source.records(8, source.size - 8) if op == 5]
    source.close()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: ends[12] + 20])
    assert outcome(cut) is None
    assert outcome(cut, recover=True) == right[:13]


def test_the_data_section_checksum_is_checked_when_verifying(tmp_path: Path) -> None:
    whole = write_mcap(tmp_path / "w.mcap", plain_messages(5), Shape(data_crc=True))
    source = Source(whole)
    layout = read_layout(source)
    source.close()
    data = bytearray(whole.read_bytes())
    (offset, length), *_ = layout.metadata
    data[offset + length - 1] ^= 1  # no other checksum covers a metadata record
    broken = tmp_path / "b.mcap"
    broken.write_bytes(data)
    with pytest.raises(DamagedBagError, match="data section"):
        McapBag([broken], verify=True)


def test_a_damaged_attachment_is_left_out_when_recovering(tmp_path: Path) -> None:
    whole = sample(tmp_path / "w.mcap", CompressionType.ZSTD)
    source = Source(whole)
    ((offset, length),) = read_layout(source).attachments
    source.close()
    data = bytearray(whole.read_bytes())
    data[offset + length - 6] ^= 1
    broken = tmp_path / "b.mcap"
    broken.write_bytes(data)
    assert outcome(broken) is None
    assert outcome(broken, verify=True) is None
    with McapBag([broken], recover=True) as bag:
        assert list(bag.attachments()) == []
        assert any("attachment" in text and "lost" in text for text in bag.warnings)
        assert sum(bag.counts.values()) == 9


def test_metadata_that_is_no_text_is_told_when_verifying(tmp_path: Path) -> None:
    whole = write_mcap(tmp_path / "w.mcap", plain_messages(5))
    source = Source(whole)
    places = read_layout(source).metadata
    source.close()
    offset, length = places[0]
    data = bytearray(whole.read_bytes())
    data[offset + length - 1] |= 0x80  # no checksum covers it
    broken = tmp_path / "b.mcap"
    broken.write_bytes(data)
    with McapBag([broken]) as bag:  # not lost where it is only carried along
        (record,) = bag.metadata_records()
        assert "\udce5" in record.values["driver"]
    with pytest.raises(DamagedBagError, match=f"metadata record at byte {offset}: .* is not UTF-8"):
        McapBag([broken], verify=True)
    with McapBag([broken], recover=True) as bag:
        assert any("is not UTF-8; it is lost" in text for text in bag.warnings)
        assert sum(bag.counts.values()) == 5


LOOSE = Shape(chunking=False, index=IndexType.NONE, statistics=False, repeat=False)


def loose_sample(path: Path) -> tuple[Path, list[Message], int]:
    """Write messages outside of chunks; return where the third begins, too."""
    sent = [Sent(0, 1000 + n, bytes([n]) * 50, 0, n) for n in range(5)]
    write_mcap(path, sent, LOOSE, ONE)
    source = Source(path)
    places = [at for op, at, _ in source.records(8, source.size - 8) if op == r.MESSAGE]
    source.close()
    return path, content(path), places[2]


def insert(path: Path, at: int, record: bytes) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:at] + record + data[at:])


@pytest.mark.parametrize(
    "record",
    [
        r.build_channel(r.ChannelRecord(1, 1, "/other", "cdr", {})),
        r.build_schema(r.SchemaRecord(1, "other/msg/Other", "ros2msg", b"")),
        r.record(0x25, bytes(30)),  # a message, but for a bit
    ],
    ids=["channel", "schema", "kind"],
)
def test_a_record_that_contradicts_is_damage(tmp_path: Path, record: bytes) -> None:
    path, right, at = loose_sample(tmp_path / "x.mcap")
    insert(path, at, record)
    with pytest.raises(DamagedBagError, match=f"x.mcap: record at byte {at}: "):
        content(path)
    with McapBag([path], recover=True) as bag:
        assert any(f"record at byte {at}" in text for text in bag.warnings)
    assert content(path, recover=True) == right


def test_other_metadata_of_a_repeated_channel_and_private_records_are_told(tmp_path: Path) -> None:
    path, right, at = loose_sample(tmp_path / "x.mcap")
    insert(path, at, r.build_channel(r.ChannelRecord(1, 1, "/a", "cdr", {"more": "1"})))
    insert(path, at, r.record(0x81, b"mine"))
    with McapBag([path]) as bag:
        assert any("repeated with other metadata" in text for text in bag.warnings)
        assert any("private records of kind 0x81" in text for text in bag.warnings)
        assert bag.channels[0].metadata == {"offered_qos_profiles": QOS}
    assert content(path) == right


def test_messages_survive_a_damaged_header(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", CompressionType.ZSTD)
    path, data = tmp_path / "x.mcap", bytearray(whole.read_bytes())
    for at in range(8, 30):
        changed = data.copy()
        changed[at] ^= 0x40
        path.write_bytes(changed)
        assert content(path, recover=True) == content(whole), at


def test_more_files_than_may_be_open_is_a_clear_error(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    whole = sample(tmp_path / "whole.mcap", CompressionType.ZSTD)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
    try:
        with pytest.raises(BagnoiseError, match="ulimit -n"):
            McapBag([whole] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
