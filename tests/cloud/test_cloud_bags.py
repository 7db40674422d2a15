"""Bags on an object store: equal bytes, few bytes read, complete or absent."""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from s3_store import ACCESS_KEY, SECRET_KEY, Bucket, Request, forget

from bagnoise.bags import open_bag, remote_publish
from bagnoise.bags.mcap_source import open_source
from bagnoise.bags.remote import Store
from bagnoise.bags.remote_path import RemotePath, location
from bagnoise.cli.main import exit_code
from bagnoise.errors import BagError
from bagnoise.inspect_bag import inspect_bag

ROOT = Path(__file__).parents[2]
LAP = ROOT / "sample_bags" / "lap.mcap"
SCAN = ROOT / "sample_bags" / "scan"
LATE = ("--stream", "/a | latency mean_s=0.01")
NOISE = ("--end", "2", "--stream", "/ground_truth/cones | noise std_m=0.1 -> /noisy")
KEPT = "--only=/ground_truth/cones"


def run(*arguments: object) -> int:
    return exit_code([str(argument) for argument in arguments])


@pytest.fixture
def local_late(large_bag: Path, tmp_path: Path) -> bytes:
    assert run("augment", "-q", *LATE, large_bag, tmp_path / "late.mcap") == 0
    return (tmp_path / "late.mcap").read_bytes()


def test_augment_gives_the_bytes_of_local_files(bucket: Bucket, tmp_path: Path) -> None:
    source = bucket.put("in/lap.mcap", LAP.read_bytes())
    cut = ("augment", "-q", "--end", "3")
    assert run(*cut, source, bucket.url("out/noisy.mcap")) == 0
    assert run(*cut, LAP, tmp_path / "noisy.mcap") == 0
    made = bucket.get("out/noisy.mcap")
    assert made == (tmp_path / "noisy.mcap").read_bytes()
    assert bucket.name.encode() not in made
    assert run(*cut, source, tmp_path / "down.mcap") == 0
    assert (tmp_path / "down.mcap").read_bytes() == made
    assert run(*cut, LAP, bucket.url("up.mcap")) == 0
    assert bucket.get("up.mcap") == made


def test_info_reads_header_footer_summary_and_few_indexes(bucket: Bucket, large_bag: Path) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    proxy = bucket.proxy
    told = inspect_bag(location(url)).to_plain()
    few_requests, few_bytes = len(proxy.requests), proxy.down_bytes
    assert few_requests <= 8
    assert few_bytes < 250_000 < large_bag.stat().st_size / 90
    local = inspect_bag(large_bag).to_plain()
    assert told["path"] == url
    for info in (told, local):
        info["path"] = ""
    assert told == local
    inspect_bag(location(url), verify=True)  # the control: this has to fetch it all
    assert proxy.down_bytes - few_bytes > large_bag.stat().st_size


def test_messages_are_not_given_by_the_summary_alone(bucket: Bucket, large_bag: Path) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    with open_bag(location(url), summary_only=True) as bag:
        assert bag.is_summary_only
        with pytest.raises(BagError, match="summary alone"):
            next(bag.messages())


def test_augment_reads_a_large_bag_once_in_few_requests(
    bucket: Bucket, large_bag: Path, tmp_path: Path, local_late: bytes
) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    assert run("augment", "-q", *LATE, url, tmp_path / "got.mcap") == 0
    size = large_bag.stat().st_size
    assert size < bucket.proxy.down_bytes < 1.1 * size
    reads = [line for line in bucket.proxy.lines() if line.startswith("GET")]
    assert len(reads) < 45  # one for the indexes behind each of 23 chunks, then 4 MiB each
    assert (tmp_path / "got.mcap").read_bytes() == local_late
    assert bucket.temporary_files() == []


def test_two_passes_fetch_once(bucket: Bucket, large_bag: Path) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    with open_bag(location(url)) as bag:
        first = sum(len(message.data) for message in bag.messages())
        once = bucket.proxy.down_bytes
        assert sum(len(message.data) for message in bag.messages()) == first
    assert bucket.proxy.down_bytes == once


def test_a_large_output_is_uploaded_in_parts_and_shown_at_the_end(
    bucket: Bucket, large_bag: Path, local_late: bytes
) -> None:
    assert run("augment", "-q", *LATE, large_bag, bucket.url("late.mcap")) == 0
    assert bucket.get("late.mcap") == local_late
    methods = Counter(one.method for one in bucket.proxy.requests)
    assert methods["PUT"] == 3  # parts of 8 MiB
    complete = [one for one in bucket.proxy.requests if "uploadId=" in one.target][-1]
    assert complete.method == "POST"
    assert b"if-none-match: *" in complete.head.lower()
    assert bucket.uploads() == []


def test_existing_output(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    source = bucket.put("lap.mcap", LAP.read_bytes())
    other = bucket.put("note.mcap", b"shopping list")
    for target, text in (
        (source, "output and input"),
        (bucket.put("a.mcap", LAP.read_bytes()), "exists already"),
    ):
        assert run("augment", "-q", *NOISE, source, target) == 2
        assert text in capsys.readouterr().err
    assert run("augment", "-q", *NOISE, source, other, "--overwrite") == 2
    assert "not part of a bag" in capsys.readouterr().err
    assert bucket.get("note.mcap") == b"shopping list"
    assert bucket.get("a.mcap") == LAP.read_bytes()
    assert run("augment", "-q", *NOISE, source, bucket.url("a.mcap"), "--overwrite") == 0
    assert bucket.get("a.mcap") != LAP.read_bytes()
    assert run("augment", "-q", *NOISE, source, f"s3://{bucket.name}") == 2


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_name_taken_meanwhile_is_left_alone(
    bucket: Bucket,
    large_bag: Path,
    size: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    look = remote_publish._present

    def taken(target: RemotePath) -> object:
        found = list(look(target))
        bucket.put("out.mcap", b"somebody else's")
        return found if size == "small" else look(target)  # the store refuses, or we do

    monkeypatch.setattr(remote_publish, "_present", taken)
    job = (*NOISE, KEPT, LAP) if size == "small" else (*LATE, large_bag)
    assert run("augment", "-q", *job, bucket.url("out.mcap")) == 1
    assert "has appeared" in capsys.readouterr().err
    assert bucket.get("out.mcap") == b"somebody else's"
    assert bucket.uploads() == []


def test_what_is_not_there(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    for url, text in (
        (bucket.url("none.mcap"), "no such file or folder"),
        (f"s3://{bucket.name}-none/a.mcap", f"s3://{bucket.name}-none: no such bucket"),
    ):
        assert run("info", url) == 1
        error = capsys.readouterr().err
        assert error.startswith("bagnoise: s3://")
        assert error.count("\n") == 1
        assert text in error
    assert run("augment", "-q", LAP, f"s3://{bucket.name}-none/a.mcap") == 1
    assert "no such bucket" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"s3://{ACCESS_KEY}:{SECRET_KEY}@bucket/a.mcap", "do not belong"),
        (f"https://{ACCESS_KEY}:{SECRET_KEY}@host/a.mcap", "not a kind of URL"),
        ("s3://bucket/a//b.mcap", "empty part"),
        ("s3://bucket/../b.mcap", "'..'"),
        ("s3:///b.mcap", "name of a bucket"),
    ],
)
def test_wrong_urls(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("info", text) == 2
    error = capsys.readouterr().err
    assert said in error
    assert SECRET_KEY not in error
    assert ACCESS_KEY not in error


def test_no_credentials(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    forget()
    assert run("info", bucket.url("a.mcap")) == 1
    assert "no credentials found" in capsys.readouterr().err


def test_denied(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    """The server answers to a bucket's policy as S3 does to a key without permissions."""
    bucket.put("lap.mcap", LAP.read_bytes())
    statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:*"}
    resource = {"Resource": [f"arn:aws:s3:::{bucket.name}", f"arn:aws:s3:::{bucket.name}/*"]}
    policy = {"Version": "2012-10-17", "Statement": [{**statement, **resource}]}
    bucket.client.put_bucket_policy(Bucket=bucket.name, Policy=json.dumps(policy))
    assert run("info", bucket.url("lap.mcap")) == 1
    error = capsys.readouterr().err
    assert "access denied" in error
    assert error.count("\n") == 1
    assert ACCESS_KEY not in error


def test_unreachable(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{ACCESS_KEY}:{SECRET_KEY}@127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    forget()
    assert run("info", bucket.url("lap.mcap")) == 1
    error = capsys.readouterr().err
    assert "cannot be reached" in error
    assert SECRET_KEY not in error


def test_without_the_extra(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert run("info", bucket.url("lap.mcap")) == 2
    assert "pip install 'bagnoise[cloud]'" in capsys.readouterr().err


def test_a_connection_cut_once_while_reading(
    bucket: Bucket, large_bag: Path, tmp_path: Path, local_late: bytes
) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    cuts = [100_000]
    bucket.proxy.cut_answer = lambda one: (
        cuts.pop() if cuts and b"range: bytes=0-" not in one.head.lower() else None
    )
    assert run("augment", "-q", *LATE, url, tmp_path / "got.mcap") == 0
    assert cuts == []
    assert (tmp_path / "got.mcap").read_bytes() == local_late


def test_a_connection_cut_for_good_while_reading(
    bucket: Bucket, large_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    middle = b"range: bytes=1"  # of several megabytes on
    bucket.proxy.cut_answer = lambda one: 100_000 if middle in one.head.lower() else None
    assert run("augment", "-q", *LATE, url, bucket.url("out.mcap")) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "broke off" in error
    assert bucket.listing() == ["large.mcap"]
    assert bucket.uploads() == []


def test_an_input_replaced_while_it_is_read(bucket: Bucket, large_bag: Path) -> None:
    url = bucket.put("large.mcap", large_bag.read_bytes())
    source = open_source(location(url))
    assert source.read(9_000_000, 3).nbytes == 3
    bucket.put("large.mcap", large_bag.read_bytes()[::-1])
    with pytest.raises(BagError, match="was replaced while it was read"):
        source.read(12_000_000, 3)
    source.close()


def test_a_connection_cut_while_uploading(
    bucket: Bucket, large_bag: Path, capsys: pytest.CaptureFixture[str], local_late: bytes
) -> None:
    bucket.proxy.cut_request = lambda one: 3_000_000 if "partNumber=2" in one.target else None
    assert run("augment", "-q", *LATE, large_bag, bucket.url("out.mcap")) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "broke off" in error
    assert bucket.listing() == []
    assert bucket.uploads() == []
    cuts = [3_000_000]
    bucket.proxy.cut_request = lambda one: (
        cuts.pop() if cuts and "partNumber=2" in one.target else None
    )
    assert run("augment", "-q", *LATE, large_bag, bucket.url("out.mcap")) == 0
    assert cuts == []
    assert bucket.get("out.mcap") == local_late


def test_a_lost_answer_to_the_last_request(
    bucket: Bucket, large_bag: Path, local_late: bytes
) -> None:
    """The upload was completed, but nobody heard: asking again must not fail."""
    cuts = [0, 0]
    bucket.proxy.cut_answer = lambda one: (
        cuts.pop() if cuts and one.method == "POST" and "uploadId=" in one.target else None
    )
    assert run("augment", "-q", *LATE, large_bag, bucket.url("out.mcap")) == 0
    assert bucket.get("out.mcap") == local_late
    assert bucket.uploads() == []


def shown(one: Request) -> bool:
    """Whether a request makes ``out.mcap`` appear, by either way of uploading."""
    return "out.mcap" in one.target and (
        (one.method == "POST" and "uploadId=" in one.target)
        or (one.method == "PUT" and "partNumber=" not in one.target)
    )


def cut_after_showing(bucket: Bucket) -> list[str]:
    """Let no answer through about ``out.mcap`` once it has been made to appear; what was asked."""
    asked: list[str] = []

    def cut(one: Request) -> int | None:
        if asked and "out.mcap" in one.target:
            asked.append(one.method)
            return 0
        if shown(one):
            asked.append(one.method)
        return None

    bucket.proxy.cut_answer = cut
    return asked


@pytest.mark.parametrize("size", ["small", "large"])
def test_nothing_is_lost_when_the_store_falls_silent_after_the_last_request(
    bucket: Bucket, large_bag: Path, local_late: bytes, size: str, tmp_path: Path
) -> None:
    job = (*NOISE, KEPT, LAP) if size == "small" else (*LATE, large_bag)
    assert run("augment", "-q", *job, tmp_path / "out.mcap") == 0
    url = bucket.put("out.mcap", LAP.read_bytes())
    cut_after_showing(bucket)
    assert run("augment", "-q", *job, url, "--overwrite") == 0
    assert bucket.get("out.mcap") == (tmp_path / "out.mcap").read_bytes()


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_bag_that_was_replaced_stays_when_no_answer_ever_comes(
    bucket: Bucket,
    large_bag: Path,
    size: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The output is there, whole; the run cannot know, and must not remove it for that."""
    job = (*NOISE, KEPT, LAP) if size == "small" else (*LATE, large_bag)
    assert run("augment", "-q", *job, tmp_path / "out.mcap") == 0
    url = bucket.put("out.mcap", LAP.read_bytes())
    last = "put" if size == "small" else "complete"
    show, look, silent = getattr(Store, last), Store.look, [False]

    def shown_in_silence(*arguments: object, **options: object) -> object:
        show(*arguments, **options)
        silent[0] = True
        raise BagError(last)

    def silent_once(store: Store, key: str) -> object:
        if silent == [True]:
            silent.clear()
            msg = "silence"
            raise BagError(msg)
        return look(store, key)

    monkeypatch.setattr(Store, last, shown_in_silence)
    monkeypatch.setattr(Store, "look", silent_once)
    assert run("augment", "-q", *job, url, "--overwrite") == 1
    assert silent == []
    assert bucket.get("out.mcap") == (tmp_path / "out.mcap").read_bytes()
    assert bucket.uploads() == []


def test_what_another_writes_at_the_same_time_is_not_removed(
    bucket: Bucket, large_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory's first file has appeared and is replaced; then the second cannot be written."""
    inside = "bag/bag_0.mcap"

    def replaced(one: Request) -> int | None:
        if one.method == "PUT" and "metadata.yaml" in one.target:
            bucket.put(inside, b"somebody else's")
            return 0
        return None

    bucket.proxy.cut_request = replaced
    assert run("augment", "-q", *NOISE, KEPT, LAP, bucket.url("bag")) == 1
    assert "broke off" in capsys.readouterr().err
    assert bucket.content() == {inside: b"somebody else's"}


def test_an_equal_bag_of_another_is_not_taken_for_ours(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("augment", "-q", *NOISE, KEPT, LAP, tmp_path / "out.mcap") == 0
    look = remote_publish._present

    def taken(target: RemotePath) -> object:
        found = list(look(target))
        bucket.put("out.mcap", (tmp_path / "out.mcap").read_bytes())
        return found

    monkeypatch.setattr(remote_publish, "_present", taken)
    assert run("augment", "-q", *NOISE, KEPT, LAP, bucket.url("out.mcap")) == 1
    assert bucket.get("out.mcap") == (tmp_path / "out.mcap").read_bytes()


def test_a_directory_that_fails_half_way_leaves_nothing(bucket: Bucket) -> None:
    bucket.proxy.cut_request = lambda one: 0 if "metadata.yaml" in one.target else None
    assert run("augment", "-q", *NOISE, KEPT, LAP, bucket.url("bag")) == 1
    assert bucket.listing() == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_process(bucket: Bucket, large_bag: Path, how: signal.Signals) -> None:
    bucket.proxy.stall = lambda one: "partNumber=2" in one.target
    command = [sys.executable, "-m", "bagnoise", "augment", "-q", *LATE, str(large_bag)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AWS_MAX_ATTEMPTS": "1"}
    with subprocess.Popen(
        [*command, bucket.url("out.mcap")], env=environment, stderr=subprocess.PIPE
    ) as process:
        assert bucket.proxy.stalled.wait(30)
        process.send_signal(how)
        if how != signal.SIGKILL:
            bucket.proxy.stall = lambda _: False
        _, error = process.communicate(timeout=60)
    assert bucket.listing() == []
    if how == signal.SIGKILL:
        assert len(bucket.uploads()) == 1  # which no reader sees; docs/cloud.md says what to do
    else:
        assert process.returncode == 130
        assert error.strip() == b"bagnoise: interrupted; nothing was written"
        assert bucket.uploads() == []
        assert bucket.temporary_files() == []


@pytest.mark.parametrize("container", ["mcap", "sqlite3"])
def test_directories(bucket: Bucket, tmp_path: Path, container: str) -> None:
    job = ("augment", "-q", *NOISE, "--format", container, LAP)
    assert run(*job, tmp_path / "bag") == 0
    assert run(*job, bucket.url("some/bag")) == 0
    local = {f"some/bag/{file.name}": file.read_bytes() for file in (tmp_path / "bag").iterdir()}
    assert bucket.content() == local
    puts = [one.target for one in bucket.proxy.requests if one.method in {"PUT", "POST"}]
    assert puts[-1].endswith("/some/bag/metadata.yaml")
    assert run(*job, bucket.url("some/bag")) == 2
    assert run(*job, bucket.url("some/bag"), "--overwrite") == 0
    assert bucket.content() == local
    told, mine = (inspect_bag(p) for p in (location(bucket.url("some/bag")), tmp_path / "bag"))
    assert (told.message_count, told.size_bytes) == (mine.message_count, mine.size_bytes)
    back = ("augment", "-q", "--stream", "/noisy | latency mean_s=0.1")
    assert run(*back, bucket.url("some/bag"), tmp_path / "far.mcap") == 0
    assert run(*back, tmp_path / "bag", tmp_path / "near.mcap") == 0
    assert (tmp_path / "far.mcap").read_bytes() == (tmp_path / "near.mcap").read_bytes()


def test_a_directory_that_fails_leaves_what_was_there(
    bucket: Bucket, large_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = bucket.url("bag")
    assert run("augment", "-q", *NOISE, KEPT, LAP, url) == 0
    before = bucket.content()
    bucket.proxy.cut_request = lambda one: 1_000_000 if "partNumber=2" in one.target else None
    assert run("augment", "-q", *LATE, large_bag, url, "--overwrite") == 1
    assert "broke off" in capsys.readouterr().err
    assert bucket.content() == before
    assert bucket.uploads() == []


def test_what_needs_a_file_is_downloaded_and_removed(
    bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in SCAN.iterdir():
        bucket.put(f"scan/{file.name}", file.read_bytes())
    url = bucket.url("scan")
    topic = inspect_bag(SCAN).topics[0].topic
    job = ("augment", "-v", "--stream", f"{topic} | latency mean_s=0.1")
    assert run(*job, url, tmp_path / "far.mcap") == 0
    assert f"note: {url}: " in (error := capsys.readouterr().err)
    assert "downloaded to a temporary folder" in error
    assert bucket.temporary_files() == []
    assert run(*job[:1], "-q", *job[2:], SCAN, tmp_path / "near.mcap") == 0
    assert (tmp_path / "far.mcap").read_bytes() == (tmp_path / "near.mcap").read_bytes()


def test_patterns_and_parents(bucket: Bucket) -> None:
    for key in ("a/x.mcap", "a/y.mcap", "a/b/z.mcap", "a/b/c.txt"):
        bucket.put(key, b"1")
    root = location(bucket.url("a/"))
    assert isinstance(root, RemotePath)
    assert str(root) == bucket.url("a")
    assert [path.name for path in root.glob("*.mcap")] == ["x.mcap", "y.mcap"]
    assert [path.name for path in root.glob("**/*.mcap")] == ["z.mcap", "x.mcap", "y.mcap"]
    assert sorted(path.name for path in root.iterdir()) == ["b", "x.mcap", "y.mcap"]
    assert (root / "b").is_dir()
    assert not (root / "b").is_file()
    assert not (root / "c").exists()
    assert (root / "x.mcap").parent == root


def test_patterns_match_as_those_of_local_files(bucket: Bucket, tmp_path: Path) -> None:
    names = ("a/x", "a/b/y", "a/b/c/z", "a/b/w.mcap", "a/b/.hidden", "a/[", "a/^", "a/.d/x")
    for name in names:
        bucket.put(f"in/{name}", b"1")
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    root = location(bucket.url("in"))
    asked = ("a/*", "*/[z-a]*", "a/[^x]", "a/[!x]", "a/[", "**/*", "a/**/*.mcap", "**/c/**/z")
    for pattern in (*asked, "a/?", "a/.*", "**/.d/*", "**/**/*", "A/X", "a/[]b]"):
        mine = {path.relative_to(root).as_posix() for path in root.glob(pattern)}
        found = glob.glob(pattern, root_dir=tmp_path / "in", recursive=True)  # noqa: PTH207
        assert mine == {name.rstrip("/") for name in found if name}, pattern


def test_no_place_for_temporary_files(
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert run("augment", "-q", *NOISE, KEPT, LAP, bucket.url("out.mcap")) == 1
    error = capsys.readouterr().err
    assert error.startswith("bagnoise: no temporary folder can be made (set TMPDIR")
    assert bucket.listing() == []


def test_only_one_file_knows_fsspec_and_only_urls_need_it() -> None:
    users = [
        path.name
        for path in (ROOT / "bagnoise").rglob("*.py")
        if any(f"import {name}" in path.read_text("utf-8") for name in ("fsspec", "s3fs"))
    ]
    assert users == ["remote.py"]
    code = (
        "import sys; from bagnoise.cli.main import exit_code; "
        f"exit_code(['info', {str(LAP)!r}]); "
        "print([m for m in sys.modules if m in ('fsspec', 's3fs', 'asyncio', 'botocore')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "[]"
