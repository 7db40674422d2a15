"""Lidar models: the shipped table, and looking one up."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bagnoise.errors import UsageError
from bagnoise.lidar.model import LidarModel, parse_model

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE: Final = Path(__file__).with_name("models.json")
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_NOT_SPINNING: Final = {
    "avia": "Livox Avia",
    "horizon": "Livox Horizon",
    "hap": "Livox HAP",
    "mid": "Livox Mid",
    "tele15": "Livox Tele-15",
    "livox": "Livox",
    "rslidarm": "RoboSense M series",
    "rsm1": "RoboSense M1",
    "innoviz": "Innoviz",
    "blickfeld": "Blickfeld Cube",
    "cepton": "Cepton",
}


@lru_cache(maxsize=1)
def lidar_models() -> Mapping[str, LidarModel]:
    """Return every shipped model by its name."""
    table = json.loads(_TABLE.read_text("utf-8"))["models"]
    return MappingProxyType({name: parse_model(entry, name) for name, entry in table.items()})


def find_model(name: str) -> LidarModel:
    """Look a shipped model up by name or alias, or read a file of the user's own.

    Capitals, spaces, dashes and underscores do not matter in names; a name that ends in .yaml,
    .yml or .json is a path.

    Raises:
        UsageError: no such model (with the nearest names), a lidar that does not spin, or a file
            that describes no lidar.
    """
    if name.lower().endswith(_SUFFIXES):
        return load_model(Path(name))
    index = _names()
    key = _plain(name)
    if key in index:
        return lidar_models()[index[key]]
    for start, label in _NOT_SPINNING.items():
        if key.startswith(start):
            msg = (
                f"lidar model {name!r}: {label} scans with a prism or MEMS mirror, not by spinning;"
                " its pattern is no table of beams, so a camera cannot stand in for it"
            )
            raise UsageError(msg)
    near = get_close_matches(key, index, n=3, cutoff=0.5)
    known = dict.fromkeys(index[match] for match in near)
    hint = f"did you mean {' or '.join(known)}?" if known else "see: bagnoise lidars"
    msg = f"unknown lidar model {name!r}; {hint}"
    raise UsageError(msg)


def load_model(path: Path) -> LidarModel:
    """Read a model from a YAML or JSON file of one mapping, the shape of the shipped table.

    Raises:
        UsageError: the file cannot be read, or does not describe a lidar.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - only users of own files wait for it
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        entry = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        msg = f"cannot read lidar model {path}: {error}"
        raise UsageError(msg) from None
    if not isinstance(entry, dict):
        msg = f"{path}: a lidar model is a mapping with elevations_deg, not {type(entry).__name__}"
        raise UsageError(msg)
    name = str(entry.pop("name", path.stem))
    try:
        return parse_model(entry, name)
    except UsageError as error:
        msg = f"{path}: {error}"
        raise UsageError(msg) from None


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Map every plain name and alias to the model's name."""
    index = {_plain(name): name for name in lidar_models()}
    for name, model in lidar_models().items():
        for alias in model.aliases:
            index.setdefault(_plain(alias), name)
    return index


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
