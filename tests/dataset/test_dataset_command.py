"""``bagnoise dataset`` as a shell user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from plans import LAP, plan_text

from bagnoise.cli.main import cli


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        cli, ["dataset", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )


@pytest.fixture(name="plan")
def _plan(tmp_path: Path) -> Path:
    plan = tmp_path / "plan.yaml"
    plan.write_text(plan_text(tmp_path / "out", "seeds: [1, 2]\n"))
    return plan


def test_a_dry_run_shows_the_outputs_and_makes_none(plan: Path) -> None:
    shown = run(plan, "--dry-run").stdout
    assert "lap-cone-noise-simulator-s2.mcap" in shown
    assert "2 outputs: 2 new; about 2.405 MB in all" in shown
    assert not (plan.parent / "out").exists()
    rows = json.loads(run(plan, "-n", "--json").stdout)
    assert [(row["seed"], row["status"]) for row in rows] == [(1, "new"), (2, "new")]
    assert rows[0]["bytes_estimate"] == LAP.stat().st_size


def test_list_prints_paths_and_makes_none(plan: Path) -> None:
    paths = run(plan, "--list").stdout.splitlines()
    assert paths == [
        str(plan.parent / "out" / f"lap-cone-noise-simulator-s{seed}.mcap") for seed in (1, 2)
    ]
    assert not (plan.parent / "out").exists()


def test_json_and_words(plan: Path) -> None:
    done: dict[str, Any] = json.loads(run(plan, "--json", "--workers", "1").stdout)
    assert (done["made"], done["failed"], len(done["outputs"])) == (2, 0, 2)
    assert (plan.parent / "out" / "index.html").is_file()
    again = run(plan)
    assert again.stdout.startswith("2 outputs: 0 made, 2 there already; ")
    assert again.return_value == 0
    moved = run(plan, "-o", plan.parent / "elsewhere", "-q", "--no-index")
    assert moved.stdout == ""
    names = {path.name for path in (plan.parent / "elsewhere").glob("[!.]*")}
    assert names == {f"lap-cone-noise-simulator-s{s}.mcap" for s in (1, 2)} | {"manifest.jsonl"}


def test_a_failure_is_one_line_and_the_exit_code_is_1(plan: Path) -> None:
    bad = plan.parent / "bad.yaml"
    bad.write_text("streams: {x: {source: /nowhere, steps: [latency: {mean_s: 1}]}}\n")
    plan.write_text(plan_text(plan.parent / "out", recipes="bad.yaml, cone-noise-simulator"))
    done = run(plan)
    assert done.return_value == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("bagnoise: lap-bad-s0.mcap: failed: stream 'x': no topic '/nowhere'")
    assert "1 made, 0 there already, 1 failed" in done.stdout


def test_the_schema_is_json() -> None:
    assert "sweep" in json.loads(run("--schema").stdout)["properties"]
