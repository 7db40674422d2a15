"""The site builds without a warning, needs no network, and its reference misses nothing."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from program import ROOT

from bagnoise.cli.main import COMMANDS, cli
from bagnoise.dataset.model import Draws, Plan, Seeds
from bagnoise.lidar.models import lidar_models
from bagnoise.messages.definitions import shipped_types
from bagnoise.messages.registry import cone_types
from bagnoise.recipe.model import Also, Recipe, Stream
from bagnoise.recipe.sources import preset_names
from bagnoise.steps.registry import STEPS

pytest.importorskip("mkdocs", reason="the extra 'docs' builds the site")
NO_NETWORK = """
import socket, sys
def refuse(*_, **__): raise OSError("the network is off")
socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--strict", "--site-dir", sys.argv[1]])
"""


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site with a network that refuses."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def text_of(site: Path, page: str) -> str:
    """Read a page as a reader sees it: without marks."""
    article = (site / page).read_text("utf-8").partition("<article")[2].partition("</article>")[0]
    return html.unescape(re.sub(r"<[^>]+>", "", article))


def section(text: str, name: str) -> str:
    """Take the part of a page from a heading to the next of a step or command."""
    _, found, rest = text.partition(f"\n{name}¶")
    assert found, name
    return rest.partition("¶\n")[0] or rest


def all_commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {child}", inner) for child, inner in command.commands.items())
        else:
            yield name, command


def test_every_command_and_option_is_there(site: Path) -> None:
    text = text_of(site, "reference/commands.html")
    options = 0
    for name, command in all_commands():
        part = section(text, name)
        assert f"bagnoise {name}" in part
        for param in command.params:
            if isinstance(param, click.Option):
                assert all(word in part for word in param.opts), (name, param.opts)
                words = re.sub(r"'(bagnoise [^']*)'", r"\1", param.help or "")
                assert words in part, (name, param.opts)
                options += 1
    assert options > 50


def test_every_step_and_option_is_there(site: Path) -> None:
    text = text_of(site, "reference/steps.html")
    for name, step in STEPS.items():
        part = section(text, name)
        for option, info in step.model_fields.items():
            assert f"\n{option}\n" in part, (name, option)
            assert (info.description or "").replace("`", "") in part, (name, option)


def test_every_option_of_recipes_and_plans_is_there(site: Path) -> None:
    text = text_of(site, "reference/recipes.html")
    for model in (Recipe, Stream, Also, Plan, Seeds, Draws):
        for option, info in model.model_fields.items():
            assert f"\n{info.alias or option}\n" in text, (model, option)
            assert (info.description or "").replace("`", "") in text, (model, option)


def test_limits_defaults_and_units_are_those_declared(site: Path) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", (site / "reference/steps.html").read_text(), re.DOTALL)
    cells = [[html.unescape(re.sub(r"<[^>]+>", "", c)) for c in row.split("</td>")] for row in rows]
    found = {row[0].strip(): [c.strip() for c in row[1:6]] for row in cells if len(row) > 5}
    assert found["max_gap_s"][:4] == ["number", "s", "≥ 0, ≤ 100000", "600.0"]
    assert found["pose_topic"][3] in {"required", "null"}
    assert found["mode"][0] == "nearest, visible, plane"
    assert found["bearing_std_rad"][1] == "rad"


def test_presets_lidars_and_types_are_there(site: Path) -> None:
    for page, names in (
        ("reference/presets.html", preset_names()),
        ("reference/lidars.html", lidar_models()),
        ("reference/messages.html", [kind.type_name for kind in cone_types()]),
        ("reference/messages.html", shipped_types()),
    ):
        text = text_of(site, page)
        assert all(name in text for name in names), page


def test_schemas_are_those_of_the_program(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bagnoise.cli.main import exit_code

    for arguments, name in (
        (["recipe", "schema"], "recipe.schema.json"),
        (["dataset", "--schema"], "plan.schema.json"),
    ):
        exit_code(arguments)
        assert (site / "reference" / name).read_text() == capsys.readouterr().out


def test_nothing_is_fetched_when_a_page_is_shown(site: Path) -> None:
    """Scripts, styles, fonts and pictures are the site's own; other addresses are links only."""
    loads = re.compile(
        r"<(?:script|img|iframe|source)[^>]+(?:src|srcset)=\"?(https?:)?//|"
        r"<link(?![^>]+rel=\"?(?:canonical|prev|next))[^>]+href=\"?(https?:)?//|@import"
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        assert not loads.search(page.read_text("utf-8")), page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text("utf-8")), style


def test_fences_for_the_tests_are_code_for_readers(site: Path) -> None:
    text = (site / "datasets.html").read_text("utf-8")
    assert "plan.yaml</span>" in text
    assert "file=plan.yaml" not in text
    assert "```" not in text_of(site, "datasets.html")
    assert "needs:" not in text_of(site, "tutorial.html")


@pytest.mark.parametrize("spoiled", ["[x](nowhere.md)", "[x](#nowhere)", "nav"])
def test_what_is_wrong_fails_the_build(spoiled: str, tmp_path: Path) -> None:
    """A dead link, a dead anchor, or a page that is not in the navigation."""
    page = tmp_path / "docs" / "index.md"
    page.parent.mkdir()
    page.write_text(f"# Page\n\n{spoiled}\n")
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[0].splitlines()
    config = [line for line in lines if not line.startswith(("hooks:", "extra_css:"))]
    navigation = "nav: [{Other: 'https://example.org'}]" if spoiled == "nav" else "nav: [index.md]"
    (tmp_path / "mkdocs.yml").write_text("\n".join([*config, navigation, ""]))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path / "site")],
        cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "strict mode" in done.stdout + done.stderr
