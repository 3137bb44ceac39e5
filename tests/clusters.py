"""A Ray cluster on this machine that lives as long as a test needs it.

Ray forks and leaves files open. Tests that use it must therefore ignore warnings about these.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000}


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """Start a cluster whose head has one core, and stop it at the end."""
    ray = pytest.importorskip("ray", reason="ray is not installed: install banditsrl[ray]")
    from ray.cluster_utils import Cluster

    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
