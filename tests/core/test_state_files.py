"""A state that is saved and loaded chooses alike, and what is no state file is refused."""

import functools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.core import state_files
from banditsrl.errors import StateFileError

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
    act = banditsrl.compiled(policy).act
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
    monkeypatch.setattr(state_files, "SCHEMA", 99)
    banditsrl.save_state(path, policy, state)
    monkeypatch.undo()
    with pytest.raises(StateFileError, match="schema must be 3, got 99; it was written by another"):
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
    described = json.loads(json.dumps(state_files.describe(one)))
    assert described["class"] == "EpsilonGreedy"
    assert described["epsilon"]["function"].endswith("halves")


@pytest.mark.parametrize("content", [b"", b"PK", b"no file of ours", "npy", "list", "no arrays"])
def test_what_is_no_state_file_is_called_damaged(
    saved: tuple[Path, Any, Any], content: Any
) -> None:
    path, policy, _ = saved
    headers = {"list": [1, 2], "no arrays": {"digest": "", "n": 3}}
    if content == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif content in headers:
        with path.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(headers[content])))
    else:
        path.write_bytes(content)
    with pytest.raises(StateFileError, match="is not a state file, or is damaged"):
        banditsrl.load_state(path, policy)


def test_flipped_bytes_are_noticed_or_harmless(saved: tuple[Path, Any, Any]) -> None:
    path, policy, state = saved
    good = path.read_bytes()
    for at in range(0, len(good), len(good) // 150):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        try:
            loaded = banditsrl.load_state(path, policy)
        except StateFileError:
            continue
        for one, other in zip(jax.tree.leaves(loaded), jax.tree.leaves(state), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_file_of_the_first_version_is_called_that(saved: tuple[Path, Any, Any]) -> None:
    path, policy, _ = saved
    with path.open("wb") as file:
        np.savez(
            file, header=np.array(json.dumps({"schema": 1, "keys": [False]})), leaf0=np.ones(1)
        )
    with pytest.raises(StateFileError, match="schema must be 3, got 1; it was written by another"):
        banditsrl.load_state(path, policy)


def test_arrays_of_another_shape_are_refused(saved: tuple[Path, Any, Any]) -> None:
    path, policy, state = saved
    cut = state._replace(ridge=state.ridge._replace(root=state.ridge.root[:2, :2]))
    with pytest.raises(StateFileError, match=r"array 0 must have shape \(6, 6\), got \(2, 2\)"):
        banditsrl.save_state(path, policy, cut)
    with pytest.raises(StateFileError, match="must hold 12 arrays, got 0"):
        banditsrl.save_state(path, policy, None)


@pytest.mark.parametrize("way", ["default", "partial"])
def test_functions_that_differ_in_what_they_were_given_differ(way: str, tmp_path: Path) -> None:
    def made(c: float) -> Any:
        def constant(t: Any, c: float = c) -> Any:
            return c + 0.0 * t

        epsilon = constant if way == "default" else functools.partial(_scaled, c)
        return banditsrl.EpsilonGreedy(np.ones((2, 2, 1)), epsilon=epsilon)

    policy = made(0.1)
    banditsrl.save_state(tmp_path / "state", policy, policy.init(KEY))
    assert banditsrl.load_state(tmp_path / "state", made(0.1))
    with pytest.raises(StateFileError, match="epsilon is not the same"):
        banditsrl.load_state(tmp_path / "state", made(0.9))


def _scaled(c: float, t: Any) -> Any:
    return c + 0.0 * t


def test_where_nothing_can_be_written_is_said(saved: tuple[Path, Any, Any]) -> None:
    path, policy, state = saved
    with pytest.raises(StateFileError, match=r"cannot be written \(Is a directory\)"):
        banditsrl.save_state(path.parent, policy, state)
    assert not list(path.parent.parent.glob("*.partial"))
