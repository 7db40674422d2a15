"""What every container's writer can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bagnoise.bags.model import Attachment, Channel, Message, MetadataRecord


LARGEST_NS = 2**63 - 1  # what sqlite3 and metadata.yaml can hold, and every message we make


class BagWriter(Protocol):
    """Writes one storage file; messages may come in any order, readers see log-time order."""

    @property
    def largest_ns(self) -> int:
        """The latest time that can be written."""

    def add_channel(self, channel: Channel) -> None:
        """Announce a channel before its first message (also one that stays empty)."""

    def write(self, message: Message) -> None:
        """Write one message, its bytes as they are."""

    def add_attachment(self, attachment: Attachment) -> None:
        """Write an attachment, or warn once where the format has none."""

    def add_metadata(self, record: MetadataRecord) -> None:
        """Write a metadata record."""

    def close(self) -> None:
        """Finish the file: indexes, statistics, summary."""

    def abort(self) -> None:
        """Let go of the file without finishing it."""
