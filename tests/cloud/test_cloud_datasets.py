"""Data sets on an object store: equal outputs, a manifest that survives a kill, resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from s3_store import ACCESS_KEY, SECRET_KEY, Bucket

from bagnoise.cli.main import exit_code
from bagnoise.dataset.engine import InProcessEngine
from bagnoise.dataset.expand import expand
from bagnoise.dataset.index import write_index
from bagnoise.dataset.load import load_plan
from bagnoise.dataset.run import make_dataset

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"


@pytest.fixture
def plan(bucket: Bucket, tmp_path: Path) -> Path:
    bucket.put("in/lap.mcap", LAP.read_bytes())
    return _plan(tmp_path / "plan.yaml", bucket.url("in/*.mcap"), bucket.url("noisy"))


def _plan(path: Path, source: object, output: object, more: str = "") -> Path:
    path.write_text(
        f"output: {output}\ninputs: ['{source}']\nend: '1'\n"
        "only: [/ground_truth/cones, /imu/data]\nseeds: {count: 3}\n"
        'name: "{input}-s{seed}"\n' + more
    )
    return path


def make(plan: Path, *, verify: bool = False) -> dict[str, int]:
    """Make a data set in this process, where the server's clients need no starting."""
    loaded = load_plan(plan)
    outcome = make_dataset(expand(loaded), loaded.output, InProcessEngine(), verify=verify)
    write_index(loaded.output, "title", outcome.lines)
    return counts(outcome.made, outcome.skipped, len(outcome.failed))


def counts(made: int = 0, skipped: int = 0, failed: int = 0) -> dict[str, int]:
    return {"made": made, "skipped": skipped, "failed": failed}


def test_outputs_equal_local_ones_and_are_made_once(
    bucket: Bucket, plan: Path, tmp_path: Path
) -> None:
    assert make(plan) == counts(made=3)
    local = _plan(tmp_path / "local.yaml", LAP, tmp_path / "local")
    assert make(local) == counts(made=3)
    names = [f"lap-s{seed}.mcap" for seed in range(3)]
    for name in names:
        assert bucket.get(f"noisy/{name}") == (tmp_path / "local" / name).read_bytes()
    others = ["noisy/index.html", "noisy/manifest.jsonl"]
    assert bucket.listing() == ["in/lap.mcap", *sorted([*(f"noisy/{n}" for n in names), *others])]
    text = bucket.get("noisy/manifest.jsonl").decode()
    assert SECRET_KEY not in text
    assert ACCESS_KEY not in text
    mine = map(json.loads, (tmp_path / "local/manifest.jsonl").read_text().splitlines())
    hashes = [line["output_sha256"] for line in map(json.loads, text.splitlines())]
    assert hashes == [line["output_sha256"] for line in mine]
    before = len(bucket.proxy.requests)
    assert make(plan) == counts(skipped=3)
    again = [line for line in bucket.proxy.lines()[before:] if line.startswith("GET")]
    assert not any("lap" in line for line in again)  # nothing is fetched to find out
    assert make(plan, verify=True) == counts(skipped=3)


def test_what_changes_is_made_again(bucket: Bucket, plan: Path) -> None:
    assert make(plan) == counts(made=3)
    whole = bucket.get("noisy/lap-s1.mcap")
    bucket.client.delete_object(Bucket=bucket.name, Key="noisy/lap-s0.mcap")
    bucket.put("noisy/lap-s1.mcap", whole[:-9] + b"x" + whole[-8:])
    assert make(plan, verify=True) == counts(made=2, skipped=1)
    assert bucket.get("noisy/lap-s1.mcap") == whole
    bucket.put("in/lap.mcap", LAP.read_bytes()[::-1])
    assert make(plan) == counts(failed=3)


def test_a_killed_run_loses_no_line(bucket: Bucket, plan: Path) -> None:
    bucket.proxy.stall = lambda one: one.method == "PUT" and "lap-s2" in one.target
    command = [sys.executable, "-m", "bagnoise", "dataset", "-q", "--workers", "1", str(plan)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment) as process:
        assert bucket.proxy.stalled.wait(30)
        process.send_signal(signal.SIGKILL)
    parts = [key for key in bucket.listing() if "manifest.parts" in key]
    assert len(parts) == 2
    assert bucket.get("noisy/manifest.jsonl") == b""
    bucket.proxy.stall = lambda _: False
    assert make(plan) == counts(made=1, skipped=2)
    assert not any("manifest.parts" in key for key in bucket.listing())
    assert len(bucket.get("noisy/manifest.jsonl").splitlines()) == 3


def test_directories(bucket: Bucket, tmp_path: Path) -> None:
    more = "format: rosbag2-sqlite3\n"
    plan = _plan(tmp_path / "plan.yaml", LAP, bucket.url("noisy"), more)
    assert make(plan) == counts(made=3)
    assert {"noisy/lap-s0/lap-s0_0.db3", "noisy/lap-s0/metadata.yaml"} <= set(bucket.listing())
    assert make(plan, verify=True) == counts(skipped=3)


def test_an_output_folder_by_option(
    bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = _plan(tmp_path / "plan.yaml", LAP, "elsewhere")
    assert exit_code(["dataset", str(plan), "--list", "-o", bucket.url("there")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == bucket.url("there/lap-s0.mcap")
