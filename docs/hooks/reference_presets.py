"""The page of presets: their recipes as they stand."""

from __future__ import annotations

from markdown_text import plain

from bagnoise.recipe.document import read_document
from bagnoise.recipe.sources import preset_names, preset_text

INTRODUCTION = """\
# Presets

Recipes that bagnoise brings; `--recipe NAME` applies one, `bagnoise recipe show NAME` prints it,
to begin one of your own. This page is made from them. Which feature of which simulator is where:
[perception of simulators](../cone-perception.md).

"""


def presets_page() -> str:
    """Make the page."""
    return INTRODUCTION + "\n".join(_section(name) for name in preset_names())


def _section(name: str) -> str:
    text = preset_text(name)
    data = read_document(text, name).data
    shown = text[text.index("\nstreams:") + 1 :] if "\nstreams:" in text else text
    return f"## {name}\n\n{plain(data.get('description', ''))}\n\n```yaml\n{shown}```\n"
