"""Fixtures that all tests share: two problems, and a cache of compiled programs.

Tests spend more time compiling than computing, and most of that time on optimisation. Programs are
therefore compiled without optimisation, except in test modules that are marked `optimised` because
they compute for a long time.
"""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

import banditsrl
from banditsrl.policies import POLICIES

pytest_plugins = ["loop_stores"]


def pytest_configure(config: pytest.Config) -> None:
    """Compile without optimisation, and share compiled programs between workers and test runs."""
    gc.set_threshold(50_000, 50, 50)  # tracing creates many objects, none of them garbage
    jax.config.update("jax_traceback_in_locations_limit", 0)
    jax.config.update("jax_disable_most_optimizations", True)
    jax.config.update("jax_logging_level", "CRITICAL")  # see `process.silence_xla`
    cache = getattr(config, "cache", None)
    if cache is not None:
        folder = cache.mkdir("compiled")
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


LONGEST = ("test_scripts.py", "test_docs.py", "test_notebooks.py")
"""Files that take minutes. A worker that began one of them last would keep the others waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, then all optimised modules together."""

    def rank(item: pytest.Item) -> tuple[int, bool]:
        name = item.path.name
        place = LONGEST.index(name) if name in LONGEST else len(LONGEST)
        return place, item.get_closest_marker("optimised") is None

    items.sort(key=rank)


@pytest.fixture
def broken() -> Iterator[None]:
    """Register a policy named `broken` that raises an error when it acts."""

    class Broken(banditsrl.Greedy):
        def act(self, *_: Any) -> Any:
            raise RuntimeError("no idea what to play")

    def make(problem: Any, *_: Any, **__: Any) -> Broken:
        return Broken(problem.representations[0])

    with POLICIES.temporary("broken", make):
        yield


@pytest.fixture(scope="module")
def without_training() -> Iterator[None]:
    """Let live loops never train: the process that trains takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditsrl.live.fold.Fold.wants_training", lambda *_: False)
        yield


@pytest.fixture(scope="session")
def problem() -> banditsrl.FiniteProblem:
    """Return the varying-dimension problem whose first candidate is HLS."""
    return banditsrl.make_problem("vardim-realizable", seed=0)


@pytest.fixture(scope="session")
def three() -> banditsrl.FiniteProblem:
    """Return that problem with three of its candidates, for which programs compile faster."""
    whole = banditsrl.make_problem("vardim-realizable", seed=0)
    return banditsrl.FiniteProblem(
        whole.mean_rewards, whole.representations[:3], claims=whole.claims[:3], name="three"
    )


@pytest.fixture
def compiled(request: pytest.FixtureRequest) -> Path:
    """Return the folder of compiled programs that all tests share."""
    return Path(request.config.cache.mkdir("compiled"))


@pytest.fixture(scope="module", autouse=True)
def compiler(request: pytest.FixtureRequest) -> None:
    """Compile with optimisation, as users do, in marked modules, and without in the others."""
    unoptimised = request.node.get_closest_marker("optimised") is None
    if jax.config.read("jax_disable_most_optimizations") != unoptimised:
        jax.clear_caches()  # optimised programs may differ from others in the last bit
        jax.config.update("jax_disable_most_optimizations", unoptimised)
