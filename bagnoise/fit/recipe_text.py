"""A fitted recipe as YAML: every value with its count and interval beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.fit.confusion import as_chances
from bagnoise.fit.forms import simplest
from bagnoise.fit.wording import Commented, comment, interval_text, rounded
from bagnoise.recipe.document import write_commented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.run import Fit, FittedStream

Path = tuple[str | int, ...]
IN_ORDER = 0.75  # share of neighbours in the truth's order; 0.5 is what chance gives
NOTHING_WRONG = 0.0


def recipe_text(fit: Fit) -> str:
    """Write the recipe of a fit."""
    commented = Commented()
    streams = {}
    for stream in fit.streams:
        streams[stream.name] = _stream(stream, commented)
    description = f"Fitted to {fit.real_name} with the truth of {fit.truth_name}."
    data = {"description": description, "streams": streams}
    return write_commented(data, commented.comments, _header(fit))


def _header(fit: Fit) -> str:
    lines = [
        f"Fitted by bagnoise to {fit.real_name}, truth {fit.truth_name}.",
        "Behind each value: how many samples it rests on, and its 95 % interval.",
    ]
    for stream in fit.streams:
        topic = stream.fit
        lines += [
            "",
            f"{topic.topic}: {len(topic.rows.true_xy)} messages, {int(topic.single.sum())} matches",
            f"  gate {topic.rows.gate_m:.2f} m ({stream.gate_why}); cones with another one within "
            "two gates are left out",
            f"  estimated share of wrong matches: {100 * topic.wrong_share:.2g} %; errors within "
            f"the gate: {100 * float(topic.errors.inside.min()):.3f} % or more",
        ]
        notes = [*stream.timing_notes, *topic.notes, *stream.not_identified]
        lines += [f"  {note}" for note in notes]
    return "\n".join(lines) + "\n"


def _stream(stream: FittedStream, book: Commented) -> dict[str, Any]:
    base: Path = ("streams", stream.name, "steps")
    steps: list[dict[str, Any]] = []
    for name, options in _steps(stream, book, base, steps):
        steps.append({name: options})
    data: dict[str, Any] = {"source": stream.source, "target": stream.fit.topic}
    if stream.source == stream.fit.topic:
        data["target"] = f"{stream.fit.topic}/fitted"
    data["type"] = stream.type_name
    if stream.type_options:
        data["type_options"] = stream.type_options
    data["steps"] = steps
    return data


def _steps(stream: FittedStream, book: Commented, base: Path, made: Sequence[Any]) -> Any:
    """Yield (name, options) of each step, in the order in which a sensor works."""

    def here(name: str) -> Path:
        return (*base, len(made), name)

    fit, timing = stream.fit, stream.fit.timing
    if stream.pose_topic is not None:
        yield "from_track", _from_track(stream, book, here("from_track"))
    if stream.sensor is not None:
        yield "sensor", stream.sensor
    if len(fit.kept) < len(stream.classes_there):
        yield "classes", {"keep": [CLASS_NAMES[c] for c in fit.kept]}
    yield from _view_steps(stream, book, here)
    yield from _color_limits(stream, book, here)
    yield "detection", _detection(stream, book, here("detection"))
    if fit.confusion.stripped:
        yield "color", {"strip": True, "shuffle": False}
    elif not fit.confusion.is_identity:
        yield "color", _confusion(stream, book, here("color"))
    if fit.strays.per_frame.low > NOTHING_WRONG:
        yield "false_positives", _false_positives(stream, book, here("false_positives"))
    timer_first = timing.by_timer and timing.fresh_noise
    if timer_first:
        yield "rate", _rate(stream, book, here("rate"))
    yield "polar_noise", _noise(stream, book, here("polar_noise"))
    if fit.memory.found:
        yield "drift", _drift(stream, book, here("drift"))
    if fit.crop is not None:
        book.note((*here("crop"), "min_x_m"), f"of measured positions; {comment(fit.crop)}")
        yield "crop", {"min_x_m": rounded(fit.crop)}
    if fit.rows.order < IN_ORDER:
        book.note(here("shuffle"), f"{100 * fit.rows.order:.0f} % of neighbours in the truth's order")
        yield "shuffle", {}
    if stream.has_covariance:
        book.note(here("covariance"), "the recording carries one; whether it is honest is not fitted")
        yield "covariance", {}
    if timing.by_timer and not timer_first:
        yield "rate", _rate(stream, book, here("rate"))
    if timing.delays.mean_s is not None:
        yield "latency", _latency(stream, book, here("latency"))
    if stream.header is not None:
        yield "header", stream.header


def _from_track(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    hz = stream.fit.timing.hz
    assert hz is not None
    book.note((*path, "hz"), comment(hz))
    return {"pose_topic": stream.pose_topic, "hz": hz.value}


def _view_steps(stream: FittedStream, book: Commented, here: Any) -> Any:
    view: dict[str, float] = {}
    box: dict[str, float] = {}
    notes = []
    for limit in stream.fit.limits:
        side = "max" if limit.upper else "min"
        if limit.axis in {"horizontal_deg", "vertical_deg"}:
            key, step, into = limit.axis, "field_of_view", view
        elif limit.axis == "range_m":
            key, step, into = f"{side}_range_m", "field_of_view", view
        else:
            key, step, into = f"{side}_{limit.axis}", "crop", box
        into[key] = rounded(limit.estimate)
        notes.append((step, key, comment(limit.estimate)))
    for step, options in (("field_of_view", view), ("crop", box)):
        if not options:
            continue
        path = here(step)
        for name, key, text in notes:
            if name == step:
                book.note((*path, key), text)
        yield step, options


def _color_limits(stream: FittedStream, book: Commented, here: Any) -> Any:
    limits = stream.fit.color_limits
    if not limits:
        return
    names = {
        ("range_m", True): "max_range_m",
        ("range_m", False): "min_range_m",
        ("horizontal_deg", True): "horizontal_deg",
    }
    path, options = here("color"), {}
    only_far = len(limits) == 1 and limits[0].axis == "range_m" and limits[0].upper
    if only_far:
        book.note((*path, "strip_beyond_m"), comment(limits[0].estimate))
        yield "color", {"strip_beyond_m": rounded(limits[0].estimate)}
        return
    for limit in limits:
        key = names[limit.axis, limit.upper]
        options[key] = rounded(limit.estimate)
        book.note((*path, "strip_outside", key), comment(limit.estimate))
    yield "color", {"strip_outside": options}


def _detection(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    found = stream.fit.detection
    curve = simplest(found.probability, found.one)
    options: dict[str, Any] = {"probability": book.curve((*path, "probability"), curve)}
    if found.by_class:
        options["by_class"] = {}
        for c, estimate in found.by_class.items():
            options["by_class"][CLASS_NAMES[c]] = rounded(estimate)
            book.note((*path, "by_class", CLASS_NAMES[c]), comment(estimate))
    return options


def _confusion(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    rows: dict[str, dict[str, float]] = {}
    for c, row in stream.fit.confusion.rows.items():
        rows[CLASS_NAMES[c]] = as_chances(row)
        for k, estimate in row.items():
            book.note((*path, "confusion", CLASS_NAMES[c], CLASS_NAMES[k]), comment(estimate))
    return {"confusion": rows}


def _false_positives(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    fit = stream.fit
    book.note((*path, "per_frame"), comment(fit.strays.per_frame))
    total = max(int(fit.strays.colors.sum()), 1)
    classes = {
        name: round(int(count) / total, 4)
        for name, count in zip(CLASS_NAMES, fit.strays.colors.tolist(), strict=True)
        if count
    }
    return {
        "per_frame": rounded(fit.strays.per_frame),
        "min_range_m": round(fit.view.min_range_m, 3),
        "max_range_m": round(fit.view.max_range_m, 3),
        "horizontal_deg": round(fit.view.horizontal_deg, 3),
        "classes": classes or {"unknown": 1.0},
    }


def _noise(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    fit = stream.fit
    options: dict[str, Any] = {}
    for name, key in (("range", "range_std_m"), ("across", "across_std_m")):
        if name == "across" and fit.errors.bearing is not None and not fit.memory.found:
            for form, estimate in zip((key, "bearing_std_rad"), fit.errors.bearing, strict=True):
                options[form] = rounded(estimate)
                book.note((*path, form), comment(estimate))
            continue
        curve = simplest(fit.errors.std[name], fit.errors.one_std[name])
        left = _without_drift(fit, name)
        options[key] = book.curve((*path, key), curve, lambda e, left=left: left(e))
    if fit.errors.one_elevation is not None:
        curve = simplest(fit.errors.elevation, fit.errors.one_elevation)
        options["elevation_std_rad"] = book.curve((*path, "elevation_std_rad"), curve)
    for name in ("range", "across"):
        key = f"{name}_bias_m"
        curve = simplest(fit.errors.bias[name], fit.errors.one_bias[name])
        if len(curve) == 1 and curve[0].low <= 0 <= curve[0].high:
            options[key] = 0.0
            found = rounded(curve[0])
            text = f"n = {curve[0].count}, {found:g} found, {interval_text(curve[0])}: 0 is within"
            book.note((*path, key), text)
        else:
            options[key] = book.curve((*path, key), curve)
    return options


def _without_drift(fit: Any, name: str) -> Any:
    """Return how a deviation is written once the drift, a step of its own, is taken out of it."""
    drift = dict(zip(("range", "across"), fit.memory.std_m, strict=True))[name]

    def left(estimate: Estimate) -> float:
        if not drift:
            return rounded(estimate)
        return round(float(np.sqrt(max(estimate.value**2 - drift**2, 0.0))), 5)

    return left


def _drift(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    lasting = stream.fit.memory
    assert lasting.correlation_s is not None
    assert lasting.share is not None
    share = f"share of the variance: {rounded(lasting.share):g} ({interval_text(lasting.share)})"
    book.note((*path, "per"), share)
    book.note((*path, "correlation_s"), comment(lasting.correlation_s))
    options: dict[str, Any] = {"per": lasting.per}
    if lasting.per == "cone":
        options["pose_topic"] = stream.any_pose_topic
    options["correlation_s"] = rounded(lasting.correlation_s)
    options["range_std_m"], options["across_std_m"] = (round(v, 5) for v in lasting.std_m)
    return options


def _rate(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    timing = stream.fit.timing
    assert timing.hz is not None
    book.note((*path, "hz"), comment(timing.hz))
    options = {"hz": timing.hz.value}
    if timing.phase_s:
        options["phase_s"] = round(timing.phase_s, 9)
    return options


def _latency(stream: FittedStream, book: Commented, path: Path) -> dict[str, Any]:
    late = stream.fit.timing.delays
    assert late.mean_s is not None
    book.note((*path, "mean_s"), comment(late.mean_s))
    options = {"mean_s": rounded(late.mean_s)}
    if late.std_s is None:
        options["std_s"] = 0.0
        book.note((*path, "std_s"), f"not identified: {late.why}")
        return options
    options["std_s"] = rounded(late.std_s)
    waited = f"; {late.censored} came at once or waited" if late.censored else ""
    book.note((*path, "std_s"), comment(late.std_s) + waited)
    return options
