"""A plain MCAP reader and writer on the mcap package, until the fast ones stand."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING

from mcap.exceptions import McapError
from mcap.reader import SeekingReader
from mcap.writer import CompressionType, Writer

from bagnoise.bags.generic import rewrite_generic
from bagnoise.bags.merge import merge_by_time
from bagnoise.bags.model import (
    Attachment,
    Bag,
    Channel,
    Message,
    MetadataRecord,
    Schema,
    Span,
    WriteOptions,
)
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcap.records import Statistics

    from bagnoise.bags.model import Edit, Progress, Selection, WriteReport


class McapBag(Bag):
    """Reads healthy, indexed files."""

    format = "mcap"

    def __init__(
        self, paths: Sequence[Path], *, recover: bool = False, verify: bool = False
    ) -> None:
        self.path = paths[0]
        self.warnings: list[str] = []
        self._paths = list(paths)
        self._known: dict[tuple[object, ...], Channel] = {}
        self._files: list[dict[int, Channel]] = []
        self._statistics: list[Statistics] = []
        for path in paths:
            self._read_summary(path)
        self.channels = tuple(self._known.values())

    def _read_summary(self, path: Path) -> None:
        with path.open("rb") as stream:
            try:
                summary = SeekingReader(stream).get_summary()
            except McapError as error:
                msg = f"{path}: {error}"
                raise DamagedBagError(msg) from error
        if summary is None or summary.statistics is None:
            msg = f"{path}: no summary"
            raise DamagedBagError(msg)
        by_id = {}
        for channel in summary.channels.values():
            record = summary.schemas.get(channel.schema_id)
            schema = Schema(record.name, record.encoding, record.data) if record else Schema("")
            metadata = tuple(sorted(channel.metadata.items()))
            key = (channel.topic, schema, channel.message_encoding, metadata)
            made = Channel(
                len(self._known) + 1,
                channel.topic,
                schema,
                channel.message_encoding,
                channel.metadata,
            )
            by_id[channel.id] = self._known.setdefault(key, made)
        self._files.append(by_id)
        self._statistics.append(summary.statistics)

    def __enter__(self) -> McapBag:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    @property
    def counts(self) -> Mapping[int, int]:
        counts = {channel.id: 0 for channel in self.channels}
        for by_id, statistics in zip(self._files, self._statistics, strict=True):
            for id_, count in statistics.channel_message_counts.items():
                counts[by_id[id_].id] += count
        return counts

    def span(self, channels: Collection[int] | None = None) -> Span | None:
        if channels is None:
            found = [s for s in self._statistics if s.message_count]
            if not found:
                return None
            return Span(
                min(s.message_start_time for s in found), max(s.message_end_time for s in found)
            )
        times = [message.log_ns for message in self.messages(channels)]
        return Span(times[0], times[-1]) if times else None

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        sources: list[tuple[int, Callable[[], Iterator[Message]]]] = [
            (statistics.message_start_time, _Reading(path, by_id, channels, start_ns, end_ns))
            for path, by_id, statistics in zip(
                self._paths, self._files, self._statistics, strict=True
            )
        ]
        yield from merge_by_time(sources)

    def attachments(self) -> Iterator[Attachment]:
        for path in self._paths:
            with path.open("rb") as stream:
                for a in SeekingReader(stream).iter_attachments():
                    yield Attachment(a.log_time, a.create_time, a.name, a.media_type, a.data)

    def metadata_records(self) -> Iterator[MetadataRecord]:
        for path in self._paths:
            with path.open("rb") as stream:
                for m in SeekingReader(stream).iter_metadata():
                    if m.name != "rosbag2":
                        yield MetadataRecord(m.name, m.metadata)

    def fingerprint(self) -> str:
        return hashlib.sha256(self._paths[0].read_bytes()[-65536:]).hexdigest()


class _Reading:
    def __init__(
        self,
        path: Path,
        by_id: dict[int, Channel],
        channels: Collection[int] | None,
        start_ns: int | None,
        end_ns: int | None,
    ) -> None:
        self._path = path
        self._by_id = by_id
        self._channels = channels
        self._bounds = (start_ns, end_ns)

    def __call__(self) -> Iterator[Message]:
        start_ns, end_ns = self._bounds
        with self._path.open("rb") as stream:
            reader = SeekingReader(stream, validate_crcs=True)
            for _, record, m in reader.iter_messages():
                if start_ns is not None and m.log_time < start_ns:
                    continue
                if end_ns is not None and m.log_time >= end_ns:
                    return
                channel = self._by_id[record.id]
                if self._channels is None or channel.id in self._channels:
                    yield Message(channel, m.log_time, m.publish_time, m.sequence, m.data)


class McapWriter:
    """Writes chunked, indexed files."""

    def __init__(self, path: Path, options: WriteOptions) -> None:
        self.warnings: list[str] = []
        self._stream: IO[bytes] = path.open("wb")
        kind = options.compression.partition(":")[0]
        compression = {"none": CompressionType.NONE, "lz4": CompressionType.LZ4}.get(
            kind, CompressionType.ZSTD
        )
        self._writer = Writer(self._stream, chunk_size=options.chunk_bytes, compression=compression)
        self._writer.start("ros2", "bagnoise")
        self._schemas: dict[Schema, int] = {}
        self._ids: dict[int, int] = {}

    def add_channel(self, channel: Channel) -> None:
        schema = channel.schema
        if schema.name and schema not in self._schemas:
            self._schemas[schema] = self._writer.register_schema(
                schema.name, schema.encoding, schema.data
            )
        self._ids[channel.id] = self._writer.register_channel(
            channel.topic,
            channel.message_encoding,
            self._schemas.get(schema, 0),
            dict(channel.metadata),
        )

    def write(self, message: Message) -> None:
        self._writer.add_message(
            self._ids[message.channel.id],
            message.log_ns,
            bytes(message.data),
            message.publish_ns,
            message.sequence,
        )

    def add_attachment(self, attachment: Attachment) -> None:
        self._writer.add_attachment(
            attachment.create_ns,
            attachment.log_ns,
            attachment.name,
            attachment.media_type,
            attachment.data,
        )

    def add_metadata(self, record: MetadataRecord) -> None:
        self._writer.add_metadata(record.name, dict(record.values))

    def close(self) -> None:
        self._writer.finish()  # type: ignore[no-untyped-call]
        self._stream.close()

    def abort(self) -> None:
        self._stream.close()


def rewrite_mcap(
    bag: McapBag,
    target: Path,
    edit: Edit,
    *,
    selection: Selection,
    options: WriteOptions,
    records: Sequence[MetadataRecord],
    progress: Progress | None,
) -> WriteReport:
    """Rewrite MCAP to one MCAP file."""
    size = sum(path.stat().st_size for path in bag._paths)  # noqa: SLF001
    return rewrite_generic(
        bag,
        McapWriter(target, options),
        edit,
        selection=selection,
        records=records,
        progress=progress,
        total_bytes=size,
    )
