"""``bagnoise completion``."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "bagnoise"
VARIABLE = "_BAGNOISE_COMPLETE"  # as click derives it from the program's name


@click.command("completion", short_help="Print a script that completes words in a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete bagnoise's commands, options and values.

    \b
    bash   eval "$(bagnoise completion bash)"                         in ~/.bashrc
    zsh    eval "$(bagnoise completion zsh)"                          in ~/.zshrc
    fish   bagnoise completion fish > ~/.config/fish/completions/bagnoise.fish

    Besides commands and options, it offers presets, steps, lidar models, the topics of the bag,
    and the values that a recipe sets. bash needs version 4.4 or newer.
    """  # noqa: D301 - click wants the character itself
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only here

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())
