"""Fixtures shared by all tests: one problem, and a cache of compiled programs for the run.

Tests compile more than they compute: most of a program's time would go into optimising it. So
programs are left as they are, but for modules that compute for long, which are marked `optimised`.
"""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

import banditsrl
from banditsrl.policies import POLICIES


def pytest_configure(config: pytest.Config) -> None:
    """Compile in a hurry; share compiled programs between workers and runs of the tests."""
    gc.set_threshold(50_000, 50, 50)  # a program being traced is many objects, none of them garbage
    jax.config.update("jax_traceback_in_locations_limit", 0)
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_logging_level", "CRITICAL")  # see `local.use_compilation_cache`
    cache = getattr(config, "cache", None)
    if cache is not None:
        folder = cache.mkdir("compiled")
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The docs first: they take longest. Then the modules that are optimised, together."""

    def place(item: pytest.Item) -> tuple[bool, bool]:
        return item.path.name != "test_docs.py", item.get_closest_marker("optimised") is None

    items.sort(key=place)


@pytest.fixture
def broken() -> Iterator[None]:
    """A policy by the name `broken` that fails when it is asked."""

    class Broken(banditsrl.Greedy):
        def act(self, *_: Any) -> Any:
            raise RuntimeError("no idea what to play")

    def make(problem: Any, *_: Any, **__: Any) -> Broken:
        return Broken(problem.representations[0])

    with POLICIES.temporary("broken", make):
        yield


@pytest.fixture(scope="session")
def problem() -> banditsrl.FiniteProblem:
    """The varying-dimension problem whose first candidate is HLS."""
    return banditsrl.make_problem("vardim-realizable", seed=0)


@pytest.fixture(scope="session")
def three() -> banditsrl.FiniteProblem:
    """The same problem with three of its candidates: programs for it are compiled in less time."""
    whole = banditsrl.make_problem("vardim-realizable", seed=0)
    return banditsrl.FiniteProblem(
        whole.mean_rewards, whole.representations[:3], claims=whole.claims[:3], name="three"
    )


@pytest.fixture
def compiled(request: pytest.FixtureRequest) -> Path:
    """The cache of compiled programs that all tests share."""
    return Path(request.config.cache.mkdir("compiled"))


@pytest.fixture(scope="module", autouse=True)
def compiler(request: pytest.FixtureRequest) -> None:
    """Programs as users have them for a module that is marked, and in a hurry for others."""
    in_a_hurry = request.node.get_closest_marker("optimised") is None
    if jax.config.read("jax_disable_most_optimizations") != in_a_hurry:
        jax.clear_caches()  # programs that are optimised may differ from others in the last bit
        jax.config.update("jax_disable_most_optimizations", in_a_hurry)
