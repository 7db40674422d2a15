"""What is known of a chunk is packed, and says the same as plain dicts would."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
import zlib

from hypothesis import given
from hypothesis import strategies as st

from bagnoise.bags.mcap_chunk import Chunk
from bagnoise.bags.mcap_compression import crc32
from bagnoise.bags.model import Span

LAST_NS = (1 << 64) - 1
ids = st.integers(0, 65535) | st.integers(0, 3)
times_ns = st.integers(0, LAST_NS)


@given(st.lists(st.tuples(ids, times_ns)), st.lists(st.tuples(ids, times_ns)))
def test_counts_and_spans_are_those_of_the_messages(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    """Counting may go on after somebody has looked."""
    chunk, times = Chunk(0, 0), dict[int, list[int]]()
    for part in (before, after):
        for id_, log_ns in part:
            chunk.note(id_, log_ns)
            times.setdefault(id_, []).append(log_ns)
        chunk.settle()
        assert chunk.counts == {id_: len(some) for id_, some in times.items()}
        assert chunk.spans == {id_: Span(min(some), max(some)) for id_, some in times.items()}
        every = [log_ns for some in times.values() for log_ns in some] or [0]
        assert (chunk.start_ns, chunk.end_ns) == (min(every), max(every))


@given(st.dictionaries(ids, times_ns), st.lists(st.tuples(ids, times_ns)))
def test_of_two_indexes_of_a_channel_the_last_counts(
    first: dict[int, int], then: list[tuple[int, int]]
) -> None:
    chunk = Chunk(0, 0)
    chunk.index_offsets = first
    for id_, offset in then:
        chunk.add_index(id_, offset)
    assert chunk.index_offsets == {**first, **dict(then)}


def test_forgotten_channels_are_gone_and_the_span_is_of_the_others() -> None:
    chunk = Chunk(0, 0)
    chunk.hold([(1, 2, 10, 20), (2, 1, 5, 5), (3, 4, 12, 30)])
    chunk.forget({2, 3, 9})
    chunk.settle()
    assert (chunk.counts, chunk.spans) == ({1: 2}, {1: Span(10, 20)})
    assert (chunk.start_ns, chunk.end_ns) == (10, 20)


def test_many_chunks_take_little_memory() -> None:
    """A long bag has thousands of chunks; dicts and spans took 2000 bytes of each."""
    tracemalloc.start()
    chunks = []
    for number in range(1000):
        chunk = Chunk(number << 20, 1 << 20)
        chunk.index_offsets = {id_: (number << 20) + id_ for id_ in range(8)}
        chunk.hold((id_, 5, 10**18 + number, 10**18 + id_) for id_ in range(8))
        chunk.settle()
        assert len(chunk.counts) == len(chunk.spans) == 8
        chunks.append(chunk)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 1000 * len(chunks)


@given(st.binary(max_size=100_000), st.integers(0, 2**32 - 1))
def test_checksums_are_those_of_zlib(data: bytes, before: int) -> None:
    for kind in (bytes, bytearray, memoryview):
        assert crc32(kind(data), before) == zlib.crc32(data, before)
    assert crc32(b"123456789") == 0xCBF43926  # the check value of CRC-32/ISO-HDLC


def test_without_zlib_ng_zlib_serves() -> None:
    script = (
        "import sys; sys.modules['zlib_ng'] = None; import zlib\n"
        "from bagnoise.bags import mcap_compression as m\n"
        "assert m._crc32 is zlib.crc32; print(m.crc32(b'123456789'))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert int(done.stdout) == 0xCBF43926
