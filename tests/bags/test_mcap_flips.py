"""One bit flipped in every byte of small files, and files cut at every byte.

What is wrong never comes out where a checksum covers it and is looked at. With ``recover`` all
comes out but what was hit.
"""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from damage_table import KINDS, Line, flipped, read, sample, tallies
from mcap_by_hand import Sample, chunked

from bagnoise.bags.mcap_bag import McapBag

COVERED = ["zstd", "lz4", "none", "none, no summary"]
MAGIC_BYTES = 8


def chunks_of(path: Path) -> list[tuple[int, int, int]]:
    """Return where each chunk begins, and it and its indexes end, and how many messages it has."""
    with McapBag([path]) as bag:
        return [
            (chunk.offset, chunk.end + chunk.index_length, sum(chunk.counts.values()))
            for chunk in bag.files[0].layout.chunks
        ]


@pytest.mark.parametrize("name", COVERED)
def test_no_flip_gives_a_wrong_message(tmp_path: Path, name: str) -> None:
    plain, verified = tallies(tmp_path, KINDS[name])
    assert plain.wrong == verified.wrong == []
    assert plain.refused + plain.warned >= 0.8 * plain.flips
    assert verified.refused + verified.warned >= 0.85 * plain.flips
    assert verified.refused >= plain.refused


def test_verify_notices_every_flip_where_the_data_section_has_a_checksum(tmp_path: Path) -> None:
    plain, verified = tallies(tmp_path, KINDS["zstd, checksum of the data section"])
    assert verified.refused == verified.flips > plain.refused


@pytest.mark.parametrize("name", ["zstd", "lz4", "none"])
def test_recover_keeps_all_but_the_chunk_that_was_hit(tmp_path: Path, name: str) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS[name])
    data, right, chunks = whole.read_bytes(), read(whole).lines, chunks_of(whole)
    assert right is not None
    path = tmp_path / "x.mcap"
    for at in range(len(data)):
        path.write_bytes(flipped(data, at, at % 8))
        found = read(path, recover=True)
        hit, first = range(0), 0
        for start, end, count in chunks:
            if start <= at < end:
                hit = range(first, first + count)
            first += count
        least = [line for number, line in enumerate(right) if number not in hit]
        assert found.lines in (right, least), at
        assert found.lines == right or found.warned, at


def test_recover_loses_at_most_one_message_outside_of_chunks(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS["not chunked"])
    data, right = whole.read_bytes(), read(whole).lines
    assert right is not None
    path = tmp_path / "x.mcap"
    for at in range(MAGIC_BYTES, len(data)):
        path.write_bytes(flipped(data, at, at % 8))
        found = read(path, recover=True).lines
        assert found is not None, at
        payloads = {line.data for line in found}
        assert len([line for line in right if line.data not in payloads]) <= 1, at
        assert len(found) <= len(right), at


@pytest.mark.parametrize("name", ["zstd, no summary", "none, no summary", "not chunked"])
def test_cut_at_every_byte_without_a_map(tmp_path: Path, name: str) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS[name])
    data, right = whole.read_bytes(), read(whole).lines
    assert right is not None
    path, kept = tmp_path / "x.mcap", -1
    for length in range(MAGIC_BYTES, len(data)):
        path.write_bytes(data[:length])
        assert read(path).lines is None, length
        found = read(path, recover=True)
        assert found.lines == right[: len(found.lines or ())], length
        assert found.warned, length
        assert len(found.lines or ()) >= kept, length
        kept = len(found.lines or ())
    assert kept == len(right)


def test_a_hole_costs_only_what_was_in_it(tmp_path: Path) -> None:
    """Zeros, as a disk that lost a block leaves them, over any stretch, with and without a map."""
    for name in ("zstd", "none", "zstd, no summary", "none, no summary"):
        whole = sample(tmp_path / "whole.mcap", KINDS[name])
        data, right, chunks = whole.read_bytes(), read(whole).lines, chunks_of(whole)
        assert right is not None
        path = tmp_path / "x.mcap"
        # the names stand in the first chunk; where no summary repeats them it is needed
        for start in range(chunks[0][1], chunks[-1][1], 7):
            end = min(start + 60, chunks[-1][1])
            path.write_bytes(data[:start] + bytes(end - start) + data[end:])
            wanted: list[Line] = []
            first = 0
            for begin, stop, count in chunks:
                if end <= begin or start >= stop:
                    wanted += right[first : first + count]
                first += count
            found = read(path, recover=True).lines
            assert found is not None
            assert set(wanted) <= set(found) <= set(right), (name, start)


def test_no_flip_takes_much_memory(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS["zstd"])
    data = whole.read_bytes()
    (start, _, _), *_ = chunks_of(whole)
    path = tmp_path / "x.mcap"
    tracemalloc.start()
    for at in range(start, start + 60):  # the lengths in a chunk's head
        for bit in range(8):
            path.write_bytes(flipped(data, at, bit))
            read(path)
            read(path, recover=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 << 20


def test_what_recover_says_of_a_chunk_whose_head_is_gone(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS["zstd"])
    (start, _, count), *_ = chunks_of(whole)[1:]
    data = bytearray(whole.read_bytes())
    data[start : start + 60] = bytes(60)
    path = tmp_path / "x.mcap"
    path.write_bytes(data)
    with McapBag([path], recover=True) as bag:
        text = "\n".join(bag.warnings)
    assert f"bytes {start} to" in text
    assert f"topic /a: {count} messages between" in text


def test_a_chunk_that_is_cut_off_is_named_with_its_span(tmp_path: Path) -> None:
    whole = sample(tmp_path / "whole.mcap", KINDS["zstd"])
    *_, (start, end, _) = chunks_of(whole)
    with McapBag([whole]) as bag:
        chunk = bag.files[0].layout.chunks[-1]
    path = tmp_path / "x.mcap"
    path.write_bytes(whole.read_bytes()[: (start + end) // 2])
    with McapBag([path], recover=True) as bag:
        text = "\n".join(bag.warnings)
    assert f"chunk at byte {start}, with messages between {chunk.start_ns} and" in text


@pytest.mark.parametrize(
    "filler", [b"\0", b"\3\0\0\0\0\0\0\0\0", b"\x81\0\0\0\0\0\0\0\0", b"\7" * 9]
)
@pytest.mark.parametrize("name", ["none, no summary", "not chunked"])
def test_recover_of_a_large_hole_takes_time_in_proportion(
    tmp_path: Path, name: str, filler: bytes
) -> None:
    """Whatever is in it; looking on from each of its bytes would take minutes."""
    whole = sample(tmp_path / "whole.mcap", KINDS[name])
    data = whole.read_bytes()
    (first, end, _), *_ = chunks_of(whole)
    at = end if name != "not chunked" else first
    hole = filler * (1_000_000 // len(filler))
    path = tmp_path / "x.mcap"
    path.write_bytes(data[:at] + hole + data[at:-30])
    began = time.process_time()
    found = read(path, recover=True)
    assert time.process_time() - began < 20
    assert found.lines == read(whole).lines
    with McapBag([path], recover=True) as bag:
        assert len(bag.warnings) < 250


def test_recover_of_a_cut_file_whose_chunk_headers_lie_about_times(tmp_path: Path) -> None:
    by_hand = Sample(chunked(), head_lie=lambda *_: (1 << 63, 0))
    path = by_hand.write(tmp_path / "x.mcap")
    right = read(path).lines
    assert right is not None
    path.write_bytes(path.read_bytes()[:-40])
    assert read(path, recover=True).lines == right
