"""Every cone step has its section, every preset its row, every feature its answer."""

from __future__ import annotations

import re
from pathlib import Path

from bagnoise.recipe.sources import preset_names
from bagnoise.steps.base import ConeStep
from bagnoise.steps.registry import STEPS

DOCS = Path(__file__).resolve().parents[2] / "docs"
STEPS_PAGE = (DOCS / "cone-steps.md").read_text("utf-8")
PERCEPTION_PAGE = (DOCS / "cone-perception.md").read_text("utf-8")
ELSEWHERE = {"crop", "classes", "header"}


def sections(text: str) -> set[str]:
    return {heading.lower() for heading in re.findall(r"^## (\S+)$", text, re.MULTILINE)}


def test_every_cone_step_has_a_section() -> None:
    steps = {name for name, step in STEPS.items() if issubclass(step, ConeStep)} - ELSEWHERE
    assert steps <= sections(STEPS_PAGE)


def test_every_link_leads_to_a_section() -> None:
    links = re.findall(r"cone-steps\.md#([a-z_]+)", PERCEPTION_PAGE)
    assert len(links) > 20
    assert set(links) <= sections(STEPS_PAGE)
    inner = re.findall(r"\]\(#([a-z_]+)\)", PERCEPTION_PAGE)
    assert set(inner) <= sections(PERCEPTION_PAGE)


def test_every_row_of_the_table_is_answered() -> None:
    rows = [line.split(" | ") for line in PERCEPTION_PAGE.splitlines() if line.startswith("| ")]
    table = [row for row in rows if len(row) == 11]
    assert len(table) > 25
    assert all(row[-1].startswith("Y") for row in table[1:])


def test_every_preset_of_an_origin_is_in_the_table() -> None:
    for name in preset_names():
        if name.split("-")[0] in {"cone", "feb", "pacsim", "eufs", "qut", "fssim", "ugrdv"}:
            assert f"`{name}`" in PERCEPTION_PAGE
