"""rosbag2's MESSAGE compression: every payload is a zstd frame of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.detect import ZSTD_MAGIC
from bagnoise.bags.model import Bag
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from typing_extensions import Self

    from bagnoise.bags.model import Attachment, Message, MetadataRecord, Span


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


class DecompressedBag(Bag):
    """Another bag with its payloads decompressed one by one."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self.path = bag.path
        self.format = bag.format
        self.channels = bag.channels
        self.warnings = bag.warnings
        self.custom_data = bag.custom_data
        self.keeps_alive = bag.keeps_alive

    def __enter__(self) -> Self:
        self._bag.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bag.__exit__(*exc)

    @property
    def counts(self) -> Mapping[int, int]:
        """Messages by channel id."""
        return self._bag.counts

    def span(self, channels: Collection[int] | None = None) -> Span | None:
        """Return first and last log time of these channel ids."""
        return self._bag.span(channels)

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages in log-time order, decompressed."""
        decompress = decompressor(str(self.path))
        for message in self._bag.messages(channels, start_ns, end_ns):
            if is_compressed(message):
                yield message._replace(data=decompress(bytes(message.data)))
            else:
                yield message

    def attachments(self) -> Iterator[Attachment]:
        """Yield the attachments in file order."""
        return self._bag.attachments()

    def metadata_records(self) -> Iterator[MetadataRecord]:
        """Yield the metadata records in file order."""
        return self._bag.metadata_records()

    def fingerprint(self) -> str:
        """Hash what identifies the content cheaply."""
        return self._bag.fingerprint()


def is_compressed(message: Message) -> bool:
    """Whether a payload is a zstd frame: CDR begins with 0, so it cannot be CDR by itself."""
    return message.channel.message_encoding == "cdr" and message.data[:4] == ZSTD_MAGIC


def begins_compressed(bag: Bag) -> bool:
    """Whether the first CDR message of a bag is compressed (rosbag2 compresses all or none)."""
    cdr = {channel.id for channel in bag.channels if channel.message_encoding == "cdr"}
    try:
        first = next(bag.messages(cdr), None) if cdr else None
    except DamagedBagError:
        return False  # whoever reads it will be told
    return first is not None and is_compressed(first)
