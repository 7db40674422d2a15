"""A field map as the recipe gives it, checked against the definition of the type."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from bagnoise.errors import UsageError
from bagnoise.messages.cones.classes import CLASSES
from bagnoise.messages.cones.field_paths import type_at
from bagnoise.messages.cones.known_maps import KNOWN_MAPS
from bagnoise.messages.msg_text import BASE_TYPES, full_type_name
from bagnoise.messages.payload import ConeClass
from bagnoise.messages.schema_text import message_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bagnoise.bags.model import Schema

KEYS = ("cones", "x", "y", "z", "range", "bearing", "color", "id", "header")
_HEADER = "std_msgs/msg/Header"
Code = int | str
_OTHER_ORANGE = {
    ConeClass.SMALL_ORANGE: ConeClass.BIG_ORANGE,
    ConeClass.BIG_ORANGE: ConeClass.SMALL_ORANGE,
}


@dataclass(frozen=True)
class FieldMap:
    """Where cones are in a message.

    ``lists`` are the paths of lists of structs (with the class of each if ``lists_by_class``),
    empty where cones are columns. ``paths`` lead from an element, or from the message, to
    x, y, z, range, bearing, color and id. ``columns`` are all further arrays of the message.
    """

    paths: dict[str, str]
    axes: tuple[str, str]
    lists: tuple[tuple[ConeClass, str], ...] = ()
    lists_by_class: bool = False
    element: str = ""
    header: str | None = None
    codes: dict[ConeClass, Code] = field(default_factory=dict)
    no_code: Code = 0
    columns: tuple[str, ...] = ()

    @property
    def is_columns(self) -> bool:
        """Whether cones are columns of the message, not structs in a list."""
        return not self.lists

    @property
    def is_polar(self) -> bool:
        """Whether positions are range and bearing."""
        return self.axes == ("range", "bearing")

    @property
    def color(self) -> str | None:
        """Path of the color, if there is one."""
        return self.paths.get("color")

    @property
    def z(self) -> str | None:
        """Path of z, if there is one."""
        return self.paths.get("z")

    @property
    def id(self) -> str | None:
        """Path of the id, if there is one."""
        return self.paths.get("id")

    @property
    def classes(self) -> tuple[ConeClass, ...]:
        """The classes that the type can tell."""
        return tuple(cone for cone, _ in self.lists) if self.lists_by_class else tuple(self.codes)

    def class_of(self, code: Any) -> ConeClass:
        """Return the class of a code, UNKNOWN for one that is not in the table."""
        for cone, known in self.codes.items():
            if code == known:
                return cone
        return ConeClass.UNKNOWN

    def code_of(self, cone: int) -> Code:
        """Return the code of a class.

        An orange cone without code takes the other orange one's, any other class the code of
        unknown, and unknown itself one that is in no table.
        """
        wanted = ConeClass(cone)
        for candidate in (wanted, _OTHER_ORANGE.get(wanted, wanted), ConeClass.UNKNOWN):
            if candidate in self.codes:
                return self.codes[candidate]
        return self.no_code


def read_map(schema: Schema, options: Mapping[str, Any]) -> FieldMap:
    """Read the options ``fields`` and ``classes``.

    Raises:
        UsageError: naming the entry that does not fit, and what would.
    """
    known = KNOWN_MAPS.get(full_type_name(schema.name), {})
    fields = options.get("fields", known.get("fields"))
    classes = options.get("classes", known.get("classes"))
    if not isinstance(fields, dict):
        _fail(schema, "'fields' must map names to paths, e.g. {cones: cones, x: x, y: y}")
    for key, path in fields.items():
        if key not in KEYS:
            close = get_close_matches(str(key), KEYS, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(KEYS)}"
            _fail(schema, f"there is no entry {key!r}{hint}")
        if not isinstance(path, str) and not (key == "cones" and isinstance(path, dict)):
            _fail(schema, f"{key} is {path!r}; it must be the path of a field")
    lists, by_class = _lists(schema, fields.get("cones"))
    element = _element(schema, lists)
    paths = {key: path for key, path in fields.items() if key not in {"cones", "header"}}
    axes = _axes(schema, paths)
    _check_paths(schema, paths, element, is_columns=not lists)
    codes, no_code = _codes(schema, classes, paths, element)
    columns = () if lists else _other_columns(schema, set(paths.values()))
    header = _header(schema, fields.get("header"))
    return FieldMap(paths, axes, lists, by_class, element, header, codes, no_code, columns)


def _fail(schema: Schema, what: str) -> NoReturn:
    msg = f"field map of {schema.name}: {what}"
    raise UsageError(msg)


def _class(schema: Schema, name: Any) -> ConeClass:
    names = [cone.name.lower() for cone in CLASSES]
    if name not in names:
        _fail(schema, f"{name!r} is no class of cones; those are {', '.join(names)}")
    return ConeClass[str(name).upper()]


def _lists(schema: Schema, cones: Any) -> tuple[tuple[tuple[ConeClass, str], ...], bool]:
    if cones is None:
        return (), False
    if isinstance(cones, str):
        return ((ConeClass.UNKNOWN, cones),), False
    if not cones or not all(isinstance(path, str) for path in cones.values()):
        _fail(schema, f"cones is {cones!r}; it must be a path, or one for each class")
    return tuple((_class(schema, name), path) for name, path in cones.items()), True


def _element(schema: Schema, lists: tuple[tuple[ConeClass, str], ...]) -> str:
    element = ""
    for _, path in lists:
        kind = type_at(schema, schema.name, path, "cones")
        if kind.array != "sequence" or kind.base in BASE_TYPES:
            _fail(schema, f"cones: {path!r} is no list of structs; leave cones out for columns")
        if element not in {"", kind.base}:
            _fail(schema, f"cones: the lists hold different types, {element} and {kind.base}")
        element = kind.base
    return element


def _axes(schema: Schema, paths: dict[str, str]) -> tuple[str, str]:
    for axes in (("x", "y"), ("range", "bearing")):
        if all(axis in paths for axis in axes):
            other = {"x", "y", "range", "bearing"} - set(axes)
            if other & set(paths):
                _fail(schema, "give x and y, or range and bearing, not both")
            return axes
    _fail(schema, "positions are missing: give x and y, or range and bearing")


def _check_paths(schema: Schema, paths: dict[str, str], element: str, *, is_columns: bool) -> None:
    for key, path in paths.items():
        kind = type_at(schema, element or schema.name, path, key)
        is_text = kind.base.endswith("string")
        fits = kind.base in BASE_TYPES and (key == "color" or not is_text)
        if key == "id" and kind.base.startswith("float"):
            fits = False
        if not fits or (kind.array == "sequence") != is_columns or kind.array == "array":
            wanted = "an array of values" if is_columns else "a single value"
            found = f"{kind.base}{'[]' if kind.array else ''}"
            _fail(schema, f"{key}: {path!r} is {found}; it must be {wanted}")


def _codes(
    schema: Schema, classes: Any, paths: dict[str, str], element: str
) -> tuple[dict[ConeClass, Code], Code]:
    """Return the table of codes, and a code that is not in it."""
    if "color" not in paths:
        return {}, 0
    if not isinstance(classes, dict) or not classes:
        _fail(schema, "with 'color', 'classes' must give codes, e.g. {blue: 0, yellow: 1}")
    base = type_at(schema, element or schema.name, paths["color"], "color").base
    is_text = base.endswith("string")
    codes = {_class(schema, name): code for name, code in classes.items()}
    for cone, code in codes.items():
        if not isinstance(code, str if is_text else int) or isinstance(code, bool):
            kind = "text" if is_text else "a whole number"
            _fail(schema, f"classes: {cone.name.lower()} is {code!r}; {base} needs {kind}")
        if not is_text and int(code) not in _codes_of(base):
            _fail(schema, f"classes: {cone.name.lower()} is {code!r}, which no {base} holds")
    if is_text:
        return codes, ""
    taken = set(codes.values())
    known = _codes_of(base)
    spare = known[::-1] if known.start == 0 else range(-1, known.start - 1, -1)
    return codes, next((code for code in spare if code not in taken), 0)


def _codes_of(base: str) -> range:
    """Return the numbers that a field holds exactly."""
    if base in {"byte", "char"}:
        return range(1 << 8)
    if base == "bool":
        return range(2)
    if base.startswith("float"):
        return range(-(1 << 24), 1 << 24)
    bits = int(base.lstrip("uint"))
    return range(1 << bits) if base.startswith("u") else range(-(1 << bits - 1), 1 << bits - 1)


def _header(schema: Schema, path: str | None) -> str | None:
    fields = message_texts(schema)[full_type_name(schema.name)].fields
    if path is None:
        found = [f.name for f in fields if f.type.base == _HEADER and not f.type.array]
        return found[0] if found else None
    kind = type_at(schema, schema.name, path, "header")
    if kind.base != _HEADER or kind.array:
        _fail(schema, f"header: {path!r} is {kind.base}, not {_HEADER}")
    return path


def _other_columns(schema: Schema, mapped: set[str]) -> tuple[str, ...]:
    fields = message_texts(schema)[full_type_name(schema.name)].fields
    arrays = [f.name for f in fields if f.type.array == "sequence" and f.type.base in BASE_TYPES]
    return (*arrays, *(path for path in mapped if path not in arrays))
