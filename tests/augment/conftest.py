from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from small_bags import Got, Sent, read_bag, write_bag

from bagnoise.augment.run import Options, augment
from bagnoise.augment.summary import Summary
from bagnoise.recipe.load import Request, load_recipe
from bagnoise.recipe.overrides import parse_set

Run = Callable[..., "Result"]


class Result:
    """An augmented bag and what was said of it."""

    def __init__(self, path: Path, summary: Summary) -> None:
        self.path = path
        self.summary = summary

    def read(self, *topics: str) -> list[Got]:
        return read_bag(self.path, *topics)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write messages to a bag, augment it, give what came out."""
    count = 0

    def run_once(
        messages: Sequence[Sent] | Path,
        *sets: str,
        recipe: str | None = None,
        streams: Sequence[str] = (),
        seed: int | None = None,
        source: str | None = None,
        options: Options | None = None,
        qos: dict[str, str] | None = None,
        definitions: dict[str, str] | None = None,
    ) -> Result:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        folder.mkdir()
        clean = messages
        if not isinstance(clean, Path):
            clean = write_bag(folder / "clean.mcap", clean, qos=qos, definitions=definitions)
        request = Request(
            recipe=recipe,
            streams=streams,
            source=source,
            sets=[parse_set(text) for text in sets],
            seed=seed,
        )
        noisy = folder / "noisy.mcap"
        return Result(noisy, augment(clean, noisy, load_recipe(request), options))

    return run_once
