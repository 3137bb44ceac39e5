"""Are the presets the paper's table and ours, and does a setting by name override them?"""

import equinox as eqx
import pytest

import banditsrl
from banditsrl.errors import UnknownName
from banditsrl.policies.presets import PRESETS
from banditsrl.problems import TableProblem

PAPER = {
    "layers": (50, 50, 50, 50, 10), "activation": "relu", "gamma": 1.2, "delta": 0.01, "lam": 1.0,
    "glrt_scale": 5.0, "loss": "weak", "loss_weight": 1.0, "optimizer": "sgd",
    "learning_rate": 1e-3, "schedule": "constant", "batch": 128, "passes": 30, "max_updates": None,
    "ucb_scale": 1.0, "epsilon": "t^-1/3",
}  # fmt: skip
"""The paper's table."""


@pytest.fixture(scope="module")
def wheel() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.mark.parametrize("name", ["magic", "shuttle", "wheel", "covertype"])
def test_the_paper_s_preset_is_its_table(name: str) -> None:
    problem = TableProblem([[0.0], [1.0]], [0, 1], name=name)
    rate = 1e-4 if name == "covertype" else 1e-3
    assert PRESETS["paper"](problem) == {**PAPER, "learning_rate": rate}
    policy = banditsrl.make_policy("nn-banditsrl-egreedy", problem, preset="paper")
    assert policy.training == banditsrl.Training(learning_rate=rate)
    assert policy.network.layers == PAPER["layers"]
    assert (policy.gamma, policy.glrt_scale, policy.refit) == (1.2, 5.0, "ridge")
    assert policy.effective == (0.5, 1.0, 0.01, "paper")
    assert policy.base.epsilon == "t^-1/3"


def test_the_default_preset_is_one_for_all_problems_and_used_when_none_is_named(
    wheel: banditsrl.FiniteProblem,
) -> None:
    covertype = TableProblem([[0.0], [1.0]], [0, 1], name="covertype")
    assert PRESETS["default"](covertype) == PRESETS["default"](wheel)
    assert set(PRESETS["default"](wheel)) >= set(PAPER)
    unnamed, named = (
        banditsrl.make_policy("nn-banditsrl-linucb", wheel, **chosen)
        for chosen in ({}, {"preset": "default"})
    )
    assert eqx.tree_equal(unnamed, named)


def test_what_is_set_by_name_overrides_a_preset(wheel: banditsrl.FiniteProblem) -> None:
    for preset in PRESETS:
        policy = banditsrl.make_policy(
            "nn-banditsrl-egreedy", wheel, preset=preset,
            layers=[7, 3], activation="tanh", batch=16, passes=2, learning_rate=0.5,
            optimizer="adam", schedule="cosine", max_updates=9, loss="rayleigh", loss_weight=0.1,
            gamma=1.5, delta=0.2, lam=3.0, sigma=0.7, glrt_scale=2.0, refit="sgd", refit_rate=0.1,
            epsilon=0.3, conventions="authors",
        )  # fmt: skip
        assert (policy.network.layers, policy.network.activation) == ((7, 3), "tanh")
        assert policy.network.dim == 3
        assert policy.training == banditsrl.Training(
            loss="rayleigh", loss_weight=0.1, optimizer="adam", learning_rate=0.5,
            schedule="cosine", batch=16, passes=2, max_updates=9,
        )  # fmt: skip
        assert policy.effective == (0.7, 3.0, 0.2, "authors")
        assert (policy.gamma, policy.glrt_scale) == (1.5, 2.0)
        assert (policy.refit, policy.refit_rate) == ("sgd", 0.1)
        assert policy.base.epsilon == 0.3


def test_an_unknown_preset_is_refused_with_the_nearest(wheel: banditsrl.FiniteProblem) -> None:
    with pytest.raises(UnknownName, match="no preset named 'papers'; did you mean 'paper'"):
        banditsrl.make_policy("nn-banditsrl-igw", wheel, preset="papers")
