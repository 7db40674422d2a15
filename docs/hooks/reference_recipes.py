"""The page of recipes and plans, and their JSON schemas."""

from __future__ import annotations

import json
from typing import Any

from schema_text import options_table

from bagnoise.dataset.model import Plan
from bagnoise.recipe.model import Recipe

INTRODUCTION = """\
# Recipes and plans

This page is made from the program. The JSON schemas, for editors that complete and check YAML:
[recipe.schema.json](recipe.schema.json) and [plan.schema.json](plan.schema.json); the program
prints the same with `bagnoise recipe schema` and `bagnoise dataset --schema`. An editor with the
YAML language server takes one in the first line of a file:

```yaml
# yaml-language-server: $schema=recipe.schema.json
```

## Recipe

A recipe says what is done to one bag. `bagnoise recipe check FILE` names every error with line and
column.

"""


def recipes_page() -> str:
    """Make the page."""
    recipe = Recipe.model_json_schema(by_alias=True)
    plan = Plan.model_json_schema(by_alias=True)
    links = {"Stream": "Stream", "Also": "Also"}
    parts = [INTRODUCTION, options_table(_shown(recipe), links)]
    for name, text in (
        ("Stream", "One line of a recipe: source topic -> steps -> target topic."),
        ("Also", "A further topic of a stream, published at the same times."),
    ):
        parts += [f"### {name}\n\n{text}\n", options_table(_shown(recipe["$defs"][name]), links)]
    parts.append(
        "## Plan\n\nA plan says which bags are made: see [data sets](../datasets.md).\n\n"
        + options_table(_shown(plan), {name: name for name in plan.get("$defs", {})})
    )
    for name, schema in plan.get("$defs", {}).items():
        links = {other: other for other in plan["$defs"]}
        parts.append(f"### {name}\n\n{options_table(_shown(schema), links)}")
    return "\n".join(parts)


def recipe_schema() -> str:
    """Return the JSON schema of recipes, as the program prints it."""
    return json.dumps(Recipe.model_json_schema(by_alias=True), indent=2) + "\n"


def plan_schema() -> str:
    """Return the JSON schema of plans, as the program prints it."""
    return json.dumps(Plan.model_json_schema(by_alias=True), indent=2) + "\n"


def _shown(schema: dict[str, Any]) -> dict[str, Any]:
    """Point to the page of steps instead of listing every step."""
    properties = dict(schema.get("properties", {}))
    if "steps" in properties:
        properties["steps"] = {
            "type": "array",
            "items": {"type": "[step](steps.md)"},
            "default": [],
            "description": properties["steps"].get("description", ""),
        }
    return {**schema, "properties": properties}
