"""``bagnoise dataset``."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bagnoise.bags.remote_path import location
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bagnoise.dataset.engine import Engine
    from bagnoise.dataset.manifest import Line
    from bagnoise.dataset.resume import Planned
    from bagnoise.dataset.run import Outcome, Watcher
    from bagnoise.dataset.variant import Variant

WIDE = 10_000  # columns; no cell is ever cut or folded
FAILED = 1


def _print_schema(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001
    if value:
        from bagnoise.dataset.model import Plan  # noqa: PLC0415 - slow to import

        click.echo(json_text(Plan.model_json_schema(by_alias=True), indent=2))
        ctx.exit()


@click.command("dataset", short_help="Make many noisy bags from one plan; resume when interrupted.")
@click.argument("plan_path", metavar="PLAN.yaml", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="DIR", help="Folder of the outputs, instead of the plan's.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), help="Processes; default: one for each usable core."
)
@click.option(
    "--dask", metavar="ADDRESS", help="Make them on the Dask cluster of this scheduler, instead."
)
@click.option("--verify", is_flag=True, help="Check the content of what is there already, too.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first output that fails.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be made, make nothing.")
@click.option("--list", "list_only", is_flag=True, help="Print the output paths, make nothing.")
@click.option("--index/--no-index", default=True, help="Write index.html with key figures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: counts and manifest lines.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON schema of plans, for editors.",
)
def command(  # noqa: PLR0913, PLR0917 - click passes one argument a parameter
    plan_path: Path,
    output: str | None,
    workers: int | None,
    dask: str | None,
    verify: bool,  # noqa: FBT001
    fail_fast: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    list_only: bool,  # noqa: FBT001
    index: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
) -> int:
    """Make every output of PLAN.yaml: inputs x recipes x sweep x seeds.

    Outputs and manifest.jsonl go into the plan's folder of outputs. Run again, it makes only what
    is missing, damaged or changed in the plan. Exit code 1 if any output failed.
    """
    from bagnoise.dataset.expand import expand  # noqa: PLC0415 - slow to import
    from bagnoise.dataset.index import write_index  # noqa: PLC0415
    from bagnoise.dataset.load import load_plan  # noqa: PLC0415
    from bagnoise.dataset.run import look, make_dataset  # noqa: PLC0415

    if dask is not None and workers is not None:
        msg = "--workers is for this machine; on a cluster, start as many 'dask worker' as wanted"
        raise click.UsageError(msg)
    loaded = load_plan(plan_path)
    if output is not None:
        loaded = loaded._replace(plan=loaded.plan.model_copy(update={"output": _absolute(output)}))
    variants = expand(loaded)
    if list_only:
        click.echo("".join(f"{variant.target}\n" for variant in variants), nl=False)
        return 0
    if dry_run:
        _show_plan(look(variants, loaded.output, verify=verify), as_json=as_json)
        return 0
    engine = _engine(dask, workers, len(variants))
    try:
        with _progress(variants, shown=not quiet) as watch:
            outcome = make_dataset(
                variants, loaded.output, engine, verify=verify, fail_fast=fail_fast, watch=watch
            )
    except KeyboardInterrupt:
        msg = "what is complete stays; the same command makes the rest"
        raise KeyboardInterrupt(msg) from None
    if index:
        write_index(loaded.output, loaded.plan.description or plan_path.name, outcome.lines)
    if as_json:
        click.echo(json_text(outcome.to_plain(), indent=2))
    elif not quiet:
        click.echo(_in_words(outcome, loaded.output))
    return FAILED if outcome.failed else 0


def _engine(dask: str | None, workers: int | None, outputs: int) -> Engine:
    if dask is not None:
        from bagnoise.dataset.cluster import DaskEngine  # noqa: PLC0415 - slow to import

        return DaskEngine(dask, lambda text: click.echo(f"warning: {text}", err=True))
    from bagnoise.dataset.engine import LocalEngine, usable_cores  # noqa: PLC0415

    return LocalEngine(min(workers or usable_cores(), max(1, outputs)))


def _absolute(output: str) -> str:
    return str(location(output).absolute())


def _in_words(outcome: Outcome, folder: Path) -> str:
    parts = [f"{outcome.made} made", f"{outcome.skipped} there already"]
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed")
    if outcome.left:
        parts.append(f"{outcome.left} not begun")
    return f"{outcome.total} outputs: {', '.join(parts)}; {folder}"


def _show_plan(planned: Sequence[Planned], *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text([_plan_row(entry) for entry in planned], indent=2))
        return
    from rich.console import Console  # noqa: PLC0415 - costs start-up time
    from rich.table import Table  # noqa: PLC0415

    from bagnoise.dataset.run import statuses  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("output", "input", "recipe", "sweep"):
        table.add_column(heading)
    table.add_column("seed", justify="right")
    table.add_column("state")
    for entry in planned:
        row = _plan_row(entry)
        state = f"{row['status']} ({row['why']})" if row["why"] else row["status"]
        sweep = " ".join(f"{name}={value}" for name, value in row["sweep"].items())
        table.add_row(row["output"], row["input"], row["recipe"], sweep, str(row["seed"]), state)
    Console(highlight=False, width=WIDE).print(table)
    size = sum(entry.input_digest["bytes"] for entry in planned)
    counts = ", ".join(f"{count} {status}" for status, count in statuses(planned).items())
    click.echo(f"\n{len(planned)} outputs: {counts}; about {_size(size)} in all")


def _plan_row(entry: Planned) -> dict[str, Any]:
    variant = entry.variant
    return {
        "output": variant.name,
        "path": variant.target,
        "input": variant.source,
        "recipe": variant.recipe_name,
        "sweep": variant.sweep,
        "seed": variant.seed,
        "tags": variant.tags,
        "status": entry.status,
        "why": entry.why,
        "bytes_estimate": entry.input_digest["bytes"],
    }


def _size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:  # noqa: PLR2004 - the step between units
            return f"{size_bytes:.4g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.4g} TB"


@contextmanager
def _progress(variants: Sequence[Variant], *, shown: bool) -> Iterator[Watcher]:
    """Report failures, one line each; on a terminal show how far the plan is, too."""
    if not shown or not sys.stderr.isatty():
        yield _watcher(lambda text: click.echo(text, err=True), lambda *_: None)
        return
    from rich.console import Console  # noqa: PLC0415 - costs start-up time, only for terminals
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, highlight=False, markup=False)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=len(variants))

        def tell(outcome: Outcome, running: int) -> None:
            done = outcome.total - outcome.left
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            rate = f", {60 * speed:.1f} a minute" if speed else ""
            text = f"{running} workers busy, {len(outcome.failed)} failed{rate}"
            bar.update(task, completed=done, description=text)

        yield _watcher(console.print, tell)


def _watcher(say: Callable[[str], None], tell: Callable[[Outcome, int], None]) -> Watcher:
    def watch(line: Line, outcome: Outcome, running: int) -> None:
        if line["state"] != "done":
            text = "; ".join(str(line["error"]).splitlines())
            say(f"bagnoise: {line['output']}: failed: {text}")
        tell(outcome, running)

    return watch
