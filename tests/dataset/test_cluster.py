"""A plan on a real Dask cluster: a scheduler and workers in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from pages import Reader, short_lap
from plans import LAP, ROOT, plan_text, variants_of

from bagnoise.cli.main import cli
from bagnoise.dataset.cluster import DaskEngine, seen
from bagnoise.dataset.engine import InProcessEngine, Task
from bagnoise.dataset.make import make
from bagnoise.dataset.manifest import MANIFEST_NAME, read_manifest
from bagnoise.dataset.once import Order, make_once, present
from bagnoise.dataset.run import make_dataset
from bagnoise.dataset.sight import Beacon, byte_versions
from bagnoise.dataset.variant import Variant
from bagnoise.errors import UsageError

pytest.importorskip("distributed")
OUTPUTS = 24
SEEDS = f"seeds: {{count: {OUTPUTS}}}\n"


class Cluster:
    """Processes that end with the test."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.folder = folder

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        with (self.folder / f"dask-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": paths, **environment},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def scheduler(self, **environment: str) -> None:
        host, port = self.address.removeprefix("tcp://").split(":")
        self._start(
            "dask_scheduler", "--host", host, "--port", port, "--no-dashboard", **environment
        )

    def worker(self, preload: str = "") -> subprocess.Popen[bytes]:
        more = ("--preload", preload) if preload else ()
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self._start("dask_worker", self.address, *options, *more)

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers say that they are registered."""
        logs = [self.folder / f"dask-{number}.log" for number in range(1, count + 1)]
        until = time.monotonic() + 60
        while not all("Registered to:" in log.read_text() for log in logs):
            assert time.monotonic() < until
            time.sleep(0.05)

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(30)


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


def command(plan: Path, cluster: Cluster, *more: str) -> list[str]:
    arguments = ["dataset", str(plan), "--dask", cluster.address, *more]
    return [sys.executable, "-m", "bagnoise", *arguments]


def run(plan: Path, cluster: Cluster, *more: str) -> subprocess.CompletedProcess[str]:
    call = command(plan, cluster, *more)
    return subprocess.run(call, cwd=ROOT, check=False, capture_output=True, text=True, timeout=90)


def test_what_the_page_says(tmp_path: Path, cluster: Cluster) -> None:
    cluster.scheduler()
    cluster.worker()
    text = (ROOT / "docs" / "datasets.md").read_text("utf-8")
    reader = Reader(tmp_path / "reader", None, short_lap(tmp_path))
    told = text.replace("tcp://HOST:8786", cluster.address)
    assert reader.read(told, "docs/datasets.md", provided="dask") == 1
    assert len(list((reader.folder / "noisy").glob("*.mcap"))) == 4


def plan_in(folder: Path, more: str = SEEDS) -> Path:
    plan = folder / "plan.yaml"
    plan.write_text(plan_text(folder / "out", more))
    return plan


def wait_for_lines(folder: Path, count: int) -> None:
    manifest = folder / MANIFEST_NAME
    until = time.monotonic() + 60
    while not manifest.exists() or manifest.read_bytes().count(b"\n") < count:
        assert time.monotonic() < until
        time.sleep(0.01)


def identities(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.glob("*.mcap"):
        stat = path.stat()
        found[path.name] = (stat.st_ino, stat.st_mtime_ns)
    return found


def require_equal_to_local(folder: Path, local: Path, seeds: str = SEEDS) -> None:
    make_dataset(variants_of(local, seeds), local, InProcessEngine())
    names = sorted(path.name for path in local.glob("*.mcap"))
    assert sorted(path.name for path in folder.glob("*.mcap")) == names
    for name in names:
        assert (folder / name).read_bytes() == (local / name).read_bytes(), name
    assert not list(folder.glob(".bagnoise-partial-*"))


def test_a_run_outlives_a_worker(tmp_path: Path, cluster: Cluster) -> None:
    cluster.scheduler()
    lost, _ = cluster.worker(), cluster.worker()
    plan, out = plan_in(tmp_path), tmp_path / "out"
    client = subprocess.Popen(command(plan, cluster), cwd=ROOT, stdout=subprocess.PIPE)
    wait_for_lines(out, 6)
    lost.kill()
    seen = identities(out)
    said, _ = client.communicate(timeout=60)
    assert client.returncode == 0
    assert f"{OUTPUTS} made, 0 there already;" in said.decode()
    assert (out / MANIFEST_NAME).read_bytes().count(b"\n") == OUTPUTS
    assert len(seen) >= 6
    assert identities(out).items() >= seen.items()
    require_equal_to_local(out, tmp_path / "local")


def test_interrupted_and_killed_clients_are_resumed(tmp_path: Path, cluster: Cluster) -> None:
    cluster.scheduler()
    cluster.worker()
    plan, out = plan_in(tmp_path), tmp_path / "out"
    for how, lines, code in ((signal.SIGINT, 2, 130), (signal.SIGKILL, 8, -9)):
        client = subprocess.Popen(command(plan, cluster, "-q"), cwd=ROOT, stderr=subprocess.PIPE)
        wait_for_lines(out, lines)
        client.send_signal(how)
        _, errors = client.communicate(timeout=30)
        assert client.returncode == code
        assert b"Traceback" not in errors
        done = read_manifest(out)
        assert lines <= len(done) < OUTPUTS
        assert all((out / name).is_file() for name in done)
    left_over = out / ".bagnoise-partial-0123456789abcdef"
    left_over.mkdir()
    (left_over / "half.mcap").write_bytes(b"half")
    report = json.loads(run(plan, cluster, "--json").stdout)
    assert (report["made"], report["skipped"]) == (OUTPUTS - len(done), len(done))
    names = [json.loads(row)["output"] for row in (out / MANIFEST_NAME).read_text().splitlines()]
    assert len(names) == len(set(names)) == OUTPUTS
    require_equal_to_local(out, tmp_path / "local")


def test_lost_workers_and_wrong_recipes_end_as_failed_lines(
    tmp_path: Path, cluster: Cluster
) -> None:
    """Let the scheduler forgive no loss, and a worker die of one output."""
    cluster.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
    deadly = tmp_path / "deadly.py"
    deadly.write_text(
        "import os\nimport bagnoise.dataset.once as once\nfrom bagnoise.dataset.make import make\n"
        "def killing(variants, digest):\n"
        "    if variants[0].seed == 1: os.kill(os.getpid(), 9)\n"
        "    return make(variants, digest)\nonce.make = killing\n"
    )
    cluster.worker(str(deadly))
    bad = tmp_path / "bad.yaml"
    bad.write_text("streams: {x: {source: /nowhere, steps: [latency: {mean_s: 1}]}}\n")
    plan = tmp_path / "plan.yaml"
    out = tmp_path / "out"
    plan.write_text(plan_text(out, "seeds: [2]\n", recipes="bad.yaml, cone-noise-simulator"))
    done = run(plan, cluster)
    assert (done.returncode, done.stderr.count("failed: ")) == (1, 1)
    assert "no topic '/nowhere'" in read_manifest(out)["lap-bad-s2.mcap"]["error"]
    plan.write_text(plan_text(out, "seeds: [1]\n"))
    assert run(plan, cluster).returncode == 1
    assert "its worker was lost" in read_manifest(out)["lap-cone-noise-simulator-s1.mcap"]["error"]
    assert [path.name for path in out.glob("*.mcap")] == ["lap-cone-noise-simulator-s2.mcap"]
    assert not list(out.glob(".bagnoise-partial-*"))


OTHER_VERSION = "import bagnoise; bagnoise.__version__ = '0.0.1'\n"
BLIND = """import sys
def hook(event, args):
    if event == 'open' and str(args[0]).startswith({!r}):
        raise FileNotFoundError(2, 'No such file or directory', args[0])
sys.addaudithook(hook)
"""


def test_workers_that_do_not_fit_are_named(tmp_path: Path, cluster: Cluster) -> None:
    out = tmp_path / "out"
    cluster.scheduler()
    for name, text in (
        ("version", OTHER_VERSION),
        ("output", BLIND.format(f"{out}/")),
        ("input", BLIND.format(str(LAP))),
    ):
        script = tmp_path / f"unfit_{name}.py"
        script.write_text(text)
        cluster.worker(str(script))
    cluster.wait_for_workers(3)
    done = run(plan_in(tmp_path), cluster)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("bagnoise: worker tcp://127.0.0.1:") for line in lines)
    for said in (
        "would make other bytes: it has bagnoise 0.0.1 instead of",
        f"does not see the output folder {out} of the client: No such file or directory",
        f"cannot read the input {LAP}: No such file or directory",
    ):
        assert said in done.stderr
    assert {path.name for path in out.iterdir()} == {".bagnoise-dataset.lock", MANIFEST_NAME}


@pytest.mark.parametrize(
    ("unfit", "said"),
    [
        (OTHER_VERSION, "would make other bytes: it has bagnoise 0.0.1 instead of"),
        (BLIND.format("{out}/"), "does not see the output folder {out} of the client"),
        (BLIND.format(str(LAP)), f"cannot read the input {LAP}: No such file or directory"),
    ],
    ids=["version", "output", "input"],
)
def test_a_worker_that_joins_late_and_does_not_fit_is_not_used(
    tmp_path: Path, cluster: Cluster, unfit: str, said: str
) -> None:
    """The others make its outputs, too; nothing is said to be done that is not there."""
    out, script = tmp_path / "out", tmp_path / "unfit.py"
    script.write_text(unfit.format(out=out) if "{out}" in unfit else unfit)
    cluster.scheduler()
    go = patient_worker(cluster)
    client = subprocess.Popen(
        command(plan_in(tmp_path), cluster), cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_for_lines(out, 1)
    cluster.worker(str(script))
    assert client.stderr is not None
    first = client.stderr.readline()
    go.touch()
    _, errors = client.communicate(timeout=60)
    assert client.returncode == 0, errors
    assert first.startswith("warning: worker tcp://127.0.0.1:")
    assert f"gets no more outputs: it {said.format(out=out)}" in first
    assert errors == ""
    require_equal_to_local(out, tmp_path / "local")


def patient_worker(cluster: Cluster) -> Path:
    """Start a worker that makes one output, and the others once there is the file returned."""
    go, script = cluster.folder / "go", cluster.folder / "patient.py"
    script.write_text(
        "import os, time\nimport bagnoise.dataset.once as once\n"
        "from bagnoise.dataset.make import make\nmade = []\n"
        "def waiting(variants, digest):\n"
        f"    while made and not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
        "    made.append(1)\n"
        "    return make(variants, digest)\nonce.make = waiting\n"
    )
    cluster.worker(str(script))
    return go


def test_when_only_an_unfit_worker_is_left_the_run_ends(tmp_path: Path, cluster: Cluster) -> None:
    script = tmp_path / "unfit.py"
    script.write_text(OTHER_VERSION)
    cluster.scheduler()
    patient_worker(cluster)
    client = subprocess.Popen(
        command(plan_in(tmp_path), cluster), cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_for_lines(tmp_path / "out", 1)
    cluster.worker(str(script))
    assert client.stderr is not None
    assert "gets no more outputs" in client.stderr.readline()
    cluster.processes[1].kill()
    _, errors = client.communicate(timeout=60)
    assert client.returncode == 1
    assert "no worker is left that fits" in errors
    done = read_manifest(tmp_path / "out")
    assert len(done) == 1
    assert all((tmp_path / "out" / name).is_file() for name in done)


def test_a_worker_that_does_not_answer_is_named(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bagnoise.dataset.cluster.ASK_S", 2.0)
    cluster.scheduler()
    cluster.worker()
    hung = cluster.worker()
    cluster.wait_for_workers(2)
    hung.send_signal(signal.SIGSTOP)
    out = tmp_path / "out"
    with pytest.raises(UsageError) as raised:
        make_dataset(variants_of(out, SEEDS), out, DaskEngine(cluster.address))
    (line,) = str(raised.value).splitlines()
    assert line.startswith("worker tcp://127.0.0.1:")
    assert line.endswith("no answer within 2 s")
    assert {path.name for path in out.iterdir()} == {".bagnoise-dataset.lock", MANIFEST_NAME}


def test_nobody_at_the_address(tmp_path: Path, cluster: Cluster) -> None:
    done = run(plan_in(tmp_path), cluster)
    assert done.returncode == 2
    assert "no Dask scheduler answers within 5 s" in done.stderr
    assert not (tmp_path / "out").exists()


def test_workers_and_dask_exclude_each_other(tmp_path: Path) -> None:
    arguments = ["dataset", str(plan_in(tmp_path)), "--dask", "tcp://x:1", "--workers", "2"]
    with pytest.raises(click.UsageError, match="--workers is for this machine"):
        cli.main(args=arguments, standalone_mode=False)


def test_without_the_extra_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'bagnoise\[dask\]'"):
        DaskEngine("tcp://127.0.0.1:1")


def order_of(variant: Variant) -> Order:
    target = Path(variant.target)
    target.parent.mkdir(exist_ok=True)
    return Order(variant, {}, present(target), byte_versions(), Beacon.lit(target.parent))


def test_an_order_carried_out_twice_leaves_the_first_output(tmp_path: Path) -> None:
    (variant,) = variants_of(tmp_path / "out")
    order = order_of(variant)
    first = make_once(order)
    stood = identities(tmp_path / "out")
    again = make_once(order)
    assert (first["state"], again["state"]) == ("done", "done")
    assert again["output_sha256"] == first["output_sha256"]
    assert identities(tmp_path / "out") == stood


def test_what_has_appeared_is_left_alone_and_what_is_outdated_replaced(tmp_path: Path) -> None:
    (variant,) = variants_of(tmp_path / "out")
    order = order_of(variant)
    target = Path(variant.target)
    target.write_bytes(LAP.read_bytes())
    refused = make_once(order)
    assert refused["state"] == "failed"
    assert "is another; it is left alone" in refused["error"]
    assert target.read_bytes() == LAP.read_bytes()
    line: dict[str, Any] = make_once(order_of(variant))
    assert line["state"] == "done"
    assert target.read_bytes() != LAP.read_bytes()


def test_what_nobody_waits_for_is_not_made(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (variant,) = variants_of(out)
    order = order_of(variant)
    order.beacon.put_out()
    line = make_once(order)
    assert line["state"] == "failed"
    assert "the run has ended" in line["error"]
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("folder_goes", [False, True])
def test_what_nobody_waits_for_any_more_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, folder_goes: bool
) -> None:
    """The client ends, and may clear up, while the output is made."""
    out = tmp_path / "out"
    (variant,) = variants_of(out)
    order = order_of(variant)

    def ended(variants: list[Variant], digest: dict[str, Any]) -> list[Any]:
        lines = list(make(variants, digest))
        order.beacon.put_out()
        if folder_goes:
            shutil.rmtree(out)
        return lines

    monkeypatch.setattr("bagnoise.dataset.once.make", ended)
    line = make_once(order)
    assert line["state"] == "failed"
    assert "the run has ended" in line["error"]
    assert not out.exists() if folder_goes else list(out.iterdir()) == []


def test_what_is_not_to_be_seen_here_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bagnoise.dataset.cluster.SEEN_S", 0.2)
    (variant,) = variants_of(tmp_path / "out")
    line, task = make_once(order_of(variant)), Task(variant, {})
    assert seen(line, task) == line
    target = Path(variant.target)
    target.write_bytes(target.read_bytes() + b"more")
    assert "is not to be seen here" in seen(line, task)["error"]
    target.unlink()
    assert "is not to be seen here" in seen(line, task)["error"]
