"""The command line."""

from banditsrl.cli.main import main

__all__ = ["main"]
