"""The commands as a shell sees them: output, exit codes, what is left on disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_runs import Command
from mcap.reader import make_reader

from bagnoise.cli.main import exit_code

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"
SCAN = ROOT / "sample_bags" / "scan"
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_program_starts_both_ways_and_leaves_with_its_code(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("bagnoise")
    ways = [[sys.executable, "-m", "bagnoise"]] + [[str(script)]] * script.exists()
    for way in ways:
        for arguments, code in ((["--version"], 0), (["augment", "a", "b"], 1), (["x"], 2)):
            done = subprocess.run([*way, *arguments], cwd=tmp_path, env=ENV, check=False)
            assert done.returncode == code


def test_the_main_job(bagnoise: Command, tmp_path: Path) -> None:
    target = tmp_path / "noisy.mcap"
    done = bagnoise("augment", LAP, target, "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "/camera/cones" in done.stdout
    assert "seed 4" in done.stdout
    shown = json.loads(bagnoise("info", target, "--json").stdout)
    counts = {topic["topic"]: topic["count"] for topic in shown["topics"]}
    assert (counts["/camera/cones"], counts["/lidar/cones"]) == (784, 314)
    assert counts["/ground_truth/cones"] == 1567
    assert shown["history"][0]["seed"] == "4"


def test_the_summary_as_json(bagnoise: Command, tmp_path: Path) -> None:
    done = bagnoise("augment", LAP, tmp_path / "x.mcap", "--json", "--camera-hz", "5")
    summary = json.loads(done.stdout)
    assert summary["streams"]["camera"]["in"] == 1567
    with LAP.open("rb") as stream:
        reader = make_reader(stream)
        times = [m.log_time for _, _, m in reader.iter_messages("/ground_truth/cones")]
    period_ns = 200_000_000  # ticks from the first message to one period after the last
    ticks = (times[-1] + period_ns) // period_ns - -(-times[0] // period_ns) + 1
    assert summary["streams"]["camera"]["out"] == ticks
    assert summary["streams"]["camera"]["mean_delay_s"] == pytest.approx(0.01, abs=1e-4)


def test_quiet_says_nothing(bagnoise: Command, tmp_path: Path) -> None:
    done = bagnoise("augment", LAP, tmp_path / "x.mcap", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_eight_flags(bagnoise: Command, tmp_path: Path) -> None:
    done = bagnoise(
        "augment", LAP, tmp_path / "x.mcap", "-v", "--camera-hz", "20", "--lidar-hz", "5",
        "--camera-noise-std", "0.3", "--lidar-noise-std", "0.2", "--camera-delay-mean", "0.02",
        "--camera-delay-std", "0.003", "--lidar-delay-mean", "0.04", "--lidar-delay-std", "0.005",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for value in ("20.0", "5.0", "0.3", "0.2", "0.02", "0.003", "0.04", "0.005"):
        assert f": {value}\n" in done.stdout


def test_a_bag_made_by_bagnoise_tells_its_recipe_and_it_makes_the_bag_again(
    bagnoise: Command,
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "a.mcap", tmp_path / "b.mcap"
    bagnoise("augment", LAP, first, "--seed", "8", "--lidar-hz", "7")
    recipe = tmp_path / "r.yaml"
    recipe.write_text(bagnoise("recipe", "show", first).stdout)
    assert bagnoise("augment", LAP, second, "--recipe", recipe).returncode == 0
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["gone.mcap", "x.mcap"], 1, "gone.mcap"),
        ([LAP, "x.mcap", "--source", "/gone"], 2, "no topic '/gone'"),
        ([LAP, "x.mcap", "--recipe", "nosuch"], 2, "no preset 'nosuch'"),
        ([LAP, "x.mcap", "--set", "camera.noise.std_m=-1"], 2, "greater than or equal to 0"),
        ([LAP, "x.mcap", "--camera-hz", "nan"], 2, "--camera-hz nan"),
        ([LAP, "x.mcap", "--camera-hz", "fast"], 2, "not a valid float"),
        ([LAP, "x.mcap", "--stream", "/a | nose"], 2, "did you mean 'noise'"),
        ([LAP, "x.mcap", "--nonsense"], 2, "No such option"),
        ([LAP, "x.mcap", "--split", "5s"], 2, "cannot be split"),
        ([LAP, "x.mcap", "--chunk-size", "big"], 2, "is not a size"),
        ([LAP, "x.mcap", "--compression", "rar"], 2, "rar"),
        ([LAP, "nodir/x.mcap"], 2, "nodir"),
        ([LAP, LAP], 2, "the same"),
        ([ROOT / "README.md", "x.mcap"], 1, "README.md"),
        ([LAP, "x.mcap", "--start", "abc"], 2, "--start abc: expected seconds"),
        ([LAP, "x.mcap", "--only", "/nope"], 2, "--only /nope: matches no topic"),
    ],
)
def test_what_is_wrong_is_one_clear_line(
    bagnoise: Command, tmp_path: Path, arguments: list[str | Path], code: int, expected: str
) -> None:
    done = bagnoise("augment", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_output_is_kept_unless_told(bagnoise: Command, tmp_path: Path) -> None:
    target = tmp_path / "x.mcap"
    target.write_bytes(b"precious")
    assert bagnoise("augment", LAP, target).returncode == 2
    assert bagnoise("augment", LAP, target, "--overwrite").returncode == 2  # no bag, so not ours
    assert target.read_bytes() == b"precious"
    target.write_bytes(LAP.read_bytes())
    assert bagnoise("augment", LAP, target, "--overwrite").returncode == 0
    assert target.read_bytes() != LAP.read_bytes()


def test_the_main_job_does_not_load_all_types_of_ros(tmp_path: Path) -> None:
    code = (
        "import sys; from bagnoise.cli.main import exit_code; exit_code(sys.argv[1:]);"
        "print('rosbags.typesys' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "augment", str(LAP), str(tmp_path / "x.mcap"), "-q"]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, check=True)
    assert (tmp_path / "x.mcap").is_file()
    assert done.stdout.strip() == "False"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "bagnoise", "augment", str(LAP), "x.mcap"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=30)
    if process.returncode == 0:
        pytest.skip("it was done before the signal came")
    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(tmp_path.iterdir()) == []


def test_a_cut_of_time_and_topics(bagnoise: Command, tmp_path: Path) -> None:
    target = tmp_path / "x.mcap"
    cut = ("--start", "5", "--end", "7.5", "--exclude", "/imu/.*")
    done = bagnoise("augment", LAP, target, *cut)
    assert done.returncode == 0, done.stderr
    shown = json.loads(bagnoise("info", target, "--json").stdout)
    topics = {topic["topic"]: topic["count"] for topic in shown["topics"]}
    assert "/imu/data" not in topics
    assert topics["/ground_truth/cones"] == 125
    assert topics["/tf_static"] == topics["/ground_truth/track"] == 1  # latched, so kept
    assert 2.4e9 < shown["end_ns"] - shown["start_ns"] < 2.6e9


def test_a_directory_stays_one(bagnoise: Command, tmp_path: Path) -> None:
    stream = "/velodyne_points | latency mean_s=0.05"
    done = bagnoise("augment", SCAN, tmp_path / "late", "--stream", stream)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "late" / "metadata.yaml").exists()
    shown = json.loads(bagnoise("info", tmp_path / "late", "--json").stdout)
    assert shown["format"] == "sqlite3"


def test_recipe_commands(bagnoise: Command, tmp_path: Path) -> None:
    assert "feb-literal" in bagnoise("recipe", "list").stdout
    assert "streams:" in bagnoise("recipe", "show", "feb-literal").stdout
    assert "null" in bagnoise("recipe", "schema").stdout
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("streams: {a: {source: /x, steps: [{noise: {std_m: 1}}]}}")
    bad.write_text("streams: {a: {source: /x, steps: [{nois: {std_m: 1}}]}}")
    assert bagnoise("recipe", "check", good).returncode == 0
    wrong = bagnoise("recipe", "check", bad)
    assert wrong.returncode == 2
    assert "bad.yaml:1:35: streams.a.steps.0: unknown step 'nois'" in wrong.stderr
    foreign = bagnoise("recipe", "show", LAP)
    assert foreign.returncode == 2
    assert "not made by bagnoise" in foreign.stderr


def test_steps_describe_themselves(bagnoise: Command) -> None:
    listed = bagnoise("steps").stdout
    shown = bagnoise("steps", "latency").stdout
    assert "latency" in listed
    for word in ("mean_s", "std_s", "default 0.0", "messages of any type"):
        assert word in shown
    assert bagnoise("steps", "latncy").returncode == 2
    assert json.loads(bagnoise("steps", "noise", "--json").stdout)["noise"]["works_on"]


def test_help_and_version(bagnoise: Command) -> None:
    assert "augment" in bagnoise("--help").stdout
    for command in ("augment", "info", "recipe", "steps"):
        assert bagnoise(command, "--help").returncode == 0
    assert bagnoise("--version").returncode == 0
    assert bagnoise("nosuch").returncode == 2


@pytest.mark.parametrize("flag", ["--start", "--end"])
@pytest.mark.parametrize("time", ["1752234570123456789", "1e11", "1e18", "1e400"])
def test_times_that_no_bag_can_hold(
    bagnoise: Command, tmp_path: Path, flag: str, time: str
) -> None:
    done = bagnoise("augment", LAP, tmp_path / "x.mcap", flag, time)
    assert done.returncode == 2
    assert f"{flag} {time}: expected seconds" in done.stderr
    assert ("would be 1752234570.123456789" in done.stderr) == time.startswith("175")
    assert not (tmp_path / "x.mcap").exists()


def test_a_split_into_very_many_files_is_refused(bagnoise: Command, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.yaml"
    nothing.write_text("streams: {}\n")
    done = bagnoise("augment", LAP, tmp_path / "x", "--recipe", nothing, "--split", "1")
    assert done.returncode == 2
    assert "--split makes more than 10000 files" in done.stderr
    assert list(tmp_path.iterdir()) == [nothing]


def test_a_dry_run_shows_no_counts(bagnoise: Command, tmp_path: Path) -> None:
    shown = bagnoise("augment", LAP, tmp_path / "x.mcap", "--dry-run").stdout
    assert "/camera/cones" in shown
    assert "dropped" not in shown
    assert " 0" not in shown.splitlines()[1]


@pytest.mark.parametrize("arguments", [("info", ""), ("augment", LAP, ""), ("augment", "", "x")])
def test_an_empty_name_is_told(bagnoise: Command, arguments: tuple[str, ...]) -> None:
    done = bagnoise(*arguments)
    assert done.returncode == 2
    assert "is empty; give the name of a bag" in done.stderr


def test_too_little_memory_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hungry(*_: object, **__: object) -> None:
        np.empty(1 << 60, np.uint8)

    monkeypatch.setattr("bagnoise.inspect_bag.inspect_bag", hungry)
    assert exit_code(["info", str(LAP)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("bagnoise: out of memory: Unable to allocate")
    assert error.count("\n") == 1
