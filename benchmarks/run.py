"""Time bagnoise against its peers and `cp`, in interleaved runs, and write a table.

    python benchmarks/run.py --data DIR --peers VENV [--runs 5] [--only NAME] [--write FILE]

DIR holds (or gets) the benchmark bags of make_bag.py; VENV is a virtual environment with
benchmarks/peers/requirements.txt in it. Peers are run as programs. Every figure is the median over
the runs; a ratio compares medians of runs that took turns, with warm page cache.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
NOTHING = "streams: {}\n"
CONES = "/ground_truth/cones"
CLOUD = "/lidar_128/points"


class Cost(NamedTuple):
    """What one run took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass
class Job:
    """One line of the table: our command against another, and the ratio to reach."""

    name: str
    source: str
    ours: list[str]
    other: list[str]
    reach: float
    ours_costs: list[Cost] = field(default_factory=list)
    other_costs: list[Cost] = field(default_factory=list)


def jobs(peers: Path, empty: Path) -> list[Job]:
    """List the jobs; ``{in}`` and ``{out}`` stand for input and output."""
    bagnoise = [sys.executable, "-m", "bagnoise", "augment", "{in}", "{out}", "-q"]
    process = [str(peers / "bin" / "pymcap-cli"), "--quiet", "process", "{in}", "-o", "{out}", "-f"]
    kappe = [str(peers / "bin" / "kappe"), "convert", "{in}", "{outdir}"]
    nothing = [*bagnoise, "--recipe", str(empty)]
    late = [*bagnoise, "--stream", f"{CONES} | latency mean_s=0.05"]
    identity = [*bagnoise, "--stream", f"{CLOUD} | drop"]
    copy = ["cp", "-r", "{in}", "{out}"]
    decode = [*process, "-a"]
    return [
        Job("default recipe, zstd, against pymcap-cli -a", "z.mcap", bagnoise, decode, 0.30),
        Job("default recipe, zstd, against kappe", "z.mcap", bagnoise, kappe, 0.20),
        Job("default recipe, uncompressed, against cp", "none.mcap", bagnoise, copy, 2.5),
        Job("nothing changed, zstd, against pymcap-cli", "z.mcap", nothing, process, 1.0),
        Job("nothing changed, uncompressed", "none.mcap", nothing, process, 1.0),
        Job("default recipe, sqlite3, against cp", "sq", bagnoise, copy, 2.0),
        Job(
            "latency on the cones, zstd, against pymcap-cli",
            "z.mcap",
            late,
            [*process, "--time-offset", f"{CONES}=50000000"],
            0.9,
        ),
        Job("one cloud topic replaced, zstd, against -a", "z.mcap", identity, decode, 1.0),
    ]


def run(command: list[str], source: Path, scratch: Path) -> Cost:
    """Run one command with fresh outputs and return what it took."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    out = scratch / ("out.mcap" if source.suffix == ".mcap" else "out")
    places = {"{in}": str(source), "{out}": str(out), "{outdir}": str(scratch / "dir")}
    argv = [places.get(word, word) for word in command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what pip installs is compiled, too
    start = time.perf_counter()
    child = subprocess.Popen(
        argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, errors = child.stderr.read() if child.stderr else b"", b""
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(argv)}: exit code {child.returncode}: {errors!r}")
    shutil.rmtree(scratch)
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    """Return the medians."""
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


def start_up(runs: int) -> list[str]:
    """Time `--help` against importing numpy, and the sample lap."""
    scratch = Path(tempfile.mkdtemp()) / "start"
    commands = {
        "help": [sys.executable, "-m", "bagnoise", "--help"],
        "numpy": [sys.executable, "-c", "import numpy"],
        "lap": [sys.executable, "-m", "bagnoise", "augment", "{in}", "{out}", "-q"],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            costs[name].append(run(command, ROOT / "sample_bags" / "lap.mcap", scratch))
    wall = {name: median(found).wall_s for name, found in costs.items()}
    ratio = wall["help"] / wall["numpy"]
    first = f"| {wall['help']:.3f} s | {wall['numpy']:.3f} s | {ratio:.2f} | 2.5 | |"
    return [
        f"| `bagnoise --help` against `import numpy` {first}",
        f"| `augment` of `lap.mcap` | {wall['lap']:.2f} s | | | 1.5 s | |",
    ]


def table(done: list[Job]) -> list[str]:
    """Write the results as Markdown."""
    lines = [
        "| job | bagnoise | other | ratio | reach | peak MB (bagnoise, other) |",
        "|---|---|---|---|---|---|",
    ]
    for job in done:
        ours, other = median(job.ours_costs), median(job.other_costs)
        lines.append(
            f"| {job.name} | {ours.wall_s:.2f} s (cpu {ours.cpu_s:.2f}) | {other.wall_s:.2f} s "
            f"(cpu {other.cpu_s:.2f}) | **{ours.wall_s / other.wall_s:.2f}** | {job.reach} | "
            f"{ours.peak_mb:.0f}, {other.peak_mb:.0f} |"
        )
    return lines


def machine() -> str:
    """Name machine and versions."""
    packages = ", ".join(f"{p} {version(p)}" for p in ("numpy", "zstandard", "rosbags"))
    python = platform.python_version()
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {python}, {packages}"


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    data: Path = arguments.data
    for name, options in {"z.mcap": ["zstd"], "none.mcap": ["none"], "sq": ["none"]}.items():
        if not (data / name).exists():
            make = [sys.executable, str(ROOT / "benchmarks" / "make_bag.py"), str(data / name)]
            subprocess.run([*make, "--compression", *options], check=True)
    empty = data / "nothing.yaml"
    empty.write_text(NOTHING)
    chosen = [job for job in jobs(arguments.peers, empty) if arguments.only in job.name]
    for job in chosen:
        source = data / job.source
        subprocess.run(["cp", "-r", source, data / "warm"], check=True)
        subprocess.run(["rm", "-r", data / "warm"], check=True)
        for _ in range(arguments.runs):
            job.ours_costs.append(run(job.ours, source, data / "scratch"))
            job.other_costs.append(run(job.other, source, data / "scratch"))
        print(table([job])[-1], flush=True)
    lines = [*table(chosen), *start_up(arguments.runs)]
    report = f"{machine()}; medians of {arguments.runs} runs.\n\n" + "\n".join(lines) + "\n"
    print(report)
    if arguments.write:
        arguments.write.write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
