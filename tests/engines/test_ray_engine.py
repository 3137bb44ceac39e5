"""Ray: the same tables as here, even when the cluster loses a machine."""

import re
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import SMALL, ray_cluster
from sweeps import GREEDY, assert_same_stores, run_cell

import banditsrl
from banditsrl.engines.engine import make_engine
from banditsrl.engines.local import InProcess
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.store import Store

pytestmark = pytest.mark.optimised


@pytest.mark.filterwarnings("default")
def test_a_ray_cluster_gives_the_same_tables_even_when_it_loses_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: Path
) -> None:
    cell = replace(GREEDY, horizon=100_000)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(compiled))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    interrupted: list[str] = []
    with ray_cluster() as cluster:
        lost = cluster.add_node(**SMALL)
        engine = make_engine("ray", workers=None, address=cluster.address, n_jobs=4)

        def lose() -> None:
            run = _running_on(lost.node_id, engine)
            cluster.remove_node(lost, allow_graceful=False)
            if run and not Store(tmp_path / "ray").is_finished(run):
                interrupted.append(run)

        killer = threading.Thread(target=lose)
        killer.start()
        run_cell(engine, tmp_path / "ray", cell)
        killer.join()
        assert len(cluster.list_all_nodes()) == 1
    assert interrupted  # a run was under way on the node when it went, and was done again
    run_cell(InProcess(), tmp_path / "alone", cell)
    assert_same_stores(tmp_path / "alone", tmp_path / "ray")


def _running_on(node: str, engine: Any) -> str | None:
    """The run that a node is in the middle of, as soon as there is one."""
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline:
        for worker, status in engine.read_statuses().items():
            if node.startswith(worker.split("-")[0]) and 0 < status.done < status.total:
                return str(status.run)
        time.sleep(0.05)
    return None


def test_without_ray_the_way_to_get_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    message = re.escape("The ray engine needs the `ray` package: pip install 'banditsrl[ray]'.")
    with pytest.raises(banditsrl.errors.InvalidArgument, match=message):
        make_engine("ray", workers=None, address=None, n_jobs=1)


def test_an_address_at_which_nobody_answers_is_refused_before_ray_tries() -> None:
    pytest.importorskip("ray")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for given in (address, f"ray://{address}"):
            engine: Any = make_engine("ray", workers=None, address=given, n_jobs=1)
            engine.ray = Refusing()
            with pytest.raises(InvalidArgument, match=r"running Ray cluster, got .*`ray start"):
                list(engine.run_jobs([], Store("nowhere"), ""))


class Refusing:
    """Stands for Ray, and must not be asked to connect."""

    def is_initialized(self) -> bool:
        return False

    def init(self, **_: Any) -> None:
        raise AssertionError("Ray was asked to connect to a dead address")
