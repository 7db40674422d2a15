"""A local S3 server, and a proxy before it that counts, records and breaks connections."""

from __future__ import annotations

import re
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bagnoise.bags import remote

# ends when its standard input does, so that it cannot outlive the tests
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
ACCESS_KEY, SECRET_KEY = "AKIATESTTESTTESTTEST", "test-secret-that-nobody-may-see"
_HEAD = re.compile(rb"(GET|PUT|POST|HEAD|DELETE) (/\S*) HTTP/1\.1\r\n(.*?)\r\n\r\n", re.DOTALL)


@contextmanager
def running_server() -> Iterator[int]:
    """Run a server in a process of its own; its port."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        assert process.stdin is not None
        process.stdin.close()


@dataclass
class Request:
    """What a request began with."""

    method: str
    target: str
    head: bytes


Rule = Callable[[Request], "int | None"]


@dataclass
class Proxy:
    """Forwards connections to a server.

    Attributes:
        port: where it listens.
        requests: what was asked, in order.
        down_bytes: what came back.
        cut_answer: request -> after how many bytes of its answer the connection is dropped.
        cut_request: request -> after how many of its own bytes.
        stall: request -> whether it is to be held for ever.
    """

    server_port: int
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    down_bytes: int = 0
    cut_answer: Rule = lambda _: None
    cut_request: Rule = lambda _: None
    stall: Callable[[Request], bool] = lambda _: False
    stalled: threading.Event = field(default_factory=threading.Event)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Proxy:  # noqa: PYI034 - Self is in typing only from 3.11
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def lines(self) -> list[str]:
        return [f"{one.method} {one.target}" for one in self.requests]

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.server_port)) as server,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(client, selectors.EVENT_READ)
            ready.register(server, selectors.EVENT_READ)
            limits: dict[bool, int | None] = {True: None, False: None}  # by whether it goes up
            while not self._closing.is_set():
                for key, _ in ready.select(0.2):
                    up = key.fileobj is client
                    data = (client if up else server).recv(1 << 16)
                    if up and not self._note(data, limits):
                        return
                    if not _forward(data, server if up else client, limits, up=up):
                        return
                    self.down_bytes += 0 if up else len(data)

    def _note(self, data: bytes, limits: dict[bool, int | None]) -> bool:
        """Take the requests that begin in some data; False if the test ended while held."""
        for found in _HEAD.finditer(data):
            request = Request(found[1].decode(), found[2].decode(), found[3])
            self.requests.append(request)
            limits[True], limits[False] = self.cut_request(request), self.cut_answer(request)
            if self.stall(request):
                self.stalled.set()
                self._closing.wait()
                return False
        return True


def _forward(data: bytes, to: socket.socket, limits: dict[bool, int | None], *, up: bool) -> bool:
    """Pass data on, as far as it may go; False if the connection ends with it."""
    limit = limits[up]
    to.sendall(data if limit is None else data[:limit])
    if limit is not None:
        limits[up] = limit = limit - len(data)
    return bool(data) and (limit is None or limit > 0)


@dataclass
class Bucket:
    """A bucket of one test, seen without the proxy."""

    name: str
    client: Any
    proxy: Proxy
    environment: dict[str, str]

    def url(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def put(self, key: str, data: bytes) -> str:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)
        return self.url(key)

    def get(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data

    def listing(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.name).get("Contents", ())
        return [entry["Key"] for entry in found]

    def content(self) -> dict[str, bytes]:
        return {key: self.get(key) for key in self.listing()}

    def temporary_files(self) -> list[Path]:
        return list(Path(self.environment["TMPDIR"]).iterdir())

    def uploads(self) -> list[Any]:
        found: list[Any] = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return found


def client_of(port: int) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}),
    )


def forget() -> None:
    """Let the next request see the environment as it is now."""
    remote.store_of.cache_clear()
    remote._file_system.cache_clear()
