"""What mkdocs does for this site beside rendering: see mkdocs.yml.

Adds the pages made from the program (``reference/``) and from files elsewhere in the checkout
(``about/``), and translates what the sources have for readers of the plain files: links out of
``docs/`` and fences that name a file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File
from reference_commands import commands_page
from reference_lidars import lidars_page
from reference_messages import messages_page
from reference_presets import presets_page
from reference_recipes import plan_schema, recipe_schema, recipes_page
from reference_steps import steps_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
MADE = {
    "reference/commands.md": commands_page,
    "reference/steps.md": steps_page,
    "reference/recipes.md": recipes_page,
    "reference/recipe.schema.json": recipe_schema,
    "reference/plan.schema.json": plan_schema,
    "reference/presets.md": presets_page,
    "reference/messages.md": messages_page,
    "reference/lidars.md": lidars_page,
}
# files elsewhere in the checkout -> their page
SHOWN = {
    "CHANGELOG.md": "about/changelog.md",
    "benchmarks/RESULTS.md": "about/measured.md",
    "sample_bags/README.md": "about/sample-bags.md",
}
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(```\w+)[ ]+([a-z]+=\S+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of ``docs/``."""
    for uri, make in MADE.items():
        files.append(File.generated(config, uri, content=make()))
    for path, uri in SHOWN.items():
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, uri, content=_without_files(text)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Translate links out of ``docs/``, and the options of fences."""
    here = posixpath.dirname(page.file.src_uri)

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", here, match[1]))
        if target in SHOWN:
            return f"]({posixpath.relpath(SHOWN[target], here or '.')}{match[2] or ''})"
        return match[0]

    return _FENCE.sub(_fence, _LINK.sub(link, markdown))


def _fence(match: re.Match[str]) -> str:
    """Show a file's name over it; the other options are for the tests."""
    name, _, value = match[2].partition("=")
    return f'{match[1]} title="{value}"' if name == "file" else match[1]


def _without_files(text: str) -> str:
    """Leave links to files that are no pages as their text."""
    return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)
