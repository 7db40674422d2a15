"""rosbag2's FILE compression: whole storage files as zstd."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from bagnoise.bags.detect import ZSTD_MAGIC
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    import zstandard

_STEP_BYTES = 1 << 13  # small: a crafted block can grow by four orders of magnitude


def decompress_file(source: Path, target: Path, *, recover: bool = False) -> str | None:
    """Decompress a .zstd file; with ``recover`` a cut one as far as it goes, with a warning.

    Raises:
        DamagedBagError: The stream is cut or altered.
        BagError: There is no room for it.
    """
    import zstandard  # noqa: PLC0415 - slow to import, rarely needed

    try:
        with source.open("rb") as packed, target.open("wb") as plain:
            try:
                if packed.read(len(ZSTD_MAGIC)) != ZSTD_MAGIC:
                    _copy_plain(packed, plain)
                    problem = None
                else:
                    packed.seek(0)
                    problem = _copy(packed, plain, zstandard.ZstdDecompressor())
            except zstandard.ZstdError as error:
                problem = f"zstd data is damaged before byte {packed.tell()}: {error}"
    except OSError as error:
        msg = f"{source}: cannot be decompressed to {target.parent}: {error.strerror}"
        raise BagError(msg + " (set TMPDIR to choose another place)") from error
    if problem is None:
        return None
    if not recover:
        msg = f"{source}: {problem}; --recover reads what is intact"
        raise DamagedBagError(msg)
    return f"{source}: {problem}; what comes before is read"


def _copy_plain(packed: BinaryIO, plain: BinaryIO) -> None:
    """Copy a file that is not compressed though its neighbours are (the last one of a crash)."""
    packed.seek(0)
    shutil.copyfileobj(packed, plain)


def _copy(packed: BinaryIO, plain: BinaryIO, context: zstandard.ZstdDecompressor) -> str | None:
    """Decompress frame after frame; return what is wrong, None if nothing is."""
    frame = context.decompressobj()
    fresh = True
    while data := packed.read(_STEP_BYTES):
        while data:
            fresh = False
            plain.write(frame.decompress(data))
            data = b""
            if frame.eof:
                data = frame.unused_data
                frame, fresh = context.decompressobj(), True
    return None if fresh else f"zstd data is cut at byte {packed.tell()}"
