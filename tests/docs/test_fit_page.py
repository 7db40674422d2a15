"""The options of docs/fit.md are those there are, and its table of coverage is one that passes."""

from __future__ import annotations

from pathlib import Path

from bagnoise.recipe.sources import single_presets

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "fit.md").read_text("utf-8")


def test_every_option_is_told() -> None:
    from bagnoise.cli.fit_command import command

    for parameter in command.params:
        flags = [flag for flag in parameter.opts if flag.startswith("-")]
        assert not flags or any(f"`{flag}" in PAGE or f", `{flag}" in PAGE for flag in flags), flags


def test_coverage_of_every_cone_preset() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.count(" | ") == 7]
    table = [row for row in rows if row[3].isdigit()]
    presets = {row[0].lstrip("| ").split(",")[0] for row in table}
    assert presets == set(single_presets()) - {"vlp16-from-dense"}
    for row in table:
        covered, trials, least = int(row[3]), int(row[4]), int(row[5])
        assert least <= covered <= trials, row
    controls = [row for row in table if row[1] == "range_std_m by bin"]
    assert len(controls) >= len(presets)
    for row in controls:
        assert int(row[7].strip(" |")) < int(row[5]), row  # sigma x 1.1 fails
