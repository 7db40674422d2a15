"""``bagnoise`` without its start-up: a server that has imported it forks for each command.

The pages hold more than a hundred commands, and importing takes longer than most of them. Each runs
in a process of its own all the same, with the folder, environment, streams and arguments of whoever
calls it; what it finds done is the importing.

    python warm_program.py serve SOCKET      until standard input ends
    python -S -E warm_program.py call SOCKET ARGUMENT...
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MADE_READY = (
    "bagnoise.cli.augment_command",
    "bagnoise.cli.compare_command",
    "bagnoise.augment.run",
    "bagnoise.bags.opening",
    "bagnoise.bags.mcap_bag",
    "bagnoise.bags.rewriting",
    "bagnoise.compare.check",
    "bagnoise.recipe.load",
    "bagnoise.report.run",
    "rich.table",
)
STREAMS = 3  # standard input, output, error
STARTED = "ready\n"


@contextmanager
def warm_program() -> Iterator[str]:
    """Run a server; give the shell command that stands for ``bagnoise``."""
    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket must be short
        path = f"{folder}/socket"
        server = subprocess.Popen(
            [sys.executable, __file__, "serve", path],
            env={**os.environ, "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == STARTED
        yield f'"{sys.executable}" -S -E "{__file__}" call "{path}"'
        server.stdin.close()
        server.stdout.close()
        server.wait()


def call(path: str, arguments: list[str]) -> int:
    """Ask the server to run a command, and return its exit code."""
    request = {"arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"."], range(STREAMS))
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1)
        return answer[0] if answer else 1


def serve(path: str) -> None:
    """Run commands until standard input ends."""
    for module in MADE_READY:
        __import__(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for them
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)
        sys.stdout.write(STARTED)
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([server, sys.stdin], [], [])
            if server not in ready:
                return
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _run(connection)
            connection.close()


def _run(connection: socket.socket) -> None:
    """Become the command that the caller asks for; answer with its exit code."""
    from bagnoise.__main__ import main

    _, streams, _, _ = socket.recv_fds(connection, 1, STREAMS)
    with connection.makefile("rb") as stream:
        request = json.loads(stream.read())
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["bagnoise", *request["arguments"]]
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    code = 1
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    finally:
        for stream_ in (sys.stdout, sys.stderr):
            if not stream_.closed:
                stream_.flush()
        connection.send(bytes([code]))
        os._exit(code)


if __name__ == "__main__":
    what, where, *words = sys.argv[1:]
    if what == "serve":
        serve(where)
    else:
        sys.exit(call(where, words))
