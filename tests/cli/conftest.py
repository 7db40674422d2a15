"""What tests of commands need."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Command, Done

from bagnoise.cli.main import exit_code


@pytest.fixture
def bagnoise(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process, which is what starting it in its own one comes to."""

    def call(*arguments: str | Path, cwd: Path | None = None) -> Done:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capsys.readouterr()
        code = exit_code([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return call
