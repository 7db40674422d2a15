"""An S3 server for all tests of this folder, a bucket and a proxy for each."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.writer import CompressionType, Writer
from s3_store import ACCESS_KEY, SECRET_KEY, Bucket, Proxy, client_of, forget, running_server

T0 = 1_700_000_000_123_456_789


@pytest.fixture(scope="session")
def server_port() -> Iterator[int]:
    with running_server() as port:
        yield port


@pytest.fixture
def bucket(server_port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    client = client_of(server_port)
    name = f"bags-{secrets.token_hex(4)}"
    client.create_bucket(Bucket=name)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Proxy(server_port) as proxy:
        environment = {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials"),
            "TMPDIR": str(temporary),
        }
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setattr("tempfile.tempdir", None)
        forget()
        yield Bucket(name, client, proxy, environment)
        forget()
    client.close()


@pytest.fixture(scope="session")
def large_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 MB that cannot be compressed, in chunks of about 1 MiB, with two small topics."""
    path = tmp_path_factory.mktemp("large") / "large.mcap"
    draw = random.Random(5)
    with path.open("wb") as stream:
        writer = Writer(stream, compression=CompressionType.ZSTD)
        writer.start("ros2", "tests")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data\n")
        a, b, blob = (writer.register_channel(t, "cdr", schema) for t in ("/a", "/b", "/blob"))
        for number in range(400):
            time_ns = T0 + number * 10_000_000
            writer.add_message(a, time_ns, _string(b"a" * 8), time_ns, number)
            if number % 7 == 3:
                writer.add_message(b, time_ns, _string(b"b" * 8), time_ns, number)
            writer.add_message(blob, time_ns, _string(draw.randbytes(60_000)), time_ns, number)
        writer.finish()
    return path


def _string(text: bytes) -> bytes:
    return b"\0\1\0\0" + (len(text) + 1).to_bytes(4, "little") + text + b"\0"
