"""The page of steps, from their declarations."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from markdown_text import paragraphs, table
from schema_text import options_table

from bagnoise.cli.steps_command import kinds
from bagnoise.steps.registry import STEPS

if TYPE_CHECKING:
    from bagnoise.steps.base import Step

INTRODUCTION = """\
# Steps

What recipes are made of. This page is made from the program; `bagnoise steps` and
`bagnoise steps NAME` print the same. What the models are and where they come from:
[cone steps](../cone-steps.md), [cloud steps](../cloud-steps.md),
[the camera-approximated lidar](../camera-lidar.md).

In a recipe a step is one key with its options, on a command line a name with `option=value`:

```yaml
- latency: {mean_s: 0.08, std_s: 0.02}
```

Units are part of the names. Numbers are finite; an unknown option is an error that names the
nearest one.

"""


def steps_page() -> str:
    """Make the page."""
    schemas = {name: step.model_json_schema() for name, step in STEPS.items()}
    rows = [
        (f"[`{name}`](#{name})", ", ".join(kinds(step)), paragraphs(first_line(step)))
        for name, step in STEPS.items()
    ]
    parts = [INTRODUCTION, table(("step", "works on", "what it does"), rows)]
    definitions: dict[str, Any] = {}
    for schema in schemas.values():
        definitions |= schema.get("$defs", {})
    titles = {name: title_of(name) for name in definitions}
    parts += [_section(name, step, schemas[name], titles) for name, step in STEPS.items()]
    parts.append("## Shared forms of values\n")
    parts += [_shared_section(titles[name], form, titles) for name, form in definitions.items()]
    return "\n".join(parts)


def title_of(definition: str) -> str:
    """Name the section that describes a form of value: ``MountedView`` is Mounted view."""
    if definition == "Curve":
        return "Value by range"
    return re.sub(r"(?<!^)([A-Z])", r" \1", definition).capitalize()


def first_line(step: type[Step]) -> str:
    """Return the sentence that says what a step does."""
    return inspect.cleandoc(step.__doc__ or "").split("\n", maxsplit=1)[0]


def _section(name: str, step: type[Step], schema: dict[str, Any], titles: dict[str, str]) -> str:
    text = paragraphs(inspect.cleandoc(step.__doc__ or ""))
    works_on = ", ".join(kinds(step))
    return f"## {name}\n\n{text}\n\nWorks on: {works_on}.\n\n{options_table(schema, titles)}"


def _shared_section(title: str, schema: dict[str, Any], titles: dict[str, str]) -> str:
    forms = [form for form in schema.get("anyOf", []) if "properties" in form]
    shown = forms[0] if forms else schema
    text = paragraphs(shown.get("description", ""))
    return f"### {title}\n\n{text}\n\n{options_table(shown, titles)}"
