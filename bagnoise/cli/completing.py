"""What the shell may offer for a value: presets, steps, models, topics of the bag at hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click
    from click.shell_completion import CompletionItem

    Items = list[CompletionItem[str]]
else:
    Items = list

_RECIPE_FILES = (".yaml", ".yml")


def recipes(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer presets and the recipe files of this folder, or else any path."""
    from bagnoise.recipe.sources import preset_names  # noqa: PLC0415 - only on a tab

    files = sorted(path.name for path in Path().iterdir() if path.suffix in _RECIPE_FILES)
    return _starting(incomplete, [*preset_names(), *files]) or _paths(incomplete)


def steps(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer steps."""
    from bagnoise.steps.registry import STEPS  # noqa: PLC0415 - slow to import

    return _starting(incomplete, STEPS)


def lidars(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer lidar models."""
    from bagnoise.lidar.models import lidar_models  # noqa: PLC0415 - slow to import

    return _starting(incomplete, lidar_models())


def topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the topics of the bag that was named before, if it lists them."""
    from bagnoise.bags.topic_list import listed_topics  # noqa: PLC0415 - only on a tab

    # click has not got to the arguments: the option to complete still lacks its value
    bag = ctx.params.get("source") or ctx.params.get("truth") or next(iter(ctx.args), None)
    return _starting(incomplete, listed_topics(Path(bag))) if bag else []


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer the values that the recipe at hand sets, as ``--set`` takes them."""
    from bagnoise.errors import UsageError  # noqa: PLC0415 - only on a tab
    from bagnoise.recipe.overrides import settings_of  # noqa: PLC0415
    from bagnoise.recipe.sources import DEFAULT_PRESET, recipe_document  # noqa: PLC0415

    try:
        document = recipe_document(ctx.params.get("recipe") or DEFAULT_PRESET)
    except UsageError:
        return []
    return _starting(incomplete, settings_of(document))


def compressions(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG001
    """Offer kinds of compression."""
    return _starting(incomplete, ("keep", "zstd", "zstd:9", "lz4", "none"))


def _starting(incomplete: str, names: Iterable[Any]) -> Items:
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only on a tab

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _paths(incomplete: str) -> Items:
    """Let the shell complete a path."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only on a tab

    return [CompletionItem(incomplete, type="file")]
