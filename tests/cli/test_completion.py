"""The tab key, pressed in real shells."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from program import environment_with_program

from bagnoise.bags.topic_list import listed_topics
from bagnoise.cli.completion_command import SHELLS, VARIABLE
from bagnoise.cli.main import COMMANDS, exit_code

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(bagnoise completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u -D; eval "$(bagnoise completion zsh)"',
    ),
}
# what is typed before the tab -> what must stand on the line, or be listed, after it
TYPED = {
    "bagnoise aug": "bagnoise augment ",
    "bagnoise recipe sh": "bagnoise recipe show ",
    "bagnoise augment lap.mcap out.mcap --recipe pac": "--recipe pacsim ",
    "bagnoise augment lap.mcap out.mcap --recipe my_": "--recipe my_recipe.yaml ",
    "bagnoise augment lap.mcap out.mcap --replace-t": "--replace-target ",
    "bagnoise augment lap.mcap out.mcap --only /imu": "--only /imu/data ",
    "bagnoise augment scan out.mcap --exclude /velo": "--exclude /velodyne_points ",
    "bagnoise augment lap.mcap out.mcap --set camera.noi": "--set camera.noise.std_m=0.25 ",
    "bagnoise steps camera_l": "bagnoise steps camera_lidar ",
    "bagnoise lidars VLP-32": "bagnoise lidars VLP-32C ",
    "bagnoise compare lap.mcap x.mcap --pair /imu": "--pair /imu/data ",
    "bagnoise info la": "bagnoise info lap.mcap ",
}


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    shutil.copy(ROOT / "sample_bags" / "lap.mcap", folder)
    shutil.copytree(ROOT / "sample_bags" / "scan", folder / "scan")
    (folder / "my_recipe.yaml").write_text("streams: {}\n")
    return folder


class Terminal:
    """A shell on a pseudo terminal."""

    def __init__(self, shell: str, place: Path) -> None:
        self.master, slave = pty.openpty()
        command, setup = START[shell]
        environment = environment_with_program(place / "bin")
        self.process = subprocess.Popen(
            command,
            cwd=place,
            env={**environment, "PS1": "ready> ", "HOME": str(place)},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.type(f"{setup}; echo set''up-done\r")
        self.wait_for("setup-done")

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, text: str) -> str:
        """Read until the text has come, or patience ends."""
        seen, deadline = "", time.monotonic() + PATIENCE_S
        while text not in seen and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.5)[0]:
                seen += os.read(self.master, 4096).decode(errors="replace")
        return seen

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.mark.parametrize("shell", START)
def test_the_tab_key_in_a_terminal(shell: str, place: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    terminal = Terminal(shell, place)
    try:
        for typed, expected in TYPED.items():
            terminal.type(f"{typed}\t")
            assert expected in terminal.wait_for(expected), typed
            terminal.type("\x15")  # clears the line
    finally:
        terminal.close()


def test_the_tab_key_in_fish(place: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("no fish here")
    environment = {**environment_with_program(place / "bin"), "HOME": str(place)}
    asked = "\n".join(f"complete -C '{typed}'; echo -- -" for typed in TYPED)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"bagnoise completion fish | source\n{asked}"],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    answers = done.stdout.split("-- -\n")
    for (typed, expected), answer in zip(TYPED.items(), answers, strict=False):
        assert expected.split()[-1] in answer, (typed, done.stdout, done.stderr)


def offered(place: Path, line: str) -> list[str]:
    """Ask as bash's script does; the line ends in the word to complete."""
    words = line.split(" ")
    environment = environment_with_program(place / "bin")
    done = subprocess.run(
        ["bagnoise"],
        cwd=place,
        env={
            **environment,
            VARIABLE: "bash_complete",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return [row.split(",", maxsplit=1)[1] for row in done.stdout.split()]


def test_every_command_is_offered(place: Path) -> None:
    assert offered(place, "bagnoise ") == list(COMMANDS)


def test_topics_are_those_of_the_bag(place: Path) -> None:
    topics = offered(place, "bagnoise augment lap.mcap out.mcap --only ")
    assert "/ground_truth/cones" in topics
    assert len(topics) == 7
    assert offered(place, "bagnoise augment missing.mcap out.mcap --only ") == []


def test_what_is_no_bag_lists_no_topics(tmp_path: Path) -> None:
    lap = (ROOT / "sample_bags" / "lap.mcap").read_bytes()
    for name, content in (("empty", b""), ("text", b"no bag" * 99), ("cut.mcap", lap[:-99])):
        (tmp_path / name).write_bytes(content)
        assert listed_topics(tmp_path / name) == []
    assert listed_topics(tmp_path) == []
    assert len(listed_topics(ROOT / "sample_bags" / "lap.mcap")) == 7


def test_settings_follow_the_recipe(place: Path) -> None:
    line = "bagnoise augment lap.mcap out.mcap --recipe pacsim --set front.latency"
    assert offered(place, line) == ["front.latency.mean_s=0.2"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["completion", shell]) == 0
    assert VARIABLE in capsys.readouterr().out


def test_another_shell_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["completion", "csh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
