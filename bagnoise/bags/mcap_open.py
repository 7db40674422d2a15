"""Find out what an MCAP file holds, by whatever of it can be believed."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_compression import crc32
from bagnoise.bags.mcap_layout import Layout, compare_statistics
from bagnoise.bags.mcap_salvage import Salvage
from bagnoise.bags.mcap_scan import DATA_END_BYTES, scan
from bagnoise.bags.mcap_summary import read_summary
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_source import Source

_CRC = struct.Struct("<I")


def read_layout(source: Source, *, recover: bool = False, trust: bool = False) -> Layout:
    """Find out what a file holds; with ``trust`` believe a summary that looks complete.

    Raises:
        DamagedBagError: it is cut off or altered; with ``recover`` only if nothing can be read.
    """
    layout, data_start = Layout(), len(r.MAGIC)
    try:
        data_start = _read_header(source, layout)
    except DamagedBagError as error:
        if not recover:
            raise
        layout.problem = str(error)
    try:
        if read_summary(source, layout, data_start, trust=trust) and layout.problem is None:
            compare_statistics(source, layout)
            return layout
    except (r.CutOffError, DamagedBagError) as error:
        layout.problem = layout.problem or str(error)
        if not recover:
            raise _named(source, error) from None
    scanned = Layout(layout.profile, layout.library, problem=layout.problem)
    scanned.statistics = layout.statistics
    if layout.is_checked:
        scanned.schemas, scanned.channels = dict(layout.schemas), dict(layout.channels)
    if recover:
        Salvage(source, scanned, layout).run()
    else:
        scanned.data_end = layout.data_end
        scan(source, scanned, data_start)
    if layout.problem is None:  # channels without messages may stand in the summary only
        scanned.schemas = {**layout.schemas, **scanned.schemas}
        scanned.channels = {**layout.channels, **scanned.channels}
    compare_statistics(source, scanned)
    scanned.fingerprint = layout.fingerprint or _file_hash(source)
    return scanned


def _named(source: Source, error: Exception) -> DamagedBagError:
    if isinstance(error, DamagedBagError):
        return error
    return DamagedBagError(f"{source.path}: its summary is damaged: {error}")


def _read_header(source: Source, layout: Layout) -> int:
    """Read magic and header; return where the data begins."""
    start = len(r.MAGIC)
    if bytes(source.peek(0, start)) != r.MAGIC:
        msg = f"{source.path}: does not begin as an MCAP file"
        raise DamagedBagError(msg)
    opcode, offset, length = next(source.records(start, source.size), (0, start, 0))
    if opcode != r.HEADER:
        msg = f"{source.path}: no header at byte {start}"
        raise DamagedBagError(msg)
    try:
        fields = r.Fields(source.body(offset, length))
        layout.profile, layout.library = fields.text(), fields.text()
    except r.CutOffError as error:
        msg = f"{source.path}: its header at byte {start} is damaged: {error}"
        raise DamagedBagError(msg) from None
    return offset + length


def check_data_checksum(source: Source, layout: Layout) -> None:
    """Check the checksum of the whole data section, where the file has one.

    Raises:
        DamagedBagError: it is wrong.
    """
    size = r.RECORD_HEAD.size + DATA_END_BYTES
    for at in (layout.data_end, layout.data_end - size):  # scanned, or before the summary
        if at < len(r.MAGIC) or at + size > source.size:
            continue
        raw = source.read(at, size)
        if r.RECORD_HEAD.unpack_from(raw) == (r.DATA_END, DATA_END_BYTES):
            (crc,) = _CRC.unpack_from(raw, r.RECORD_HEAD.size)
            if crc and crc != _range_checksum(source, at):
                msg = f"{source.path}: the checksum of its data section (to byte {at}) is wrong"
                raise DamagedBagError(msg)
            return


def _range_checksum(source: Source, end: int) -> int:
    state, step = 0, 1 << 20
    for at in range(0, end, step):
        state = crc32(source.read(at, min(step, end - at)), state)
    return state


def _file_hash(source: Source) -> str:
    state = hashlib.sha256()
    step = 1 << 20
    for at in range(0, source.size, step):
        state.update(source.read(at, min(step, source.size - at)))
    return state.hexdigest()
