"""``bagnoise recipe list|show|check|schema``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bagnoise.bags.remote_path import location
from bagnoise.cli import completing
from bagnoise.errors import UsageError
from bagnoise.plain_json import json_text

if TYPE_CHECKING:
    from pathlib import Path


@click.group("recipe", short_help="List, show and check recipes.")
def command() -> None:
    """Recipes say what is done to a bag."""


@command.command("list")
def list_presets() -> None:
    """List the shipped recipes."""
    from bagnoise.recipe.check import recipe_of  # noqa: PLC0415 - slow to import
    from bagnoise.recipe.document import read_document  # noqa: PLC0415
    from bagnoise.recipe.families import corruptions  # noqa: PLC0415
    from bagnoise.recipe.sources import preset_text, single_presets  # noqa: PLC0415

    names = single_presets()
    families = {f"{c.prefix}-{'|'.join(c.severities)}": c.description for c in corruptions()}
    width = max(map(len, names))
    for name in names:
        description = recipe_of(read_document(preset_text(name), name)).description
        click.echo(f"{name:{width}}  {description}")
    width = max(map(len, families))
    click.echo("\nFamilies, each name with one of its severities:")
    for name, description in families.items():
        click.echo(f"{name:{width}}  {description}")


@command.command("show")
@click.argument("name", metavar="PRESET|FILE|BAG", shell_complete=completing.recipes)
@click.option("--full", is_flag=True, help="Write out every default.")
def show(name: str, full: bool) -> None:  # noqa: FBT001
    """Print a recipe: a preset's, a file's, or the one that a bag was made with."""
    from bagnoise.recipe.check import recipe_of  # noqa: PLC0415 - slow to import
    from bagnoise.recipe.document import read_document, write_yaml  # noqa: PLC0415

    text = _recipe_text(name)
    recipe = recipe_of(read_document(text, name))
    click.echo(write_yaml(recipe.to_plain()) if full else text, nl=not text.endswith("\n"))


@command.command("check")
@click.argument(
    "names",
    metavar="PRESET|FILE...",
    nargs=-1,
    required=True,
    shell_complete=completing.recipes,
)
def check(names: tuple[str, ...]) -> None:
    """Check recipes without a bag; print every error with its line and column."""
    from bagnoise.recipe.check import recipe_of  # noqa: PLC0415 - slow to import
    from bagnoise.recipe.sources import recipe_document  # noqa: PLC0415

    for name in names:
        recipe = recipe_of(recipe_document(name))
        click.echo(f"{name}: ok, {len(recipe.streams)} streams")


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of recipes, for editors."""
    from bagnoise.recipe.model import Recipe  # noqa: PLC0415 - slow to import

    click.echo(json_text(Recipe.model_json_schema(by_alias=True), indent=2))


def _recipe_text(name: str) -> str:
    from bagnoise.recipe.sources import preset_text  # noqa: PLC0415

    path = location(name)
    if path.is_dir() or (path.is_file() and path.suffix not in {".yaml", ".yml"}):
        return _recorded(path)
    if path.is_file():
        return path.read_text("utf-8")
    return preset_text(name)


def _recorded(path: Path) -> str:
    from bagnoise.augment.provenance import history  # noqa: PLC0415 - needs the bag layer
    from bagnoise.bags import open_bag  # noqa: PLC0415

    with open_bag(path) as bag:
        records = history(bag)
    if not records:
        msg = f"{path}: not made by bagnoise, so it records no recipe"
        raise UsageError(msg)
    return records[-1]["recipe"]
