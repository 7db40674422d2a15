"""Write the report of a bag: measure, draw, put the page together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bagnoise.augment.provenance import history
from bagnoise.bags import open_bag
from bagnoise.bags.remote_path import location
from bagnoise.compare.check import check
from bagnoise.compare.run import Options, compare
from bagnoise.compare.samples import decoded
from bagnoise.errors import BagError, UsageError
from bagnoise.fit.recipe_text import recipe_text as fitted_recipe_text
from bagnoise.fit.run import Options as FitOptions
from bagnoise.fit.run import fit
from bagnoise.messages.definitions import definition_finder
from bagnoise.report.cloud_figures import cloud_figures
from bagnoise.report.figures import cone_figures, time_figures
from bagnoise.report.files import check_new, write_new
from bagnoise.report.fit_page import fit_figures
from bagnoise.report.page import Section, write_page
from bagnoise.report.track import find_path, map_figure, scrubber

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from bagnoise.compare.check import Verdict
    from bagnoise.compare.run import Comparison, Stream
    from bagnoise.messages.cloud import Cloud
    from bagnoise.report.figures import Figure


@dataclass(frozen=True)
class Made:
    """What was written."""

    page: Path
    figures: list[Path]
    comparison: Comparison
    verdict: Verdict | None


def report(
    noisy: str | PathLike[str],
    target: str | PathLike[str],
    *,
    truth: str | PathLike[str] | None = None,
    figures_folder: str | PathLike[str] | None = None,
    options: Options | None = None,
    with_fit: bool = False,
    overwrite: bool = False,
) -> Made:
    """Write a page about a bag; without a truth, the topics that it still carries serve.

    ``with_fit`` fits a recipe to its topics of cones, and draws that over what was measured.

    Raises:
        UsageError: the page exists and may not be replaced, the folder is not there, or there are
            no cones to fit.
        BagError: a bag cannot be read.
        BagnoiseError: there is too little to fit.
    """
    target, noisy = Path(target), location(noisy)
    check_new(target, overwrite=overwrite)
    true_path = noisy if truth is None else location(truth)
    options = options or Options()
    comparison = compare(true_path, noisy, options)
    verdict = None if comparison.recipe is None else check(comparison)
    find = definition_finder(options.msgs)
    with open_bag(true_path, definitions=find) as true_bag:
        path = find_path(true_bag)
        with open_bag(noisy, definitions=find) as noisy_bag:
            sections = [
                Section(stream, list(_figures(stream, key, true_path, noisy, options)))
                for key, stream in _keyed(comparison.streams)
            ]
            records = history(noisy_bag)
    cones = _main_cones(comparison.streams)
    overview = map_figure(cones, path) if path is not None and cones else None
    recipe_text = records[-1].get("recipe", "") if records else ""
    fitted_text = _add_fit(sections, cones, true_path, noisy, options) if with_fit else ""
    html = write_page(
        comparison, verdict, sections, overview, scrubber(cones), recipe_text, fitted_text
    )
    write_new(target, html)
    every = [f for section in sections for f in section.figures]
    every += [overview] if overview is not None else []
    return Made(target, _write_figures(figures_folder, every), comparison, verdict)


def _add_fit(
    sections: list[Section], cones: list[Stream], truth: Path, noisy: Path, options: Options
) -> str:
    """Draw the fit of each topic of cones behind its other figures; return the fitted recipe."""
    pairs = [s.pair for s in cones if s.pair.noisy != s.pair.truth]
    if not pairs:
        msg = f"{noisy}: no topic of cones to fit to a truth"
        raise UsageError(msg)
    topics = [pair.noisy for pair in pairs if pair.truth == pairs[0].truth]
    fitted = fit(
        truth, noisy, FitOptions(truth_topic=pairs[0].truth, topics=topics, msgs=options.msgs)
    )
    for stream in fitted.streams:
        for section in sections:
            if section.stream.pair.noisy == stream.fit.topic:
                section.figures.extend(fit_figures(stream))
    return fitted_recipe_text(fitted)


def _main_cones(streams: list[Stream]) -> list[Stream]:
    """Leave out further topics of one stream, which show the same cones again."""
    seen: set[str] = set()
    chosen = []
    for stream in streams:
        name = stream.pair.stream or stream.pair.noisy
        if stream.pair.kind == "cones" and name not in seen:
            seen.add(name)
            chosen.append(stream)
    return chosen


def _keyed(streams: list[Stream]) -> Iterator[tuple[str, Stream]]:
    """Give each stream a beginning of file names of its own."""
    seen: set[str] = set()
    for stream in streams:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", stream.pair.noisy).strip("_") or "topic"
        name, number = base, 2
        while name in seen:
            name, number = f"{base}_{number}", number + 1
        seen.add(name)
        yield name, stream


def _figures(
    stream: Stream, key: str, truth: Path, noisy: Path, options: Options
) -> Iterator[Figure]:
    if stream.pair.kind == "cones":
        yield from cone_figures(stream, key)
        return
    pair = _middle_clouds(stream, truth, noisy, options)
    if pair is not None:
        yield from cloud_figures(stream, key, *pair)
    yield from time_figures(stream, key)


def _middle_clouds(
    stream: Stream, truth: Path, noisy: Path, options: Options
) -> tuple[Cloud, Cloud] | None:
    """Read one cloud from the middle of a stream, and the truth that it shows."""
    known = [n for n, index in enumerate(stream.shown.truth) if index is not None]
    if not known:
        return None
    number = known[len(known) // 2]
    index = stream.shown.truth[number]
    assert index is not None
    pair, find = stream.pair, definition_finder(options.msgs)
    return (
        _cloud(truth, pair.truth, pair.options[0], index, find),
        _cloud(noisy, pair.noisy, pair.options[1], number, find),
    )


def _cloud(path: Path, topic: str, options: object, number: int, find: object) -> Cloud:
    with open_bag(path, definitions=find) as bag:  # type: ignore[arg-type]
        for place, (_, _, cloud) in enumerate(decoded(bag, topic, options)):  # type: ignore[arg-type]
            if place == number:
                found: Cloud = cloud
                return found
    msg = f"{path}: topic {topic} has no message {number}"
    raise BagError(msg)


def _write_figures(folder: str | PathLike[str] | None, figures: list[Figure]) -> list[Path]:
    if folder is None:
        return []
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = [Path(folder) / f"{figure.name}.svg" for figure in figures]
    for path, figure in zip(paths, figures, strict=True):
        write_new(path, figure.svg)
    return paths
