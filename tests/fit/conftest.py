"""Bags of the sample lap with a preset's perception in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bagnoise.augment.run import augment
from bagnoise.recipe.load import Request, load_recipe

LAP = Path(__file__).parents[2] / "sample_bags" / "lap.mcap"
Make = Callable[..., Path]


@pytest.fixture(name="lap")
def _lap() -> Path:
    return LAP


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    """Make a bag by a preset or a file's recipe."""

    def made(recipe: str, seed: int = 1, name: str = "real.mcap", *, labels: bool = False) -> Path:
        target = tmp_path / name
        request = Request(recipe=recipe, seed=seed, labels=labels)
        augment(LAP, target, load_recipe(request))
        return target

    return made
