"""The program ``bagnoise`` of this checkout, for tests that need it on a shell's path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def environment_with_program(folder: Path, command: str | None = None) -> dict[str, str]:
    """Put ``bagnoise`` and this Python into a folder; return an environment that finds them.

    ``command`` is the shell command that stands for bagnoise; None: a new process of this Python.
    """
    folder.mkdir(parents=True, exist_ok=True)
    programs = {
        "bagnoise": command or f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m bagnoise',
        "python": f'PYTHONPATH="{ROOT}" exec "{sys.executable}"',
    }
    for name, words in programs.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\n{words} "$@"\n')
        script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "TERM": "dumb", "COLUMNS": "200"}
