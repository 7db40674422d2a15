"""Compress and decompress chunks; lz4 and zstd release the GIL, so threads help."""

from __future__ import annotations

import re
import threading
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    import zstandard

try:
    from zlib_ng import zlib_ng
except ImportError:  # a machine that it is not built for
    _crc32 = zlib.crc32
else:
    _crc32 = zlib_ng.crc32  # the same number, six times as fast

DEFAULT_LEVEL = 3
KNOWN = frozenset({"", "zstd", "lz4"})
MAX_CHUNK_BYTES = 1 << 30  # what is decompressed at once, whatever a chunk claims
# zstd cannot shrink more than about this; a claim beyond it is no reason to allocate
_MAX_RATIO = 40_000
_MAX_LZ4_RATIO = 256
# a claim beyond this is not believed at once: memory is taken as the data turn up
_LIKELY_BYTES = 1 << 24
_LIKELY_RATIO = 20


class CorruptChunkError(Exception):
    """A chunk does not decompress to what its header says."""


@dataclass(frozen=True)
class Compression:
    """``name`` as MCAP writes it: ``zstd``, ``lz4`` or empty."""

    name: str
    level: int = DEFAULT_LEVEL


NONE = Compression("")
ZSTD = Compression("zstd")


def parse_compression(text: str) -> Compression:
    """Read ``zstd``, ``zstd:LEVEL``, ``lz4`` or ``none``.

    Raises:
        UsageError: it is none of them.
    """
    match = re.fullmatch(r"(zstd|lz4|none)(?::(\d+))?", text)
    if match is None or (match[2] and match[1] != "zstd"):
        msg = f"compression {text!r}: known are zstd, zstd:LEVEL, lz4 and none"
        raise UsageError(msg)
    name = "" if match[1] == "none" else match[1]
    return Compression(name, int(match[2] or DEFAULT_LEVEL))


class _ThreadState(threading.local):
    """Contexts are costly to make and not to be shared between threads."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}
        self.decompressor: zstandard.ZstdDecompressor | None = None


_state = _ThreadState()


def compress(data: bytes | bytearray | memoryview, how: Compression) -> bytes | memoryview:
    """Compress in one call, so that equal input gives equal bytes; view of the input if none."""
    if how.name == "zstd":
        import zstandard  # noqa: PLC0415 - not every file needs it

        compressor = _state.compressors.get(how.level)
        if compressor is None:
            compressor = zstandard.ZstdCompressor(level=how.level)
            _state.compressors[how.level] = compressor
        return compressor.compress(data)
    if how.name == "lz4":
        import lz4.frame  # noqa: PLC0415 - not every file needs it

        packed: bytes = lz4.frame.compress(data)
        return packed
    return memoryview(data)


def decompress(data: memoryview, name: str, size: int, buffer: bytearray) -> memoryview:
    """Decompress into a buffer, or a new one if it is too small; return the filled part.

    Raises:
        CorruptChunkError: it is not ``size`` bytes, or not compressed as ``name`` says.
    """
    if name not in KNOWN:
        msg = f"unknown compression {name!r}"
        raise CorruptChunkError(msg)
    if size > MAX_CHUNK_BYTES or size > max(1, len(data)) * _MAX_RATIO + 4096:
        msg = (
            f"{len(data)} bytes cannot hold the {size} that the chunk claims, or these are more"
            f" than {MAX_CHUNK_BYTES}, the most that is decompressed at once"
        )
        raise CorruptChunkError(msg)
    if name == "zstd":
        return _unzstd(data, size, buffer)
    if not name and len(data) != size:
        msg = f"an uncompressed chunk of {len(data)} bytes claims {size}"
        raise CorruptChunkError(msg)
    if name == "lz4" and size > len(data) * _MAX_LZ4_RATIO + 4096:
        msg = f"{len(data)} bytes of lz4 cannot hold the {size} that the chunk claims"
        raise CorruptChunkError(msg)
    if len(buffer) < size:
        buffer = bytearray(size)
    target = memoryview(buffer)[:size]
    if name == "lz4":
        _unlz4(data, target)
    else:
        target[:] = data
    return target


def _unzstd(data: memoryview, size: int, buffer: bytearray) -> memoryview:
    """Decompress; beyond what is likely, the buffer grows only as data turn up."""
    import zstandard  # noqa: PLC0415 - not every file needs it

    if _state.decompressor is None:
        _state.decompressor = zstandard.ZstdDecompressor()
    try:
        with _state.decompressor.stream_reader(data, read_across_frames=True) as reader:
            filled = 0
            if len(buffer) < size:
                buffer = _larger(bytearray(), size, len(data))
            while filled < size:
                if filled == len(buffer):
                    buffer = _larger(buffer, size, len(data))
                got = reader.readinto(memoryview(buffer)[filled:size])
                if not got:
                    break
                filled += got
            if filled < size or reader.read(1):
                _wrong_size(filled, size)
    except zstandard.ZstdError as error:
        raise CorruptChunkError(str(error)) from None
    return memoryview(buffer)[:size]


def _larger(buffer: bytearray, size: int, packed_bytes: int) -> bytearray:
    """Return a larger buffer with the same beginning."""
    likely = max(_LIKELY_BYTES, packed_bytes * _LIKELY_RATIO, 2 * len(buffer))
    grown = bytearray(min(size, likely))
    grown[: len(buffer)] = buffer
    return grown


def _unlz4(data: memoryview, target: memoryview) -> None:
    import lz4.frame  # noqa: PLC0415 - not every file needs it

    reader = lz4.frame.LZ4FrameDecompressor()
    try:
        part = reader.decompress(data, max_length=len(target) + 1)
    except (RuntimeError, EOFError) as error:
        raise CorruptChunkError(str(error)) from None
    if len(part) != len(target):
        _wrong_size(min(len(part), len(target)), len(target))
    target[:] = part


def _wrong_size(found: int, claimed: int) -> None:
    more = "more" if found == claimed else str(found)
    msg = f"decompresses to {more} bytes, not the {claimed} that the chunk claims"
    raise CorruptChunkError(msg)


def crc32(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """Return the checksum that MCAP uses, of data that follow some of the checksum ``before``."""
    return _crc32(data, before)
