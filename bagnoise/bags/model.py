"""What a bag is, whatever its container: channels, messages, attachments, metadata records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.bags.private_folder import PrivateFolder

Format = Literal["mcap", "sqlite3"]
QOS_KEY = "offered_qos_profiles"
HASH_KEY = "topic_type_hash"


@dataclass(frozen=True)
class Schema:
    """A type's name and the text (or bytes) that defines it.

    ``encoding`` is MCAP's: ``ros2msg``, ``ros2idl``, ``jsonschema``, ``protobuf``, ``""`` (none).
    """

    name: str
    encoding: str = ""
    data: bytes = b""


NO_SCHEMA = Schema("")


@dataclass(frozen=True)
class Channel:
    """One (topic, schema, encoding, metadata) of a bag; a topic may have several.

    ``id`` is unique within its bag and says nothing about the container's own ids.
    ``metadata`` is the MCAP channel metadata; the QoS profiles are its ``offered_qos_profiles``
    (YAML text), also when the bag is sqlite3.
    """

    id: int
    topic: str
    schema: Schema
    message_encoding: str = "cdr"
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def type_name(self) -> str:
        """The schema's name as the file spells it, e.g. ``std_msgs/msg/String``."""
        return self.schema.name


class Message(NamedTuple):
    """One recorded message; ``data`` are the bytes on the wire.

    ``data`` may be a view that is valid only until the next message is asked for: copy to keep.
    """

    channel: Channel
    log_ns: int
    publish_ns: int
    sequence: int
    data: bytes | memoryview


class Attachment(NamedTuple):
    """A file carried inside a bag (MCAP attachment)."""

    log_ns: int
    create_ns: int
    name: str
    media_type: str
    data: bytes


class MetadataRecord(NamedTuple):
    """A named map of strings carried inside a bag (MCAP metadata record)."""

    name: str
    values: Mapping[str, str]


class Span(NamedTuple):
    """First and last log time of some messages, both included."""

    start_ns: int
    end_ns: int


class Bag(ABC):
    """An open recording, to be used as a context manager.

    Messages come in log-time order; equal times keep the order in which they stand in the file
    (files of a split bag in the order of their names in ``metadata.yaml``, else sorted).
    """

    path: Path
    format: Format | Literal["ros1"]
    channels: tuple[Channel, ...]
    warnings: list[str]  # things the user should know, each once (e.g. wrong metadata.yaml)
    custom_data: Mapping[str, str] = MappingProxyType({})  # rosbag2's own free-form map
    keeps_alive: tuple[PrivateFolder, ...] = ()  # closed with the bag
    is_summary_only: bool = False  # counts are as its summary says, and messages cannot be asked
    preparation: tuple[str, ...] = ()  # what had to be done before it could be read

    @abstractmethod
    def __enter__(self) -> Bag: ...

    @abstractmethod
    def __exit__(self, *exc: object) -> None: ...

    def release(self) -> None:
        """Remove what was kept for as long as the bag is open; to be called on exit."""
        for folder in self.keeps_alive:
            folder.close()

    @property
    @abstractmethod
    def counts(self) -> Mapping[int, int]:
        """Messages by channel id, counted from indexes, not believed from statistics."""

    @abstractmethod
    def span(self, channels: Collection[int] | None = None) -> Span | None:
        """Return first and last log time of these channel ids (all: None), None if no message."""

    @abstractmethod
    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages of these channel ids with start_ns <= log_ns < end_ns, in order."""

    def attachments(self) -> Iterator[Attachment]:
        """Yield the attachments in file order."""
        return iter(())

    def metadata_records(self) -> Iterator[MetadataRecord]:
        """Yield the metadata records, but for rosbag2's own, in file order."""
        return iter(())

    def attachment_names(self) -> list[str]:
        """Name the attachments in file order."""
        return [attachment.name for attachment in self.attachments()]

    def notes(self) -> list[str]:
        """Say what reading it took, where that is out of the ordinary."""
        return list(self.preparation)

    def facts(self) -> Mapping[str, str]:
        """Tell what is worth knowing of the container: compression, chunks, checksums, writer."""
        return {}

    @abstractmethod
    def fingerprint(self) -> str:
        """Hash what identifies the content cheaply (MCAP: the summary section), as sha256 hex."""


class Output(NamedTuple):
    """A message that an edit makes.

    ``in_place``: it replaces the message just given to ``process``, with log time unchanged, and
    takes its place among messages of equal time. Otherwise it follows every source message of its
    time.
    """

    message: Message
    in_place: bool = False


class Edit(Protocol):
    """What a rewrite asks of the job: which messages to show it, and what it makes of them."""

    @property
    def reads(self) -> frozenset[int]:
        """Ids of the source channels whose messages `process` wants."""

    @property
    def replaces(self) -> frozenset[int]:
        """Ids of the source channels that no longer pass through (a subset of `reads`)."""

    @property
    def adds(self) -> tuple[Channel, ...]:
        """Every channel that outputs use and that does not pass through.

        New ones, whose ids differ from the source's, and replaced ones that stay in use, as they
        are.
        """

    def process(self, message: Message) -> Iterable[Output]:
        """Take a read message; called in log-time order, ties in source order."""

    def advance(self, log_ns: int) -> Iterable[Output]:
        """Learn that no read message before ``log_ns`` is to come; release what is due."""

    def finish(self) -> Iterable[Output]:
        """Learn that the source has ended; release the rest."""


class PassThrough:
    """The edit that touches nothing."""

    reads: frozenset[int] = frozenset()
    replaces: frozenset[int] = frozenset()
    adds: tuple[Channel, ...] = ()

    def process(self, message: Message) -> Iterable[Output]:  # noqa: ARG002
        """Make nothing."""
        return ()

    def advance(self, log_ns: int) -> Iterable[Output]:  # noqa: ARG002
        """Release nothing."""
        return ()

    def finish(self) -> Iterable[Output]:
        """Release nothing."""
        return ()


@dataclass(frozen=True)
class Selection:
    """Which messages of the source exist for a rewrite: a cut in time and a choice of channels.

    A latched (transient_local) message from before ``start_ns`` is kept, moved to ``start_ns``:
    of each channel, the last one before the cut of that channel.
    """

    channels: frozenset[int] | None = None
    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is cut off."""
        return self.channels is None and self.start_ns is None and self.end_ns is None


@dataclass(frozen=True)
class WriteOptions:
    """How a bag is written."""

    format: Format | None = None  # None: as the input (ROS 1: mcap)
    compression: str = "keep"  # keep | zstd[:LEVEL] | lz4 | none
    chunk_bytes: int = 1 << 20
    workers: int = 1
    sort_file: bool = False  # rewrite into file order
    overwrite: bool = False
    fsync: bool = False
    split_bytes: int | None = None
    split_ns: int | None = None
    metadata_version: int = 8


@dataclass
class WriteReport:
    """What a rewrite did, by channel id where a map."""

    copied: dict[int, int] = field(default_factory=dict)  # passed through
    written: dict[int, int] = field(default_factory=dict)  # made by the edit
    span: Span | None = None  # of the output
    warnings: list[str] = field(default_factory=list)


Definitions = Callable[[str], "Schema | None"]  # type name -> definition, where a bag has none


def no_definitions(type_name: str) -> Schema | None:  # noqa: ARG001
    """Know no definition at all."""
    return None


class Progress(Protocol):
    """Told now and then how far a rewrite is."""

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """Show it."""
