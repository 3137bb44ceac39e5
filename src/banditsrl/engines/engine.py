"""What is an engine, and which one is used? Engines do jobs: here, in processes, or on Ray.

An engine takes jobs and yields their outcomes in any order; meanwhile it can be asked what each
worker is doing. Tables do not depend on the engine or on the number of workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from banditsrl.engines.jobs import Outcome, Status
from banditsrl.engines.local import InProcess, Processes
from banditsrl.engines.ray_engine import RayEngine
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.environment import count_cores
from banditsrl.experiments.planning import Job
from banditsrl.experiments.store import Store

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Something that does jobs."""

    def run_jobs(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs, put their tables into the store, and yield their outcomes."""

    def read_statuses(self) -> Mapping[str, Status]:
        """Return what each worker is doing, by the name of the worker."""


def make_engine(name: str, *, workers: int | None, address: str | None, n_jobs: int) -> Engine:
    """Return the engine of this name.

    Args:
        name: "local" or "ray".
        workers: How many runs are made at the same time. The default is one per core: of this
            machine for "local", of the cluster for "ray".
        address: Address of the Ray cluster.
        n_jobs: Number of jobs that there will be; no more local workers than this are started.
    """
    if workers is not None and workers < 1:
        raise InvalidArgument(f"workers must be at least 1, got {workers}.")
    if name == "ray":
        return RayEngine(address=address, workers=workers)
    if name != "local":
        raise InvalidArgument(f"engine must be one of {', '.join(ENGINES)}, got {name!r}.")
    if address is not None:
        raise InvalidArgument(f"address must be given with the engine ray only, got {address!r}.")
    n_workers = min(workers or count_cores(), n_jobs)
    return Processes(n_workers) if n_workers > 1 else InProcess()
