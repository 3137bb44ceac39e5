"""How fast does a network train and decide? Compared with matrix products and with PyTorch.

    python benchmarks/training.py [--json FILE] [--quick]

Everything runs on one core in one process; compilation is excluded, and the best of several repeats
counts. The training step is the paper's: SGD on layers 50-50-50-50-10 with the wheel's seven
inputs, 128 explored samples for the squared error and 128 of all samples for the weak loss. The
machine's rate is that of the matrix products in such a step alone (forward and backward of each
layer, with the same shapes), in NumPy or JAX, whichever is faster. The comparison with eager
PyTorch runs if PyTorch is installed. `--quick` measures once, to see that the script works.
"""
# ruff: noqa: E402  (threads and core must be set before any library is imported)

import os

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(ONE_THREAD, "1"), XLA_FLAGS="--xla_cpu_multi_thread_eigen=false")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import importlib
import importlib.util
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

import banditsrl
from banditsrl.core.history import BLOCK, History, empty_history
from banditsrl.numerics.partition import partition
from banditsrl.selection.training import train
from banditsrl.simulation import loop
from banditsrl.simulation.dealing import deal_block, name_keys

N_STEPS = 1000
REPEATS = 7
BATCH = 128
SIZES = (7, 50, 50, 50, 50, 10)

MACHINE_SHARE = 0.6
TORCH_RATIO = 3.0
MAX_PER_DECISION = 15.0


def main() -> None:
    """Measure everything, print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description="Speed of networks in banditsrl, on one core.")
    parser.add_argument("--json", type=Path, help="File to write the numbers to.")
    parser.add_argument("--quick", action="store_true", help="Measure once.")
    arguments = parser.parse_args()
    runs = {"step": training_step(), "jax": jax_products(), "numpy": numpy_products()}
    eager = torch_step()
    if eager is not None:
        runs["torch"] = eager
    seconds = best_times(runs, repeats=1 if arguments.quick else REPEATS)
    cost = {name: 1e6 * taken / N_STEPS for name, taken in seconds.items()}
    cost["decision"] = decision_cost()
    print_table(cost)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(cost, indent=2) + "\n")


def print_table(cost: dict[str, float]) -> None:
    """Print every cost in microseconds, and every ratio with its target."""
    share = min(cost["jax"], cost["numpy"]) / cost["step"]
    print_line("training step, both losses", cost["step"], "us")
    print_line("  its matrix products (JAX)", cost["jax"], "us")
    print_line("  its matrix products (NumPy)", cost["numpy"], "us")
    print_line("  share of the machine's rate", share, target=MACHINE_SHARE)
    if "torch" in cost:
        print_line("  the same step in eager PyTorch", cost["torch"], "us")
        print_line("  ratio", cost["torch"] / cost["step"], target=TORCH_RATIO)
    else:
        print("  PyTorch is not installed: comparison skipped (pip install torch)")
    print_line("decision on wheel (act and learn)", cost["decision"], "us")
    print_line("  limit divided by the cost", MAX_PER_DECISION / cost["decision"], target=1.0)


def print_line(what: str, value: float, unit: str = "", target: float | None = None) -> None:
    """Print one line of the table."""
    verdict = "" if target is None else f">= {target:g} " + ("ok" if value >= target else "missed")
    print(f"{what:36}{value:10.2f} {unit:3}{verdict}", flush=True)


def training_step() -> Callable[[], Any]:
    """Return a function that takes a thousand training steps on a history of 12,800 rounds."""
    problem = banditsrl.make_problem("wheel")
    network = banditsrl.Network(problem.representations[0])
    training = banditsrl.Training(loss="weak", passes=N_STEPS * BATCH // 12_800)

    @eqx.filter_jit
    def train_once(weights: Any, history: History, key: Array) -> Any:
        return train(training, network, weights, history, key)

    with jax.enable_x64(True):
        weights = network.init(jax.random.key(0))
        history = _random_history(12_800)

    def run() -> None:
        with jax.enable_x64(True):
            finish(train_once(weights, history, jax.random.key(1)))

    return run


def _random_history(n: int) -> History:
    rng = np.random.default_rng(0)
    empty = empty_history(jnp.int32(0), n)
    size = empty.capacity
    return empty._replace(
        contexts=jnp.asarray(rng.integers(100, size=size), dtype=jnp.int32),
        actions=jnp.asarray(rng.integers(5, size=size), dtype=jnp.int32),
        rewards=jnp.asarray(rng.normal(size=size)),
        n=jnp.int32(n),
    )


def _random_layers() -> list[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]]:
    """Return inputs, matrix and output gradient of every layer, for both halves of the batch."""
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> NDArray[np.float32]:
        return rng.normal(size=shape).astype(np.float32)

    n = 2 * BATCH
    pairs = itertools.pairwise(SIZES)
    return [(matrix(n, i), matrix(i, o), matrix(n, o)) for i, o in pairs]


def numpy_products() -> Callable[[], Any]:
    """Return a function that computes the products of a thousand steps in NumPy."""
    layers = [
        (x, w, g, np.empty_like(g), np.empty_like(w), np.empty_like(x))
        for x, w, g in _random_layers()
    ]

    def run() -> None:
        for _ in range(N_STEPS):
            for k, (x, w, g, forward, by_weight, by_input) in enumerate(layers):
                np.matmul(x, w, out=forward)
                np.matmul(x.T, g, out=by_weight)
                if k > 0:  # inputs of the network need no gradient
                    np.matmul(g, w.T, out=by_input)

    return run


def jax_products() -> Callable[[], Any]:
    """Return a function that computes the same products in one compiled loop.

    Every product depends on the one before, so that XLA can neither hoist nor drop it.
    """
    layers = [tuple(map(jnp.asarray, layer)) for layer in _random_layers()]

    @jax.jit
    def loop(layers: Any) -> Array:
        def step(_: Array, total: Array) -> Array:
            tiny = 1e-30 * total
            for k, (x, w, g) in enumerate(layers):
                inputs, weights = x + tiny, w + tiny
                parts = [inputs @ weights, inputs.T @ g]
                if k > 0:
                    parts.append(g @ weights.T)
                total = total + sum(part[0, 0] for part in parts)
            return total

        total: Array = jax.lax.fori_loop(0, N_STEPS, step, jnp.float32(0.0))
        return total

    return lambda: loop(layers).block_until_ready()


def torch_step() -> Callable[[], Any] | None:
    """Return a function for the same thousand steps in eager PyTorch, or None without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    layers: list[Any] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    body, head = torch.nn.Sequential(*layers), torch.nn.Linear(SIZES[-1], 1, bias=False)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=1e-3)
    inputs, rewards = torch.randn(12_800, SIZES[0]), torch.randn(12_800)

    def step() -> None:
        explored, every = torch.randint(12_800, (BATCH,)), torch.randint(12_800, (BATCH,))
        phi = body(torch.cat([inputs[explored], inputs[every]]))
        error = head(phi[:BATCH])[:, 0] - rewards[explored]
        unit = torch.nn.functional.normalize(phi, dim=1)
        design = unit[BATCH:].T @ unit[BATCH:] / BATCH
        outer = unit[:BATCH].detach()
        loss = (error**2).mean() - ((outer @ design) * outer).sum(1).min()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def run() -> None:
        for _ in range(N_STEPS):
            step()

    return run


def decision_cost() -> float:
    """Return microseconds per step of the decision loop of NN-BanditSRL-egreedy on wheel."""
    with jax.enable_x64(True):
        problem = banditsrl.make_problem("wheel")
        policy = banditsrl.make_policy("nn-banditsrl-egreedy", problem, preset="paper")
        game = loop.Game(partition(policy), partition(problem))
        keys = name_keys(np.zeros(1, dtype=np.int64))
        carry = loop.start_run(game, keys, 10 * BLOCK, 2)
        rows = np.ones(BLOCK, dtype=np.int32)  # every step is recorded, in the same row
        taken = []
        for block in range(10):
            dealt = deal_block(game.problem, keys, np.asarray(block))
            first, whole = block * BLOCK, carry.history
            steps = loop.Steps(np.asarray(first), np.asarray(first + BLOCK), rows)
            opened = loop.open_block(carry, first)
            finish((dealt, opened))
            start = time.perf_counter()
            carry = loop.play_steps(game, dealt, steps, opened)
            finish(carry)
            taken.append(time.perf_counter() - start)
            carry = loop.close_block(carry, whole, first)
    return 1e6 * min(taken) / BLOCK


def finish(result: Any) -> None:
    """Wait until a result has been computed."""
    for leaf in jax.tree.leaves(result):
        leaf.block_until_ready()


def best_times(runs: dict[str, Callable[[], Any]], *, repeats: int) -> dict[str, float]:
    """Return the shortest wall time of each run in seconds; the runs take turns, to be fair."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # compiles
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in taken.items()}


if __name__ == "__main__":
    main()
