"""A fit as plain data: every value with its interval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.fit.estimate import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.run import Fit, FittedStream
    from bagnoise.fit.topic import TopicFit


def to_plain(fit: Fit) -> dict[str, Any]:
    """Return a fit as JSON data."""
    return {
        "truth": fit.truth_name,
        "real": fit.real_name,
        "level": LEVEL,
        "streams": [_stream(stream) for stream in fit.streams],
    }


def _stream(stream: FittedStream) -> dict[str, Any]:
    fit = stream.fit
    return {
        "name": stream.name,
        "topic": fit.topic,
        "source": stream.source,
        "messages": len(fit.rows.true_xy),
        "matches": int(fit.single.sum()),
        "gate_m": fit.rows.gate_m,
        "wrong_share": fit.wrong_share,
        "values": [_value(estimate) for estimate in estimates(fit)],
        "notes": [*stream.timing_notes, *fit.notes, *stream.not_identified],
    }


def _value(estimate: Estimate) -> dict[str, Any]:
    return {
        "name": estimate.name,
        "range_m": estimate.bin_m,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "count": estimate.count,
        "note": estimate.note,
    }


def estimates(fit: TopicFit) -> Iterator[Estimate]:
    """Yield every value of a topic, named by step and option."""
    yield from _of_errors(fit)
    yield from _named("detection", [*fit.detection.probability, fit.detection.one])
    for c, estimate in fit.detection.by_class.items():
        yield replace(estimate, name=f"detection.by_class.{CLASS_NAMES[c]}")
    yield from _named("detection", [fit.misses.correlation_s])
    yield from _named("false_positives", [fit.strays.per_frame])
    for c, row in fit.confusion.rows.items():
        for k, estimate in row.items():
            yield replace(estimate, name=f"color.confusion.{CLASS_NAMES[c]}.{CLASS_NAMES[k]}")
    for step, limits in (("view", fit.limits), ("color", fit.color_limits)):
        for limit in limits:
            side = "max" if limit.upper else "min"
            yield replace(limit.estimate, name=f"{step}.{side}_{limit.axis}")
    late = fit.timing.delays
    yield from _named("latency", [late.mean_s, late.std_s])
    yield from _named("rate", [fit.timing.hz])


def _of_errors(fit: TopicFit) -> Iterator[Estimate]:
    errors = fit.errors
    for name in ("range", "across"):
        yield from _named("polar_noise", [*errors.std[name], errors.one_std[name]])
        yield from _named("polar_noise", [*errors.bias[name], errors.one_bias[name]])
    if errors.bearing is not None:
        names = ("across_std_m", "bearing_std_rad")
        for name, estimate in zip(names, errors.bearing, strict=True):
            yield replace(estimate, name=f"polar_noise.{name}", note="of sqrt(a^2 + (b r)^2)")
    yield from _named("polar_noise", errors.elevation)
    yield from _named("crop", [fit.crop])
    yield from _named("drift", [fit.memory.correlation_s, fit.memory.share])


def _named(step: str, some: Sequence[Estimate | None]) -> Iterator[Estimate]:
    for estimate in some:
        if estimate is not None:
            yield replace(estimate, name=f"{step}.{estimate.name}")
