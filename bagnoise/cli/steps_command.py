"""``bagnoise steps``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from bagnoise.cli import completing
from bagnoise.errors import UsageError
from bagnoise.plain_json import json_text
from bagnoise.recipe.problems import did_you_mean

if TYPE_CHECKING:
    from bagnoise.steps.base import Step


@click.command("steps", short_help="Describe the steps that recipes are made of.")
@click.argument("name", required=False, shell_complete=completing.steps)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema of the options).")
def command(name: str | None, as_json: bool) -> None:  # noqa: FBT001
    """List the steps, or describe the options of one."""
    from bagnoise.steps.registry import STEPS  # noqa: PLC0415 - slow to import

    if name is not None and name not in STEPS:
        msg = f"no step {name!r}; {did_you_mean(name, STEPS)}"
        raise UsageError(msg)
    chosen = STEPS if name is None else {name: STEPS[name]}
    if as_json:
        click.echo(json_text({key: _plain(step) for key, step in chosen.items()}, indent=2))
    elif name is None:
        width = max(map(len, STEPS))
        for key, step in STEPS.items():
            click.echo(f"{key:{width}}  {_first_line(step)}  [{', '.join(kinds(step))}]")
    else:
        _describe(STEPS[name])


def kinds(step: type[Step]) -> list[str]:
    """Name what a step works on."""
    from bagnoise.steps.base import PAYLOAD_KINDS, TimeStep, works_on  # noqa: PLC0415

    if issubclass(step, TimeStep):
        return ["messages of any type"]
    return [kind for kind in PAYLOAD_KINDS if works_on(step, kind)]


def _first_line(step: type[Step]) -> str:
    return (step.__doc__ or "").strip().split("\n", maxsplit=1)[0]


def _plain(step: type[Step]) -> dict[str, Any]:
    return {"works_on": kinds(step), "options": step.model_json_schema()}


def _describe(step: type[Step]) -> None:
    import inspect  # noqa: PLC0415 - slow to import

    click.echo(f"{step.name}: {inspect.cleandoc(step.__doc__ or '')}")
    click.echo(f"\nworks on: {', '.join(kinds(step))}\n\noptions:")
    properties = step.model_json_schema().get("properties", {})
    for option, info in step.model_fields.items():
        default = (
            "required" if info.is_required() else f"default {_shown(info, properties[option])}"
        )
        click.echo(f"  {option:14} {info.description or ''} ({default})")
    if not step.model_fields:
        click.echo("  none")


def _shown(info: Any, schema: dict[str, Any]) -> str:
    value = schema.get("default", info.get_default(call_default_factory=True))
    return json.dumps(value)
