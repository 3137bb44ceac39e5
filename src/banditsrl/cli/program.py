"""How does the program start and end? With one sentence and a status, whatever happens.

An error is one sentence on standard error and status 2, whether it was found by us or by the parser
of the options. Ctrl-C ends the program with a sentence and status 130 at any moment.
"""

import gc
import re
import sys
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from banditsrl.cli import STOPPED
from banditsrl.cli.console import print_message
from banditsrl.errors import BanditSRLError, MissingArgument
from banditsrl.version import VERSION

WRONG = 2
"""Exit status of a command that is wrong."""

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]
"""Base of all errors of the parser; typer has no public name for it in all its versions."""

NOT_A_NUMBER = re.compile(r"Invalid value for '(--[\w-]+)'.*\bvalid (integer|float|number)\b.*")
NUMBERS = {"integer": "a whole number", "float": "a number", "number": "a number"}
"""How parsers say that an option is not a number, and how we say it."""


OPTIONS = {"label": "--set label=COLUMN", "name": "--name NAME", "loop": "--loop NAME"}
"""Which option gives an argument that the library misses."""


FLAG = ""
"""What help shows as the type of an option that takes no value."""


class CommandGroup(TyperGroup):
    """A group of commands whose help shows no type for options that take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group; the parser adds those for help and completion."""
        found: list[Any] = super().get_params(ctx)
        return hide_types(found)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command."""
        found: Any = super().get_command(ctx, cmd_name)
        if found is not None:
            hide_types([found.get_help_option(ctx)])  # it is kept by the command
        return found


def hide_types(choices: list[Any]) -> list[Any]:
    """Return options of which those that take no value show no type."""
    for option in choices:
        if option.is_flag:
            option.metavar = FLAG
    return choices


class Program(CommandGroup):
    """The group of all commands, which says so when it is stopped."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print_message("Stopped.")
            raise SystemExit(STOPPED) from None


def run_program(app: typer.Typer) -> None:
    """Run the command line and end the process with its status."""
    try:
        status = app(prog_name="banditsrl", standalone_mode=False)
    except BanditSRLError as error:
        print_message(add_option(error), error=True)
        raise SystemExit(WRONG) from None
    except USAGE_ERROR as error:
        raise SystemExit(_explain_usage(error)) from None
    finally:
        gc.freeze()  # spares the interpreter a collection of half a million objects at exit
    if status == STOPPED:  # the parser was stopped while it read the command, and says nothing
        print_message("Stopped.")
    raise SystemExit(status if isinstance(status, int) else 0)


def add_option(error: BanditSRLError) -> str:
    """Return the sentence of an error, with the option that mends it if something is missing."""
    option = OPTIONS.get(error.argument) if isinstance(error, MissingArgument) else None
    return f"{str(error).rstrip('.')} ({option})." if option else str(error)


def print_version(wanted: bool) -> None:
    """Print the version and end, if it was asked for."""
    if wanted:
        typer.echo(f"banditsrl {VERSION}")
        raise typer.Exit


def _explain_usage(error: Any) -> int:
    """Print what is wrong with a command in one sentence, and return the exit status."""
    text = error.format_message()
    if "\n" in text:  # a command without arguments, whose message is its help
        error.show()
    if not text or "\n" in text:  # newer parsers have printed the help, and say nothing else
        return WRONG
    wrong = NOT_A_NUMBER.fullmatch(text)
    if wrong:
        text = f"{wrong[1]} must be {NUMBERS[wrong[2]]}, got {_find_value(wrong[1])!r}"
    where = f" See `{error.ctx.command_path} --help`." if error.ctx else ""
    print_message(f"{text.rstrip('.')}.{where}" if text[-1:] != "?" else text, error=True)
    return WRONG


def _find_value(option: str) -> str:
    """Return what was given for an option; not every version of the parser says it."""
    words = sys.argv[1:]
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
    after = [value for word, value in pairwise(words) if word == option]
    return [*joined, *after, ""][0]
