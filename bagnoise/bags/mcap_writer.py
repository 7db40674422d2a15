"""Write an MCAP file message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise import __version__
from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_compression import ZSTD, Compression
from bagnoise.bags.mcap_output import ChunkBuilder, McapOutput, channel_record, message_parts
from bagnoise.bags.model import NO_SCHEMA
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.bags.model import Attachment, Channel, Message, MetadataRecord, Schema

LIBRARY = f"bagnoise {__version__}"
CHUNK_NS = 500_000_000  # so that disorder for readers in file order is bounded
MAX_ID = 0xFFFF


class McapWriter:
    """Implements `bagnoise.bags.writer.BagWriter`."""

    largest_ns = 2**64 - 1

    def __init__(
        self,
        path: Path,
        *,
        compression: Compression = ZSTD,
        chunk_bytes: int = 1 << 20,
        workers: int = 1,
        profile: str = "ros2",
    ) -> None:
        """Create the file."""
        self._output = McapOutput(path, profile=profile, library=LIBRARY, workers=workers)
        self._compression = compression
        self._chunk_bytes = chunk_bytes
        self._schemas: dict[Schema, int] = {}
        self._ids: dict[int, int] = {}
        self._chunk = ChunkBuilder()

    def add_channel(self, channel: Channel) -> None:
        """Write a channel and its schema."""
        schema_id = r.NO_SCHEMA_ID
        if channel.schema != NO_SCHEMA:
            schema_id = self._schemas.setdefault(channel.schema, len(self._schemas) + 1)
            schema = channel.schema
            self._output.add_schema(
                r.SchemaRecord(schema_id, schema.name, schema.encoding, schema.data)
            )
        id_ = self._ids[channel.id] = len(self._ids) + 1
        if max(id_, schema_id) > MAX_ID:
            msg = f"an MCAP file holds at most {MAX_ID} channels; write a rosbag2 sqlite3 bag"
            raise BagError(msg)
        self._output.add_channel(channel_record(channel, id_, schema_id))

    def write(self, message: Message) -> None:
        """Write one message; chunks close at their size or span."""
        _, log_ns, publish_ns, sequence, data = message
        id_ = self._ids[message.channel.id]
        data = bytes(data)
        chunk = self._chunk
        spread_ns = max(log_ns, chunk.end_ns) - min(log_ns, chunk.start_ns)
        if chunk.pairs and (chunk.size >= self._chunk_bytes or spread_ns > CHUNK_NS):
            self._close_chunk()
            chunk = self._chunk
        chunk.add(id_, log_ns, *message_parts(id_, sequence, log_ns, publish_ns, data))

    def add_attachment(self, attachment: Attachment) -> None:
        """Write an attachment."""
        self._output.add_attachment(attachment)

    def add_metadata(self, record: MetadataRecord) -> None:
        """Write a metadata record."""
        self._output.add_metadata(record)

    def close(self) -> None:
        """Finish the file."""
        self._close_chunk()
        self._output.finish()

    def abort(self) -> None:
        """Let go of the file."""
        self._output.abort()

    def _close_chunk(self) -> None:
        self._output.add_chunk(self._chunk, self._compression)
        self._chunk = ChunkBuilder()
