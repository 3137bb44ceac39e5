"""The command line: `commands.py` has the commands, `options.py` their options."""

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with a sentence at any moment."""
    try:
        from banditsrl.cli.commands import main as run  # noqa: PLC0415  (takes seconds)

        # The launcher's handler ends the process at once; from here on there is something to save.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        raise SystemExit(130) from None


__all__ = ["main"]
