"""Where do runs happen? In this process, in processes on this machine, or on a Ray cluster.

An engine gets jobs and yields their outcomes in any order; `statuses` says meanwhile what each
worker is doing. Tables do not depend on the engine or on the number of workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from banditsrl.engines.jobs import Job, Outcome, Status
from banditsrl.engines.local import InProcess, Processes
from banditsrl.engines.ray_engine import RayEngine
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.environment import n_cores
from banditsrl.experiments.store import Store

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Something that does runs."""

    def outcomes(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs and put their tables into the store."""

    def statuses(self) -> Mapping[str, Status]:
        """What each worker is doing, by worker."""


def make_engine(name: str, *, workers: int | None, address: str | None, n_jobs: int) -> Engine:
    """The engine for a number of jobs; `workers` defaults to the cores of this machine."""
    if workers is not None and workers < 1:
        raise InvalidArgument(f"workers must be at least 1, got {workers}.")
    if name == "ray":
        return RayEngine(address=address, workers=workers)
    if name != "local":
        raise InvalidArgument(f"engine must be one of {', '.join(ENGINES)}, got {name!r}.")
    if address is not None:
        raise InvalidArgument(f"address must go with engine ray, got {address!r}.")
    n_workers = min(workers or n_cores(), n_jobs)
    return Processes(n_workers) if n_workers > 1 else InProcess()
