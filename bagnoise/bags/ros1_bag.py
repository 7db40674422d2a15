"""ROS 1 recordings, read as if ROS 2 had made them."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.bags.losses import Losses
from bagnoise.bags.model import QOS_KEY, Bag, Channel, Message, Span
from bagnoise.bags.qos import LATCHED_QOS, Qos, render_qos
from bagnoise.bags.ros1_file import DAMAGE, INDEX, Ros1File, message_at
from bagnoise.bags.ros1_types import Ros1Types
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from rosbags.interfaces import Connection
    from typing_extensions import Self

    from bagnoise.bags.ros1_types import Conversion

_PLAIN_QOS = Qos(depth=10)
_CACHED_CHUNK_BYTES = 32 << 20
_TAIL_BYTES = 1 << 16


class Ros1Bag(Bag):
    """A ROS 1 ``.bag``: payloads as CDR, definitions and names as ROS 2 has them.

    A topic with several latched publishers has a channel for each, as each has its own last
    message. Types that cannot be converted pass as they are, with a warning.
    """

    format = "ros1"

    def __init__(self, path: Path, *, recover: bool = False, verify: bool = False) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._file = Ros1File(path)
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        try:
            self._open(recover=recover)
            self._make_channels(Ros1Types())
            self._index = self._sorted_index()
            if recover:
                self._drop_unreadable()
            elif verify:
                for _ in self.messages():
                    pass
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with suppress(*DAMAGE):
            self._file.close()
        self.release()

    def _open(self, *, recover: bool) -> None:
        """Read the index, or make one where there is none and that is allowed."""
        try:
            with self._damage("the index"):
                self._file.open()
        except DamagedBagError as error:
            if not recover:
                raise
            with self._damage("the file"):
                end, size = self._file.scan(), self.path.stat().st_size
            self.warnings.append(f"{error}; read without it")
            if end < size:
                text = f"{self.path}: cut or damaged at byte {end} of {size}"
                self.warnings.append(f"{text}; what stood there is lost")

    @contextmanager
    def _damage(self, what: str) -> Iterator[None]:
        try:
            yield
        except BagError:
            raise
        except DAMAGE as error:
            if "reindex" in str(error):
                msg = f"{self.path}: has no index (a crash?); run `rosbag reindex` on it first"
            else:
                msg = f"{self.path}: {what} cannot be read: {error or type(error).__name__}"
            raise DamagedBagError(msg) from error

    def _make_channels(self, types: Ros1Types) -> None:
        connections = self._file.connections
        latched = Counter(c.topic for c in connections if _is_latched(c))
        self._conversions: dict[int, Conversion] = {}
        self._channel_of: dict[int, Channel] = {}
        known: dict[tuple[object, ...], Channel] = {}
        for connection in connections:
            conversion = types.conversion(connection)
            qos = _qos(connection, latched[connection.topic])
            metadata = {QOS_KEY: render_qos([qos])}
            if _is_latched(connection) and latched[connection.topic] > 1:
                metadata["callerid"] = str(getattr(connection.ext, "callerid", ""))
            key = (connection.topic, conversion.schema, conversion.encoding, *metadata.values())
            channel = Channel(
                len(known) + 1, connection.topic, conversion.schema, conversion.encoding, metadata
            )
            self._channel_of[connection.id] = known.setdefault(key, channel)
            self._conversions[connection.id] = conversion
            if conversion.note:
                note = f"{self.path}: topic {connection.topic}: {conversion.note}"
                self.warnings += [note] if note not in self.warnings else []
        self.channels = tuple(known.values())

    def _sorted_index(self) -> NDArray[np.void]:
        """All messages by time, equal times by their place in the file."""
        parts = self._file.parts
        index = np.concatenate(parts) if parts else np.empty(0, INDEX)
        self._file.parts = []
        order = np.lexsort((index["offset"], index["chunk"], index["log_ns"]))
        known = np.isin(index["connection"][order], list(self._channel_of))
        if not known.all():
            lost = int((~known).sum())
            self.warnings.append(f"{self.path}: {lost} messages belong to no connection")
        sorted_index: NDArray[np.void] = index[order][known]
        return sorted_index

    def _chosen(self, channels: Collection[int] | None) -> NDArray[np.void]:
        if channels is None:
            return self._index
        ids = [id_ for id_, channel in self._channel_of.items() if channel.id in channels]
        chosen: NDArray[np.void] = self._index[np.isin(self._index["connection"], ids)]
        return chosen

    @property
    def counts(self) -> Mapping[int, int]:
        """Messages by channel id, counted in the index."""
        counts = dict.fromkeys((channel.id for channel in self.channels), 0)
        ids, numbers = np.unique(self._index["connection"], return_counts=True)
        for id_, number in zip(ids.tolist(), numbers.tolist(), strict=True):
            counts[self._channel_of[id_].id] += number
        return counts

    def span(self, channels: Collection[int] | None = None) -> Span | None:
        """Return first and last log time of these channel ids."""
        times = self._chosen(channels)["log_ns"]
        return Span(int(times[0]), int(times[-1])) if len(times) else None

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages, converted, in log-time order."""
        index = self._chosen(channels)
        first = 0 if start_ns is None else int(np.searchsorted(index["log_ns"], start_ns))
        last = len(index) if end_ns is None else int(np.searchsorted(index["log_ns"], end_ns))
        for position in range(first, last):
            log_ns, chunk, offset, connection = index[position].item()
            channel = self._channel_of[connection]
            with self._damage(f"the message at {log_ns} ns of topic {channel.topic}"):
                raw = message_at(self._chunk(chunk), offset)
                data = self._conversions[connection].convert(raw)
            yield Message(channel, log_ns, log_ns, 0, data)

    def _drop_unreadable(self) -> None:
        """Keep of the index what can be read, and report the rest."""
        losses = Losses()
        readable = np.ones(len(self._index), bool)
        broken_chunks: set[int] = set()
        for position in range(len(self._index)):
            log_ns, chunk, offset, connection = self._index[position].item()
            if chunk in broken_chunks or not self._is_readable(chunk, offset, connection):
                readable[position] = False
                losses.add(self._channel_of[connection].topic, log_ns)
                if chunk not in broken_chunks:
                    self._note_broken(chunk, broken_chunks)
        self._index = self._index[readable]
        self.warnings += losses.texts(str(self.path))

    def _is_readable(self, chunk: int, offset: int, connection: int) -> bool:
        try:
            with self._damage("a message"):
                self._conversions[connection].convert(message_at(self._chunk(chunk), offset))
        except DamagedBagError:
            return False
        return True

    def _note_broken(self, chunk: int, broken: set[int]) -> None:
        """Remember a chunk that cannot be decompressed, not to try again for each message."""
        try:
            with self._damage("a chunk"):
                self._chunk(chunk)
        except DamagedBagError:
            broken.add(chunk)

    def _chunk(self, pos: int) -> bytes:
        """Return a decompressed chunk; a few are kept, as neighbours may interleave in time."""
        cache = self._cache
        if pos in cache:
            cache.move_to_end(pos)
            return cache[pos]
        data = self._file.load_chunk(pos)
        cache[pos] = data
        while len(cache) > 1 and sum(map(len, cache.values())) > _CACHED_CHUNK_BYTES:
            cache.popitem(last=False)
        return data

    def fingerprint(self) -> str:
        """Hash the size and the last 64 KiB, where the index lies."""
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            stream.seek(max(0, size - _TAIL_BYTES))
            return hashlib.sha256(str(size).encode() + stream.read()).hexdigest()


def _is_latched(connection: Connection) -> bool:
    return bool(getattr(connection.ext, "latching", None))


def _qos(connection: Connection, latched_publishers: int) -> Qos:
    """Latching is transient_local, deep enough for the last message of each publisher."""
    if not _is_latched(connection):
        return _PLAIN_QOS
    return Qos(durability=LATCHED_QOS.durability, depth=latched_publishers)
