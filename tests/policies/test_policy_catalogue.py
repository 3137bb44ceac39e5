"""Policies by name: which part does a setting reach, and which names are special cases?"""

from typing import Any

import equinox as eqx
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.policies import POLICIES
from banditsrl.problems import TableProblem

NETWORKED = [
    "nn-banditsrl-linucb", "nn-banditsrl-lints", "nn-banditsrl-egreedy", "nn-banditsrl-igw",
    "neural-linucb", "neural-lints", "neural-egreedy", "igw-nn", "igw-ref", "neuralucb",
]  # fmt: skip
FOURIER = ["rff-linucb", "rff-egreedy"]


@pytest.fixture(scope="module")
def problems() -> dict[str, Any]:
    """Contexts by index with features, by index with columns, and by vector; five actions each."""
    rng = np.random.default_rng(0)
    columns, labels = rng.normal(size=(10, 2)), np.arange(10) % 5
    return {
        "wheel": banditsrl.make_problem("wheel", n_contexts=10),
        "table": TableProblem(columns, labels),
        "fresh": banditsrl.make_problem("wheel", n_contexts=None),
    }


@pytest.fixture(scope="module")
def wheel(problems: dict[str, Any]) -> banditsrl.FiniteProblem:
    return problems["wheel"]


def small(name: str, problem: Any, **settings: Any) -> Any:
    sizes: dict[str, Any] = {"rff_dim": 4} if name in FOURIER else {"layers": (8, 4)}
    if name.endswith("lints"):
        sizes["draws"] = 5
    return banditsrl.make_policy(name, problem, **{**sizes, **settings})


@pytest.mark.parametrize(("name", "kind"), [("nn-banditsrl-egreedy", "table"), ("igw-nn", "fresh")])
def test_the_contract_is_kept_with_every_kind_of_context(
    name: str, kind: str, problems: dict[str, Any]
) -> None:
    """Rows of a table and vectors; every name, with features by index, is in `test_contract`."""
    policy = small(name, problems[kind])
    assert len(banditsrl.check_policy(policy, problems[kind])) == 9


@pytest.mark.parametrize("name", NETWORKED + FOURIER)
def test_the_pmf_is_exact_except_for_thompson_sampling(
    name: str, wheel: banditsrl.FiniteProblem
) -> None:
    assert small(name, wheel).pmf_draws == (5 if name.endswith("lints") else 0)


def test_all_names_are_registered() -> None:
    assert set(NETWORKED + FOURIER) <= set(POLICIES)


# Settings.


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        (
            "nn-banditsrl-linucb",
            "learn_rate",
            "of NNBanditSRL named .*; did you mean 'learning_rate'",
        ),
        ("nn-banditsrl-linucb", "layer", "of NNBanditSRL named 'layer'; did you mean 'layers'"),
        ("nn-banditsrl-linucb", "epsilon", "of NNBanditSRL named 'epsilon'"),
        ("nn-banditsrl-egreedy", "ucb_scale", "of NNBanditSRL named 'ucb_scale'"),
        ("neuralucb", "glrt_scale", "of NeuralUCB named 'glrt_scale'"),
        ("neuralucb", "ucbscale", "of NeuralUCB named 'ucbscale'; did you mean 'ucb_scale'"),
        ("rff-linucb", "layers", "of LinUCB named 'layers'"),
        ("rff-egreedy", "epsilons", "of EpsilonGreedy named .*; did you mean 'epsilon'"),
        ("linucb", "batch", "of LinUCB named 'batch'"),
    ],
)
def test_an_unknown_setting_is_refused(
    name: str, setting: str, message: str, wheel: banditsrl.FiniteProblem
) -> None:
    with pytest.raises(UnknownName, match=f"There is no setting {message}"):
        banditsrl.make_policy(name, wheel, **{setting: 1})


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("neural-linucb", ["loss", "glrt_scale"]),
        ("neural-lints", ["loss", "glrt_scale"]),
        ("neural-egreedy", ["loss", "glrt_scale"]),
        ("igw-nn", ["loss", "glrt_scale", "refit"]),
        ("igw-ref", ["loss", "glrt_scale", "refit"]),
        ("neuralucb", ["loss"]),
    ],
)
def test_settings_that_define_a_special_case_cannot_be_changed(
    name: str, fixed: list[str], wheel: banditsrl.FiniteProblem
) -> None:
    for setting in fixed:
        with pytest.raises(UnknownName, match=f"There is no setting of .* named '{setting}'"):
            banditsrl.make_policy(name, wheel, **{setting: 1.0})


OFF: dict[str, Any] = {"loss": "none", "glrt_scale": None, "held_out": False}


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize(
    ("special", "general", "switches"),
    [
        ("neural-linucb", "nn-banditsrl-linucb", OFF),
        ("neural-lints", "nn-banditsrl-lints", OFF),
        ("neural-egreedy", "nn-banditsrl-egreedy", OFF),
        ("igw-nn", "nn-banditsrl-igw", {**OFF, "refit": "none"}),
        ("igw-ref", "nn-banditsrl-igw", {**OFF, "refit": "ridge"}),
    ],
)
def test_special_cases_are_the_general_policy_with_switches_off(
    special: str, general: str, switches: Any, preset: str, wheel: banditsrl.FiniteProblem
) -> None:
    """The same object with all its settings; `test_nn_banditsrl_runs` compares a run."""
    one = banditsrl.make_policy(special, wheel, preset=preset, layers=(8, 4))
    other = banditsrl.make_policy(general, wheel, preset=preset, layers=(8, 4), **switches)
    assert eqx.tree_equal(one, other)
    assert one.training.loss == "none"
    assert one.glrt_scale is None


def test_neuralucb_takes_its_own_settings(wheel: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.make_policy(
        "neuralucb", wheel, preset="paper", layers=(8, 4), ucb_scale=0.3, lam=2.0, gamma=1.4
    )
    assert (policy.ucb_scale, policy.lam, policy.gamma) == (0.3, 2.0, 1.4)
    assert policy.training == banditsrl.Training(loss="none")
    assert policy.network.dim == 4


def test_fourier_features_are_set_by_name(wheel: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.make_policy("rff-linucb", wheel, rff_dim=6, rff_seed=2, ucb_scale=0.5)
    features = banditsrl.Fourier(wheel.representations[0], dim=6, seed=2)
    assert np.array_equal(policy.representation.embed(3), features.embed(3))
    assert (policy.ucb_scale, policy.sigma) == (0.5, 0.2)
    assert banditsrl.make_policy("rff-egreedy", wheel).representation.dim == 100


def test_inputs_are_picked_by_number(wheel: banditsrl.FiniteProblem) -> None:
    vardim = banditsrl.make_problem("vardim-realizable")
    policy = banditsrl.make_policy("neuralucb", vardim, representation=1)
    assert policy.network.inputs.dim == vardim.representations[1].dim
    for name in ("igw-nn", "neuralucb", "rff-linucb"):
        with pytest.raises(InvalidArgument, match="representation must be below 1, got 1"):
            banditsrl.make_policy(name, wheel, representation=1)


def test_the_noise_level_is_the_problem_s_unless_given(problems: dict[str, Any]) -> None:
    levels = {
        kind: small("nn-banditsrl-igw", problem).effective.sigma
        for kind, problem in problems.items()
    }
    assert levels == {"wheel": 0.2, "table": 0.5, "fresh": 0.2}
    quiet = banditsrl.make_problem("wheel", n_contexts=10, noise_std=0.0)
    assert small("nn-banditsrl-igw", quiet).effective.sigma is None
    assert small("nn-banditsrl-igw", problems["wheel"], sigma=0.9).effective.sigma == 0.9


def test_bases_get_their_settings(wheel: banditsrl.FiniteProblem) -> None:
    igw = small("igw-ref", wheel, gamma1=50.0, gamma2=0.5, gamma=1.3)
    assert (igw.base.gamma1, igw.base.gamma2, igw.gamma) == (50.0, 0.5, 1.3)
    lints = small("neural-lints", wheel, ts_scale=0.2, draws=9)
    assert (lints.base.ts_scale, lints.pmf_draws) == (0.2, 9)
    assert small("neural-linucb", wheel, ucb_scale=0.1).base.ucb_scale == 0.1
