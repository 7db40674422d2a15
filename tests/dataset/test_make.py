"""Outputs of a plan: equal to what augment makes, resumed, redone only where needed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from plans import LAP, ROOT, loaded, plan_text, variants_of

from bagnoise.augment.run import augment
from bagnoise.dataset.engine import InProcessEngine, LocalEngine, Task, groups
from bagnoise.dataset.expand import expand
from bagnoise.dataset.make import make
from bagnoise.dataset.manifest import MANIFEST_NAME, read_manifest
from bagnoise.dataset.run import look, make_dataset
from bagnoise.dataset.variant import Variant
from bagnoise.errors import BagError, UsageError
from bagnoise.recipe.model import Recipe

# streams that replace, move and read: each kind of what a recording has to repeat
ALL_KINDS = """streams:
  cones: {source: /ground_truth/cones, steps: [noise: {std_m: 0.1}]}
  read: {source: /ground_truth/cones, target: /more, steps: [noise: {std_m: 0.1}, rate: {hz: 7}]}
  moved:
    source: /imu/data
    steps: [drop: {probability: 0.2}, latency: {mean_s: 0.02, std_s: 0.02}]
  late: {source: /imu/data, target: /late, steps: [latency: {mean_s: 3}]}
"""


def status(planned: list[Any]) -> list[str]:
    return [entry.status for entry in planned]


def run(variants: list[Variant], folder: Path, **options: Any) -> Any:
    return make_dataset(variants, folder, InProcessEngine(), **options)


# a stream that makes its messages at poses, long after the only message it reads
TRACK = """streams:
  cam:
    source: /ground_truth/track
    target: /cam
    type: eufs_msgs/msg/ConeArrayWithCovariance
    labels: true
    steps:
      - from_track: {pose_topic: /ground_truth/odom}
      - noise: {std_m: 0.2}
      - rate: {hz: 20}
      - latency: {mean_s: 0.01, std_s: 0.001}
  fast:
    source: /ground_truth/cones
    target: /fast
    steps: [rate: {hz: 333}]
"""


def test_whole_bags_that_share_a_reading_equal_those_of_augment(tmp_path: Path) -> None:
    (tmp_path / "track.yaml").write_text(TRACK)
    out = tmp_path / "out"
    text = f"output: {out}\ninputs: ['{LAP}']\nrecipes: [track.yaml]\nseeds: [3, 5]\n"
    variants = expand(loaded(text, tmp_path))
    out.mkdir()
    assert [line["state"] for line in make(variants, {})] == ["done", "done"]
    for variant in variants:
        alone = tmp_path / "alone.mcap"
        augment(LAP, alone, Recipe.model_validate(variant.recipe), variant.options())
        assert alone.read_bytes() == Path(variant.target).read_bytes()


@pytest.mark.parametrize("recipes", ["cone-noise-simulator", "kinds.yaml"])
def test_outputs_that_share_a_reading_equal_those_of_augment(tmp_path: Path, recipes: str) -> None:
    (tmp_path / "kinds.yaml").write_text(ALL_KINDS)
    name = recipes if recipes in "cone-noise-simulator" else str(tmp_path / recipes)
    variants = variants_of(tmp_path / "out", "seeds: [3, 5]\n", recipes=name)
    (tmp_path / "out").mkdir()
    lines = list(make(variants, {}))
    assert [line["state"] for line in lines] == ["done", "done"]
    for variant in variants:
        alone = tmp_path / "alone.mcap"
        options = variant.options()
        summary = augment(LAP, alone, Recipe.model_validate(variant.recipe), options)
        assert alone.read_bytes() == Path(variant.target).read_bytes()
        line = next(entry for entry in lines if entry["output"] == variant.name)
        assert line["streams"] == summary.to_plain()["streams"]


def test_running_again_skips_what_is_complete(tmp_path: Path) -> None:
    variants = variants_of(tmp_path, "seeds: [1, 2]\n")
    assert (run(variants, tmp_path).made, run(variants, tmp_path).made) == (2, 0)
    assert status(look(variants, tmp_path, verify=True)) == ["done", "done"]


def test_a_changed_plan_redoes_only_what_changed(tmp_path: Path) -> None:
    grid = "sweep: {{grid: {{camera.noise.std_m: [0.1, {}]}}}}\nname: '{{index}}'\n"
    run(variants_of(tmp_path, grid.format(0.2)), tmp_path)
    changed = variants_of(tmp_path, grid.format(0.3))
    assert status(look(changed, tmp_path)) == ["done", "changed"]
    outcome = run(changed, tmp_path)
    assert (outcome.made, outcome.skipped) == (1, 1)
    assert [line["sweep"] for line in outcome.lines] == [
        {"camera.noise.std_m": 0.1},
        {"camera.noise.std_m": 0.3},
    ]


def test_a_changed_input_is_made_again_a_touched_one_is_not(tmp_path: Path) -> None:
    source = tmp_path / "in.mcap"
    shutil.copy(LAP, source)
    variants = variants_of(tmp_path / "out", source=str(source))
    run(variants, tmp_path / "out")
    os.utime(source, ns=(1, 1))
    assert status(look(variants, tmp_path / "out")) == ["done"]
    shutil.copy(variants[0].target, source)
    planned = look(variants, tmp_path / "out")
    assert [(entry.status, entry.why) for entry in planned] == [("changed", "the input")]


def test_damage_is_found_by_size_by_time_or_by_content(tmp_path: Path) -> None:
    variants = variants_of(tmp_path, "seeds: [1, 2, 3, 4]\n")
    run(variants, tmp_path)
    gone, short, edited, hidden = (Path(variant.target) for variant in variants)
    gone.unlink()
    short.write_bytes(short.read_bytes()[:-1])
    for path in (edited, hidden):
        stat = path.stat()
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        if path == hidden:
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert status(look(variants, tmp_path)) == ["missing", "damaged", "damaged", "done"]
    assert status(look(variants, tmp_path, verify=True))[-1] == "damaged"
    assert run(variants, tmp_path, verify=True).made == 4
    assert status(look(variants, tmp_path, verify=True)) == ["done"] * 4


def test_a_torn_manifest_line_counts_for_nothing(tmp_path: Path) -> None:
    variants = variants_of(tmp_path, "seeds: [1, 2]\n")
    run(variants, tmp_path)
    manifest = tmp_path / MANIFEST_NAME
    manifest.write_bytes(manifest.read_bytes()[:-30])
    assert status(look(variants, tmp_path)) == ["done", "new"]
    run(variants, tmp_path)
    assert len(read_manifest(tmp_path)) == 2
    manifest.write_text("no JSON\n" + manifest.read_text())
    with pytest.raises(BagError, match=r"manifest.jsonl:1: not a manifest line"):
        look(variants, tmp_path)


def test_a_failure_is_a_line_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "lost.yaml").write_text(
        "streams: {x: {source: /nowhere, steps: [shift: {log_s: 1}]}}\n"
    )
    (tmp_path / "early.yaml").write_text(
        "streams: {x: {source: /imu/data, steps: [shift: {log_s: -9.0e9}]}}\n"
    )
    recipes = f"'{tmp_path}/lost.yaml', '{tmp_path}/early.yaml', cone-noise-simulator"
    variants = variants_of(tmp_path / "out", recipes=recipes)
    outcome = run(variants, tmp_path / "out")
    assert [line["state"] for line in outcome.lines] == ["failed", "failed", "done"]
    assert "no topic '/nowhere'" in outcome.lines[0]["error"]
    assert "before time 0" in outcome.lines[1]["error"]
    assert sorted(p.name for p in (tmp_path / "out").glob("*.mcap")) == [variants[2].name]
    assert status(look(variants, tmp_path / "out"))[:2] == ["failed before"] * 2


def test_fail_fast_leaves_the_rest(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(LAP.read_bytes()[:1000])
    text = f"output: {tmp_path / 'out'}\ninputs: ['{broken}', '{LAP}']\n"
    outcome = run(expand(loaded(text)), tmp_path / "out", fail_fast=True)
    assert (len(outcome.failed), outcome.made, outcome.left) == (1, 0, 1)


def test_two_runs_in_one_folder_are_kept_apart(tmp_path: Path) -> None:
    variants = variants_of(tmp_path)

    class Nosy(InProcessEngine):
        def lines(self) -> Any:
            with pytest.raises(UsageError, match="another run"):
                run(variants, tmp_path)
            return super().lines()

    assert make_dataset(variants, tmp_path, Nosy()).made == 1


def test_groups_keep_all_workers_busy(tmp_path: Path) -> None:
    tasks = [Task(v, {}) for v in variants_of(tmp_path, "seeds: {count: 10}\n")]
    assert [len(group) for group in groups(tasks, 2)] == [5, 5]
    assert [len(group) for group in groups(tasks, 3)] == [4, 4, 2]
    assert max(len(group) for group in groups(tasks * 20, 2)) == 8


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_make_what_this_process_makes(tmp_path: Path, workers: int) -> None:
    here = variants_of(tmp_path / "here", "seeds: [1, 2]\n")
    there = variants_of(tmp_path / "there", "seeds: [1, 2]\n")
    run(here, tmp_path / "here")
    outcome = make_dataset(there, tmp_path / "there", LocalEngine(workers))
    assert outcome.made == 2
    for one, other in zip(here, there, strict=True):
        assert Path(one.target).read_bytes() == Path(other.target).read_bytes()


def test_a_worker_that_dies_fails_only_what_it_had(tmp_path: Path) -> None:
    variants = variants_of(tmp_path, "seeds: {count: 40}\n")
    engine = LocalEngine(1)
    killed: list[Any] = []

    def kill_first(line: Any, outcome: Any, running: int) -> None:
        if not killed:
            (worker,) = engine._busy.values()
            killed.append(worker)
            worker.process.kill()

    outcome = make_dataset(variants, tmp_path, engine, watch=kill_first)
    assert 1 <= len(outcome.failed) < 8
    assert outcome.made == 40 - len(outcome.failed)
    assert all("signal 9" in line["error"] for line in outcome.failed)
    assert run(variants, tmp_path).made == len(outcome.failed)


def start(plan: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bagnoise", "dataset", str(plan), "--workers", "2"]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_it_loses_only_what_is_in_work(tmp_path: Path, how: signal.Signals) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(plan_text(tmp_path / "out", "seeds: {count: 60}\n"))
    manifest = tmp_path / "out" / MANIFEST_NAME
    process = start(plan)
    until = time.monotonic() + 60
    while time.monotonic() < until and (not manifest.exists() or len(manifest.read_bytes()) < 5000):
        time.sleep(0.005)
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert b"Traceback" not in errors
    assert (b"what is complete stays" in errors) == (how != signal.SIGKILL)
    done = {name for name, line in read_manifest(tmp_path / "out").items()}
    assert 0 < len(done) < 60
    variants = variants_of(tmp_path / "out", "seeds: {count: 60}\n")
    before = look(variants, tmp_path / "out", verify=True)
    assert {entry.variant.name for entry in before if entry.status == "done"} == done
    if how != signal.SIGKILL:
        assert not list((tmp_path / "out").glob(".bagnoise-partial-*"))
    command = [sys.executable, "-m", "bagnoise", "dataset", str(plan), "--json", "--verify"]
    again = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    report = json.loads(again.stdout)
    assert (report["made"], report["skipped"]) == (60 - len(done), len(done))
    assert not list((tmp_path / "out").glob(".bagnoise-partial-*"))
    names = [path.name for path in (tmp_path / "out").glob("*.mcap")]
    assert len(names) == 60
