"""YAML text as plain data that remembers where each value stood."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from bagnoise.recipe.problems import Problem, RecipeError

if TYPE_CHECKING:
    from collections.abc import Mapping

Path = tuple[str | int, ...]
MAX_NODES = 100_000  # aliases can make a small text a huge tree
MAX_DEPTH = 64
_NEVER_FOLD = 4096  # columns: a folded line would tear a comment from its value


@dataclass
class Document:
    """A recipe as plain data, and where its values come from.

    Attributes:
        origin: name of the file, the preset or the flag it was read from.
        data: dicts, lists and scalars.
        positions: (line, column) from 1 of the value or key at a path.
        overrides: path -> the flag that set it.
    """

    origin: str
    data: Any
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    overrides: dict[Path, str] = field(default_factory=dict)

    def where(self, path: Path) -> str:
        """Say where the value at a path stands; the nearest known parent if it does not."""
        for length in range(len(path), -1, -1):
            start = path[:length]
            if start in self.overrides:
                return self.overrides[start]
            if start in self.positions:
                line, column = self.positions[start]
                return f"{self.origin}:{line}:{column}"
        return self.origin


def read_document(text: str, origin: str) -> Document:
    """Parse YAML.

    Raises:
        RecipeError: it is not YAML, or too large or deep when its aliases are written out.
    """
    yaml = YAML(typ="rt", pure=True)
    try:
        tree = yaml.load(io.StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{origin}:{mark.line + 1}:{mark.column + 1}" if mark else origin
        reason = (error.problem or error.context or "not YAML").strip()
        raise RecipeError([Problem(place, f"not valid YAML: {reason}")]) from None
    except (YAMLError, ValueError, RecursionError) as error:
        reason = str(error).strip().split("\n")[0] or "not YAML"
        raise RecipeError([Problem(origin, f"not valid YAML: {reason}")]) from None
    document = Document(origin, None)
    document.data = _plain(tree, (), document, [0])
    return document


def read_value(text: str) -> Any:
    """Read one YAML value, e.g. of ``--set``; text that is not YAML is itself."""
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError):
        return text
    return value if value is None or isinstance(value, (str, int, float, list, dict)) else text


def write_yaml(data: Any) -> str:
    """Write plain data as block YAML, keys in order."""
    yaml = YAML(typ="rt", pure=True)  # keeps the order of keys
    yaml.default_flow_style = False
    yaml.width = 100
    stream = io.StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()


def write_commented(data: Any, comments: Mapping[Path, str], header: str = "") -> str:
    """Write plain data as block YAML with comments: a header, and one behind the value at a path.

    A comment of a mapping or a list stands behind its key. Texts of several lines are not for here.
    """
    yaml = YAML(typ="rt", pure=True)
    yaml.default_flow_style = False
    yaml.width = _NEVER_FOLD
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_with_comments(data, (), comments), stream)
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "\n".join([*lines, stream.getvalue()])


def _with_comments(node: Any, path: Path, comments: Mapping[Path, str]) -> Any:
    if isinstance(node, dict):
        made = CommentedMap()
        for key, value in node.items():
            made[key] = _with_comments(value, (*path, key), comments)
            if (*path, key) in comments:
                made.yaml_add_eol_comment(comments[(*path, key)], key, column=0)
        return made
    if isinstance(node, list):
        items = CommentedSeq(_with_comments(v, (*path, i), comments) for i, v in enumerate(node))
        for index in range(len(node)):
            if (*path, index) in comments and not isinstance(node[index], (dict, list)):
                items.yaml_add_eol_comment(comments[(*path, index)], index, column=0)
        plain = not any(isinstance(item, (dict, list)) for item in node)
        if plain and not any((*path, index) in comments for index in range(len(node))):
            items.fa.set_flow_style()
        return items
    return node


def _plain(node: Any, path: Path, document: Document, count: list[int]) -> Any:
    count[0] += 1
    if count[0] > MAX_NODES or len(path) > MAX_DEPTH:
        problem = f"more than {MAX_NODES} values or {MAX_DEPTH} levels once aliases are expanded"
        raise RecipeError([Problem(document.origin, problem)])
    if isinstance(node, CommentedMap):
        result: dict[Any, Any] = {}
        for key, value in node.items():
            document.positions.setdefault((*path, key), _key_position(node, key))
            result[key] = _plain(value, (*path, key), document, count)
        return result
    if isinstance(node, CommentedSeq):
        for index in range(len(node)):
            document.positions.setdefault((*path, index), _item_position(node, index))
        return [_plain(v, (*path, i), document, count) for i, v in enumerate(node)]
    return _scalar(node)


def _scalar(node: Any) -> Any:
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _key_position(node: CommentedMap, key: Any) -> tuple[int, int]:
    try:
        line, column = node.lc.key(key)
    except (KeyError, TypeError, AttributeError):  # a merged key has no place of its own
        line, column = node.lc.line, node.lc.col
    return line + 1, column + 1


def _item_position(node: CommentedSeq, index: int) -> tuple[int, int]:
    try:
        line, column = node.lc.item(index)
    except (KeyError, TypeError, AttributeError):
        line, column = node.lc.line, node.lc.col
    return line + 1, column + 1
