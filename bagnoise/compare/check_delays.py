"""Tests of delays: a normal cut at zero, where no message overtakes an earlier one.

Delay i is max(0, N(mean, std^2)) after its tick or source message; delivery waits for the one
before. Given what came before, a delivery says its draw exactly, or that it was at most the wait.
Both become a standard normal value: the second by a random point of the probability below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bagnoise.compare.lines import Line, certain, not_tested
from bagnoise.compare.statistics import (
    extreme_p,
    mean_p,
    normal_cdf,
    normal_quantile,
    spread_p,
)
from bagnoise.rng import keyed
from bagnoise.steps.base import TimeStep
from bagnoise.steps.clock import nanoseconds
from bagnoise.steps.timing import Latency, Rate, Shift

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bagnoise.compare.run import Stream
    from bagnoise.steps.base import Step

MILLISECOND_NS = 1_000_000
COARSE = 0.01  # draws in whole ns are taken as exact if a ns is less than this of the deviation


class Observed(NamedTuple):
    """What a delivery says of its draw, in ns: equal to ``delay``, or at most that."""

    delay_ns: int
    at_most: bool


def delay_lines(stream: Stream) -> Iterator[Line]:
    """Test the ticks and the delays of one topic."""
    steps = [step for _, step in stream.pair.steps]
    latencies = [step for step in steps if isinstance(step, Latency)]
    if not latencies:
        return
    subject = f"{stream.pair.noisy} latency"
    reason = _obstacle(stream, steps, latencies)
    if reason:
        yield not_tested(subject, "delay", reason)
        return
    bases = _bases(stream)
    if not bases:
        yield not_tested(subject, "delay", "no message shows one of the truth's")
        return
    observed = observe(bases, latencies[0])
    if latencies[0].model == "max" or latencies[0].std_s == 0:
        yield _constant_line(subject, latencies[0], observed)
    else:
        yield from _normal_lines(subject, latencies[0], observed)


def _obstacle(stream: Stream, steps: Sequence[Step], latencies: Sequence[Latency]) -> str:
    if stream.pair.makes_moments:
        return "its messages are made at times of the recipe's own"
    if len(latencies) > 1:
        return "the recipe has several latencies"
    place = list(steps).index(latencies[0])
    if any(isinstance(step, TimeStep) for step in steps[place + 1 :]):
        return "a time step follows the latency"
    if latencies[0].clock != "log":
        return "counted in header stamps"
    before = [step for step in steps[:place] if isinstance(step, TimeStep)]
    if any(isinstance(step, Shift) for step in before):
        return "a shift comes before it"
    if any(isinstance(step, Rate) for step in before) and stream.ticks_ns is None:
        return "the ticks of the rate cannot be told from outside"
    no_rate = not any(isinstance(step, Rate) for step in before)
    if no_rate and not stream.shown.how.startswith("header stamp"):
        return "without header stamps a message cannot be told from the next"
    return ""


def _bases(stream: Stream) -> list[tuple[int, int]]:
    """Return (base, delivery) in the order of the bases: the ticks, or the truth's messages."""
    if stream.ticks_ns is not None:
        pairs = zip(stream.ticks_ns, stream.noisy.log_ns, strict=True)
        return sorted(pairs)
    shown = zip(stream.shown.truth, stream.noisy.log_ns, strict=True)
    return sorted((stream.truth.log_ns[n], log_ns) for n, log_ns in shown if n is not None)


def observe(bases: Sequence[tuple[int, int]], latency: Latency) -> list[Observed]:
    """Say of each (base, delivery), in order, what it tells of its draw."""
    observed = []
    before_ns = 0
    for base_ns, delivery_ns in bases:
        wait_ns = max(0, before_ns - base_ns) if latency.order == "keep" else 0
        delay_ns = delivery_ns - base_ns
        observed.append(Observed(delay_ns, delay_ns == wait_ns))
        before_ns = max(before_ns, delivery_ns)
    return observed


def scores(observed: Sequence[Observed], mean_ns: float, std_ns: float) -> NDArray[np.float64]:
    """Return independent standard normal values, (n,), if the draws are N(mean, std^2)."""
    values = np.empty(len(observed))
    points = keyed("compare", "delay", len(observed)).random(len(observed))
    for n, (delay_ns, at_most) in enumerate(observed):
        if not at_most and std_ns * COARSE > 1:
            values[n] = (delay_ns - mean_ns) / std_ns
            continue
        high = normal_cdf((delay_ns + 0.5 - mean_ns) / std_ns)
        low = 0.0 if at_most else normal_cdf((delay_ns - 0.5 - mean_ns) / std_ns)
        values[n] = normal_quantile(low + float(points[n]) * (high - low))
    return values


def _constant_line(subject: str, latency: Latency, observed: Sequence[Observed]) -> Line:
    seconds = latency.mean_s if latency.model == "normal" else max(latency.mean_s, latency.std_s)
    wanted_ns = max(0, nanoseconds(seconds))
    off_ns = max(
        (wanted_ns - o.delay_ns if o.at_most else abs(o.delay_ns - wanted_ns) for o in observed),
        default=0,
    )
    # a message that waited may have been due any time before
    waiting_wrong = any(o.at_most and o.delay_ns < wanted_ns for o in observed)
    holds = certain(holds=off_ns <= 0 or not (waiting_wrong or off_ns > 0))
    found = f"off by at most {max(off_ns, 0)} ns"
    note = f"n = {len(observed)}, exact"
    return Line(subject, "delay", f"{wanted_ns / MILLISECOND_NS:g} ms", found, holds, note)


def _normal_lines(subject: str, latency: Latency, observed: Sequence[Observed]) -> Iterator[Line]:
    mean_ns, std_ns = latency.mean_s * 1e9, latency.std_s * 1e9
    if min(o.delay_ns for o in observed) < 0:
        yield Line(subject, "delay", "0 or more", "a message came too early", 0.0, "exact")
        return
    z = scores(observed, mean_ns, std_ns)
    exact_ns = np.array([o.delay_ns for o in observed if not o.at_most])
    waited = len(observed) - len(exact_ns)
    note = f"n = {len(z)}, {waited} of them at zero or waiting"
    found_mean = f"{exact_ns.mean() / MILLISECOND_NS:.6g} ms" if len(exact_ns) else "none seen"
    found_std = f"{exact_ns.std() / MILLISECOND_NS:.4g} ms" if len(exact_ns) else "none seen"
    asked_mean, asked_std = f"{mean_ns / MILLISECOND_NS:g} ms", f"{std_ns / MILLISECOND_NS:g} ms"
    yield Line(subject, "mean delay", asked_mean, found_mean, mean_p(z), f"{note}; z")
    yield Line(subject, "delay deviation", asked_std, found_std, spread_p(z), f"{note}; chi-square")
    yield Line(
        subject,
        "farthest delay",
        "as of a normal",
        f"{float(np.abs(z).max()):.3g} deviations",
        extreme_p(z),
        f"{note}; largest of n",
    )
