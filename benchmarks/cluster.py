"""How a plan's time and memory grow with its variants, on this machine and on a Dask cluster.

    python benchmarks/cluster.py [VARIANTS ...]     (default: 10 100 1000)

Each run makes one second of sample_bags/lap.mcap with so many seeds: a small output, so that what
the engine costs shows. The cluster is a scheduler and workers of this machine, in processes of
their own; where its cores are fewer than workers + 2, they take from each other.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[int]]]:
    """Run a scheduler and workers; give the address and their process ids."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    tool = [sys.executable, "-m"]
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    calls = [[*tool, "distributed.cli.dask_scheduler", *here, "--port", str(port)]]
    alone = ["--nthreads", "1", "--no-nanny"]
    calls += [[*tool, "distributed.cli.dask_worker", address, *here, *alone]] * workers
    quiet = subprocess.DEVNULL
    running = [
        subprocess.Popen(call, env=ENVIRONMENT, stdout=quiet, stderr=quiet) for call in calls
    ]
    time.sleep(6)  # until all have registered
    try:
        yield address, [process.pid for process in running]
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def measured(variants: int, options: list[str]) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and peak memory in MB of one run's client.

    Its local workers' CPU counts, a cluster's does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.yaml"
        plan.write_text(
            f"output: out\ninputs: ['{ROOT / 'sample_bags' / 'lap.mcap'}']\nend: '1'\n"
            f"only: [/ground_truth/cones, /imu/data]\nseeds: {{count: {variants}}}\n"
        )
        call = [sys.executable, str(Path(__file__)), "--child", str(plan), *options]
        start = time.monotonic()
        done = subprocess.run(call, env=ENVIRONMENT, check=True, capture_output=True, text=True)
        cpu_s, peak_mb = map(float, done.stdout.split())
        return time.monotonic() - start, cpu_s, peak_mb


def child(arguments: list[str]) -> None:
    """Make a data set in this process and print its CPU time (s) and peak memory (MB)."""
    from bagnoise.cli.main import exit_code  # noqa: PLC0415 - the parent does without

    code = exit_code(["dataset", *arguments, "-q", "--no-index"])
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(sum(os.times()[:4]), peak_kb / 1000)
    sys.exit(code)


def main() -> None:
    """Print a table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and end the cluster
    counts = [int(word) for word in sys.argv[1:]] or [10, 100, 1000]
    print(
        "| engine | workers | variants | s | CPU s | CPU ms a variant | client MB |\n"
        "|---|---|---|---|---|---|---|"
    )
    for workers in (1, 2):
        for count in counts:
            row("local", workers, count, ["--workers", str(workers)], [])
        with cluster(workers) as (address, pids):
            for count in counts:
                row("dask", workers, count, ["--dask", address], pids)


def row(engine: str, workers: int, count: int, options: list[str], pids: list[int]) -> None:
    """Measure and print one line of the table."""
    before_s = cpu_of(pids)
    wall_s, cpu_s, peak_mb = measured(count, options)
    cpu_s += cpu_of(pids) - before_s
    each_ms = 1000 * cpu_s / count
    text = f"{engine} | {workers} | {count} | {wall_s:.1f} | {cpu_s:.1f} | {each_ms:.0f}"
    print(f"| {text} | {peak_mb:.0f} |", flush=True)


def cpu_of(pids: list[int]) -> float:
    """Return the CPU seconds that running processes have taken."""
    import psutil  # noqa: PLC0415 - comes with distributed

    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
