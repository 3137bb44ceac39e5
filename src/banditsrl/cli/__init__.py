"""The command line: `commands.py` has the commands, `options.py` their options."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it with a sentence."""
    try:
        from banditsrl.cli.commands import main as run  # noqa: PLC0415  (takes seconds)

        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        raise SystemExit(130) from None


__all__ = ["main"]
