"""rosbag2's MESSAGE compression: every payload is a zstd frame of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Callable

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def decompressor(where: str) -> Callable[[bytes], bytes]:
    """Return a function that decompresses one payload after another."""
    import zstandard  # noqa: PLC0415 - slow to import, rarely needed

    context = zstandard.ZstdDecompressor()

    def decompress(data: bytes) -> bytes:
        frame = context.decompressobj()
        try:
            plain = frame.decompress(data)
        except zstandard.ZstdError as error:
            msg = f"{where}: a compressed message cannot be decompressed: {error}"
            raise DamagedBagError(msg) from error
        if not frame.eof:
            msg = f"{where}: a compressed message is cut short"
            raise DamagedBagError(msg)
        return plain

    return decompress
