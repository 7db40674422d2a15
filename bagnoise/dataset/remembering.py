"""A face of an open bag that remembers what every variant asks of it before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags.model import Bag

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from bagnoise.bags.model import Attachment, Message, MetadataRecord, Span


class RememberingBag(Bag):
    """Answers like the bag it stands for; spans are looked up once for each set of channels."""

    def __init__(self, bag: Bag) -> None:
        """Stand for an open bag; closing stays with whoever opened it."""
        self._bag = bag
        self.path = bag.path
        self.format = bag.format
        self.channels = bag.channels
        self.warnings = bag.warnings
        self.custom_data = bag.custom_data
        self._spans: dict[frozenset[int] | None, Span | None] = {}
        self._counts = bag.counts

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    @property
    def counts(self) -> Mapping[int, int]:
        """As the bag's."""
        return self._counts

    def span(self, channels: Collection[int] | None = None) -> Span | None:
        """As the bag's, remembered."""
        key = None if channels is None else frozenset(channels)
        if key not in self._spans:
            self._spans[key] = self._bag.span(channels)
        return self._spans[key]

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """As the bag's."""
        return self._bag.messages(channels, start_ns, end_ns)

    def attachments(self) -> Iterator[Attachment]:
        """As the bag's."""
        return self._bag.attachments()

    def metadata_records(self) -> Iterator[MetadataRecord]:
        """As the bag's."""
        return self._bag.metadata_records()

    def facts(self) -> Mapping[str, str]:
        """As the bag's."""
        return self._bag.facts()

    def fingerprint(self) -> str:
        """As the bag's."""
        return self._bag.fingerprint()
