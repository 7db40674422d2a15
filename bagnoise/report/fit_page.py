"""The page of a fit: what was measured, the fitted curve over it, and the recipe."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.forms import simplest
from bagnoise.fit.wording import interval_text, rounded
from bagnoise.report.colors import INK, SERIES
from bagnoise.report.figures import Figure
from bagnoise.report.html import card, page, table
from bagnoise.report.page import figure_text
from bagnoise.report.svg import Plot, padded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bagnoise.fit.estimate import Estimate
    from bagnoise.fit.run import Fit, FittedStream
    from bagnoise.fit.topic import TopicFit

CURVE_POINTS = 200
BARS = 50
FEW = 2
NAMES = (("range", "along the ray"), ("across", "across the ray"))


def fit_page(fit: Fit, recipe: str) -> str:
    """Put the page of a fit together."""
    title = f"Fit to {fit.real_name}"
    parts = [f"<h1>{escape(title)}</h1>"]
    parts.append(
        f'<p class="soft">Truth {escape(fit.truth_name)}. Vertical lines are 95 % intervals.</p>'
    )
    links = [
        f'<a href="#s{n}">{escape(stream.fit.topic)}</a>' for n, stream in enumerate(fit.streams)
    ]
    parts.append(f'<nav>{"".join(links)}<a href="#recipe">Recipe</a></nav>')
    for number, stream in enumerate(fit.streams):
        parts.append(_section(number, stream))
    parts.append(f'<h2 id="recipe">Recipe</h2><pre>{escape(recipe)}</pre>')
    return page(title, "\n".join(parts))


def _section(number: int, stream: FittedStream) -> str:
    fit = stream.fit
    figures = "".join(figure_text(figure) for figure in fit_figures(stream))
    notes = [*stream.timing_notes, *fit.notes, *stream.not_identified]
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f'<h2 id="s{number}">{escape(fit.topic)}</h2>'
        f'<div class="cards">{"".join(_cards(fit))}</div>'
        f'<div class="figures">{figures}</div><h3>Deviation, bias and detection by range</h3>'
        f"{_table(fit)}"
        f"<h3>Notes</h3><ul>{listed}</ul>"
    )


def _cards(fit: TopicFit) -> Iterator[str]:
    yield card(str(len(fit.rows.true_xy)), "messages")
    yield card(str(int(fit.single.sum())), f"matches within {fit.rows.gate_m:.2f} m")
    yield card(f"{100 * fit.wrong_share:.2g} %", "of them wrong (estimate)")
    yield card(f"{fit.strays.per_frame.value:.3g}", "false positives a message")
    if fit.timing.hz is not None:
        yield card(f"{fit.timing.hz.value:g} Hz", "rate")
    if fit.timing.delays.mean_s is not None:
        yield card(f"{1e3 * fit.timing.delays.mean_s.value:.4g} ms", "mean delay")


def fit_figures(stream: FittedStream) -> Iterator[Figure]:
    """Draw what was measured of a topic, and the fit over it."""
    fit, key = stream.fit, stream.name
    yield _deviations(fit, key)
    yield _biases(fit, key)
    yield _detection(fit, key)
    delay_ns = fit.timing.delays.delay_ns
    if delay_ns is not None and len(delay_ns) > FEW:
        yield _delays(fit, key, delay_ns)
    if len(fit.memory.lags_s) > FEW:
        yield _lags(fit, key)


def _middles(some: Sequence[Estimate]) -> list[float]:
    return [(e.bin_m[0] + e.bin_m[1]) / 2 for e in some if e.bin_m is not None]


def _marks(plot: Plot, xs: Sequence[float], some: Sequence[Estimate], n: int, name: str) -> None:
    plot.points(xs, [e.value for e in some], SERIES[n], name=name, radius=3.5, opacity=1)
    for x, e in zip(xs, some, strict=True):
        plot.line([x, x], [e.low, e.high], SERIES[n])


def fitted_deviation(fit: TopicFit, name: str, range_m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the deviation that the recipe asks for at ranges, (n,), drift and all."""
    if name == "across" and fit.errors.bearing is not None:
        across, bearing = (e.value for e in fit.errors.bearing)
        return np.sqrt(across**2 + (bearing * range_m) ** 2)
    curve = simplest(fit.errors.std[name], fit.errors.one_std[name])
    if len(curve) == 1:
        return np.full(len(range_m), curve[0].value)
    return fit.errors.std_at(name, range_m)


def _deviations(fit: TopicFit, key: str) -> Figure:
    farthest = float(fit.errors.edges_m[-1])
    grid = np.linspace(0.01, farthest, CURVE_POINTS)
    top = max(e.high for name, _ in NAMES for e in fit.errors.std[name])
    labels = ("range of the true cone, m", "deviation, m")
    plot = Plot((0, farthest), (0, 1.5 * top), labels=labels, title="Deviation by range")
    for n, (name, words) in enumerate(NAMES):
        some = fit.errors.std[name]
        shift = 0.004 * farthest * (2 * n - 1)
        _marks(plot, [x + shift for x in _middles(some)], some, n, f"measured {words}")
        curve = fitted_deviation(fit, name, grid).tolist()
        plot.line(grid.tolist(), curve, SERIES[n], dash="5 4", name=f"fitted {words}")
    caption = (
        "Maximum likelihood of a normal cut by the gate, with strays; lines: what the recipe asks."
    )
    return Figure(f"{key}-fit-deviation", "Deviation by range", caption, plot.text())


def _biases(fit: TopicFit, key: str) -> Figure:
    farthest = float(fit.errors.edges_m[-1])
    every = [v for name, _ in NAMES for e in fit.errors.bias[name] for v in (e.low, e.high)]
    labels = ("range of the true cone, m", "mean error, m")
    limits = padded([*every, 0.0], 0.15)
    plot = Plot((0, farthest), limits, labels=labels, title="Bias by range")
    plot.line([0, farthest], [0, 0], INK)
    for n, (name, words) in enumerate(NAMES):
        some = fit.errors.bias[name]
        shift = 0.004 * farthest * (2 * n - 1)
        _marks(plot, [x + shift for x in _middles(some)], some, n, words)
    caption = "Mean of measured minus true."
    return Figure(f"{key}-fit-bias", "Bias by range", caption, plot.text())


def _detection(fit: TopicFit, key: str) -> Figure:
    some = fit.detection.probability
    farthest = float(fit.errors.edges_m[-1])
    labels = ("range of the true cone, m", "chance to be seen")
    plot = Plot((0, farthest), (0, 1.25), labels=labels, title="Detection by range")
    _marks(plot, _middles(some), some, 5, "corrected for gate and strays")
    caption = "Of true cones in view that stand clear of others."
    if fit.detection.by_class:
        caption += " Of the commonest class; the recipe has factors for the others."
    return Figure(f"{key}-fit-detection", "Detection by range", caption, plot.text())


def _delays(fit: TopicFit, key: str, delay_ns: NDArray[np.int64]) -> Figure:
    delay_ms = delay_ns / 1e6
    low, high = padded(delay_ms.tolist(), 0.1)
    edges = np.linspace(low, high, BARS + 1)
    width = float(edges[1] - edges[0])
    height = np.histogram(delay_ms, edges)[0] / len(delay_ms) / width
    top = float(height.max())
    plot = Plot((low, high), (0, 1.3 * top), labels=("delay, ms", "density, 1/ms"), title="Delay")
    plot.bars(edges.tolist(), height.tolist(), SERIES[5], name="measured")
    late = fit.timing.delays
    if late.mean_s is not None and late.std_s is not None and late.std_s.value > 0:
        mean, std = 1e3 * late.mean_s.value, 1e3 * late.std_s.value
        grid = np.linspace(low, high, CURVE_POINTS)
        bell = np.exp(-0.5 * ((grid - mean) / std) ** 2) / std / np.sqrt(2 * np.pi)
        plot.line(grid.tolist(), np.minimum(bell, 1.3 * top).tolist(), INK, name="fitted")
    caption = f"Of {len(delay_ms)} messages; {late.censored} came at once or waited for another."
    return Figure(f"{key}-fit-delay", "Delay of delivery", caption, plot.text())


def _lags(fit: TopicFit, key: str) -> Figure:
    lags, rho = fit.memory.lags_s, fit.memory.correlation
    limits = padded([*rho.tolist(), 0.0], 0.15)
    labels = ("time between, s", "correlation")
    plot = Plot((0, float(lags[-1])), limits, labels=labels, title="Correlation in time")
    plot.points(lags.tolist(), rho.tolist(), SERIES[0], name="errors of one cone", radius=2.5)
    plot.line([0, float(lags[-1])], [0, 0], INK)
    if fit.memory.found and fit.memory.share is not None and fit.memory.correlation_s is not None:
        grid = np.linspace(0, float(lags[-1]), CURVE_POINTS)
        curve = fit.memory.share.value * np.exp(-((grid / fit.memory.correlation_s.value) ** 2))
        plot.line(grid.tolist(), curve.tolist(), SERIES[1], name="fitted")
    caption = "Of the errors of one cone in two messages, along and across together."
    return Figure(f"{key}-fit-correlation", "Correlation in time", caption, plot.text())


def _table(fit: TopicFit) -> str:
    """Return two tables by range: deviations, measured and fitted; and biases and detection."""
    spread, rest = [], []
    for n, some in enumerate(fit.errors.std["range"]):
        assert some.bin_m is not None
        where = f"{some.bin_m[0]:g} to {some.bin_m[1]:g}"
        square = float((fit.rows.range_m[fit.errors.rows[n]] ** 2).mean())
        middle = np.array([square**0.5])
        cells, others = [where, str(some.count)], [where]
        for name, _ in NAMES:
            std, bias = fit.errors.std[name][n], fit.errors.bias[name][n]
            fitted = float(fitted_deviation(fit, name, middle)[0])
            cells += [f"{rounded(std):g}", _interval(std), f"{fitted:.4g}"]
            others += [f"{rounded(bias):g}", _interval(bias)]
        seen = fit.detection.probability[n]
        spread.append(cells)
        rest.append([*others, str(seen.count), f"{rounded(seen):g}", _interval(seen)])
    heads = ["range, m", "errors"]
    heads += [word for _, words in NAMES for word in (f"{words}, m", "95 %", "fitted")]
    others = ["range, m", *(w for _, words in NAMES for w in (f"bias {words}, m", "95 %"))]
    others += ["looks", "seen", "95 %"]
    first = table(heads, spread, range(1, len(heads)))
    return f"{first}<p></p>{table(others, rest, range(1, len(others)))}"


def _interval(estimate: Estimate) -> str:
    return interval_text(estimate).removeprefix("95 %: ")
