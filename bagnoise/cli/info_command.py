"""``bagnoise info``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bagnoise.cli.bag_path import bag_path
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from bagnoise.inspect_bag import BagInfo, TopicInfo

WIDE = 10_000  # columns; no cell is ever cut or folded
SECOND_NS = 1_000_000_000


@click.command("info", short_help="Show what a bag holds and what bagnoise can do with it.")
@click.argument("path", metavar="BAG", type=bag_path)
@click.option("--msgs", type=click.Path(path_type=Path), help="Folder of .msg files.")
@click.option("--recover", is_flag=True, help="Show the intact part of a damaged bag.")
@click.option("--verify", is_flag=True, help="Decompress and check everything.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: Path, msgs: Path | None, recover: bool, verify: bool, as_json: bool) -> None:  # noqa: FBT001
    """Show topics, types, counts, rates, frames, duration, and how the bag was made."""
    from bagnoise.inspect_bag import inspect_bag  # noqa: PLC0415 - needs the bag layer

    info = inspect_bag(path, msgs=msgs, recover=recover, verify=verify)
    if as_json:
        click.echo(json_text(info.to_plain(), indent=2))
    else:
        _show(info)


def _show(info: BagInfo) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs start-up time
    from rich.table import Table  # noqa: PLC0415

    console = Console(highlight=False, width=WIDE)  # a terminal folds long lines itself
    for name, value in _facts(info):
        click.echo(f"{name + ':':12} {value}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("topic", "type"):
        table.add_column(heading)
    for heading in ("count", "Hz"):
        table.add_column(heading, justify="right")
    for heading in ("frame", "bagnoise"):
        table.add_column(heading)
    for topic in info.topics:
        table.add_row(*_row(topic))
    click.echo()
    console.print(table)
    for number, record in enumerate(info.history, start=1):
        click.echo(
            f"\nmade by bagnoise ({number}): seed {record.get('seed')}, from "
            f"{record.get('input')}; 'bagnoise recipe show' prints the recipe"
        )
    for warning in info.warnings:
        click.echo(f"warning: {warning}", err=True)


def _facts(info: BagInfo) -> list[tuple[str, str]]:
    facts = [("bag", f"{info.path} ({info.size_bytes / 1e6:.1f} MB)"), ("format", info.format)]
    facts += list(info.container.items())
    if info.start_ns is not None and info.end_ns is not None:
        facts.append(("start", f"{_seconds(info.start_ns)} s since the epoch"))
        facts.append(("duration", f"{_seconds(info.end_ns - info.start_ns)} s"))
    facts.append(("messages", str(info.message_count)))
    if info.attachments:
        facts.append(("attachments", ", ".join(info.attachments)))
    if info.metadata:
        facts.append(("metadata", ", ".join(info.metadata)))
    return facts


def _row(topic: TopicInfo) -> tuple[str, ...]:
    latched = " (latched)" if topic.latched else ""
    rate = "" if topic.rate_hz is None else f"{topic.rate_hz:.1f}"
    frame = topic.frame_id or ""
    return (
        f"{topic.topic}{latched}",
        topic.type_name
        if topic.message_encoding in {"cdr", ""}
        else (f"{topic.type_name} [{topic.message_encoding}]"),
        str(topic.count),
        rate,
        frame,
        topic.kind or "",
    )


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns // SECOND_NS}.{duration_ns % SECOND_NS:09d}"
