"""The program ``bagnoise`` of this checkout, for tests that need it on a shell's path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def environment_with_program(folder: Path) -> dict[str, str]:
    """Put ``bagnoise`` (and this Python) into a folder, and return an environment that finds it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in (("bagnoise", "-m bagnoise "), ("python", "")):
        script = folder / name
        script.write_text(
            f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" {arguments}"$@"\n'
        )
        script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "TERM": "dumb", "COLUMNS": "200"}
