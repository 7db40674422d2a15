"""The README's commands work as they stand there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from bagnoise.cli.main import exit_code

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
NOT_HERE = ("dataset", "report")  # run by the tests of docs/datasets.md


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    found = []
    for line in lines:
        for part in re.split(r"&&|\|(?= jq)|;", line):
            command = re.sub(r"\s#.*", "", part).replace("|| exit 1", "").strip()
            if command.startswith("bagnoise "):
                found.append(command.replace('"$seed"', "1").replace("$seed", "1"))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_bags").symlink_to(ROOT / "sample_bags")
    shutil.copy(ROOT / "sample_bags" / "lap.mcap", "clean.mcap")
    (tmp_path / "my_recipe.yaml").write_text(blocks("yaml")[0])
    return tmp_path


def test_every_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the names that the README leaves to its reader
    shutil.copytree(ROOT / "sample_bags" / "scan", "my_bag")
    renamed = {"--source": "/ground_truth/cones"}
    ran = 0
    for command in commands():
        words = shlex.split(command)[1:]
        if words[0] in NOT_HERE:
            continue
        if "--source" in words:
            words[words.index("--source") + 1] = renamed["--source"]
        if words[0] == "augment" and Path(words[2]).exists():
            words.append("--overwrite")
        if words[0] == "compare":
            words.remove("--check")  # the last noisy.mcap was made from another bag's recipe
        assert exit_code(words) == 0, f"{command}: {capsys.readouterr().err}"
        ran += 1
    assert ran >= 10


def test_the_set_up_commands_are_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert ".venv/bin/bagnoise augment sample_bags/lap.mcap noisy.mcap" in README
    assert ".venv/bin/bagnoise augment sample_bags/lap.mcap noisy.mcap" in script
    assert ".venv/bin/pip install '.[dev]' && .venv/bin/python -m pytest" in README
    assert ".venv/bin/pip install --quiet '.[dev]'" in script
    assert ".venv/bin/python -m pytest" in script
