"""``bagnoise compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bagnoise.cli import completing
from bagnoise.cli.bag_path import bag_path
from bagnoise.errors import UsageError
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.compare.check import Verdict
    from bagnoise.compare.run import Comparison

WIDE = 10_000  # columns; no cell is ever cut or folded
OUT_OF_LIMITS = 3
Row = tuple[str, ...]


@click.command("compare", short_help="Measure what was made of a bag; check it against its recipe.")
@click.argument("truth", metavar="TRUTH", type=bag_path)
@click.argument("noisy", metavar="NOISY", type=bag_path)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="TRUTH_TOPIC=TOPIC",
    shell_complete=completing.topics,
    help="Compare these; default: what the recorded recipe or equal names pair.",
)
@click.option(
    "--gate",
    "gate_m",
    type=float,
    default=1.5,
    show_default=True,
    metavar="METRES",
    help="Without labels: a detection farther from every true cone is a false positive.",
)
@click.option(
    "--bins",
    default="0,5,10,15,20,30,50",
    show_default=True,
    metavar="METRES,...",
    help="Lower edges of the range bins; the last is open.",
)
@click.option("--check", "do_check", is_flag=True, help="Test against the recipe; exit code 3.")
@click.option(
    "--alpha",
    type=float,
    default=1e-6,
    show_default=True,
    help="With --check: chance that a bag made as recorded fails, over all tests.",
)
@click.option("--msgs", type=click.Path(path_type=Path), help="Folder of .msg files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but what fails.")
def command(  # noqa: PLR0913, PLR0917 - click passes one argument a parameter
    truth: Path,
    noisy: Path,
    pairs: tuple[str, ...],
    gate_m: float,
    bins: str,
    do_check: bool,  # noqa: FBT001
    alpha: float,
    msgs: Path | None,
    as_json: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
) -> int:
    """Measure NOISY against TRUTH: noise, detection, latency, points, bytes.

    Any two bags will do: a simulator's and bagnoise's, or a team's real perception and the truth.
    With --check, NOISY must be bagnoise's: it is tested against the recipe it records.
    """
    from bagnoise.compare.check import check  # noqa: PLC0415 - slow to import
    from bagnoise.compare.run import Options, compare  # noqa: PLC0415

    options = Options([_pair(text) for text in pairs], gate_m, _edges(bins), msgs)
    comparison = compare(truth, noisy, options)
    verdict = check(comparison, alpha) if do_check else None
    if as_json:
        plain = comparison.to_plain()
        if verdict is not None:
            plain["check"] = verdict.to_plain()
        click.echo(json_text(plain, indent=2))
    elif not quiet:
        _show(comparison)
        if verdict is not None:
            _show_verdict(verdict)
    return _outcome(verdict)


def _outcome(verdict: Verdict | None) -> int:
    if verdict is None or not verdict.failed:
        return 0
    for line in verdict.failed:
        click.echo(
            f"bagnoise: check failed: {line.subject}: {line.what}: asked {line.asked}, measured "
            f"{line.measured} (p = {line.p:.2g}; {line.note})",
            err=True,
        )
    return OUT_OF_LIMITS


def _pair(text: str) -> tuple[str, str]:
    truth, equals, noisy = text.partition("=")
    if not equals or not truth or not noisy:
        msg = f"--pair {text}: expected TRUTH_TOPIC=TOPIC"
        raise UsageError(msg)
    return truth, noisy


def _edges(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        msg = f"--bins {text}: expected metres with commas between, e.g. 0,5,10,20"
        raise UsageError(msg) from None


def _show(comparison: Comparison) -> None:
    plain = comparison.to_plain()
    for stream in plain["streams"]:
        click.echo(f"{stream['truth']} -> {stream['noisy']}  ({stream['kind']})")
        click.echo(
            f"  paired by {stream['paired_by']}; messages by {stream['moments_by']}; "
            f"matched: {stream['matched_by']}"
        )
        (_show_cones if stream["kind"] == "cones" else _show_cloud)(stream[stream["kind"]])
        click.echo(_rhythm_words(stream))
        click.echo()
    rows = [
        (t["topic"], t["type_name"], str(t["truth"]), str(t["noisy"]), _bytes_words(t))
        for t in plain["topics"]
    ]
    _table(("topic", "type", "truth", "noisy", "bytes"), rows, left=(0, 1, 4))
    warnings = [*comparison.warnings, *(w for s in comparison.streams for w in s.warnings)]
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def _bytes_words(topic: dict[str, Any]) -> str:
    moved = topic["times"] is False
    return f"{topic['bytes']}, at other times" if moved else str(topic["bytes"])


def _show_cones(measured: dict[str, Any]) -> None:
    rows = [_cone_row("all", measured["true_cones"], measured)]
    rows += [_cone_row(b["range"], b["true_cones"], b) for b in measured["by_range"]]
    heads = ("range", "true", "detected", *(f"{a}" for a in _AXES))
    _table(heads, [row for row in rows if row[1] != "0"], left=(0,))
    click.echo(
        f"  (mean and deviation in m) false positives: {measured['false_positives']}, "
        f"{_number(measured['false_positives_per_message'])} a message"
    )
    for true, row in measured["confusion"].items():
        seen = ", ".join(f"{count} {name}" for name, count in row.items() if count)
        click.echo(f"  true {true}: {seen}")


_AXES = ("x", "y", "z", "along ray", "across ray")


def _cone_row(name: str, true: int, measured: dict[str, Any]) -> Row:
    rate = measured["detection_rate"]
    residual = measured["residual_m"] or {}
    cells = [
        f"{residual[axis]['mean']:+.4f} {residual[axis]['std']:.4f}" if axis in residual else ""
        for axis in _AXES
    ]
    return (name, str(true), "" if rate is None else f"{100 * rate:.1f} %", *cells)


def _show_cloud(measured: dict[str, Any]) -> None:
    kept = measured["kept"]
    click.echo(
        f"  {measured['points']} of {measured['true_points']} points, "
        f"{'' if kept is None else f'{100 * kept:.2f} % kept, '}{measured['misses']} misses, "
        f"{measured['unmatched_points']} that match none"
    )
    rows = [("all", measured["range_residual_m"])]
    rows += [(b["range"], b) for b in measured["by_range"]]
    rows += [(f"ring {b['ring']}", b) for b in measured["by_ring"]]
    cells = [
        (name, str(r["points"]), f"{r['mean']:+.5f}", f"{r['std']:.5f}")
        for name, r in rows
        if r and r["points"]
    ]
    _table(("range", "points", "mean m", "deviation m"), cells, left=(0,))


def _rhythm_words(stream: dict[str, Any]) -> str:
    rhythm, latency = stream["rhythm"], stream["latency"]
    words = [f"{rhythm['messages']} messages"]
    if rhythm["rate_hz"] is not None:
        words.append(f"{rhythm['rate_hz']:.3f} Hz, {rhythm['gaps']} gaps")
    words.append(f"{rhythm['out_of_order']} stamps out of order")
    if latency is not None:
        p = latency["percentiles_s"]
        words.append(
            f"age at delivery {1e3 * latency['mean_s']:.3f} ms, deviation "
            f"{1e3 * latency['std_s']:.3f} ms, 50 % {1e3 * p['50']:.3f} ms, 95 % "
            f"{1e3 * p['95']:.3f} ms, 99 % {1e3 * p['99']:.3f} ms"
        )
    return "  " + "; ".join(words)


def _show_verdict(verdict: Verdict) -> None:
    rows = [
        (
            line.subject,
            line.what,
            line.asked,
            line.measured,
            "" if line.p is None else f"{line.p:.2g}",
            verdict.verdict(line),
            line.note,
        )
        for line in verdict.lines
    ]
    click.echo()
    heads = ("check", "quantity", "asked", "measured", "p", "verdict", "how")
    _table(heads, rows, left=(0, 1, 2, 3, 5, 6))
    state = f"{len(verdict.failed)} failed" if verdict.failed else "passed"
    click.echo(f"{verdict.tested} tests, alpha {verdict.alpha:g} over all (Holm): {state}")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _table(heads: Row, rows: Sequence[Row], left: tuple[int, ...]) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs start-up time
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number in left else "right")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False, width=WIDE).print(table)
