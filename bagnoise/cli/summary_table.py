"""The summary of an augment, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bagnoise.recipe.document import write_yaml

if TYPE_CHECKING:
    from bagnoise.augment.summary import StreamSummary, Summary
    from bagnoise.recipe.model import Recipe

_FIGURES = ("in", "out", "dropped", "mean delay", "largest")
WIDE = 10_000  # columns; no cell is ever cut or folded
MILLISECOND_NS = 1_000_000


def show_summary(summary: Summary, recipe: Recipe | None = None) -> None:
    """Print the table on standard output, warnings on standard error."""
    from rich.console import Console  # noqa: PLC0415 - costs start-up time
    from rich.table import Table  # noqa: PLC0415

    if recipe is not None:
        click.echo(write_yaml(recipe.to_plain()))
    console = Console(highlight=False, width=WIDE)  # a terminal folds long lines itself
    if summary.streams:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("stream", "topic"):
            table.add_column(heading)
        for heading in () if summary.dry_run else _FIGURES:
            table.add_column(heading, justify="right")
        for stream in summary.streams:
            _add_rows(table.add_row, stream, dry_run=summary.dry_run)
        console.print(table)
    for line in _notes(summary):
        click.echo(line)
    for note in summary.notes if recipe is not None else ():
        click.echo(f"note: {note}", err=True)
    for warning in summary.warnings:
        click.echo(f"warning: {warning}", err=True)


def _add_rows(add_row: object, stream: StreamSummary, *, dry_run: bool) -> None:
    assert callable(add_row)
    mean, largest = "", ""
    if stream.published and stream.delay_max_ns is not None:
        mean = _milliseconds(stream.delay_sum_ns / stream.published)
        largest = _milliseconds(stream.delay_max_ns)
    main, *further = stream.targets.items()
    if dry_run:  # nothing has been counted
        for topic in stream.targets:
            add_row(stream.name if topic == main[0] else "", topic)
        return
    counts = (str(stream.read), str(main[1]), str(stream.dropped), mean, largest)
    add_row(stream.name, main[0], *counts)
    for topic, count in further:
        add_row("", topic, "", str(count), "", "", "")


def _milliseconds(duration_ns: float) -> str:
    return f"{duration_ns / MILLISECOND_NS:.3f} ms"


def _notes(summary: Summary) -> list[str]:
    notes = []
    for stream in summary.streams:
        plain = stream.to_plain()
        notes += [f"{stream.name}: {count} {what}" for what, count in plain["counts"].items()]
        notes += [f"{stream.name}: {name}: {fact}" for name, fact in plain["facts"].items()]
        notes += [
            f"{stream.name}: the type of {topic} has no place for {', '.join(lost)}"
            for topic, lost in stream.losses.items()
        ]
    if summary.dry_run:
        notes.append(f"seed {summary.seed}; dry run, {summary.target} was not written")
    else:
        notes.append(f"seed {summary.seed}; {summary.copied} messages copied; {summary.target}")
    return notes
