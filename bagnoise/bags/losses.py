"""Account of what could not be read from a damaged bag."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Losses:
    """Counts lost messages by topic, with the times between which they lie."""

    by_topic: dict[str, list[int]] = field(default_factory=dict)  # count, first, last

    def add(self, topic: str, log_ns: int, count: int = 1) -> None:
        """Note lost messages at (or up to) a time."""
        entry = self.by_topic.setdefault(topic, [0, log_ns, log_ns])
        entry[0] += count
        entry[1] = min(entry[1], log_ns)
        entry[2] = max(entry[2], log_ns)

    def texts(self, where: str) -> list[str]:
        """Say for each topic how many messages are lost and which span."""
        return [
            f"{where}: topic {topic}: {count} messages between {first} and {last} ns are lost"
            for topic, (count, first, last) in self.by_topic.items()
        ]
