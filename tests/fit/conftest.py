"""Bags of the sample lap with a preset's perception in them, each made once."""

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


@pytest.fixture(name="make", scope="session")
def _make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make a bag by a preset or the text of a recipe."""
    folder = tmp_path_factory.mktemp("made")
    known: dict[tuple[str, bool], Path] = {}

    def made(recipe: str, *, labels: bool = False) -> Path:
        if (recipe, labels) not in known:
            target = folder / f"real_{len(known)}.mcap"
            name = recipe
            if "\n" in recipe:
                path = target.with_suffix(".yaml")
                path.write_text(recipe)
                name = str(path)
            augment(LAP, target, load_recipe(Request(recipe=name, seed=1, labels=labels)))
            known[recipe, labels] = target
        return known[recipe, labels]

    return made
