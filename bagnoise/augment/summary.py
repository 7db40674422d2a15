"""What an augment did, for people and for scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bagnoise.steps.base import DROPPED, Tally
from bagnoise.steps.clock import SECOND_NS

if TYPE_CHECKING:
    from bagnoise.bags.model import Span


@dataclass
class StreamSummary:
    """Counts of one stream, filled while it runs.

    Attributes:
        name, source: as in the recipe.
        targets: topic -> messages published.
        read: source messages.
        delay_sum_ns, delay_max_ns: delivery minus source time (or tick), over the main target.
        tally: further counts, by what they count.
        losses: what the target types cannot hold.
    """

    name: str
    source: str
    targets: dict[str, int] = field(default_factory=dict)
    read: int = 0
    published: int = 0
    delay_sum_ns: int = 0
    delay_max_ns: int | None = None
    tally: Tally = field(default_factory=Tally)
    losses: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def publish(self, delay_ns: int) -> None:
        """Count a message of the main target."""
        self.published += 1
        self.delay_sum_ns += delay_ns
        self.delay_max_ns = (
            delay_ns if self.delay_max_ns is None else max(self.delay_max_ns, delay_ns)
        )

    @property
    def dropped(self) -> int:
        """Messages lost on the way."""
        return self.tally[DROPPED]

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        mean_s = self.delay_sum_ns / self.published / SECOND_NS if self.published else None
        max_s = None if self.delay_max_ns is None else self.delay_max_ns / SECOND_NS
        return {
            "source": self.source,
            "in": self.read,
            "out": self.published,
            "dropped": self.dropped,
            "mean_delay_s": mean_s,
            "max_delay_s": max_s,
            "targets": self.targets,
            "counts": {name: n for name, n in self.tally.items() if name != DROPPED},
            "facts": {name: str(fact) for name, fact in self.tally.facts.items()},
            "figures": {name: fact.to_plain() for name, fact in self.tally.facts.items()},
            "losses": {topic: list(lost) for topic, lost in self.losses.items()},
        }


@dataclass
class Summary:
    """What an augment did, or with ``dry_run`` would do."""

    source: str
    target: str
    seed: int
    dry_run: bool
    streams: list[StreamSummary]
    copied: int = 0
    span: Span | None = None
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what reading took, for those who ask

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "input": self.source,
            "output": self.target,
            "seed": self.seed,
            "dry_run": self.dry_run,
            "copied": self.copied,
            "start_ns": self.span.start_ns if self.span else None,
            "end_ns": self.span.end_ns if self.span else None,
            "streams": {stream.name: stream.to_plain() for stream in self.streams},
            "warnings": self.warnings,
        }
