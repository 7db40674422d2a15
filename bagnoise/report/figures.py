"""The figures of a stream of cones: residuals, detection, confusion, delays, rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.check_noise import asked_noise
from bagnoise.compare.cones import AXES, CLASS_NAMES, bin_names
from bagnoise.report.colors import FAINT, INK, SERIES, cividis
from bagnoise.report.svg import Plot, padded
from bagnoise.steps.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bagnoise.compare.check_noise import AskedNoise
    from bagnoise.compare.run import Stream

SECOND_NS = 1_000_000_000
BARS = 60
CURVE_POINTS = 161
MIXED = 200  # cones that an asked distribution is averaged over
MAX_POINTS = 4000  # of a scatter; more are thinned evenly
TALL = (520, 330)


@dataclass(frozen=True)
class Figure:
    """A picture with a title and what it says; ``name`` is a file name without suffix."""

    name: str
    title: str
    caption: str
    svg: str
    wide: bool = False


def cone_figures(stream: Stream, key: str) -> Iterator[Figure]:
    """Draw what was made of a topic of cones; ``key`` begins the file names."""
    rows = stream.rows
    if rows is not None and len(rows.residual_m):
        yield _residuals(stream, key)
        yield _spread_by_range(stream, key)
    if rows is not None and rows.true_by_bin.any():
        yield _detection(stream, key)
        yield _confusion(stream, key)
    yield from time_figures(stream, key)


def time_figures(stream: Stream, key: str) -> Iterator[Figure]:
    """Draw when messages came."""
    times = np.array(stream.noisy.log_ns, np.int64)
    if len(times) < 2:  # noqa: PLR2004 - a rate needs two
        return
    start_ns = int(times[0])
    yield _ages(stream, key, start_ns)
    yield _rate(stream, key, start_ns)


def _asked(stream: Stream) -> AskedNoise | None:
    """Return what the recipe's noise steps ask, None without any."""
    steps = [step for _, step in stream.pair.steps]
    if stream.rows is None or not any(isinstance(step, Noise) for step in steps):
        return None
    return asked_noise(steps, stream.rows.true_xyz)


def _residuals(stream: Stream, key: str) -> Figure:
    assert stream.rows is not None
    error_m = stream.rows.residual_m[:, :2]
    asked = _asked(stream)
    widest_m = 0.0 if asked is None else float(asked.std_m[:, 0].max())
    reach = max(float(np.abs(error_m).max()), 4 * widest_m, 1e-6)
    edges = np.linspace(-reach, reach, BARS + 1)
    width = edges[1] - edges[0]
    heights = [np.histogram(c, edges)[0] / len(error_m) / width for c in error_m.T]
    curve = np.linspace(-reach, reach, CURVE_POINTS)
    density = None if asked is None else _density(curve, asked)
    top = max(float(h.max()) for h in (*heights, *([] if density is None else [density])))
    plot = Plot(
        (-reach, reach),
        (0, top * 1.12),
        labels=("measured minus true, m", "density, 1/m"),
        title="Position errors",
    )
    for name, color, height in zip("xy", SERIES[3:5], heights, strict=True):
        plot.bars(edges.tolist(), height.tolist(), color, name=f"{name} error")
    if density is not None and asked is not None:
        plot.line(curve.tolist(), density.tolist(), INK, name=_asked_name(asked))
    found = ", ".join(
        f"{name} {c.mean():+.4f} ± {c.std():.4f} m" for name, c in zip("xy", error_m.T, strict=True)
    )
    caption = f"{len(error_m)} detections matched by {stream.matching}. Mean ± deviation: {found}."
    return Figure(f"{key}-residuals", "Position errors", caption, plot.text())


def _density(x_m: NDArray[np.float64], asked: AskedNoise) -> NDArray[np.float64] | None:
    """Return the density of the asked x errors, (m,), over the cones that were seen."""
    std_m = asked.std_m[:: max(1, len(asked.std_m) // MIXED), 0]
    if not std_m.all():
        return None
    z = (x_m[:, None] - asked.bias_m[0]) / std_m
    bells = np.exp(-0.5 * z**2) / std_m / math.sqrt(2 * math.pi)
    density: NDArray[np.float64] = bells.mean(axis=1)
    return density


def _asked_name(asked: AskedNoise) -> str:
    low, high = float(asked.std_m[:, 0].min()), float(asked.std_m[:, 0].max())
    spread = f"{low:g}" if low == high else f"{low:.3g} to {high:.3g}"
    return f"asked: N({asked.bias_m[0]:g}, {spread} m)"


def _spread_by_range(stream: Stream, key: str) -> Figure:
    rows = stream.rows
    assert rows is not None
    range_m = rows.true_range_m
    plot = Plot(
        padded([0, float(range_m.max())], 0.02),
        (0, 1.5 * _largest_deviation(rows.residual_m[:, 3:], range_m) or 1.0),
        labels=("range of the true cone, m", "deviation, m"),
        title="Deviation by range",
    )
    for column, color, shape in zip((3, 4), SERIES, ("triangle", "square"), strict=False):
        xs, ys = _deviations(rows.residual_m[:, column], range_m)
        plot.line(xs, ys, color, name=AXES[column])
        plot.points(xs, ys, color, radius=4, opacity=1, shape=shape)
    asked = _asked(stream)
    if asked is not None:
        order = np.argsort(range_m, kind="stable")[:: max(1, len(range_m) // MIXED)]
        xs, ys = range_m[order].tolist(), asked.std_m[order, 0].tolist()
        plot.line(xs, ys, INK, name="asked along x", dash="5 4")
    caption = "Deviation of the errors along and across the ray, over 2 m of range each."
    return Figure(f"{key}-deviation-by-range", "Deviation by range", caption, plot.text())


def _deviations(
    error_m: NDArray[np.float64], range_m: NDArray[np.float64]
) -> tuple[list[float], list[float]]:
    """Return (middle, deviation) of each 2 m of range that holds enough."""
    bins = (range_m // 2).astype(int)
    xs, ys = [], []
    for number in np.unique(bins).tolist():
        some = error_m[bins == number]
        if len(some) >= 20:  # noqa: PLR2004 - fewer say nothing of a deviation
            xs.append(2.0 * number + 1)
            ys.append(float(some.std()))
    return xs, ys


def _largest_deviation(error_m: NDArray[np.float64], range_m: NDArray[np.float64]) -> float:
    found = [y for column in error_m.T for y in _deviations(column, range_m)[1]]
    return max(found, default=float(error_m.std()))


def _detection(stream: Stream, key: str) -> Figure:
    rows = stream.rows
    assert rows is not None
    names = bin_names(rows.bins_m)
    used = [n for n in range(len(names)) if rows.true_by_bin[n]]
    plot = Plot(
        (-0.5, len(used) - 0.5), (0, 1.12), labels=("", "share detected"), title="Detection"
    )
    for place, n in enumerate(used):
        share = float(rows.found_by_bin[n] / rows.true_by_bin[n])
        plot.bars([place - 0.35, place + 0.35], [share], SERIES[5])
        plot.label(place, share + 0.03, f"{100 * share:.1f} %")
    plot.names([(place, names[n]) for place, n in enumerate(used)], "x")
    false = stream.measured["false_positives_per_message"] or 0.0
    caption = (
        f"Of all cones of the truth, by range. {stream.measured['false_positives']} false "
        f"positives, {false:.3g} a message."
    )
    return Figure(f"{key}-detection", "Detection by range", caption, plot.text())


def _confusion(stream: Stream, key: str) -> Figure:
    assert stream.rows is not None
    table = stream.rows.confusion
    used = [n for n in range(len(CLASS_NAMES)) if table[n].any()]
    heads = [*(name.removeprefix("small_").replace("_", " ") for name in CLASS_NAMES), "missed"]
    plot = Plot((0, len(heads)), (0, len(used)), title="Classes")
    for row, true in enumerate(reversed(used)):
        total = table[true].sum()
        for column, count in enumerate(table[true].tolist()):
            share = count / total
            color = "#{:02x}{:02x}{:02x}".format(*cividis(np.array([share]))[0].tolist())
            plot.box((column, column + 1), (row, row + 1), color if count else "#f6f8fa")
            ink = "#fff" if share < 0.6 and count else INK  # noqa: PLR2004 - where cividis is dark
            text = f"{100 * share:.1f} %" if count else "0"
            plot.label(column + 0.5, row + 0.45, text, ink if count else FAINT)
    plot.names([(n + 0.5, head) for n, head in enumerate(heads)], "x")
    rows = [(row + 0.45, heads[n]) for row, n in enumerate(reversed(used))]
    plot.names(rows, "y")
    caption = "Rows: the true class. Columns: what was published, or that nothing was (missed)."
    return Figure(f"{key}-classes", "Classes", caption, plot.text())


def _ages(stream: Stream, key: str, start_ns: int) -> Figure:
    pairs = [
        ((log_ns - start_ns) / SECOND_NS, (log_ns - stream.truth.log_ns[index]) * 1e-6)
        for log_ns, index in zip(stream.noisy.log_ns, stream.shown.truth, strict=True)
        if index is not None
    ]
    some = pairs[:: max(1, len(pairs) // MAX_POINTS)]
    xs, ys = [x for x, _ in some], [y for _, y in some]
    top = 1.3 * max([0.0, *ys]) or 1.0  # room for the legend
    limits = (min([0.0, *ys]) * 1.1, top)
    labels = ("log time, s", "ms")
    plot = Plot(padded(xs, 0.01), limits, labels=labels, title="Age at delivery")
    plot.points(xs, ys, SERIES[5], name="delivery minus truth")
    if stream.ticks_ns is not None:
        waits = zip(stream.noisy.log_ns, stream.ticks_ns, strict=True)
        late = [((log - start_ns) / SECOND_NS, (log - tick) * 1e-6) for log, tick in waits]
        late = late[:: max(1, len(late) // MAX_POINTS)]
        plot.points(*_columns(late), SERIES[0], name="delivery minus tick", shape="triangle")
    caption = (
        f"How old the shown measurement is when it is delivered (found by {stream.shown.how}). "
        "With a rate, the wait for the tick is part of it; the delay after the tick is drawn apart."
    )
    return Figure(f"{key}-age", "Age at delivery", caption, plot.text())


def _columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]


def _rate(stream: Stream, key: str, start_ns: int) -> Figure:
    seconds = (np.array(stream.noisy.log_ns, np.int64) - start_ns) / SECOND_NS
    span = float(seconds[-1])
    window = 1.0 if span >= 3 else max(span / 10, 1e-9)  # noqa: PLR2004 - whole seconds if several
    count = max(1, int(span / window))
    edges = np.arange(count + 1) * window
    rates = np.histogram(seconds, edges)[0] / window
    plot = Plot(
        (0, float(edges[-1])),
        (0, float(rates.max()) * 1.2 or 1.0),
        labels=("log time, s", "messages a second"),
        title="Rate",
    )
    plot.bars(edges.tolist(), rates.tolist(), SERIES[1])
    return Figure(
        f"{key}-rate", "Rate", f"Messages in each {window:.3g} s of log time.", plot.text()
    )
