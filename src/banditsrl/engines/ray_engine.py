"""How are runs done on many machines? As Ray tasks; tables travel back, the driver writes them.

Nodes need not share a disk with the driver. A task that is lost with its node is done again
elsewhere. Each node keeps the checkpoints of its runs in its user's cache folder.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from banditsrl.datasets.sources import cache_dir
from banditsrl.engines.jobs import Job, Outcome, Status, attempted
from banditsrl.engines.local import limits, to_stderr, use_compilation_cache
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.run_tables import to_bytes
from banditsrl.experiments.store import Store

MAX_RETRIES = 5
"""How often a run may lose its node."""

POLL_SECONDS = 1.0


class Delivery(NamedTuple):
    """What a task sends back: an outcome, and the table or the trace of the error."""

    outcome: Outcome
    content: bytes


class RayEngine:
    """Tasks on a Ray cluster, one core each.

    Args:
        address: Of the cluster ("auto", "HOST:PORT", "ray://..."); without one, Ray's own default:
            the cluster named by RAY_ADDRESS, or a new one on this machine.
        workers: Runs at the same time; as many as the cluster has cores by default.
    """

    def __init__(self, *, address: str | None, workers: int | None) -> None:
        try:
            import ray
        except ImportError as error:
            raise InvalidArgument(
                "engine ray must find the package ray, got none; install banditsrl[ray]."
            ) from error
        self.ray: Any = ray
        self.address = address
        self.workers = workers
        self._board: Any = None

    def outcomes(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs as tasks."""
        ours = not self.ray.is_initialized()
        if ours:
            self._connect()
        try:
            yield from self._outcomes(jobs, store, command)
        finally:
            if ours:
                self.ray.shutdown()

    def statuses(self) -> Mapping[str, Status]:
        """What the tasks told the board last."""
        if self._board is None:
            return {}
        with contextlib.suppress(Exception):
            found: dict[str, Status] = self.ray.get(self._board.read.remote(), timeout=POLL_SECONDS)
            return found
        return {}

    def _connect(self) -> None:
        try:
            self.ray.init(
                address=self.address,
                runtime_env={"env_vars": limits(1)},
                log_to_driver=False,
                logging_level="warning",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InvalidArgument(
                f"address must be that of a running Ray cluster, got {self.address!r} ({error})."
            ) from error

    def _outcomes(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        self._board = self._started_board()
        task = self.ray.remote(_remotely).options(num_cpus=1, max_retries=MAX_RETRIES)
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        room = self.workers or 2 * cores
        waiting = list(reversed(jobs))
        running: dict[Any, Job] = {}
        try:
            while waiting or running:
                while waiting and len(running) < room:
                    job = waiting.pop()
                    running[task.remote(job, self._board)] = job
                ready, _ = self.ray.wait(list(running), timeout=POLL_SECONDS)
                for reference in ready:
                    yield self._received(reference, running.pop(reference), store, command)
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)
            self._board = None

    def _received(self, reference: Any, job: Job, store: Store, command: str) -> Outcome:
        """Write what a task sent."""
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

    def _started_board(self) -> Any:
        """An actor next to the driver, where no lost node takes it away."""
        from ray.util.scheduling_strategies import (
            NodeAffinitySchedulingStrategy,
        )

        here = self.ray.get_runtime_context().get_node_id()
        place = NodeAffinitySchedulingStrategy(here, soft=True)
        board = self.ray.remote(_Board).options(num_cpus=0, scheduling_strategy=place)
        return board.remote()


class _Board:
    """Keeps the last status of every worker."""

    def __init__(self) -> None:
        self.seen: dict[str, Status] = {}

    def write(self, worker: str, status: Status | None) -> None:
        self.seen.pop(worker, None)
        if status is not None:
            self.seen[worker] = status

    def read(self) -> dict[str, Status]:
        return self.seen


def _remotely(job: Job, board: Any) -> Delivery:
    """Do one run on whatever node this is."""
    import ray

    use_compilation_cache()
    here = ray.get_runtime_context()
    worker = f"{here.get_node_id()[:6]}-{here.get_worker_id()[:4]}"
    folder = cache_dir() / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / f"{job.spec.hash}.npz"

    def tell(status: Status) -> None:
        board.write.remote(worker, status)

    outcome, table, trace = attempted(job, checkpoint, tell=tell, say=to_stderr)
    board.write.remote(worker, None)
    _forget(checkpoint)
    return Delivery(outcome, trace.encode() if table is None else to_bytes(table))


def _forget(checkpoint: Path) -> None:
    for path in checkpoint.parent.glob(f"{checkpoint.stem}*"):
        path.unlink(missing_ok=True)
