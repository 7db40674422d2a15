"""Families of presets: one file says a corruption once, and what differs between its severities.

A file of ``presets/families`` has a description, a source topic, the names of the severities, and
for each corruption a description, its steps, and ``values``: lists of one value a severity, which
stand in the steps as ``$name``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bagnoise.errors import UsageError
from bagnoise.recipe.document import read_document, write_yaml
from bagnoise.recipe.problems import did_you_mean

_STREAM = "points"


@dataclass(frozen=True)
class Corruption:
    """One corruption of a family.

    Attributes:
        family: its name.
        name: of the corruption.
        description: what it does.
        severities: their names, lightest first.
        source: topic that it reads.
        steps: with ``$name`` where a value of the severity stands.
        values: name -> one value a severity.
    """

    family: str
    name: str
    description: str
    severities: tuple[str, ...]
    source: str
    steps: list[Any]
    values: dict[str, list[Any]]

    @property
    def prefix(self) -> str:
        """Return the name of its presets without the severity."""
        return f"{self.family}-{self.name}"

    def recipe(self, severity: str) -> dict[str, Any]:
        """Return the whole recipe of a severity, as plain data."""
        place = self.severities.index(severity)
        chosen = {name: values[place] for name, values in self.values.items()}
        return {
            "description": f"{self.description} ({severity}).",
            "streams": {_STREAM: {"source": self.source, "steps": _filled(self.steps, chosen)}},
        }


def _filled(node: Any, chosen: dict[str, Any]) -> Any:
    """Put values where ``$name`` stands."""
    if isinstance(node, dict):
        return {key: _filled(value, chosen) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(value, chosen) for value in node]
    if isinstance(node, str) and node.startswith("$"):
        return chosen[node[1:]]
    return node


@cache
def corruptions() -> tuple[Corruption, ...]:
    """Read every shipped family, in the order of names and files."""
    folder = resources.files("bagnoise") / "presets" / "families"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    return tuple(
        corruption
        for file in files
        for corruption in family_of(file.name.removesuffix(".yaml"), file.read_text("utf-8"))
    )


def family_of(name: str, text: str) -> list[Corruption]:
    """Read a family.

    Raises:
        UsageError: a corruption does not give each severity exactly one value, or names a value
            that it does not have, or has one that it does not name.
    """
    data = read_document(text, f"preset family {name}").data
    severities = tuple(str(severity) for severity in data["severities"])
    found = []
    for corruption, body in data["corruptions"].items():
        values = body.get("values") or {}
        for key, given in values.items():
            if len(given) != len(severities):
                msg = (
                    f"preset family {name}: {corruption} has {len(given)} values of {key} for"
                    f" {len(severities)} severities ({', '.join(severities)})"
                )
                raise UsageError(msg)
        named = _named(body["steps"])
        if named != set(values):
            odd = ", ".join(sorted(named ^ set(values)))
            msg = f"preset family {name}: {corruption} names or lists only: {odd}"
            raise UsageError(msg)
        found.append(
            Corruption(
                name,
                corruption,
                body["description"],
                severities,
                data["source"],
                body["steps"],
                values,
            )
        )
    return found


def _named(node: Any) -> set[str]:
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        return set().union(*map(_named, node))
    return {node[1:]} if isinstance(node, str) and node.startswith("$") else set()


def family_names() -> list[str]:
    """List every preset of every family."""
    return [f"{c.prefix}-{severity}" for c in corruptions() for severity in c.severities]


def family_text(name: str) -> str | None:
    """Return the recipe of a family's preset as YAML; None where no family has the name.

    Raises:
        UsageError: the family has no such corruption, or the corruption no such severity.
    """
    family = name.split("-", 1)[0]
    members = [c for c in corruptions() if c.family == family]
    if not members:
        return None
    for corruption in members:
        if name in {corruption.prefix, f"{corruption.prefix}-"}:
            msg = f"preset {name!r} needs a severity: {_offered(corruption)}"
            raise UsageError(msg)
        if name.startswith(f"{corruption.prefix}-"):
            severity = name.removeprefix(f"{corruption.prefix}-")
            if severity in corruption.severities:
                return write_yaml(corruption.recipe(severity))
            msg = f"no preset {name!r}: {corruption.prefix} has no severity {severity!r};"
            msg += f" known: {_offered(corruption)}"
            raise UsageError(msg)
    wanted = name.removeprefix(family).lstrip("-").rsplit("-", 1)[0]
    msg = f"no preset {name!r}: {family} has no corruption {wanted!r};"
    msg += f" {did_you_mean(wanted, [c.name for c in members])}"
    raise UsageError(msg)


def _offered(corruption: Corruption) -> str:
    return ", ".join(corruption.severities)
