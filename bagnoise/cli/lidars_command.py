"""``bagnoise lidars``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from bagnoise.cli import completing
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from bagnoise.lidar.model import LidarModel

WIDE = 10_000  # columns; no cell is ever cut or folded


@click.command("lidars", short_help="List lidar models for camera_lidar.")
@click.argument("name", required=False, shell_complete=completing.lidars)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every beam.")
def command(name: str | None, as_json: bool) -> None:  # noqa: FBT001
    """List the lidar models that camera_lidar can sense, or show one whole."""
    from bagnoise.lidar.models import find_model, lidar_models  # noqa: PLC0415 - slow to import

    models = dict(lidar_models()) if name is None else {name: find_model(name)}
    if as_json:
        plain = [asdict(model) for model in models.values()]
        click.echo(json_text(plain if name is None else plain[0], indent=2))
    elif name is None:
        _list(list(models.values()))
    else:
        _show(models[name])


def _list(models: list[LidarModel]) -> None:
    from rich.console import Console  # noqa: PLC0415 - costs start-up time
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "vendor"):
        table.add_column(heading)
    for heading in ("channels", "elevation deg", "Hz", "range m"):
        table.add_column(heading, justify="right")
    for heading in ("layout", "source"):
        table.add_column(heading)
    for model in models:
        low, high = min(model.elevations_deg), max(model.elevations_deg)
        rates = ", ".join(f"{rate:g}" for rate in model.rates_hz)
        table.add_row(
            model.name,
            model.vendor,
            str(model.channels),
            f"{low:.2f} to {high:.2f}",
            rates,
            "{:g} to {:g}".format(*model.range_m),
            model.layout,
            _short(model.sources),
        )
    Console(highlight=False, width=WIDE).print(table)


def _short(sources: tuple[str, ...]) -> str:
    """Name the repository of the first source, or its site."""
    if not sources:
        return ""
    site, *path = sources[0].removeprefix("https://").split("/")
    return "/".join(path[:2]) if site == "github.com" else site


def _show(model: LidarModel) -> None:
    for name, value in asdict(model).items():
        if value not in (None, "", ()):
            shown = ", ".join(f"{v}" for v in value) if isinstance(value, tuple) else value
            click.echo(f"{name}: {shown}")
