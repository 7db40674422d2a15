"""The steps of one stream, running: samples in, samples out, in the order of the recipe."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import told_of
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.payload import Cones
from bagnoise.steps.base import (
    DROPPED,
    CloudStep,
    ConeStep,
    DepthStep,
    Moment,
    Operator,
    Sample,
    Setup,
    SourceStep,
    Step,
    Tally,
    TimeStep,
)
from bagnoise.steps.context import NoContext
from bagnoise.steps.timing import Immediate, Rate

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from bagnoise.steps.clock import Clock
    from bagnoise.steps.context import Context


@contextmanager
def at_work(key: tuple[int | str, ...]) -> Iterator[None]:
    """Let errors say in which step of which stream they arose, by its key; numpy says nothing.

    A message may hold any number: what NaN or 1e308 come to is the step's to say.
    """
    silent = np.errstate(invalid="ignore", over="ignore", divide="ignore")
    with told_of(f"stream {key[1]}, step {key[2]}"), silent:
        yield


class PayloadStage(Immediate):
    """Applies a payload step to each sample as it comes."""

    def __init__(
        self,
        step: Step,
        key: tuple[int | str, ...],
        tally: Counter[str],
        context: Context | None = None,
        source_hz: float | None = None,
    ) -> None:
        """Bind the step to its random key: (seed, stream, step label)."""
        self._source_hz = source_hz
        self._step = step
        self._key = key
        self._tally = tally
        self._context = context or NoContext()

    def feed(self, sample: Sample) -> Iterable[Sample]:
        """Change the payload; a sample without one is dropped."""
        payload = self.apply(sample, sample.payload)
        if payload is None:
            self._tally[DROPPED] += 1
            return ()
        sample.payload = payload
        return (sample,)

    def apply(self, sample: Sample, payload: Any) -> Any:
        """Return what the step makes of a payload at the sample's time."""
        key = (*self._key, sample.key_ns, sample.occurrence)
        moment = Moment(key, sample.log_ns, self._tally, self._context, self._source_hz)
        with at_work(self._key):
            return self._changed(payload, moment)

    def _changed(self, payload: Any, moment: Moment) -> Any:
        if isinstance(payload, Cones):
            assert isinstance(self._step, ConeStep)
            return self._step.on_cones(payload, moment)
        if isinstance(payload, Cloud):
            assert isinstance(self._step, CloudStep)
            return self._step.on_cloud(payload, moment)
        assert isinstance(self._step, DepthStep)
        return self._step.on_depth(payload, moment)


class _NamedOperator:
    """An operator whose errors name it."""

    def __init__(self, operator: Operator, key: tuple[int | str, ...]) -> None:
        self._operator, self._key = operator, key
        self.floor = operator.floor

    def feed(self, sample: Sample) -> Iterable[Sample]:
        with at_work(self._key):
            return list(self._operator.feed(sample))

    def advance(self, log_ns: int) -> Iterable[Sample]:
        with at_work(self._key):
            return list(self._operator.advance(log_ns))

    def finish(self) -> Iterable[Sample]:
        with at_work(self._key):
            return list(self._operator.finish())


class Chain:
    """A stream's stages, each fed with what the one before gives."""

    def __init__(self, stages: Sequence[Operator]) -> None:
        """Take the stages in the order of the recipe."""
        self._stages = tuple(stages)

    def feed(self, sample: Sample) -> list[Sample]:
        """Take a source message; return what leaves the last stage at once."""
        return self._push(0, [sample])

    def advance(self, log_ns: int) -> list[Sample]:
        """Let time reach ``log_ns``; return what becomes due."""
        out: list[Sample] = []
        for index, stage in enumerate(self._stages):
            out += self._push(index + 1, list(stage.advance(log_ns)))
            log_ns = stage.floor(log_ns)
        return out

    def finish(self) -> list[Sample]:
        """Return everything still held back."""
        out: list[Sample] = []
        for index, stage in enumerate(self._stages):
            out += self._push(index + 1, list(stage.finish()))
        return out

    def _push(self, first: int, samples: list[Sample]) -> list[Sample]:
        for stage in self._stages[first:]:
            if not samples:
                break
            samples = [out for sample in samples for out in stage.feed(sample)]
        return samples


def build_chain(
    steps: Sequence[tuple[str, Step]],
    key: tuple[int | str, ...],
    clocks: dict[str, Clock],
    last_ns: int | None,
    tally: Counter[str],
    context: Context | None = None,
    taken: tuple[int | None, int | None] = (None, None),
) -> Chain:
    """Make the running form of labelled steps.

    Args:
        steps: with their labels.
        key: (seed, stream).
        clocks: by name.
        last_ns: log time of the source's last message, where it is known.
        tally: counts for the summary.
        context: of steps that need more than their source.
        taken: start and end of the part of the bag that is taken.
    """
    context = context or NoContext()
    stages: list[Operator] = []
    source_hz = tally.source_hz if isinstance(tally, Tally) else None
    for label, step in steps:
        source_hz = step.hz if isinstance(step, Rate) else source_hz
        if isinstance(step, TimeStep | SourceStep):
            clock = clocks[getattr(step, "clock", "log")]
            setup = Setup((*key, label), clock, last_ns, tally, context, *taken)
            with at_work(setup.key):
                operator = step.operator(setup)
            is_source = isinstance(step, SourceStep)
            stages.append(_NamedOperator(operator, setup.key) if is_source else operator)
            last_ns = None  # once moved or dropped, the last message is not known beforehand
        else:
            stages.append(PayloadStage(step, (*key, label), tally, context, source_hz))
    return Chain(stages)
