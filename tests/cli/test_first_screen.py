"""What ``bagnoise`` alone says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bagnoise.cli.main import COMMANDS, exit_code

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="screen")
def _screen(capsys: pytest.CaptureFixture[str]) -> str:
    assert exit_code([]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def test_it_fits_a_small_terminal(screen: str) -> None:
    lines = screen.splitlines()
    assert len(lines) < 24  # the prompt needs a line
    assert max(map(len, lines)) <= 80


def test_what_it_names_exists(screen: str) -> None:
    named = set(re.findall(r"^  bagnoise ([a-z]+)", screen, re.MULTILINE))
    assert {"info", "augment", "report"} <= named
    assert named <= set(COMMANDS)


def test_help_lists_its_examples_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--help"]) == 0
    assert re.search(r"^ +bagnoise info clean.mcap +what", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["augment", "--help"], ["recipe", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from bagnoise.cli.main import exit_code; exit_code(sys.argv[1:]);"
        "print(*({'numpy', 'pydantic', 'rich', 'mcap', 'rosbags'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == ""


def test_an_unknown_word_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["augmnet"]) == 2
    assert "augmnet" in capsys.readouterr().err
