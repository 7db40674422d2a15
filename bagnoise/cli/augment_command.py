"""``bagnoise augment``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bagnoise.cli import completing
from bagnoise.cli.bag_path import bag_path
from bagnoise.cli.parameters import byte_count, compression, flag_of, simulator_flags, split
from bagnoise.cli.progress import progress_bar
from bagnoise.cli.summary_table import show_summary
from bagnoise.plain_json import json_text
from bagnoise.recipe.overrides import SIMULATOR_SETTINGS, Override, parse_set
from bagnoise.recipe.sources import DEFAULT_PRESET

if TYPE_CHECKING:
    from bagnoise.bags.model import WriteOptions


@click.command("augment", short_help="Write a bag with simulated sensors in it.")
@click.argument("source", metavar="IN", type=bag_path)
@click.argument("target", metavar="OUT", type=bag_path)
@click.option(
    "--recipe",
    metavar="FILE|PRESET",
    shell_complete=completing.recipes,
    help=f"What to do; default {DEFAULT_PRESET}. 'bagnoise recipe list' names the presets.",
)
@click.option(
    "--stream",
    "streams",
    multiple=True,
    metavar="TEXT",
    help="A stream on one line: 'SOURCE | step option=value | step -> TARGET as TYPE'.",
)
@click.option(
    "--source",
    "source_topic",
    metavar="TOPIC",
    shell_complete=completing.topics,
    help="Read this topic instead.",
)
@click.option("--seed", type=int, help="Equal seeds give equal bags; default: the recipe's, or 0.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="STREAM.STEP.OPTION=VALUE",
    shell_complete=completing.settings,
    help="Change one value of the recipe.",
)
@simulator_flags
@click.option("--labels", is_flag=True, help="Write TARGET/labels: which true cone each one is.")
@click.option("--replace-target", is_flag=True, help="Let a target take over a topic of the bag.")
@click.option("--start", metavar="TIME", help="Take messages from here on (see --end).")
@click.option("--end", metavar="TIME", help="Up to here: seconds from the start, or absolute.")
@click.option(
    "--only",
    multiple=True,
    metavar="TOPIC",
    shell_complete=completing.topics,
    help="Take these topics (or a regex).",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="TOPIC",
    shell_complete=completing.topics,
    help="Leave these topics out.",
)
@click.option("--msgs", type=click.Path(path_type=Path), help="Folder of .msg files.")
@click.option(
    "--format", "container", type=click.Choice(["mcap", "sqlite3"]), help="Default: as the input."
)
@click.option(
    "--compression",
    type=compression,
    default="keep",
    show_default=True,
    metavar="KIND",
    shell_complete=completing.compressions,
    help="keep, zstd[:LEVEL], lz4 or none.",
)
@click.option("--chunk-size", type=byte_count, default="1M", show_default=True, metavar="SIZE")
@click.option(
    "--split", type=split, metavar="SIZE|DURATION", help="Split the output: 2G, 500M, 60s."
)
@click.option("--sorted", "sort_file", is_flag=True, help="Put messages into file order, too.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=min(4, os.cpu_count() or 1),
    help="Threads for compression; the output does not depend on it. Default: cores, up to 4.",
)
@click.option("--fsync", is_flag=True, help="Survive a power loss, too.")
@click.option("--recover", is_flag=True, help="Take the intact part of a damaged bag.")
@click.option("--verify", is_flag=True, help="Check everything, also what is copied unread.")
@click.option("--overwrite", is_flag=True, help="Replace an existing output.")
@click.option("-n", "--dry-run", is_flag=True, help="Check everything, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print the recipe in use, and what was read of a URL, too.",
)
def command(  # noqa: PLR0913, PLR0917 - click passes one argument a parameter
    source: Path,
    target: Path,
    recipe: str | None,
    streams: tuple[str, ...],
    source_topic: str | None,
    seed: int | None,
    sets: tuple[str, ...],
    labels: bool,  # noqa: FBT001
    replace_target: bool,  # noqa: FBT001
    start: str | None,
    end: str | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    msgs: Path | None,
    recover: bool,  # noqa: FBT001
    verify: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
    verbose: bool,  # noqa: FBT001
    **rest: Any,
) -> None:
    """Write OUT: the bag IN with a recipe applied to it.

    Without a recipe it simulates the ConeNoiseSimulator node: /camera/cones, /lidar/cones and
    /cones_noise_viz from /ground_truth/cones. Everything else is copied byte for byte.
    OUT is a bare MCAP if it ends in .mcap, else a rosbag2 directory.
    """
    from bagnoise.augment.run import Options, augment  # noqa: PLC0415 - slow to import
    from bagnoise.augment.selection import Cut  # noqa: PLC0415
    from bagnoise.recipe.load import Request, load_recipe  # noqa: PLC0415

    request = Request(
        recipe=recipe,
        streams=streams,
        source=source_topic,
        flags=_simulator_overrides(rest),
        sets=[parse_set(text) for text in sets],
        seed=seed,
        labels=labels,
    )
    options = Options(
        msgs=msgs,
        replace_target=replace_target,
        cut=Cut(start, end, only, exclude),
        write=_write_options(rest),
        recover=recover,
        verify=verify,
        dry_run=dry_run,
    )
    loaded = load_recipe(request)
    with progress_bar(f"{source.name} -> {target.name}", shown=not quiet) as progress:
        summary = augment(source, target, loaded, options, progress)
    if as_json:
        click.echo(json_text(summary.to_plain(), indent=2))
    elif not quiet:
        show_summary(summary, loaded if verbose else None)


def _simulator_overrides(rest: dict[str, Any]) -> list[Override]:
    """List the simulator's settings that were given."""
    return [
        Override(path, rest[name], f"{flag_of(name)} {rest[name]}")
        for name, path in SIMULATOR_SETTINGS.items()
        if rest[name] is not None
    ]


def _write_options(rest: dict[str, Any]) -> WriteOptions:
    from bagnoise.bags.model import WriteOptions  # noqa: PLC0415

    split_bytes, split_ns = rest["split"] or (None, None)
    return WriteOptions(
        format=rest["container"],
        compression=rest["compression"],
        chunk_bytes=rest["chunk_size"],
        workers=rest["workers"],
        sort_file=rest["sort_file"],
        overwrite=rest["overwrite"],
        fsync=rest["fsync"],
        split_bytes=split_bytes,
        split_ns=split_ns,
    )
