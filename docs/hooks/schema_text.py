"""A JSON schema of options in words: type, limits, default, unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markdown_text import paragraphs, table, value

if TYPE_CHECKING:
    from collections.abc import Mapping

Schema = dict[str, Any]
HEADS = ("option", "type", "unit", "limits", "default", "meaning")
_UNITS = {
    "per_m": "1/m",
    "per_m2": "1/m²",
    "m": "m",
    "deg": "°",
    "rad": "rad",
    "s": "s",
    "ns": "ns",
    "hz": "Hz",
    "px": "px",
    "ppm": "ppm",
}
_CURVE = "Curve"
_WORDS = {"object": "mapping", "array": "list"}


def options_table(schema: Schema, links: Mapping[str, str]) -> str:
    """Make the table of a model's options.

    Args:
        schema: of the model, as pydantic makes it.
        links: definition -> where it is described.
    """
    required = schema.get("required", [])
    rows = [
        (
            f"`{name}`",
            type_words(option, links),
            unit_of(name, option),
            limits(option),
            "required" if name in required else default_of(option),
            paragraphs(option.get("description", "")),
        )
        for name, option in schema.get("properties", {}).items()
    ]
    return table(HEADS, rows) if rows else "No options.\n"


def type_words(option: Schema, links: Mapping[str, str]) -> str:
    """Say what values an option takes."""
    if "$ref" in option:
        name = option["$ref"].rsplit("/", maxsplit=1)[-1]
        return f"[{links[name]}]({_anchor(links[name])})"
    if "anyOf" in option:
        return " or ".join(dict.fromkeys(type_words(part, links) for part in option["anyOf"]))
    if "enum" in option:
        return ", ".join(f"`{word}`" for word in option["enum"])
    if "const" in option:
        return f"`{option['const']}`"
    kind = option.get("type", "any value")
    if kind == "array":
        return _list_words(option, links)
    if kind == "object":
        return _mapping_words(option, links)
    return "null" if kind == "null" else str(kind)


def _list_words(option: Schema, links: Mapping[str, str]) -> str:
    if "prefixItems" in option:
        kinds = {type_words(part, links) for part in option["prefixItems"]}
        return f"list of {len(option['prefixItems'])} ({', '.join(sorted(kinds))})"
    return f"list of {type_words(option.get('items', {}), links)}"


def _mapping_words(option: Schema, links: Mapping[str, str]) -> str:
    inner = option.get("additionalProperties")
    if not isinstance(inner, dict):
        return "mapping"
    keys = option.get("propertyNames", {}).get("enum", [])
    names = ", ".join(f"`{key}`" for key in keys)
    return f"mapping of {names or 'names'} to {type_words(inner, links)}"


def limits(option: Schema) -> str:
    """Say between what a value must be."""
    found = [_limits_here(part) for part in (option, *option.get("anyOf", []))]
    return "; ".join(dict.fromkeys(words for words in found if words))


def _limits_here(option: Schema) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    words = [f"{sign} {option[key]:g}" for key, sign in signs.items() if key in option]
    if "pattern" in option:
        words.append(f"`{option['pattern']}`")
    return ", ".join(words)


def unit_of(name: str, option: Schema) -> str:
    """Read the unit off an option's name, if it is a number."""
    if name.endswith("by_class") or option.get("type") in {"boolean", "string"}:
        return ""
    known = sorted(_UNITS, key=len, reverse=True)
    ends = (end for end in known if name == end or name.endswith(f"_{end}"))
    return _UNITS.get(next(ends, ""), "")


def default_of(option: Schema) -> str:
    """Show the default as a recipe would write it."""
    return value(option["default"]) if "default" in option else ""


def _anchor(title: str) -> str:
    return "#" + title.replace(" ", "-").lower()
