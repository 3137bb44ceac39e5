"""The launcher: Ctrl-C while the package is being imported."""

import signal
import subprocess
import sys

SCRIPT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "banditsrl":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from banditsrl_launcher import main
main()
"""


def test_ctrl_c_during_the_import_is_a_sentence_and_no_traceback() -> None:
    ended = subprocess.run(  # noqa: S603  (our own interpreter and script)
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGINT, "Stopped.\n")
