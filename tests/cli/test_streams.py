"""Standard streams that are closed, full, or read by nobody: the job is done all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"
FULL = Path("/dev/full")
AUGMENT = f"{sys.executable} -m bagnoise augment {LAP} out.mcap --end 1"
COMPARE = f"{sys.executable} -m bagnoise compare --check {LAP} out.mcap"
INFO = f"{sys.executable} -m bagnoise info {LAP}"


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "streams",
    ["| true", "2>&1 | true", "2>&-", ">&-", "<&- >&- 2>&-", ">&- --json", "-v | true"],
)
def test_what_nobody_reads_changes_nothing(tmp_path: Path, streams: str) -> None:
    done = shell(f"{AUGMENT} {streams}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    quiet = shell(f"{AUGMENT} -q".replace("out.mcap", "other/out.mcap"), make(tmp_path / "other"))
    assert quiet.returncode == 0, quiet.stderr
    assert (tmp_path / "out.mcap").read_bytes() == (tmp_path / "other/out.mcap").read_bytes()


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder.parent


def test_errors_keep_their_exit_code(tmp_path: Path) -> None:
    for streams in ("| true", "2>&-", "2>&1 | true"):
        assert shell(f"{AUGMENT} --recipe nothing-such {streams}", tmp_path).returncode == 2
    assert shell(f"{INFO} | head -1", tmp_path).returncode == 0


@pytest.mark.skipif(not FULL.exists(), reason="no full device")
def test_a_full_output_says_that_the_bag_is_there(tmp_path: Path) -> None:
    done = shell(f"{AUGMENT} > {FULL}", tmp_path)
    assert done.returncode == 1
    assert "standard output: No space left on device" in done.stderr
    assert (tmp_path / "out.mcap").is_file()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminals that hang up")
def test_a_closed_terminal_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bagnoise", "augment", str(LAP), "x.mcap"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    while not any(tmp_path.iterdir()) and process.poll() is None:
        pass
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 130
    assert list(tmp_path.iterdir()) == []
