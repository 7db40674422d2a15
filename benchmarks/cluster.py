"""How a plan's time and memory grow with its variants, on this machine and on a Dask cluster.

    python benchmarks/cluster.py [VARIANTS ...]     (default: 10 100 1000)

Each run makes one second of sample_bags/lap.mcap with so many seeds: a small output, so that what
the engine costs shows. The cluster is a scheduler and workers of this machine, in processes of
their own; where its cores are fewer than workers + 2, they take from each other.
"""

from __future__ import annotations

import os
import resource
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
def cluster(workers: int) -> Iterator[str]:
    """Run a scheduler and workers; give the address."""
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
        yield address
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def measured(variants: int, options: list[str]) -> tuple[float, float]:
    """Return wall seconds and the client's peak memory in MB of one run."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.yaml"
        plan.write_text(
            f"output: out\ninputs: ['{ROOT / 'sample_bags' / 'lap.mcap'}']\nend: '1'\n"
            f"only: [/ground_truth/cones, /imu/data]\nseeds: {{count: {variants}}}\n"
        )
        call = [sys.executable, str(Path(__file__)), "--child", str(plan), *options]
        start = time.monotonic()
        done = subprocess.run(call, env=ENVIRONMENT, check=True, capture_output=True, text=True)
        return time.monotonic() - start, float(done.stdout)


def child(arguments: list[str]) -> None:
    """Make a data set in this process and print its peak memory (MB)."""
    from bagnoise.cli.main import exit_code  # noqa: PLC0415 - the parent does without

    code = exit_code(["dataset", *arguments, "-q", "--no-index"])
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak_kb / 1000)
    sys.exit(code)


def main() -> None:
    """Print a table."""
    counts = [int(word) for word in sys.argv[1:]] or [10, 100, 1000]
    print(
        "| engine | workers | variants | s | ms a variant | client MB |\n|---|---|---|---|---|---|"
    )
    for workers in (1, 2):
        for count in counts:
            row("local", workers, count, ["--workers", str(workers)])
        with cluster(workers) as address:
            for count in counts:
                row("dask", workers, count, ["--dask", address])


def row(engine: str, workers: int, count: int, options: list[str]) -> None:
    """Measure and print one line of the table."""
    wall_s, peak_mb = measured(count, options)
    each_ms = 1000 * wall_s / count
    text = f"| {engine} | {workers} | {count} | {wall_s:.1f} | {each_ms:.0f} | {peak_mb:.0f} |"
    print(text, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
    else:
        main()
