"""Every command on every page runs, every link leads somewhere, every recipe is right."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from pages import (
    NEEDS,
    Reader,
    all_pages,
    fences_of,
    page_name,
    short_lap,
    shows,
    shows_numbers,
)
from program import ROOT, environment_with_program
from warm_program import warm_program

from bagnoise.cli.main import COMMANDS, cli
from bagnoise.recipe.check import recipe_of
from bagnoise.recipe.document import read_document

PAGES = all_pages()
TEXTS = {page: page.read_text("utf-8") for page in PAGES}
MADE_BY_THE_SITE = ("reference/", "about/")  # tests/docs/test_site.py holds that these exist


def left_by_datasets(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "noisy").glob("*.mcap"))
    assert names == [f"sample-{std}-s{seed}.mcap" for std in (0.1, 0.3) for seed in (0, 1)]
    assert (folder / "noisy" / "index.html").is_file()
    assert (folder / "figures" / "track.svg").is_file()


def left_by_fit(folder: Path) -> None:
    assert "<svg" in (folder / "fit.html").read_text("utf-8")


LEAVES: dict[str, Callable[[Path], None]] = {
    "docs/datasets.md": left_by_datasets,
    "docs/fit.md": left_by_fit,
}


@pytest.fixture(scope="module", name="program")
def _program() -> Iterator[str]:
    with warm_program() as command:
        yield command


@pytest.fixture(scope="module", name="lap")
def _lap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return short_lap(tmp_path_factory.mktemp("lap"))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_all_that_a_page_says_can_be_done(
    page: Path, program: str, lap: Path, tmp_path: Path
) -> None:
    reader = Reader(tmp_path / "reader", program, None if shows_numbers(TEXTS[page]) else lap)
    reader.read(TEXTS[page], page_name(page))
    if page_name(page) in LEAVES:
        LEAVES[page_name(page)](reader.folder)


def test_commands_are_found() -> None:
    runnable = [
        f for text in TEXTS.values() for f in fences_of(text) if f.language in {"sh", "console"}
    ]
    assert len(runnable) > 40
    for page, text in TEXTS.items():  # none is missed for its indent or its options
        marks = re.findall(r"^\s*```", text, re.MULTILINE)
        assert len(marks) == 2 * len(fences_of(text)), page_name(page)


def test_the_program_is_the_one_that_starts_cold(program: str, tmp_path: Path) -> None:
    warm = Reader(tmp_path / "warm", program)
    cold = environment_with_program(tmp_path / "cold-bin")
    for command in (
        "bagnoise augment sample_bags/lap.mcap {}.mcap --seed 3 --end 2; cat {}.mcap | sha256sum",
        "bagnoise info sample_bags/lap.mcap | head -n 1",
        "bagnoise nothing",
        "bagnoise info missing.mcap",
        "cd sample_bags && bagnoise info lap.mcap",
    ):
        ours = warm.run(command.replace("{}", "warm"))
        theirs = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command.replace("{}", "cold")],
            cwd=warm.folder,
            env=cold,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ours.code == theirs.returncode, command
        assert ours.stdout.replace("warm", "cold") == theirs.stdout, command
        assert ours.stderr == theirs.stderr, command


def test_a_page_that_is_wrong_is_noticed(program: str, tmp_path: Path) -> None:
    wrong = {
        "fails": "```sh\nbagnoise info missing.mcap\n```\n",
        "fails in a pipe": "```sh\nbagnoise info missing.mcap | cat\n```\n",
        "other output": "```console\n$ bagnoise --version\nbagnoise, version 99\n```\n",
        "other code": "```console exit=1\n$ bagnoise nothing\n...\n```\n",
        "workflow": (
            "```yaml file=.github/workflows/x.yml\n"
            "jobs: {a: {steps: [{run: bagnoise info missing.mcap}]}}\n```\n"
        ),
    }
    for number, text in enumerate(wrong.values()):
        reader = Reader(tmp_path / str(number), program)
        with pytest.raises(AssertionError, match=r"page\.md:1"):
            reader.read(text, "page.md")


def test_shown_lines() -> None:
    assert shows(["a", "b", "c"], ["a", "...", "c"])
    assert shows(["a", "c"], ["a", "...", "c"])
    assert not shows(["a", "b"], ["a"])
    assert not shows(["a.b"], ["a", "..."]) or shows(["a"], ["a", "..."])
    assert not shows(["axb"], ["a.b"])


def test_only_known_needs_are_named() -> None:
    named = {fence.needs for text in TEXTS.values() for fence in fences_of(text)} - {None}
    assert named <= set(NEEDS)
    marks = sum(text.count("<!-- needs:") for text in TEXTS.values())
    assert marks == sum(bool(fence.needs) for text in TEXTS.values() for fence in fences_of(text))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", TEXTS[page], flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for link in links:
        target, _, anchor = link.partition("#")
        if target.startswith("https://"):
            continue
        path = (page.parent / target).resolve() if target else page
        inside = str(path.relative_to(ROOT / "docs")) if path.is_relative_to(ROOT / "docs") else ""
        if inside.startswith(MADE_BY_THE_SITE):
            assert page.name == "index.md", f"{link}: a reader of the files has no such page"
            continue
        assert path.exists(), f"{page_name(page)}: {link}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{page_name(page)}: {link}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_recipes_are_right(page: Path) -> None:
    for fence in fences_of(TEXTS[page]):
        if fence.language == "yaml" and re.search(r"^streams:", fence.text, re.MULTILINE):
            assert recipe_of(read_document(fence.text, page.name)).streams


def test_commands_in_the_text_exist() -> None:
    """What stands in backquotes within a sentence: commands and their options."""
    found = 0
    for page in PAGES:
        text = re.sub(r"^\s*```.*?^\s*```", "", TEXTS[page], flags=re.DOTALL | re.MULTILINE)
        for code in re.findall(r"`(bagnoise [^`]+)`", text):
            words = code.split()
            if words[1].startswith("-") or words[1].isupper():
                continue
            assert words[1] in COMMANDS, f"{page_name(page)}: {code}"
            options = options_of(words[1:])
            for word in words[2:]:
                if word.startswith("--"):
                    assert word.split("=")[0] in options, f"{page_name(page)}: {code}"
            found += 1
    assert found > 20


def options_of(words: list[str]) -> set[str]:
    context = click.Context(cli)
    command = cli.get_command(context, words[0])
    assert command is not None
    if isinstance(command, click.Group) and len(words) > 1:
        command = command.get_command(context, words[1])
        assert command is not None, words
    return {name for p in command.params for name in [*p.opts, *p.secondary_opts]} | {"--help"}
