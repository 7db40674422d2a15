"""Where recipes come from: files, and the presets that bagnoise ships; quick to import."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from bagnoise.errors import UsageError
from bagnoise.recipe.document import read_document
from bagnoise.recipe.families import corruptions, family_names, family_text
from bagnoise.recipe.problems import did_you_mean

if TYPE_CHECKING:
    from bagnoise.recipe.document import Document

DEFAULT_PRESET = "cone-noise-simulator"
MAX_RECIPE_BYTES = 4 << 20


def preset_names() -> list[str]:
    """List the shipped recipes, those of the families last."""
    return [*single_presets(), *family_names()]


def single_presets() -> list[str]:
    """List the shipped recipes that have a file of their own."""
    folder = resources.files("bagnoise") / "presets"
    return sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )


def preset_text(name: str) -> str:
    """Return a shipped recipe's YAML.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in single_presets():
        text = family_text(name)
        if text is None:
            msg = f"no preset {name!r}; {_suggestion(name)}"
            raise UsageError(msg)
        return text
    return (resources.files("bagnoise") / "presets" / f"{name}.yaml").read_text("utf-8")


def _suggestion(name: str) -> str:
    """Suggest the nearest preset, or list them all, families in short."""
    close = did_you_mean(name, preset_names())
    if close.startswith("did you mean"):
        return close
    families = (f"{c.prefix}-{'|'.join(c.severities)}" for c in corruptions())
    return f"known: {', '.join([*single_presets(), *families])}"


def recipe_document(name: str) -> Document:
    """Read a recipe by file name, or else by preset name."""
    path = Path(name)
    if path.is_file():
        return read_document(_read(path), name)
    looks_like_file = path.suffix in {".yaml", ".yml"} or len(path.parts) > 1
    if looks_like_file:
        msg = f"no recipe file {name!r}"
        raise UsageError(msg)
    return read_document(preset_text(name), f"preset {name}")


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_RECIPE_BYTES:
            msg = f"{path}: not a recipe: larger than {MAX_RECIPE_BYTES} bytes"
            raise UsageError(msg)
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        msg = f"{path}: not a recipe: not UTF-8 text"
        raise UsageError(msg) from None
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(msg) from None
