"""One output of a plan: everything that a worker anywhere needs to know to make it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bagnoise.augment.run import Options
from bagnoise.augment.selection import Cut
from bagnoise.bags.model import WriteOptions


@dataclass(frozen=True)
class Variant:
    """Plain data only, so that it can be pickled or sent as JSON.

    Attributes:
        name: of the output within the data set's folder; unique in its plan.
        target, source: paths of the output and of the input.
        recipe: plain data with every default and the seed.
        recipe_name: as the plan calls it.
        seed: also in the recipe.
        tags: of the input.
        sweep: option -> value of this output.
        settings: how it is cut and written; see `options`.
    """

    name: str
    target: str
    source: str
    recipe: dict[str, Any]
    recipe_name: str
    seed: int
    tags: dict[str, Any] = field(default_factory=dict)
    sweep: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Hash what decides the output's content beside the input: recipe, seed, settings."""
        content = {"recipe": self.recipe, "settings": self.settings}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def options(self) -> Options:
        """Return how an augment makes it, over an output that may be there already."""
        settings = self.settings
        container = "sqlite3" if settings["format"] == "rosbag2-sqlite3" else "mcap"
        return Options(
            msgs=None if settings["msgs"] is None else Path(settings["msgs"]),
            replace_target=settings["replace_target"],
            cut=Cut(settings["start"], settings["end"], settings["only"], settings["exclude"]),
            write=WriteOptions(
                format=container,  # type: ignore[arg-type]
                compression=settings["compression"],
                overwrite=True,
            ),
        )

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)
