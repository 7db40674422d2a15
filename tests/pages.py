"""The pages of the project, and how what they show is run.

A page is read from top to bottom in a folder with a copy of ``sample_bags/``:

* a fence ``LANGUAGE file=PATH`` is written to that file; the ``run`` lines of a GitHub workflow are
  run, too, as far as they do not install;
* a fence ``sh`` is run by bash and must leave with 0;
* a fence ``console`` (``console exit=2``) is run line by ``$ `` line, and what it shows must come
  out, standard error after standard output; a line ``...`` stands for any lines;
* ``<!-- needs: NAME -->`` before a fence: it cannot be run here (see `NEEDS`).

A page that shows no numbers is run on the first seconds of the lap: it says the same, in less time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from program import ROOT, environment_with_program
from ruamel.yaml import YAML

from bagnoise.cli.main import exit_code

# what a fence may need -> the tests that run it, or what it does, all the same
NEEDS = {
    "network": ".ci/run installs bagnoise as the README says",
    "s3": "tests/cloud/test_cloud_page.py, with a server of its own",
    "dask": "tests/dataset/test_cluster.py, with a cluster of its own",
}
SHORT_LAP_S = 4
READERS_TOOLS = ("jq", "make")  # theirs, not ours: a fence with one is left out where it lacks
_FENCE = re.compile(
    r"(?:<!-- needs: (?P<needs>\S+) -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)[ ]*(?P<options>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


class Fence(NamedTuple):
    """A block of code on a page."""

    language: str
    options: dict[str, str]
    text: str
    line: int
    needs: str | None

    @property
    def is_workflow(self) -> bool:
        """Whether it is a file that GitHub Actions would run."""
        return ".github/workflows/" in self.options.get("file", "")

    @property
    def lacks_a_tool(self) -> bool:
        """Whether it calls a tool that is not here."""
        words = set(re.findall(r"[\w.-]+", self.text))
        return any(tool in words and shutil.which(tool) is None for tool in READERS_TOOLS)


def all_pages() -> list[Path]:
    """Find the README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page_name(page: Path) -> str:
    """Name a page for people."""
    return str(page.relative_to(ROOT))


def fences_of(text: str) -> list[Fence]:
    """Find the fences of a page's text, in order."""
    return [
        Fence(
            match["language"],
            dict(option.split("=", maxsplit=1) for option in match["options"].split()),
            re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
            text[: match.start()].count("\n") + 1,
            match["needs"],
        )
        for match in _FENCE.finditer(text)
    ]


def shows_numbers(text: str) -> bool:
    """Whether a page shows what a command says of the sample bags."""
    return any(f.language == "console" and "exit" not in f.options for f in fences_of(text))


class Done(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """All that it said, without the blanks that a table leaves behind."""
        return [line.rstrip() for line in (self.stdout + self.stderr).splitlines()]


def short_lap(folder: Path) -> Path:
    """Cut the first seconds of the sample lap out."""
    nothing, lap = folder / "nothing.yaml", folder / "lap.mcap"
    nothing.write_text("streams: {}\n")
    arguments = ["--recipe", str(nothing), "--end", str(SHORT_LAP_S), "--quiet"]
    assert exit_code(["augment", str(ROOT / "sample_bags/lap.mcap"), str(lap), *arguments]) == 0
    return lap


class Reader:
    """Someone who does all that a page says, in a folder of their own."""

    def __init__(self, folder: Path, program: str | None, lap: Path | None = None) -> None:
        """Make the folder, with ``lap`` as the sample lap; ``program`` runs bagnoise."""
        self.folder = folder
        tools = folder.parent / f"{folder.name}-bin"
        self._environment = environment_with_program(tools, program)
        folder.mkdir()
        shutil.copytree(
            ROOT / "sample_bags", folder / "sample_bags", ignore=shutil.ignore_patterns("*.py*")
        )
        if lap is not None:
            shutil.copy(lap, folder / "sample_bags" / "lap.mcap")

    def read(self, text: str, name: str, *, provided: str | None = None) -> int:
        """Do all that a page says; return how many commands were run.

        Fences that need something are left out, but for ``provided``: then those alone are run.
        """
        ran = 0
        for fence in fences_of(text):
            if fence.lacks_a_tool or (fence.needs != provided and "file" not in fence.options):
                continue
            where = f"{name}:{fence.line}"
            if "file" in fence.options:
                path = self.folder / fence.options["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(fence.text)
                if fence.is_workflow and provided is None:
                    ran += self._workflow(path, where)
            elif fence.language == "sh":
                self._must_work(fence.text, where)
                ran += 1
            elif fence.language == "console":
                ran += self._console(fence, where)
        return ran

    def run(self, command: str) -> Done:
        """Run a command."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def _must_work(self, command: str, where: str) -> None:
        done = self.run(command)
        assert done.code == 0, f"{where}: {command}\n{done.stdout}\n{done.stderr}"

    def _console(self, fence: Fence, where: str) -> int:
        parts = re.split(r"^\$ ", fence.text, flags=re.MULTILINE)
        assert not parts[0].strip(), f"{where}: begins without a command"
        commands = [part.partition("\n")[::2] for part in parts[1:]]
        for number, (command, shown) in enumerate(commands, start=1):
            done = self.run(command)
            code = int(fence.options.get("exit", 0)) if number == len(commands) else 0
            assert done.code == code, f"{where}: {command}\n{done.stdout}\n{done.stderr}"
            expected = [line.rstrip() for line in shown.splitlines()]
            said = "\n".join(done.lines)
            assert shows(done.lines, expected), f"{where}: {command}\nsays:\n{said}"
        return len(commands)

    def _workflow(self, path: Path, where: str) -> int:
        jobs = YAML(typ="safe").load(path)["jobs"].values()
        steps = [step for job in jobs for step in job["steps"]]
        commands = [s["run"] for s in steps if "run" in s and "pip install" not in s["run"]]
        for command in commands:
            self._must_work(command, where)
        return len(commands)


def shows(said: list[str], expected: list[str]) -> bool:
    """Whether lines are those expected, ``...`` standing for any."""
    pattern = "".join("(?:.*\n)*" if e == "..." else re.escape(e) + "\n" for e in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in said)) is not None
