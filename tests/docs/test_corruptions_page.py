"""The page on corruptions: every option, every preset's values, and its commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from bagnoise.cli.main import exit_code
from bagnoise.recipe.families import Corruption, corruptions
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.registry import STEPS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "corruptions.md").read_text("utf-8")
SHOWN = ("crosstalk", "sun", "motion_blur", "incomplete_echo", "beam_missing", "cutout")
SAID_ELSEWHERE = {*LidarOrigin.model_fields, "misses"}  # in the page on all cloud steps


@pytest.mark.parametrize("name", SHOWN)
def test_every_step_has_its_section_options_and_picture(name: str) -> None:
    assert f"\n## {name}\n" in PAGE
    named = set(re.findall(r"`([a-z_0-9]+)[`: ]", PAGE))
    assert set(STEPS[name].model_fields) - SAID_ELSEWHERE <= named
    assert f"pictures/corruption-{name}.png" in PAGE
    picture = ROOT / "docs" / "pictures" / f"corruption-{name}.png"
    assert 5_000 < picture.stat().st_size < 120_000


def row(corruption: Corruption) -> str:
    said = [
        f"`{step} {option}` "
        + ", ".join(str(one).replace(" ", "") for one in corruption.values[value[1:]])
        for item in corruption.steps
        for step, body in item.items()
        for option, value in body.items()
        if isinstance(value, str) and value.startswith("$")
    ]
    return f"| `{corruption.prefix}` | {'; '.join(said)} |"


@pytest.mark.parametrize("corruption", corruptions(), ids=lambda c: c.prefix)
def test_the_tables_are_what_the_families_hold(corruption: Corruption) -> None:
    assert row(corruption) in PAGE.splitlines()


def test_the_tables_hold_nothing_else() -> None:
    prefixes = re.findall(r"^\| `((?:robo3d|multicorrupt|3dca)-\w+)`", PAGE, re.MULTILINE)
    assert sorted(prefixes) == sorted(c.prefix for c in corruptions())


def test_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_bags").symlink_to(ROOT / "sample_bags")
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).replace("\\\n", " ")
    ran = [exit_code(shlex.split(line)[1:]) for line in lines.splitlines()]
    assert ran == [0] * 4
    assert len(list(tmp_path.glob("*.mcap"))) == 3
