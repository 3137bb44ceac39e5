"""Where does a network train while the loop decides? In a process of its own.

Training in a thread would slow decisions down, since both need the interpreter lock and XLA's
thread pool. So the learner starts `python -m banditsrl.live.training_process` and communicates with
it through pipes. The process reads the rounds from the store itself, and keeps them for the next
training. If it ends without an answer, the next training starts a new one.
"""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from banditsrl.core.policy import State
from banditsrl.errors import TrainingFailed
from banditsrl.live.fold import PendingTraining
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.messages import read_message, write_message
from banditsrl.live.programs import Programs
from banditsrl.live_store.state_bytes import pack_state, unpack_state
from banditsrl.numerics.process import thread_limits

END_SECONDS = 5.0
"""How long a killed process may take to end."""


class TrainingResult(NamedTuple):
    """The outcome of a training."""

    content: bytes | None  # the new state as bytes; None if it is unchanged
    report: dict[str, Any]  # what the policy reports about it


class Trainer:
    """Runs trainings of one loop in a process, one at a time."""

    def __init__(self, url: str, config: LoopConfig, programs: Programs) -> None:
        self._url, self._config, self._programs = url, config, programs
        self._process: subprocess.Popen[bytes] | None = None
        self._running, self._starting = threading.Lock(), threading.Lock()
        self._closed = False
        self.n_starts = 0

    @property
    def process_id(self) -> int | None:
        """Id of the process, or None if there is none."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def train(self, pending: PendingTraining) -> TrainingResult:
        """Train from the state at the start of a training, and wait for the result."""
        task = {"position": pending.position, "rounds": pending.rounds}
        task |= {"erased": pending.erased, "anew": pending.anew}
        with self._running:
            try:
                with self._starting:
                    process = self._start()
                write_message(process.stdin, task, pack_state(pending.state))
                answer, content = read_message(process.stdout)
            except (OSError, EOFError, ValueError) as error:
                status = self._end()
                raise TrainingFailed(
                    f"The training process ended with status {status}; the next training starts "
                    "another one."
                ) from error
        if "error" in answer:
            raise TrainingFailed(f"The training failed ({answer['error']}).")
        return TrainingResult(content if answer["changed"] else None, answer["report"])

    def retrain(self, pending: PendingTraining) -> State:
        """Return the state after a training, computed again."""
        content = self.train(pending).content
        state = pending.state if content is None else unpack_state(content, self._programs.layout)
        if state is None:
            raise TrainingFailed("The training gave a state that cannot be read.")
        return state

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._starting:
            self._closed = True
            process = self._process
        if process is not None and process.poll() is None:
            process.kill()
        with self._running:
            self._end()

    def _start(self) -> "subprocess.Popen[bytes]":
        if self.process_id is not None and self._process is not None:
            return self._process
        if self._closed:
            raise TrainingFailed("The loop is closed, so nothing is trained.")
        self._end()
        package = str(Path(__file__).parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **thread_limits(1), "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "banditsrl.live.training_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.n_starts += 1
        setting: dict[str, Any] = {"url": self._url, "config": dict(self._config.document)}
        write_message(self._process.stdin, setting, b"")
        return self._process

    def _end(self) -> int | None:
        """Make sure that the process has ended, and return its status."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # the rest cannot be sent any more
                    pipe.close()
        return process.wait(END_SECONDS)
