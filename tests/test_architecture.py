"""Who may import whom, as docs/architecture.md says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bagnoise.steps.registry import STEPS
from bagnoise.steps.timing import Rate

ROOT = Path(__file__).parents[1] / "bagnoise"
FILES = sorted(ROOT.rglob("*.py"))
JOBS = {"augment", "dataset", "compare", "report", "simulator", "inspect_bag", "fit"}
FLOOR = {"lidar", "geometry", "rng", "errors", "plain_json"}
MAY_IMPORT = {
    "cli": JOBS | {"recipe", "bags", "steps", "messages"} | FLOOR,
    **{job: JOBS | {"recipe", "bags", "steps", "messages"} | FLOOR for job in JOBS},
    "recipe": {"bags", "steps", "messages"} | FLOOR,
    "steps": {"bags", "messages"} | FLOOR,
    "messages": {"bags"} | FLOOR,
    "bags": FLOOR,
    "lidar": FLOOR,
    "geometry": {"errors"},
    "rng": {"errors"},
    "errors": set(),
    "plain_json": set(),
}
# a third-party package -> the folders that may import it
OWNERS = {
    "click": {"cli"},
    "rich": {"cli"},
    "mcap": {"bags"},
    "ruamel": {"recipe", "bags", "lidar"},
    "sqlite3": {"bags"},
    "distributed": {"dataset"},
    "fsspec": {"bags"},
    "s3fs": {"bags"},
    "botocore": {"bags"},
    "aiohttp": {"bags"},
}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    part = part_of(path)
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "bagnoise" and rest and part not in {"__init__", "__main__"}:
            assert rest[0] == part or rest[0] in MAY_IMPORT[part], f"{path} imports {name}"
        if top in OWNERS:
            assert part in OWNERS[top], f"{path} imports {name}"
        if name.startswith(("rosbags.rosbag", "rosbags.highlevel")):
            assert part == "bags", f"{path} imports {name}"


def test_steps_do_not_import_each_others_steps() -> None:
    homes = {step.__module__ for step in STEPS.values()} - {Rate.__module__}  # the timer is shared
    for path in (ROOT / "steps").glob("*.py"):
        if path.stem not in {"registry", "__init__"}:
            tree = ast.parse(path.read_text("utf-8"))
            tree.body = [node for node in tree.body if not _is_for_types(node)]
            found = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
            assert homes.isdisjoint(found), f"{path} imports another step's module"


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_library_code_does_not_print() -> None:
    for path in FILES:
        if part_of(path) == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path}:{node.lineno}"


def test_every_part_has_its_rule() -> None:
    parts = {part_of(path) for path in FILES} - {"__init__", "__main__"}
    assert parts <= set(MAY_IMPORT)
