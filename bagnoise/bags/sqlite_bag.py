"""A rosbag2 recording in one or more sqlite3 files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bagnoise.bags.detect import ZSTD_MAGIC
from bagnoise.bags.merge import merge_by_time
from bagnoise.bags.message_compression import decompressor
from bagnoise.bags.metadata import parse_metadata, unpack_records
from bagnoise.bags.model import (
    HASH_KEY,
    QOS_KEY,
    Bag,
    Channel,
    Message,
    MetadataRecord,
    Schema,
    Span,
    no_definitions,
)
from bagnoise.bags.sqlite_file import SqliteFile, sqlite_errors
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    from bagnoise.bags.model import Definitions
    from bagnoise.bags.sqlite_schema import TopicRow

_TAIL_BYTES = 1 << 16


class SqliteBag(Bag):
    """Reads sqlite3 storage files of every rosbag2 version; split files are merged by time."""

    format = "sqlite3"

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        recover: bool = False,
        verify: bool = False,
        definitions: Definitions = no_definitions,
    ) -> None:
        self.path = paths[0]
        self.warnings: list[str] = []
        self.files: list[SqliteFile] = []
        self._records: tuple[MetadataRecord, ...] = ()
        self._definitions = definitions
        self._recover = recover
        try:
            for path in paths:
                self.files.append(self._open_file(path, verify=verify))
        except BaseException:
            self.close()
            raise
        self._make_channels()
        self._take_own_metadata()

    def _open_file(self, path: Path, *, verify: bool) -> SqliteFile:
        file = self._open_intact_or_recovered(path, verify=verify)
        if file.orphans:
            self.warnings.append(
                f"{path}: {file.orphans} messages belong to no topic of the recording and are lost"
            )
        return file

    def _open_intact_or_recovered(self, path: Path, *, verify: bool) -> SqliteFile:
        if not self._recover:
            file = SqliteFile(path)
            if verify:
                verify_file(file)
            return file
        from bagnoise.bags.sqlite_recover import RecoveredFile  # noqa: PLC0415 - rarely needed

        recovered = RecoveredFile(path)
        self.warnings += recovered.warnings
        return recovered

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove private copies."""
        for file in self.files:
            file.close()
        self.release()

    def _make_channels(self) -> None:
        """Give equal topics of several files one channel, and different ones their own."""
        known: dict[tuple[object, ...], Channel] = {}
        self.by_topic_id: list[dict[int, Channel]] = []
        for file in self.files:
            by_topic_id: dict[int, Channel] = {}
            for topic in file.topics:
                channel = self._channel(len(known) + 1, topic)
                metadata = tuple(sorted(channel.metadata.items()))
                key: tuple[object, ...]
                key = (channel.topic, channel.schema, channel.message_encoding, metadata)
                if key in known and known[key] in by_topic_id.values():
                    key = (*key, topic.id)  # two rows of one file that say the same stay two
                by_topic_id[topic.id] = known.setdefault(key, channel)
            self.by_topic_id.append(by_topic_id)
        self.channels = tuple(known.values())

    def _channel(self, id_: int, topic: TopicRow) -> Channel:
        metadata = {QOS_KEY: topic.qos}
        if topic.type_hash:
            metadata[HASH_KEY] = topic.type_hash
        schema: Schema | None = None
        if topic.definition:
            schema = Schema(topic.type_name, topic.definition_encoding, topic.definition)
        else:
            schema = self._definitions(topic.type_name)
        return Channel(
            id_, topic.name, schema or Schema(topic.type_name), topic.serialization, metadata
        )

    def _take_own_metadata(self) -> None:
        """Read custom data and records from the first copy of metadata.yaml inside the files."""
        for file in self.files:
            if file.own_metadata:
                try:
                    metadata = parse_metadata(file.own_metadata, f"{file.path}, table metadata")
                except BagError as error:
                    self.warnings.append(str(error))
                else:
                    self.take_custom_data(metadata.custom_data)
                return

    def take_custom_data(self, custom_data: Mapping[str, str]) -> None:
        """Take what a metadata.yaml holds as custom data, records of bagnoise among it."""
        if custom_data:
            self.custom_data, self._records = unpack_records(custom_data)

    @property
    def counts(self) -> Mapping[int, int]:
        """Messages by channel id, counted in the tables."""
        counts = dict.fromkeys((channel.id for channel in self.channels), 0)
        for file, by_topic_id in zip(self.files, self.by_topic_id, strict=True):
            for topic_id, stats in file.stats.items():
                counts[by_topic_id[topic_id].id] += stats.count
        return counts

    def span(self, channels: Collection[int] | None = None) -> Span | None:
        """Return first and last log time of these channel ids."""
        found = [
            stats
            for file, by_topic_id in zip(self.files, self.by_topic_id, strict=True)
            for topic_id, stats in file.stats.items()
            if channels is None or by_topic_id[topic_id].id in channels
        ]
        if not found:
            return None
        return Span(min(s.start_ns for s in found), max(s.end_ns for s in found))

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages in log-time order."""
        sources: list[tuple[int, Callable[[], Iterator[Message]]]] = []
        for index, file in enumerate(self.files):
            topic_ids = {
                topic_id: channel
                for topic_id, channel in self.by_topic_id[index].items()
                if topic_id in file.stats and (channels is None or channel.id in channels)
            }
            if topic_ids:
                first_ns = min(file.stats[topic_id].start_ns for topic_id in topic_ids)
                sources.append((first_ns, _Reading(file, topic_ids, start_ns, end_ns)))
        yield from merge_by_time(sources) if sources else ()

    def metadata_records(self) -> Iterator[MetadataRecord]:
        """Yield the records kept in the custom data."""
        return iter(self._records)

    def fingerprint(self) -> str:
        """Hash counts, spans, the size, and the first and last 64 KiB of each file."""
        digest = hashlib.sha256()
        for file in self.files:
            size = file.path.stat().st_size
            digest.update(str(size).encode())
            for topic in file.topics:
                digest.update(repr((topic, file.stats.get(topic.id))).encode())
            with file.path.open("rb") as stream:
                digest.update(stream.read(_TAIL_BYTES))
                stream.seek(max(0, size - _TAIL_BYTES))
                digest.update(stream.read())
        return digest.hexdigest()


class _Reading:
    """Opens the messages of one file when called."""

    def __init__(
        self,
        file: SqliteFile,
        channels: Mapping[int, Channel],
        start_ns: int | None,
        end_ns: int | None,
    ) -> None:
        self._file = file
        self._channels = channels
        self._bounds = (start_ns, end_ns)

    def __call__(self) -> Iterator[Message]:
        decompress: Callable[[bytes], bytes] | None = None
        channels = self._channels
        for row in self._file.rows(channels, *self._bounds):
            channel = channels[row.topic_id]
            data = row.data
            # A CDR payload begins with 0, so these four bytes can only be a zstd frame.
            if data[:4] == ZSTD_MAGIC and channel.message_encoding == "cdr":
                decompress = decompress or decompressor(f"{self._file.path}, {channel.topic}")
                data = decompress(data)
            yield Message(channel, row.log_ns, row.publish_ns, 0, data)


def verify_file(file: SqliteFile) -> None:
    """Read every page and compare tables with their indexes.

    Raises:
        DamagedBagError: sqlite's integrity check finds something.
    """
    with sqlite_errors(file.path), file.connect() as connection:
        finding = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if finding != "ok":
        msg = f"{file.path}: the sqlite3 database is damaged: {finding}"
        raise DamagedBagError(msg)
