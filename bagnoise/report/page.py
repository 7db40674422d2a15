"""The report's text and order: key figures, the track, each stream, the check, the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagnoise.compare.timing import delays_ns, latency, rhythm
from bagnoise.report.colors import CLASSES, SERIES
from bagnoise.report.html import Raw, card, json_block, page, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bagnoise.compare.check import Verdict
    from bagnoise.compare.run import Comparison, Stream
    from bagnoise.report.figures import Figure


@dataclass(frozen=True)
class Section:
    """A stream and its figures."""

    stream: Stream
    figures: list[Figure]


def write_page(
    comparison: Comparison,
    verdict: Verdict | None,
    sections: Sequence[Section],
    overview: Figure | None,
    scrub: dict[str, Any] | None,
    recipe_text: str,
    fitted_text: str = "",
) -> str:
    """Put the page together."""
    name = Path(comparison.noisy).name
    parts = [_head(comparison, verdict, sections)]
    if overview is not None or scrub is not None:
        parts.append('<h2 id="track">The track from above</h2>')
        parts.append(figure_text(overview) if overview else "")
        parts.append(_scrub_text(scrub) if scrub else "")
    for number, section in enumerate(sections):
        parts.append(_section(number, section))
    if verdict is not None:
        parts.append(_verdict(verdict))
    parts.append(_topics(comparison))
    if recipe_text:
        parts.append(f'<h2 id="recipe">Recipe</h2><pre>{escape(recipe_text)}</pre>')
    if fitted_text:
        title = "Fitted recipe"
        parts.append(f'<h2 id="fit">{title}</h2><pre>{escape(fitted_text)}</pre>')
    script = script_text("scrub.js") if scrub else ""
    return page(f"{name}: bagnoise report", "\n".join(parts), script=script)


def script_text(name: str) -> str:
    """Return a script that is shipped beside this module."""
    return (resources.files("bagnoise.report") / name).read_text("utf-8")


def _head(comparison: Comparison, verdict: Verdict | None, sections: Sequence[Section]) -> str:
    same = comparison.truth == comparison.noisy
    truth = "the truth it still carries" if same else escape(comparison.truth)
    cards = "".join(_cards(comparison, verdict, sections))
    cones = any(section.stream.pair.kind == "cones" for section in sections)
    links = ['<a href="#track">Track</a>'] if cones else []
    links += [
        f'<a href="#s{n}">{escape(section.stream.pair.noisy)}</a>'
        for n, section in enumerate(sections)
    ]
    links += ['<a href="#check">Check</a>'] if verdict is not None else []
    links += ['<a href="#topics">Topics</a>']
    links += ['<a href="#recipe">Recipe</a>'] if comparison.recipe is not None else []
    warnings = [*comparison.warnings, *(w for s in sections for w in s.stream.warnings)]
    notes = "".join(f'<p class="bad">Warning: {escape(w)}</p>' for w in warnings)
    return (
        f"<h1>{escape(Path(comparison.noisy).name)}</h1>"
        f'<p class="soft">{escape(comparison.noisy)}, against {truth}</p>'
        f'<div class="cards">{cards}</div><nav>{"".join(links)}</nav>{notes}'
    )


def _cards(
    comparison: Comparison, verdict: Verdict | None, sections: Sequence[Section]
) -> Iterator[str]:
    if comparison.recipe is not None:
        yield card(str(comparison.recipe.seed), "seed")
    if verdict is not None:
        state = f"{len(verdict.failed)} failed" if verdict.failed else "passed"
        yield card(state, f"check, {verdict.tested} tests, alpha {verdict.alpha:g}")
    yield card(str(sum(t.noisy for t in comparison.topics)), "messages")
    untouched = sum(t.bytes == "identical" for t in comparison.topics)
    yield card(f"{untouched} of {len(comparison.topics)}", "topics byte for byte")
    for section in sections:
        measured, topic = section.stream.measured, section.stream.pair.noisy
        residual = measured.get("residual_m")
        if residual:
            spread = (residual["x"]["std"] ** 2 / 2 + residual["y"]["std"] ** 2 / 2) ** 0.5
            yield card(f"{spread:.3f} m", f"error in x and y, {topic}")
        elif measured.get("range_residual_m"):
            yield card(f"{measured['range_residual_m']['std']:.4f} m", f"range error, {topic}")


def _section(number: int, section: Section) -> str:
    stream = section.stream
    figures = "".join(figure_text(figure) for figure in section.figures)
    return (
        f'<h2 id="s{number}">{escape(stream.pair.noisy)}</h2>'
        f'<p class="soft">{escape(stream.pair.kind)} of {escape(stream.pair.truth)}; paired by '
        f"{escape(stream.pair.how)}; messages by {escape(stream.shown.how)}; matched: "
        f"{escape(stream.matching)}</p>{_timing(stream)}"
        f'<div class="figures">{figures}</div>'
    )


def _timing(stream: Stream) -> str:
    beat, age = rhythm(stream.noisy), latency(delays_ns(stream.truth, stream.noisy, stream.shown))
    rate = "" if beat["rate_hz"] is None else f"{beat['rate_hz']:.3f}"
    cells = [beat["messages"], rate, beat["gaps"], beat["out_of_order"]]
    heads = ["messages", "Hz", "gaps", "stamps out of order"]
    if age is not None:
        percent = age["percentiles_s"]
        heads += ["age: mean, ms", "deviation", "50 %", "95 %", "99 %"]
        values = (age["mean_s"], age["std_s"], percent["50"], percent["95"], percent["99"])
        cells += [f"{1e3 * v:.3f}" for v in values]
    return table(heads, [cells], range(len(heads)))


def figure_text(figure: Figure) -> str:
    """Return a figure with its title and caption."""
    wide = ' class="wide"' if figure.wide else ""
    return (
        f"<figure{wide}><h3>{escape(figure.title)}</h3>{figure.svg}"
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _scrub_text(scrub: dict[str, Any]) -> str:
    shapes = ("▲", "■", "◆")
    keys = [f'<span style="color:{CLASSES[4]}">○</span> {escape(scrub["names"][0])}']
    keys += [
        f'<span style="color:{SERIES[n % len(SERIES)]}">{shapes[n % len(shapes)]}</span> '
        f"{escape(name)}"
        for n, name in enumerate(scrub["names"][1:])
    ]
    return (
        '<figure class="wide"><h3>What each sensor said last, seen from the car</h3>'
        '<div class="scrub"><button id="scrub-play" type="button">Play</button>'
        '<input id="scrub-time" type="range" min="0" value="0" aria-label="log time">'
        '<span id="scrub-label" style="min-width:5em"></span></div>'
        '<svg id="scrub" viewBox="0 0 1080 520" role="img" aria-label="Cones around the car"></svg>'
        f"<figcaption>{' &nbsp; '.join(keys)}. Outlines have the color of the cone's class; the "
        "car looks up.</figcaption></figure>" + json_block("scrub-data", scrub)
    )


def _verdict(verdict: Verdict) -> str:
    rows = [
        (
            line.subject,
            line.what,
            line.asked,
            line.measured,
            "" if line.p is None else f"{line.p:.2g}",
            _verdict_word(verdict.verdict(line)),
            line.note,
        )
        for line in verdict.lines
    ]
    heads = ("what", "quantity", "asked", "measured", "p", "verdict", "how")
    state = f"{len(verdict.failed)} failed" if verdict.failed else "all passed"
    return (
        f'<h2 id="check">Check against the recipe</h2><p>{verdict.tested} tests, {state}; the '
        f"chance of any false alarm is {verdict.alpha:g} (Holm).</p>{table(heads, rows, (4,))}"
    )


def _verdict_word(word: str) -> Raw:
    style = {"FAIL": "bad", "ok": "ok"}.get(word, "soft")
    return Raw(f'<span class="{style}">{word}</span>')


def _topics(comparison: Comparison) -> str:
    rows = [
        (
            t.topic,
            t.type_name,
            t.truth,
            t.noisy,
            f"{t.bytes}, at other times" if t.times is False else t.bytes,
        )
        for t in comparison.topics
    ]
    heads = ("topic", "type", "truth", "noisy", "bytes")
    return f'<h2 id="topics">Topics</h2>{table(heads, rows, (2, 3))}'
