"""A run that is stopped anywhere and continued ends with the same numbers, bit by bit."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.simulation.checkpoint import FileCheckpoint, Saved, pack, unpack

pytestmark = pytest.mark.optimised

HORIZON, STEPS = 1_500, (10, 1_024, 1_025, 1_500)


class Stopped(Exception):
    """The process died here."""


class Interrupted:
    """Saves at every segment end, and dies after a given number of them."""

    def __init__(self, inner: FileCheckpoint, after: int) -> None:
        self.inner = inner
        self.left = after

    def due(self) -> bool:
        return True

    def load(self, batch: int) -> Saved | None:
        return self.inner.load(batch)

    def save(self, batch: int, saved: Saved) -> None:
        self.inner.save(batch, saved)
        self.left -= 1
        if self.left == 0:
            raise Stopped


def results_equal(one: banditsrl.Result, other: banditsrl.Result) -> bool:
    names = ("regret", "certified", "trivial", "wrong", "wrong_regret", "last_regret")
    same = [np.array_equal(getattr(one, name), getattr(other, name)) for name in names]
    pairs = [(one.reports[key], other.reports[key]) for key in one.reports]
    pairs += list(zip(pack(one.state), pack(other.state), strict=True))
    return all(same) and all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize(
    "name",
    [
        "banditsrl-egreedy",  # phases that read the history
        "glrt-linucb",  # no phases
    ],
)
def test_stopping_anywhere_changes_nothing(
    problem: banditsrl.FiniteProblem, tmp_path: Path, name: str
) -> None:
    policy = banditsrl.make_policy(name, problem)
    settings: Any = {"horizon": HORIZON, "seeds": 42, "steps": STEPS}  # two batches
    whole = banditsrl.simulate(problem, policy, **settings)
    for after in (1, 3, 9, 14):
        path = tmp_path / f"{after}" / "checkpoint.npz"
        path.parent.mkdir()
        result = None
        for _ in range(40):
            inner = FileCheckpoint(path, identity="this run")
            try:
                interrupted = Interrupted(inner, after)
                result = banditsrl.simulate(problem, policy, checkpoint=interrupted, **settings)
                break
            except Stopped:
                continue
        assert result is not None
        assert results_equal(whole, result)


def test_random_keys_survive() -> None:
    tree = {"key": jax.random.key(3), "x": jax.numpy.arange(3)}
    restored, rest = unpack(tree, [*pack(tree), np.zeros(1)])
    assert jax.random.uniform(restored["key"]) == jax.random.uniform(tree["key"])
    assert len(rest) == 1


def test_arrays_of_another_policy_are_refused() -> None:
    with pytest.raises(banditsrl.errors.StateFileError, match="got other shapes"):
        unpack([np.zeros(3)], [np.zeros(2)])


def test_a_damaged_or_foreign_file_is_ignored_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.npz"
    saved = Saved(7, [np.arange(1000.0), np.zeros(3, dtype=bool)])
    FileCheckpoint(path, identity="mine").save(0, saved)
    found = FileCheckpoint(path, identity="mine").load(0)
    assert found is not None
    assert found.step == 7
    np.testing.assert_array_equal(found.arrays[0], saved.arrays[0])

    told: list[str] = []
    assert FileCheckpoint(path, identity="other", say=told.append).load(0) is None
    assert "is of another run or version" in told.pop()
    content = path.read_bytes()
    for damaged in (content[:100], b"", content[:3000] + b"\x55" + content[3001:]):
        path.write_bytes(damaged)
        assert FileCheckpoint(path, identity="mine", say=told.append).load(0) is None
        assert "is damaged and is ignored" in told.pop()
        assert path.read_bytes() == damaged


def test_it_is_due_every_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    checkpoint = FileCheckpoint(tmp_path / "c.npz", identity="x", every=10.0)
    assert not checkpoint.due()
    now[0] = 10.0
    assert checkpoint.due()
    checkpoint.save(0, Saved(1, []))
    assert not checkpoint.due()
    later = FileCheckpoint(tmp_path / "c.npz", identity="x")
    later.load(0)
    assert later.spent == 10.0  # the wall time before the restart
