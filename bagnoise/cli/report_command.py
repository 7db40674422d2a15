"""``bagnoise report``."""

from __future__ import annotations

from pathlib import Path

import click

from bagnoise.cli.bag_path import bag_path


@click.command("report", short_help="Write one page that shows what was done to a bag.")
@click.argument("noisy", metavar="NOISY", type=bag_path)
@click.option(
    "--truth",
    metavar="BAG",
    type=bag_path,
    help="The truth; default: what NOISY itself still carries of it.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="Default: NOISY's name with .html, in this folder.",
)
@click.option(
    "--figures",
    "figures_folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write each figure as SVG, too.",
)
@click.option(
    "--fit",
    "with_fit",
    is_flag=True,
    help="Fit a recipe to the cones (see 'bagnoise fit'), and draw it over what was measured.",
)
@click.option("--gate", "gate_m", type=float, default=1.5, show_default=True, metavar="METRES")
@click.option("--msgs", type=click.Path(path_type=Path), help="Folder of .msg files.")
@click.option("--overwrite", is_flag=True, help="Replace an existing page.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def command(  # noqa: PLR0913, PLR0917 - click passes one argument a parameter
    noisy: Path,
    truth: Path | None,
    output: Path | None,
    figures_folder: Path | None,
    with_fit: bool,  # noqa: FBT001
    gate_m: float,
    msgs: Path | None,
    overwrite: bool,  # noqa: FBT001
    quiet: bool,  # noqa: FBT001
) -> None:
    """Write a page about NOISY: the track, errors, detection, delays, clouds, check and recipe.

    It is one file that needs no network.
    """
    from bagnoise.compare.run import Options  # noqa: PLC0415 - slow to import
    from bagnoise.report.run import report  # noqa: PLC0415

    target = output or Path(f"{noisy.stem if noisy.is_file() else noisy.name}.html")
    made = report(
        noisy,
        target,
        truth=truth,
        figures_folder=figures_folder,
        options=Options(gate_m=gate_m, msgs=msgs),
        with_fit=with_fit,
        overwrite=overwrite,
    )
    if not quiet:
        figures = f", {len(made.figures)} figures" if made.figures else ""
        click.echo(f"{made.page} ({made.page.stat().st_size / 1e6:.1f} MB){figures}")
