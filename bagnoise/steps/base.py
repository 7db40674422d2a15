"""What a step is: a frozen declaration of options, and one method that does the work.

From the declaration come the recipe check, ``bagnoise steps NAME``, the JSON schema for editors and
the provenance record. Adding a step is one class here or beside, and one line in the registry.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from bagnoise.rng import keyed
from bagnoise.steps.context import NOTHING, Needs, NoContext

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from bagnoise.bags.model import Channel
    from bagnoise.messages.cloud import Cloud
    from bagnoise.messages.depth_image import DepthImage
    from bagnoise.messages.payload import Cones
    from bagnoise.steps.clock import Clock
    from bagnoise.steps.context import Context


DROPPED = "messages dropped"  # the tally that the summary shows in a column of its own


class Tally(Counter[str]):
    """Counts that go into the summary, by what they count; and `facts` worth a line each."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.facts: dict[str, Any] = {}  # step label -> what prints as its line
        self.source_hz: float | None = None  # mean rate of the stream's source
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self.warnings:
            self.warnings.append(text)


class Step(BaseModel):
    """Options of one transformation; the class docstring's first line is its description."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )
    name: ClassVar[str]

    def needs(self) -> Needs:
        """Name the topics that it reads beside its source."""
        return NOTHING

    def check(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        return []


class ConeStep(Step):
    """A step over cones."""

    def on_cones(self, cones: Cones, moment: Moment) -> Cones | None:
        """Return the changed cones, or None to drop the message."""
        raise NotImplementedError


class SourceStep(ConeStep):
    """A step over cones that makes messages of its own where its source has fewer."""

    def operator(self, setup: Setup) -> Operator:
        """Make the running form of the step for one stream."""
        raise NotImplementedError


class CloudStep(Step):
    """A step over point clouds."""

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud | None:
        """Return the changed cloud, or None to drop the message."""
        raise NotImplementedError


class DepthStep(Step):
    """A step that makes a cloud of a depth image; the steps after it see the cloud."""

    def on_depth(self, image: DepthImage, moment: Moment) -> Cloud | None:
        """Return the cloud, or None to drop the message."""
        raise NotImplementedError


class TimeStep(Step):
    """A step over messages of any type: it moves, repeats or drops them."""

    def operator(self, setup: Setup) -> Operator:
        """Make the running form of the step for one stream."""
        raise NotImplementedError


@dataclass(frozen=True)
class Moment:
    """What a step may know of the message at hand.

    Attributes:
        key: (seed, stream, step label, key time, occurrence), the name of its random draws.
        log_ns: present log time of the message (delivery, after the time steps so far).
        tally: counts that go into the summary, by what they count.
        context: answers about transforms, poses and cameras, as far as the step `needs` them.
        source_hz: mean rate at which messages reach the step, where known.
    """

    key: tuple[int | str, ...]
    log_ns: int
    tally: Counter[str] = field(default_factory=Tally)
    context: Context = field(default_factory=NoContext)
    source_hz: float | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What the summary will say of the stream, by step."""
        return self.tally.facts if isinstance(self.tally, Tally) else {}

    def warn(self, text: str) -> None:
        """Tell the user something, once for the stream."""
        if isinstance(self.tally, Tally):
            self.tally.warn(text)

    def generator(self, purpose: str = "") -> np.random.Generator:
        """Return the generator of this message at this step, at its start.

        It is shared within the thread: finish drawing before asking for another.
        """
        return keyed(*self.key, purpose)


@dataclass(frozen=True)
class Setup:
    """What a time step may know of its stream before the first message.

    Attributes:
        key: (seed, stream, step label).
        clock: maps log time to the clock that the step counts in.
        last_ns: log time of the stream's last source message where it is known to reach this
            step unmoved, else None.
        tally: counts that go into the summary.
        context: answers about transforms, poses and cameras, as far as the step `needs` them.
        start_ns, end_ns: the part of the bag that is taken, end excluded; None: no limit.
    """

    key: tuple[int | str, ...]
    clock: Clock
    last_ns: int | None
    tally: Counter[str] = field(default_factory=Tally)
    context: Context = field(default_factory=NoContext)
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(slots=True)
class Sample:
    """One message on its way through a stream.

    Attributes:
        log_ns: delivery as it stands.
        key_ns: what random draws are keyed by: the source's log time, or the tick after ``rate``.
        occurrence: how many earlier samples of the stream had the same ``key_ns``.
        publish_ns: the source's publish time, or None once bagnoise has made the message.
        sequence: the source's sequence number.
        stamp_shift_ns: how far the header stamp is to be moved.
        channel: the source channel it came on.
        payload: decoded arrays, or the raw bytes where no step needs more.
        source_ns: the source's log time, for the delay in the summary.
    """

    log_ns: int
    key_ns: int
    occurrence: int
    publish_ns: int | None
    sequence: int
    channel: Channel
    payload: Any
    source_ns: int
    stamp_shift_ns: int = 0


class Operator(Protocol):
    """The running form of a step: takes samples, gives samples, may keep some for later."""

    def feed(self, sample: Sample) -> Iterable[Sample]:
        """Take a sample."""

    def advance(self, log_ns: int) -> Iterable[Sample]:
        """Learn that no sample before ``log_ns`` is to come; release what is due."""

    def floor(self, log_ns: int) -> int:
        """Return the earliest log time that a sample fed at or after ``log_ns`` can leave with."""

    def finish(self) -> Iterable[Sample]:
        """Learn that no sample is to come; release the rest."""


PAYLOAD_KINDS: dict[str, type[Step]] = {
    "cones": ConeStep,
    "cloud": CloudStep,
    "depth": DepthStep,
}


def works_on(step: Step | type[Step], kind: str) -> bool:
    """Whether a step takes payloads of a kind (``cones``, ``cloud``)."""
    step_type = step if isinstance(step, type) else type(step)
    return issubclass(step_type, (TimeStep, PAYLOAD_KINDS[kind]))
