"""A policy has defaults for all but three members, and a choice says whether a test was passed."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.policy import Choice, Policy
from banditsrl.errors import UnknownName


def test_a_policy_without_a_test_is_never_certified() -> None:
    choice = Choice.without_test(jnp.asarray(1), jnp.asarray([0.0, 1.0]))
    assert not choice.certified
    assert np.isnan(choice.glr)
    assert np.isinf(choice.threshold)
    assert int(choice.representation) == 0


class Shortest(Policy[Any]):
    """The three methods that a policy owes, and nothing else."""

    def init(self, key: Any) -> Any:
        return ()

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Choice:
        return Choice.without_test(jnp.argmax(mask), mask / mask.sum())

    def learn(
        self, state: Any, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> Any:
        return state


def test_the_defaults_suit_a_policy_without_phases_history_and_test() -> None:
    policy = Shortest()
    assert policy.refresh("state", "history", jax.random.key(0)) == "state"
    assert policy.phase_growth is None
    assert not policy.uses_history
    assert policy.report("state") == {}
    assert policy.n_actions is None
    assert policy.embeddings == ()
    assert policy.largest_norms("state") is None
    assert policy.seeds_at_once is None
    assert policy.display_name == "Shortest"
    assert policy.pmf_draws == 0
    assert policy.ridge_settings is None
    assert policy.worst_case_regret is None
    assert not policy.replays


def test_the_number_of_actions_is_by_default_that_of_the_first_representation() -> None:
    class Embedded(Shortest):
        @property
        def embeddings(self) -> Any:
            return (banditsrl.representations.Given(n_actions=7, dim=2),)

    assert Embedded().n_actions == 7


def test_a_policy_that_lacks_one_of_the_three_methods_cannot_be_made() -> None:
    class Unfinished(Policy[Any]):
        def init(self, key: Any) -> Any:
            return ()

    with pytest.raises(TypeError, match="act"):
        Unfinished()


def test_importing_changes_no_global_setting() -> None:
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == jnp.float32


def test_problems_and_policies_print_as_one_short_line() -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    dims = "6 candidates of dimension 6, 2, 3, 4, 5, 6"
    assert repr(problem) == f"FiniteProblem('vardim-realizable', 5 actions, 20 contexts, {dims})"
    stream = banditsrl.Stream(n_columns=5, n_actions=4)
    assert repr(stream) == "Stream('stream', 4 actions, 5 columns)"
    policy = banditsrl.LinUCB(problem.representations[1], sigma=0.3)
    assert repr(policy) == "LinUCB(Table of dimension 2, sigma=0.3)"
    around = banditsrl.BanditSRL(problem.representations, base="linucb", loss="weak")
    assert repr(around) == f"BanditSRL({dims}, loss='weak', base=LinUCB)"
    watched = banditsrl.Watched(policy, drift=1e5)
    assert repr(watched) == "Watched(LinUCB(Table of dimension 2, sigma=0.3), drift=100000.0)"


def test_a_base_may_be_given_by_name() -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    named = banditsrl.BanditSRL(problem.representations, base="egreedy")
    assert isinstance(named.base, banditsrl.EpsilonGreedy)
    glrt = banditsrl.GLRT(problem.representations[0], base="linucb")
    assert isinstance(glrt.base, banditsrl.LinUCB)
    with pytest.raises(UnknownName, match="There is no base named 'linucp'; did you mean 'linucb'"):
        banditsrl.BanditSRL(problem.representations, base="linucp")
