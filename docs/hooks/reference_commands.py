"""The page of commands, from click's declarations."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click
from markdown_text import code, paragraphs, plain, table

from bagnoise.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION = """\
# Commands

This page is made from the program; `bagnoise COMMAND --help` prints the same.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed; one line on standard error says why, nothing is left under the output's name |
| 2 | wrong usage or recipe; nothing was written |
| 3 | `compare --check`: the bag is not what its recipe asks for |
| 130 | interrupted; nothing is left |

Results go to standard output, progress (on a terminal only), warnings and errors to standard
error. `bagnoise` alone prints where to begin. For the tab key: [completion](#completion).

"""
Found = tuple[str, click.Command, click.Context]


def commands_page() -> str:
    """Make the page."""
    return INTRODUCTION + "\n".join(_section(*found) for found in all_commands())


def all_commands() -> Iterator[Found]:
    """Give every command that does something: its words, itself, its context."""
    top = click.Context(cli, info_name="bagnoise")
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=top)
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                inner = command.get_command(context, child)
                assert inner is not None
                inner_context = click.Context(inner, parent=context, info_name=child)
                yield f"{name} {child}", inner, inner_context
        else:
            yield name, command, context


def _section(words: str, command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {words}\n", _text(command), f"```text\nbagnoise {words} {usage}\n```\n"]
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        rows = [_row(option, context) for option in options]
        parts.append(table(("option", "default", "meaning"), rows))
    return "\n".join(parts)


def _text(command: click.Command) -> str:
    blocks = []
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        if block.startswith("\b\n"):
            blocks.append("```text\n" + block[2:] + "\n```")
        else:
            blocks.append(paragraphs(block))
    return "\n\n".join(blocks) + "\n"


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join(code(name) for name in [*option.opts, *option.secondary_opts])
    if not option.is_flag:
        names += f" {plain(option.make_metavar(context))}"
    if option.multiple:
        names += " (again and again)"
    help_text = re.sub(r"'(bagnoise [^']*)'", r"``\1``", option.help or "")
    return names, _default(option), paragraphs(help_text)


def _default(option: click.Option) -> str:
    plain_value = isinstance(option.default, (str, int, float)) and not option.is_flag
    return code(str(option.default)) if plain_value and option.show_default else ""
