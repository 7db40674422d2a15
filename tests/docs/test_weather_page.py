"""The page on weather names every option of its steps, and its recipe is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.registry import STEPS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "weather.md").read_text("utf-8")
WEATHER = ("fog", "rain", "snow", "wet_ground")
SAID_ELSEWHERE = {*LidarOrigin.model_fields, "misses"}  # in the page on all cloud steps


@pytest.mark.parametrize("name", WEATHER)
def test_every_option_is_named(name: str) -> None:
    named = set(re.findall(r"`([a-z_0-9]+)[`: ]", PAGE))
    assert set(STEPS[name].model_fields) - SAID_ELSEWHERE <= named


def test_every_step_has_a_section_and_a_picture() -> None:
    for name in WEATHER:
        assert f"\n## {name}\n" in PAGE
        assert (DOCS / "pictures" / f"weather-{name}.png").stat().st_size < 120_000
        assert f"pictures/weather-{name}.png" in PAGE


def test_the_recipe_is_right() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(recipe_of(read_document(text, "weather.md")).streams["points"].steps) == 3
