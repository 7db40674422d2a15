"""The steps of a fitted stream, each with its options and their comments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.fit.confusion import as_chances
from bagnoise.fit.forms import simplest
from bagnoise.fit.wording import Commented, comment, interval_text, rounded

if TYPE_CHECKING:
    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.run import FittedStream
    from bagnoise.fit.topic import TopicFit

Path = tuple[str | int, ...]
Made = tuple[str, dict[str, Any]]
Here = Callable[[str], Path]
Maker = Callable[["FittedStream", Commented, Here], Iterator[Made]]
IN_ORDER = 0.75  # share of neighbours in the truth's order; 0.5 is what chance gives
NOTHING_WRONG = 0.0
RANGE, ACROSS = "range", "across"


def source(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield where the cones come from: the track, the sensor, the classes that are seen."""
    if stream.pose_topic is not None:
        hz = stream.fit.timing.measured_hz or stream.fit.timing.hz
        assert hz is not None
        book.note((*here("from_track"), "hz"), comment(hz))
        yield "from_track", {"pose_topic": stream.pose_topic, "hz": hz.value}
    if stream.sensor is not None:
        yield "sensor", stream.sensor
    if len(stream.fit.kept) < len(stream.classes_there):
        yield "classes", {"keep": [CLASS_NAMES[c] for c in stream.fit.kept]}


def view(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the limits of the view: angles and ranges, and a box in the message's frame."""
    sector: dict[str, Estimate] = {}
    box: dict[str, Estimate] = {}
    for limit in stream.fit.limits:
        side = "max" if limit.upper else "min"
        if limit.axis.endswith("_deg"):
            sector[limit.axis] = limit.estimate
        else:
            into = sector if limit.axis == "range_m" else box
            into[f"{side}_{limit.axis}"] = limit.estimate
    for step, found in (("field_of_view", sector), ("crop", box)):
        if found:
            for key, estimate in found.items():
                book.note((*here(step), key), comment(estimate))
            yield step, {key: rounded(estimate) for key, estimate in found.items()}


def color_limits(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield where color is lost: beyond a range, or outside a view."""
    limits = stream.fit.color_limits
    if not limits:
        return
    path = here("color")
    if len(limits) == 1 and limits[0].axis == "range_m" and limits[0].upper:
        book.note((*path, "strip_beyond_m"), comment(limits[0].estimate))
        yield "color", {"strip_beyond_m": rounded(limits[0].estimate)}
        return
    options = {}
    for limit in limits:
        side = "max" if limit.upper else "min"
        key = limit.axis if limit.axis.endswith("_deg") else f"{side}_{limit.axis}"
        options[key] = rounded(limit.estimate)
        book.note((*path, "strip_outside", key), comment(limit.estimate))
    yield "color", {"strip_outside": options}


def detection(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the chance to be seen, by range and class."""
    found, path = stream.fit.detection, here("detection")
    curve = simplest(found.probability, found.one)
    options: dict[str, Any] = {"probability": book.curve((*path, "probability"), curve)}
    if found.by_class:
        options["by_class"] = {CLASS_NAMES[c]: rounded(e) for c, e in found.by_class.items()}
        for c, estimate in found.by_class.items():
            book.note((*path, "by_class", CLASS_NAMES[c]), comment(estimate))
    lasts = stream.fit.misses.correlation_s
    if lasts is not None:
        if stream.pose_topic is None and stream.any_pose_topic is not None:
            options["pose_topic"] = stream.any_pose_topic
        options["correlation_s"] = rounded(lasts)
        book.note((*path, "correlation_s"), comment(lasts))
    yield "detection", options


def colors(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield what color is seen: none, or by the matrix; nothing where all are right."""
    found = stream.fit.confusion
    if found.stripped:
        yield "color", {"strip": True, "shuffle": False}
    elif not found.is_identity:
        path = (*here("color"), "confusion")
        rows: dict[str, dict[str, float]] = {}
        for c, row in found.rows.items():
            rows[CLASS_NAMES[c]] = as_chances(row)
            for k, estimate in row.items():
                book.note((*path, CLASS_NAMES[c], CLASS_NAMES[k]), comment(estimate))
        if rows:
            yield "color", {"confusion": rows}


def false_positives(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield false positives, evenly over the view, if there are any beyond doubt."""
    fit = stream.fit
    if fit.strays.per_frame.low <= NOTHING_WRONG:
        return
    book.note((*here("false_positives"), "per_frame"), comment(fit.strays.per_frame))
    total = max(int(fit.strays.colors.sum()), 1)
    counts = zip(CLASS_NAMES, fit.strays.colors.tolist(), strict=True)
    yield (
        "false_positives",
        {
            "per_frame": rounded(fit.strays.per_frame),
            "min_range_m": round(fit.view.min_range_m, 3),
            "max_range_m": round(fit.view.max_range_m, 3),
            "horizontal_deg": round(fit.view.horizontal_deg, 3),
            "classes": {name: round(n / total, 4) for name, n in counts if n},
        },
    )


def noise(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield deviations and biases along and across the ray, and upwards."""
    fit, path = stream.fit, here("polar_noise")
    options: dict[str, Any] = {}
    along = simplest(fit.errors.std[RANGE], fit.errors.one_std[RANGE])
    options["range_std_m"] = _deviation(fit, RANGE, along, book, (*path, "range_std_m"))
    options |= _across(fit, book, path)
    if fit.errors.one_elevation is not None:
        curve = simplest(fit.errors.elevation, fit.errors.one_elevation)
        options["elevation_std_rad"] = book.curve((*path, "elevation_std_rad"), curve)
    options["range_bias_m"] = _bias(fit, RANGE, book, (*path, "range_bias_m"))
    if fit.errors.bearing_bias is None:
        options["across_bias_m"] = _bias(fit, ACROSS, book, (*path, "across_bias_m"))
    else:
        book.note((*path, "bearing_bias_rad"), comment(fit.errors.bearing_bias))
        options["bearing_bias_rad"] = rounded(fit.errors.bearing_bias)
    yield "polar_noise", options


def _across(fit: TopicFit, book: Commented, path: Path) -> dict[str, Any]:
    """Return the deviation across: that of the bearing, one value, or a table."""
    key = "across_std_m"
    if fit.errors.bearing is None:
        curve = simplest(fit.errors.std[ACROSS], fit.errors.one_std[ACROSS])
        return {key: _deviation(fit, ACROSS, curve, book, (*path, key))}
    across, bearing = fit.errors.bearing
    book.note((*path, "bearing_std_rad"), comment(bearing))
    return {
        key: _deviation(fit, ACROSS, [across], book, (*path, key)),
        "bearing_std_rad": rounded(bearing),
    }


def _deviation(fit: TopicFit, name: str, curve: list[Estimate], book: Commented, path: Path) -> Any:
    """Return a deviation without the drift, which is a step of its own."""
    drift_m = dict(zip((RANGE, ACROSS), fit.memory.std_m, strict=True))[name]
    if not drift_m:
        return book.curve(path, curve)
    told = [replace(e, note=f"with the drift {rounded(e):g}") for e in curve]

    def left(estimate: Estimate) -> float:
        return round(float(np.sqrt(max(estimate.value**2 - drift_m**2, 0.0))), 5)

    return book.curve(path, told, left)


def _bias(fit: TopicFit, name: str, book: Commented, path: Path) -> Any:
    curve = simplest(fit.errors.bias[name], fit.errors.one_bias[name])
    one = curve[0]
    if len(curve) > 1 or not one.low <= 0 <= one.high:
        return book.curve(path, curve)
    found = f"n = {one.count}, {rounded(one):g} found, {interval_text(one)}: 0 is within"
    book.note(path, found)
    return 0.0


def drift(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the errors that last, if there are any."""
    lasting, path = stream.fit.memory, here("drift")
    if not lasting.found or lasting.share is None or lasting.correlation_s is None:
        return
    share = f"share of the variance: {rounded(lasting.share):g} ({interval_text(lasting.share)})"
    book.note((*path, "per"), share)
    book.note((*path, "correlation_s"), comment(lasting.correlation_s))
    options: dict[str, Any] = {"per": lasting.per}
    if lasting.per == "cone" and stream.any_pose_topic is not None:
        options["pose_topic"] = stream.any_pose_topic
    options["correlation_s"] = rounded(lasting.correlation_s)
    options["range_std_m"], options["across_std_m"] = (round(v, 5) for v in lasting.std_m)
    yield "drift", options


def crop(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the cut of measured positions."""
    cut = stream.fit.crop
    if cut is not None:
        book.note((*here("crop"), "min_x_m"), f"of measured positions; {comment(cut)}")
        yield "crop", {"min_x_m": rounded(cut)}


def shuffle(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the loss of the truth's order."""
    share = stream.fit.rows.order
    if share < IN_ORDER:
        book.note(here("shuffle"), f"{100 * share:.0f} % of neighbours in the truth's order")
        yield "shuffle", {}


def covariance(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the claim of a covariance where the recording carries one."""
    if stream.has_covariance:
        text = "the recording carries one; whether it is honest is not fitted"
        book.note(here("covariance"), text)
        yield "covariance", {}


def rate(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the timer that publishes the latest."""
    timing = stream.fit.timing
    if not timing.by_timer:
        return
    assert timing.hz is not None
    book.note((*here("rate"), "hz"), comment(timing.hz))
    phase = {"phase_s": round(timing.phase_s, 9)} if timing.phase_s else {}
    yield "rate", {"hz": timing.hz.value, **phase}


def latency(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:
    """Yield the delay of delivery."""
    late, path = stream.fit.timing.delays, here("latency")
    if late.mean_s is None:
        return
    book.note((*path, "mean_s"), comment(late.mean_s))
    if late.std_s is None:
        book.note((*path, "std_s"), f"not identified: {late.why}")
        yield "latency", {"mean_s": rounded(late.mean_s), "std_s": 0.0}
        return
    waited = f"; {late.censored} came at once or waited" if late.censored else ""
    book.note((*path, "std_s"), comment(late.std_s) + waited)
    yield "latency", {"mean_s": rounded(late.mean_s), "std_s": rounded(late.std_s)}


def header(stream: FittedStream, book: Commented, here: Here) -> Iterator[Made]:  # noqa: ARG001
    """Yield what the header does not say."""
    if stream.header is not None:
        yield "header", stream.header
