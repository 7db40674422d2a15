"""Every command of docs/datasets.md runs and says what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "datasets.md"


class Block(NamedTuple):
    kind: str
    options: dict[str, str]
    text: str


def blocks() -> list[Block]:
    found = re.findall(
        r"^```(\w+)([^\n]*)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return [
        Block(kind, dict(o.split("=") for o in options.split()), text)
        for kind, options, text in found
    ]


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the sample lap and the page's files, and bagnoise on the path."""
    folder = tmp_path_factory.mktemp("datasets")
    shutil.copy(ROOT / "sample_bags" / "lap.mcap", folder)
    for block in blocks():
        if "file" in block.options:
            path = folder / block.options["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
    tools = folder / "bin"
    tools.mkdir()
    script = tools / "bagnoise"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m bagnoise "$@"\n')
    script.chmod(0o755)
    return folder


def run(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def missing_tools(command: str) -> list[str]:
    return [tool for tool in ("jq", "make") if tool in command and shutil.which(tool) is None]


def test_the_page_runs_from_top_to_bottom(place: Path) -> None:
    commands = [block for block in blocks() if block.kind == "sh"]
    assert len(commands) >= 5
    for block in commands:
        if missing_tools(block.text):
            continue  # jq and make are the reader's, not ours
        done = run(place, block.text)
        assert done.returncode == 0, f"{block.text}\n{done.stdout}\n{done.stderr}"
    names = sorted(path.name for path in (place / "noisy").glob("*.mcap"))
    assert names == [f"sample-{std}-s{seed}.mcap" for std in (0.1, 0.3) for seed in (0, 1)]
    assert (place / "noisy" / "index.html").is_file()
    assert (place / "report.html").is_file()
    assert (place / "figures" / "track.svg").is_file()


def test_shown_output_is_what_the_command_says(place: Path) -> None:
    (block,) = [block for block in blocks() if block.kind == "console"]
    commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
    shown = [line for line in block.text.splitlines() if not line.startswith("$ ")]
    done = run(place, "\n".join(commands))
    assert done.returncode == int(block.options["exit"])
    assert done.stderr.splitlines() == shown


def test_the_workflow_is_yaml_and_its_commands_run(place: Path) -> None:
    workflow = YAML(typ="safe").load(place / ".github" / "workflows" / "dataset.yml")
    steps = workflow["jobs"]["dataset"]["steps"]
    commands = [step["run"] for step in steps if "run" in step and "pip" not in step["run"]]
    assert len(commands) == 2
    for command in commands:
        done = run(place, command)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_every_option_of_a_plan_is_on_the_page() -> None:
    from bagnoise.dataset.model import Plan

    text = PAGE.read_text("utf-8")
    for name in Plan.model_fields:
        assert f"`{name}`" in text or f"{name}:" in text or f"`{name}." in text, name
