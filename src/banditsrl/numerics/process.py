"""Which settings hold for a whole process? Threads, compiled programs, log level, environment.

Nothing here happens on import: the engines call these functions in the processes that they use for
runs. Other code does not change settings of the process.
"""

import contextlib
import gc
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax

MIN_COMPILE_SECONDS = 0.3
"""Programs that compile faster than this are not worth a file in the cache."""

ONE_THREAD_PER_PRODUCT = "--xla_cpu_multi_thread_eigen=false"
"""Matrix products use one thread, so that sums do not depend on the number of cores."""

THREAD_VARIABLES = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")


def thread_limits(n_threads: int) -> dict[str, str]:
    """Return environment variables that keep a new process to `n_threads` threads."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        flags = f"{flags} {ONE_THREAD_PER_PRODUCT}".strip()
    return {"XLA_FLAGS": flags, **dict.fromkeys(THREAD_VARIABLES, str(n_threads))}


@contextlib.contextmanager
def environment_variables(changes: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for a block, for what is compiled and started inside it."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def use_compilation_cache(folder: Path) -> None:
    """Share compiled programs between processes in `folder`, unless JAX was given one already."""
    config: Any = jax.config
    if not config.jax_compilation_cache_dir:
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_SECONDS)
    silence_xla()


def silence_xla() -> None:
    """Have XLA log critical errors only, unless JAX was given a level already.

    XLA mistakes tuning preferences of many processors for missing features, and prints pages about
    them whenever a program comes from the cache (openxla/xla issue 44565).
    """
    config: Any = jax.config
    if config.jax_logging_level == "NOTSET":
        config.update("jax_logging_level", "CRITICAL")


def keep_live_objects_out_of_garbage_collection() -> None:
    """Have later garbage collections skip all objects that are alive now.

    A process with JAX has half a million objects. A collection of all of them takes up to 200 ms,
    during which no thread runs, and loky asks for one every second.
    """
    gc.collect()
    gc.freeze()


def read_memory() -> float:
    """Return the bytes of memory of this machine, or infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return math.inf
