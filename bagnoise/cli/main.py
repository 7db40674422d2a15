"""The group of commands, and what every command has in common: errors and exit codes."""

from __future__ import annotations

import importlib
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bagnoise import __version__
from bagnoise.cli.first_screen import FIRST_SCREEN
from bagnoise.cli.streams import make_lenient, open_closed_streams
from bagnoise.errors import BagnoiseError, DamagedBagError, UsageError

if TYPE_CHECKING:
    from types import FrameType

    from click.shell_completion import CompletionItem

_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

# name -> (module of bagnoise.cli, one line): loaded only when called, so that --help is quick
COMMANDS = {
    "augment": ("augment", "Write a bag with simulated sensors in it."),
    "compare": ("compare", "Measure what was made of a bag; check it against its recipe."),
    "dataset": ("dataset", "Make many noisy bags from one plan; resume when interrupted."),
    "fit": ("fit", "Fit a recipe to a real recording and its truth."),
    "info": ("info", "Show what a bag holds and what bagnoise can do with it."),
    "recipe": ("recipe", "List, show and check recipes."),
    "report": ("report", "Write one page that shows what was done to a bag."),
    "lidars": ("lidars", "List lidar models for the step camera_lidar."),
    "steps": ("steps", "Describe the steps that recipes are made of."),
    "completion": ("completion", "Print a script that completes words in a shell."),
}


class LazyGroup(click.Group):
    """Imports a command's module only when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"bagnoise.cli.{COMMANDS[cmd_name][0]}_command")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer the commands without importing them, and the options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only on a tab

        found = [
            CompletionItem(n, help=c[1]) for n, c in COMMANDS.items() if n.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="bagnoise")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Turn a clean rosbag into the recording a real car's sensors would have made.

    \b
    bagnoise augment clean.mcap noisy.mcap      the main job
    bagnoise info clean.mcap                    what is in it

    Exit codes: 0 ok, 1 failed, 2 wrong usage or recipe (nothing written), 3 a check out of limits.
    """  # noqa: D301 - click wants the character itself
    if ctx.invoked_subcommand is None:
        click.echo(FIRST_SCREEN.format(version=__version__), nl=False)


def run() -> NoReturn:
    """Run a command and leave with its exit code; errors are one line, never a traceback."""
    open_closed_streams()
    for number in _STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup does with SIGHUP
            signal.signal(number, _as_interrupt)
    failure_of_output = make_lenient()
    code = exit_code(sys.argv[1:])
    failure = failure_of_output()
    if failure is not None:
        code = _complain(BagnoiseError(failure), code or FAILED)
    sys.exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run a command with these arguments and return its exit code; errors go to stderr."""
    try:
        result: Any = cli.main(args=arguments, prog_name="bagnoise", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UsageError as error:
        return _complain(error, USAGE)
    except DamagedBagError as error:
        return _complain(error, FAILED, "--recover takes what is intact of a damaged bag")
    except BagnoiseError as error:
        return _complain(error, FAILED)
    except (KeyboardInterrupt, click.Abort) as error:
        what = str(error.__cause__ or error) or "nothing was written"  # click wraps the interrupt
        click.echo(f"bagnoise: interrupted; {what}", err=True)
        return INTERRUPTED
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _complain(BagnoiseError(f"{name}{error.strerror or error}"), FAILED)
    except MemoryError as error:
        return _complain(BagnoiseError(f"out of memory: {error}".rstrip(": ")), FAILED)
    return result if isinstance(result, int) else OK


def _complain(error: BagnoiseError, code: int, hint: str = "") -> int:
    lines = str(error).splitlines() or [type(error).__name__]
    for line in [*lines, hint] if hint else lines:
        click.echo(f"bagnoise: {line}", err=True)
    return code


def _as_interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt
