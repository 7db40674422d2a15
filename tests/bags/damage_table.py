"""Flip one bit in every byte of small MCAP files; count what is noticed, and print a table.

    PYTHONPATH=.:tests/bags python tests/bags/damage_table.py

docs/damage.md shows what it prints; test_mcap_flips.py holds it to its limits.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mcap.writer import CompressionType, IndexType
from mcap_samples import QOS, Channel, Shape, plain_messages, write_mcap

from bagnoise.bags.mcap_bag import McapBag
from bagnoise.errors import BagnoiseError

ONE = (Channel("/a", qos=QOS),)
SMALL = Shape(chunk_size=90)
BARE = {"index": IndexType.NONE, "statistics": False, "repeat": False, "offsets": False}
KINDS: dict[str, dict[str, Any]] = {
    "zstd": {},
    "lz4": {"compression": CompressionType.LZ4},
    "none": {"compression": CompressionType.NONE},
    "zstd, no summary": BARE,
    "none, no summary": {"compression": CompressionType.NONE, **BARE},
    "not chunked": {"chunking": False},
    "zstd, no checksums": {"crcs": False},
    "zstd, checksum of the data section": {"data_crc": True},
}


class Line(NamedTuple):
    """A message as read."""

    topic: str
    log_ns: int
    publish_ns: int
    sequence: int
    data: bytes


class Read(NamedTuple):
    """What came of opening and reading; no lines after an error."""

    lines: list[Line] | None
    warned: bool


@dataclass
class Tally:
    """How many flips had which outcome, and the bytes where messages came out wrong."""

    flips: int = 0
    refused: int = 0
    warned: int = 0
    harmless: int = 0
    wrong: list[int] = field(default_factory=list)

    def add(self, at: int, found: Read, right: list[Line]) -> None:
        """Count one; equal messages without a warning are harmless."""
        self.flips += 1
        if found.lines is None:
            self.refused += 1
        elif found.warned:
            self.warned += 1
        elif found.lines == right:
            self.harmless += 1
        else:
            self.wrong.append(at)


def sample(path: Path, kind: dict[str, Any]) -> Path:
    """Write nine messages, three a chunk, an attachment and two metadata records."""
    sent = [message._replace(channel=0) for message in plain_messages(9)]
    return write_mcap(path, sent, Shape(**{**vars(SMALL), **kind}), ONE)


def read(path: Path, *, recover: bool = False, verify: bool = False) -> Read:
    """Read everything that a file holds."""
    try:
        with McapBag([path], recover=recover, verify=verify) as bag:
            lines = [
                Line(m.channel.topic, m.log_ns, m.publish_ns, m.sequence, bytes(m.data))
                for m in bag.messages()
            ]
            list(bag.attachments())
            list(bag.metadata_records())
            assert sum(bag.counts.values()) == len(lines)
            return Read(lines, bool(bag.warnings))
    except BagnoiseError:
        return Read(None, warned=False)


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """Flip one bit."""
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def tallies(folder: Path, kind: dict[str, Any], bits: int = 1) -> tuple[Tally, Tally]:
    """Flip so many bits of every byte, one at a time: read as it is, and verified."""
    whole = sample(folder / "whole.mcap", kind)
    data, right = whole.read_bytes(), read(whole).lines
    assert right is not None
    path, plain, verified = folder / "flipped.mcap", Tally(), Tally()
    for at in range(len(data)):
        for bit in range(bits):
            path.write_bytes(flipped(data, at, (at + bit) % 8))
            plain.add(at, read(path), right)
            verified.add(at, read(path, verify=True), right)
    return plain, verified


def table() -> str:
    """Return the table of docs/damage.md: every bit of every byte."""
    lines = [
        "| file | read: refused | warned | messages right | wrong | verified: refused | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            plain, verified = tallies(Path(folder), kind, bits=8)
        shares = (plain.refused, plain.warned, plain.harmless, len(plain.wrong))
        checked = (verified.refused, len(verified.wrong))
        cells = [f"{100 * count / plain.flips:.1f} %" for count in (*shares, *checked)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
