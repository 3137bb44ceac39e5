"""The command line: `commands.py` has the commands, `options.py` their options."""

from banditsrl.cli.commands import main

__all__ = ["main"]
