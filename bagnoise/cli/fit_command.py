"""``bagnoise fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bagnoise.cli.bag_path import bag_path
from bagnoise.errors import UsageError
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from bagnoise.fit.run import Fit

POSE_NUMBERS = (3, 6)


@click.command("fit", short_help="Fit a recipe to a real recording and its truth.")
@click.argument("truth", metavar="TRUTH", type=bag_path)
@click.argument("real", metavar="REAL", type=bag_path)
@click.option(
    "-o",
    "--output",
    metavar="RECIPE.yaml",
    type=click.Path(path_type=Path),
    help="Write the recipe here; default: print it.",
)
@click.option(
    "--truth-topic",
    metavar="TOPIC",
    help="Cones around the car, or a track in the map; default: TRUTH's busiest topic of cones.",
)
@click.option(
    "--pose-topic", metavar="TOPIC", help="The car's pose in TRUTH; default: the busiest."
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="Fit this one of REAL; default: every topic of cones that TRUTH does not have.",
)
@click.option(
    "--gate",
    "gate_m",
    type=float,
    metavar="METRES",
    help="A detection this near a true cone may be its; default: by the cones' spacing.",
)
@click.option(
    "--bin",
    "bin_m",
    type=float,
    default=2.5,
    show_default=True,
    metavar="METRES",
    help="Width of the range bins.",
)
@click.option(
    "--mount",
    "mounts",
    multiple=True,
    metavar="FRAME=X,Y,Z[,ROLL,PITCH,YAW]",
    help="Where the sensor of a frame sits in the truth's (m, degrees), instead of /tf.",
)
@click.option(
    "--type-option",
    "type_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="How to read the topics' type, as a recipe's source_options.",
)
@click.option(
    "--report", metavar="PAGE.html", type=click.Path(path_type=Path), help="Draw it, too."
)
@click.option("--msgs", type=click.Path(path_type=Path), help="Folder of .msg files.")
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Print every value as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def command(  # noqa: PLR0913, PLR0917 - click passes one argument a parameter
    truth: Path,
    real: Path,
    output: Path | None,
    truth_topic: str | None,
    pose_topic: str | None,
    topics: tuple[str, ...],
    gate_m: float | None,
    bin_m: float,
    mounts: tuple[str, ...],
    type_options: tuple[str, ...],
    report: Path | None,
    msgs: Path | None,
    overwrite: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
) -> None:
    """Fit a recipe to REAL: a recording of cone perception, with TRUTH its ground truth.

    TRUTH is a simulator's bag, or a surveyed track with the car's pose. The recipe then makes
    perception like REAL's: `bagnoise augment TRUTH out.mcap --recipe RECIPE.yaml`.
    """
    from bagnoise.fit.recipe_text import recipe_text  # noqa: PLC0415
    from bagnoise.fit.run import Options, fit  # noqa: PLC0415
    from bagnoise.report.files import check_new, write_new  # noqa: PLC0415 - slow to import

    for path in (output, report):
        if path is not None:
            check_new(path, overwrite=overwrite)
    options = Options(
        truth_topic,
        pose_topic,
        topics,
        gate_m,
        bin_m,
        dict(_mount(text) for text in mounts),
        dict(_pair(text, "--type-option", "KEY=VALUE") for text in type_options),
        msgs,
    )
    fitted = fit(truth, real, options)
    text = recipe_text(fitted)
    if output is not None:
        write_new(output, text)
    if report is not None:
        from bagnoise.report.fit_page import fit_page  # noqa: PLC0415

        write_new(report, fit_page(fitted, text))
    if as_json:
        from bagnoise.fit.plain import to_plain  # noqa: PLC0415

        click.echo(json_text(to_plain(fitted), indent=2))
    elif not quiet:
        _show(fitted, text, output)


def _pair(text: str, flag: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        msg = f"{flag} {text}: expected {form}"
        raise UsageError(msg)
    return key, value


def _mount(text: str) -> tuple[str, tuple[float, ...]]:
    frame, numbers = _pair(text, "--mount", "FRAME=X,Y,Z[,ROLL,PITCH,YAW]")
    try:
        pose = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        pose = ()
    if len(pose) not in POSE_NUMBERS:
        msg = f"--mount {text}: expected 3 or 6 numbers, x,y,z in m and roll,pitch,yaw in degrees"
        raise UsageError(msg)
    return frame, (*pose, *(0.0,) * (6 - len(pose)))


def _show(fitted: Fit, text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    click.echo(f"{output}: {len(fitted.streams)} streams")
    for stream in fitted.streams:
        _show_stream(stream)


def _show_stream(stream: Any) -> None:
    from bagnoise.fit.wording import interval_text, rounded  # noqa: PLC0415

    fit = stream.fit
    click.echo(
        f"  {fit.topic}: {len(fit.rows.true_xy)} messages, {int(fit.single.sum())} matches within "
        f"{fit.rows.gate_m:.2f} m, {100 * fit.wrong_share:.2g} % of them wrong (estimate)"
    )
    for name in ("range", "across"):
        one = fit.errors.one_std[name]
        click.echo(f"    {name}_std_m over all ranges {rounded(one):g} ({interval_text(one)})")
    late = fit.timing.delays
    if late.mean_s is not None:
        mean = late.mean_s
        click.echo(f"    latency {rounded(mean):g} s ({interval_text(mean)})")
    for note in [*stream.timing_notes, *fit.notes, *stream.not_identified]:
        click.echo(f"    {note}")
