"""How are jobs done on many machines? As Ray tasks, whose tables the driver writes to its disk.

The machines need not share a disk with the driver. A task that is lost with its machine is done
again on another. Each machine keeps the checkpoints of its runs in its user's cache folder.
"""

import contextlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from banditsrl.core.files import cache_dir
from banditsrl.engines.jobs import Outcome, Status, try_job
from banditsrl.engines.local import compiled_programs, print_line
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.planning import Job
from banditsrl.experiments.run_tables import encode_table
from banditsrl.experiments.store import Store
from banditsrl.numerics.process import thread_limits, use_compilation_cache

MAX_RETRIES = 5
"""How often a run may lose its machine before it fails."""

CONNECT_SECONDS = 5.0
"""Longest time to wait for the first answer of a cluster that is given by its address."""

POLL_SECONDS = 1.0
"""Longest time to wait for an answer of the cluster."""


class Delivery(NamedTuple):
    """What a task sends back: its outcome, and its table or the traceback of its error."""

    outcome: Outcome
    content: bytes


class RayEngine:
    """An engine that does each job as a task on a Ray cluster, with one core per task.

    Args:
        address: Address of the cluster ("auto", "HOST:PORT" or "ray://..."). With None, Ray takes
            the cluster named by RAY_ADDRESS, or starts one on this machine.
        workers: How many tasks run at the same time; None means one per core of the cluster.
    """

    def __init__(self, *, address: str | None, workers: int | None) -> None:
        try:
            import ray
        except ImportError as error:
            raise InvalidArgument(
                "The ray engine needs the `ray` package: pip install 'banditsrl[ray]'."
            ) from error
        self.ray: Any = ray
        self.address = address
        self.workers = workers
        self._board: Any = None

    def run_jobs(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs as tasks and yield their outcomes."""
        connected_here = not self.ray.is_initialized()
        if connected_here:
            self._connect()
        try:
            yield from self._run_tasks(jobs, store, command)
        finally:
            if connected_here:
                self.ray.shutdown()

    def read_statuses(self) -> Mapping[str, Status]:
        """Return what each task wrote on the board last."""
        if self._board is None:
            return {}
        with contextlib.suppress(Exception):
            found: dict[str, Status] = self.ray.get(self._board.read.remote(), timeout=POLL_SECONDS)
            return found
        return {}

    def _connect(self) -> None:
        _check_reachable(self.address or os.environ.get("RAY_ADDRESS"))
        try:
            self.ray.init(
                address=self.address,
                runtime_env={"env_vars": thread_limits(1)},
                log_to_driver=False,
                logging_level="warning",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InvalidArgument(
                f"address must be that of a running Ray cluster, got {self.address!r} ({error})."
            ) from error

    def _run_tasks(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        self._board = self._start_board()
        task = self.ray.remote(_run_task).options(num_cpus=1, max_retries=MAX_RETRIES)
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        n_tasks = self.workers or 2 * cores  # twice, so that no core waits for its next task
        waiting = list(reversed(jobs))
        running: dict[Any, Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < n_tasks:
                    job = waiting.pop()
                    running[task.remote(job, self._board)] = job
                ready, _ = self.ray.wait(list(running), timeout=POLL_SECONDS)
                for reference in ready:
                    yield self._store_delivery(reference, running.pop(reference), store, command)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)
            self._board = None

    def _store_delivery(self, reference: Any, job: Job, store: Store, command: str) -> Outcome:
        """Write what a task sent into the folder of its run."""
        outcome: Outcome
        content: bytes
        try:
            outcome, content = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            sentence = str(error).strip().splitlines()[0]
            outcome, content = Outcome(job.spec.hash, 0.0, error=sentence), str(error).encode()
        store.begin(job.spec, command=command)
        if outcome.error is None:
            store.finish(job.spec, content)
        else:
            store.fail(job.spec, content.decode())
        return outcome

    def _start_board(self) -> Any:
        """Start the status board on the driver's machine, which outlives the other machines."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self.ray.get_runtime_context().get_node_id()
        place = NodeAffinitySchedulingStrategy(here, soft=True)
        board = self.ray.remote(_StatusBoard).options(num_cpus=0, scheduling_strategy=place)
        return board.remote()


def _check_reachable(address: str | None) -> None:
    """Refuse an address at which nobody answers; Ray itself would try again for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InvalidArgument(
            f"address must be that of a running Ray cluster, got {address!r} ({error}); "
            "`ray start --head` starts one."
        ) from error


class _StatusBoard:
    """An actor that keeps the last status of every worker."""

    def __init__(self) -> None:
        self.statuses: dict[str, Status] = {}

    def write(self, worker: str, status: Status | None) -> None:
        self.statuses.pop(worker, None)
        if status is not None:
            self.statuses[worker] = status

    def read(self) -> dict[str, Status]:
        return self.statuses


def _run_task(job: Job, board: Any) -> Delivery:
    """Do one job on the machine that Ray chose."""
    import ray

    use_compilation_cache(compiled_programs())
    here = ray.get_runtime_context()
    worker = f"{here.get_node_id()[:6]}-{here.get_worker_id()[:4]}"
    folder = cache_dir() / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / f"{job.spec.hash}.npz"

    def report(status: Status) -> None:
        board.write.remote(worker, status)

    outcome, table, trace = try_job(job, checkpoint, report=report, print_message=print_line)
    board.write.remote(worker, None)
    _remove_checkpoints(checkpoint)
    return Delivery(outcome, trace.encode() if table is None else encode_table(table))


def _remove_checkpoints(checkpoint: Path) -> None:
    """Remove the checkpoints of all batches of seeds of a run."""
    for path in checkpoint.parent.glob(f"{checkpoint.stem}*"):
        path.unlink(missing_ok=True)
