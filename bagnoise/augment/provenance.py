"""How the output says how it was made, and how that is read back."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from bagnoise import __version__
from bagnoise.bags.model import MetadataRecord
from bagnoise.recipe.document import write_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.bags.model import Bag
    from bagnoise.recipe.model import Recipe

RECORD_NAME = "bagnoise"


def record_of(bag: Bag, recipe: Recipe) -> MetadataRecord:
    """Describe a run: recipe with every default, seed, versions, the input and its fingerprint.

    It holds nothing of when, where or under which name the output is written: the same run again
    gives the same bytes.
    """
    versions = {
        "bagnoise": __version__,
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "zstandard": version("zstandard"),
    }
    source = {
        "name": bag.path.name,
        "size": size_bytes(bag.path),
        "fingerprint": bag.fingerprint(),
    }
    return MetadataRecord(
        RECORD_NAME,
        {
            "recipe": write_yaml(recipe.to_plain()),
            "seed": str(recipe.seed),
            "versions": json.dumps(versions, sort_keys=True),
            "input": json.dumps(source, sort_keys=True),
        },
    )


def size_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def history(bag: Bag) -> list[dict[str, str]]:
    """Return what earlier runs wrote into a bag, oldest first."""
    return [dict(record.values) for record in bag.metadata_records() if record.name == RECORD_NAME]
