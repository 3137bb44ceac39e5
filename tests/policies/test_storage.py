"""States on disk: identical choices after loading, and clear refusals."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import StateFileError
from banditsrl.policies import storage

KEY = jax.random.key(0)


@pytest.fixture
def saved(tmp_path: Path, problem: banditsrl.FiniteProblem) -> tuple[Path, Any, Any]:
    policy = banditsrl.BanditSRL(problem.representations, base=banditsrl.LinTS(), sigma=0.3)
    rng = np.random.default_rng(0)
    state, _ = banditsrl.warm_start(
        policy, KEY, contexts=rng.integers(20, size=50), actions=rng.integers(5, size=50),
        rewards=rng.normal(size=50),
    )  # fmt: skip
    path = tmp_path / "policy.state"
    banditsrl.save_state(path, policy, state)
    return path, policy, state


def test_a_loaded_state_chooses_alike(saved: tuple[Path, Any, Any]) -> None:
    path, policy, state = saved
    loaded = banditsrl.load_state(path, policy)
    act, _, _ = banditsrl.compiled(policy)
    for x in range(20):
        one, other = (act(s, x, None, jax.random.key(x)) for s in (state, loaded))
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert [p.name for p in path.parent.iterdir()] == ["policy.state"]


def test_a_file_of_another_policy_is_refused(
    saved: tuple[Path, Any, Any], problem: banditsrl.FiniteProblem
) -> None:
    path, _, _ = saved
    with pytest.raises(StateFileError, match=r"another policy \(BanditSRL, not Leader\)"):
        banditsrl.load_state(path, banditsrl.Leader(problem.representations))
    other = banditsrl.BanditSRL(problem.representations, base=banditsrl.LinTS(), sigma=0.4)
    with pytest.raises(StateFileError, match=r"another policy \(sigma is not the same"):
        banditsrl.load_state(path, other)
    fewer = banditsrl.BanditSRL(problem.representations[1:], base=banditsrl.LinTS(), sigma=0.3)
    with pytest.raises(StateFileError, match="representations is not the same"):
        banditsrl.load_state(path, fewer)


def test_a_file_of_another_version_is_refused(
    saved: tuple[Path, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, policy, state = saved
    monkeypatch.setattr(storage, "SCHEMA", 99)
    banditsrl.save_state(path, policy, state)
    monkeypatch.undo()
    with pytest.raises(StateFileError, match="schema must be 1, got 99; it was written by another"):
        banditsrl.load_state(path, policy)


def test_a_damaged_or_missing_file_is_refused(saved: tuple[Path, Any, Any]) -> None:
    path, policy, _ = saved
    with pytest.raises(StateFileError, match="cannot be read"):
        banditsrl.load_state(path.with_name("nowhere"), policy)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StateFileError, match="is not a state file, or is damaged"):
        banditsrl.load_state(path, policy)
    path.write_text("hello")
    with pytest.raises(StateFileError, match="is not a state file, or is damaged"):
        banditsrl.load_state(path, policy)


def test_descriptions_are_json_and_tell_functions_apart(problem: banditsrl.FiniteProblem) -> None:
    def halves(t: Any) -> Any:
        return 0.5 / t

    one = banditsrl.EpsilonGreedy(problem.representations[0], epsilon=halves)
    described = json.loads(json.dumps(storage.describe(one)))
    assert described["class"] == "EpsilonGreedy"
    assert described["epsilon"]["function"].endswith("halves")
