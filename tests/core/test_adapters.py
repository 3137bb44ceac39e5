"""Outside objects become policies and problems: every optional member is used, or has a default."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.adapters import (
    PROBLEM_MEMBERS,
    OutsideProblem,
    as_policy,
    as_problem,
    as_progress,
)
from banditsrl.core.outside_policy import OutsidePolicy
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.problem import Problem
from banditsrl.errors import ContractViolation, InvalidType
from banditsrl.representations import Given

KEY = jax.random.key(0)


class Plain:
    """The three methods that an outside policy must have; they show what they were given."""

    def init(self, key: Any) -> Any:
        return ("init", key)

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Any:
        return banditsrl.Choice(state, context, mask, key, "act", "chosen")

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return ("learn", state, context, action, reward)


class Complete(Plain):
    """Every member that an outside policy may have."""

    phase_growth = 1.5
    uses_history = False
    n_actions = 4
    embeddings = (Given(n_actions=4, dim=2),)
    pmf_draws = 17
    seeds_at_once = 3
    replays = True

    def learn(self, state: Any, context: Any, action: Any, reward: Any, certified: Any) -> Any:
        return ("learn", state, context, action, reward, certified)

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        return ("refresh", state, history, key)

    def report(self, state: Any) -> Any:
        return {"seen": state}

    def worst_case_regret(self, horizon: Any, **_: Any) -> Any:
        return 2 * horizon


def test_a_policy_and_a_problem_of_ours_pass_as_they_are(problem: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.Greedy(problem.representations[0])
    assert as_policy(policy) is policy
    assert as_problem(problem) is problem


def test_an_outside_policy_is_asked_through_its_three_methods() -> None:
    policy = as_policy(Plain())
    assert isinstance(policy, Policy)
    assert policy.init(KEY) == ("init", KEY)
    assert policy.act(1, "x", None, KEY) == (1, "x", None, KEY, "act", "chosen", False)
    assert policy.learn("s", "x", 1, 0.5) == ("learn", "s", "x", 1, 0.5)
    assert policy.learn("s", "x", 1, 0.5, True) == ("learn", "s", "x", 1, 0.5)
    assert policy.display_name == "Plain"


def test_what_an_outside_policy_does_not_have_gets_the_default_of_a_policy() -> None:
    policy = as_policy(Plain())
    assert policy.refresh("s", "h", KEY) == "s"
    assert policy.report("s") == {}
    assert policy.phase_growth is None
    assert policy.uses_history is False
    assert policy.n_actions is None
    assert policy.embeddings == ()
    assert policy.largest_norms("s") is None
    assert policy.pmf_draws == 0
    assert policy.seeds_at_once is None
    assert policy.ridge_settings is None
    assert policy.worst_case_regret is None
    assert policy.replays is False


def test_every_optional_member_of_an_outside_policy_is_used() -> None:
    inner = Complete()
    policy = as_policy(inner)
    assert policy.learn("s", "x", 1, 0.5) == ("learn", "s", "x", 1, 0.5, False)
    assert policy.learn("s", "x", 1, 0.5, "yes") == ("learn", "s", "x", 1, 0.5, "yes")
    assert policy.refresh("s", "h", KEY) == ("refresh", "s", "h", KEY)
    assert policy.report("s") == {"seen": "s"}
    assert policy.phase_growth == 1.5
    assert policy.uses_history is False
    assert policy.n_actions == 4
    assert policy.embeddings == inner.embeddings
    assert policy.pmf_draws == 17
    assert policy.seeds_at_once == 3
    assert policy.worst_case_regret is not None
    assert policy.worst_case_regret(21, dim=2) == 42
    assert policy.replays is True


@pytest.mark.parametrize(
    ("growth", "says", "expected"),
    [
        (None, None, False),
        (None, True, False),
        (2.0, None, True),
        (2.0, True, True),
        (2.0, False, False),
    ],
)
def test_an_outside_policy_with_phases_is_given_the_history_unless_it_says_no(
    growth: Any, says: Any, expected: bool
) -> None:
    inner: Any = Plain()
    inner.phase_growth = growth
    if says is not None:
        inner.uses_history = says
    assert as_policy(inner).uses_history is expected


def test_the_number_of_actions_of_an_outside_policy_follows_from_its_embeddings() -> None:
    inner: Any = Plain()
    inner.embeddings = [Given(n_actions=6, dim=2)]
    assert as_policy(inner).embeddings == tuple(inner.embeddings)
    assert as_policy(inner).n_actions == 6
    inner.n_actions = 5
    assert as_policy(inner).n_actions == 5


class Dealer:
    """The members that an outside problem must have."""

    name, n_actions = "dealer", 2

    def contexts(self, key: Any, n: int) -> Any:
        return jax.random.randint(key, (n,), 0, 3)

    def noises(self, key: Any, n: int) -> Any:
        return jax.random.normal(key, (n,))

    def means(self, context: Any) -> Any:
        return [0.0, 1.0]

    def mask(self, context: Any) -> Any:
        return [True, True]

    def reward(self, mean: Any, noise: Any) -> Any:
        return mean + 0.1 * noise


def test_an_outside_problem_deals_and_pays_through_its_methods() -> None:
    inner = Dealer()
    problem = as_problem(inner)
    assert isinstance(problem, Problem)
    assert (problem.name, problem.n_actions) == ("dealer", 2)
    np.testing.assert_array_equal(problem.contexts(KEY, 5), inner.contexts(KEY, 5))
    np.testing.assert_array_equal(problem.noises(KEY, 5), inner.noises(KEY, 5))
    means, mask = problem.means(0), problem.mask(0)
    assert isinstance(means, jax.Array)
    np.testing.assert_array_equal(means, [0.0, 1.0])
    assert isinstance(mask, jax.Array)
    assert mask.dtype == bool
    assert float(problem.reward(1.0, 0.5)) == pytest.approx(1.05)


def test_optional_members_of_an_outside_problem_are_used_or_have_defaults() -> None:
    problem = as_problem(Dealer())
    assert (problem.sigma, problem.representations, problem.n_contexts) == (None, (), None)
    inner: Any = Dealer()
    inner.sigma, inner.n_contexts = 0.1, 3
    inner.representations = [Given(n_actions=2, dim=1)]
    problem = as_problem(inner)
    assert (problem.sigma, problem.n_contexts) == (0.1, 3)
    assert problem.representations == tuple(inner.representations)


class FirstAction:
    """Plays the first available action."""

    def init(self, key: Any) -> Any:
        return jnp.zeros(())

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Choice:
        return Choice.without_test(jnp.argmax(mask), 1.0 * (jnp.arange(2) == jnp.argmax(mask)))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state + reward


def test_an_outside_policy_is_simulated_on_an_outside_problem() -> None:
    result = banditsrl.simulate(Dealer(), FirstAction(), horizon=30, seeds=3)
    assert (result.problem, result.policy) == ("dealer", "FirstAction")
    np.testing.assert_array_equal(result.regret[:, -1], 30.0)
    assert np.abs(np.asarray(result.state)).max() < 0.1 * 5 * np.sqrt(30)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (object(), "policy must have init, act, learn, got object without init, act, learn."),
        ("linucb", "policy must have init, act, learn, got str without init, act, learn."),
        (banditsrl.LinUCB, "policy must be an object, got the class LinUCB itself."),
        (Plain, "policy must be an object, got the class Plain itself."),
    ],
)
def test_what_is_no_policy_is_refused_with_what_is_missing(thing: Any, message: str) -> None:
    with pytest.raises(InvalidType) as refusal:
        as_policy(thing)
    assert str(refusal.value) == message


def test_a_refusal_names_the_argument_and_the_one_method_that_is_missing() -> None:
    class Silent:
        init = learn = Plain.init

    message = "base must have init, act, learn, got Silent without act."
    with pytest.raises(InvalidType) as refusal:
        as_policy(Silent(), "base")
    assert str(refusal.value) == message
    with pytest.raises(InvalidType) as refusal:
        banditsrl.GLRT(Silent(), representation=np.ones((1, 2, 1)))
    assert str(refusal.value) == message


@pytest.mark.parametrize("missing", PROBLEM_MEMBERS)
def test_what_is_no_problem_is_refused_with_what_is_missing(missing: str) -> None:
    members = {name: value for name, value in vars(Dealer).items() if name != missing}
    inner = type("Almost", (), members)()
    with pytest.raises(InvalidType) as refusal:
        as_problem(inner)
    assert str(refusal.value) == (
        "problem must have name, n_actions, contexts, noises, means, mask, reward, "
        f"got Almost without {missing}."
    )


def test_a_class_is_no_problem() -> None:
    with pytest.raises(InvalidType, match="problem must be an object, got the class Dealer itself"):
        as_problem(Dealer)


def test_a_progress_function_is_told_the_regret_if_it_has_a_parameter_for_it() -> None:
    calls: list[tuple[Any, ...]] = []

    def short(done: int, total: int) -> None:
        calls.append((done, total))

    def long(done: int, total: int, regret: float) -> None:
        calls.append((done, total, regret))

    for function in (short, long):
        progress = as_progress(function)
        assert progress is not None
        progress(1, 2, 0.5)
    assert calls == [(1, 2), (1, 2, 0.5)]


def test_no_progress_function_stays_none_and_anything_else_is_refused() -> None:
    assert as_progress(None) is None
    with pytest.raises(InvalidType, match="progress must be True, False or a function, got 3"):
        as_progress(3)  # type: ignore[arg-type]


def test_the_adapters_are_policies_and_problems_that_hold_the_object() -> None:
    inner, dealer = Plain(), Dealer()
    policy, problem = as_policy(inner), as_problem(dealer)
    assert isinstance(policy, OutsidePolicy)
    assert policy.inner is inner
    assert isinstance(problem, OutsideProblem)
    assert problem.inner is dealer
    assert as_policy(policy) is policy
    assert as_problem(problem) is problem


def test_an_outside_policy_that_returns_no_choice_is_refused_by_name() -> None:
    class Bare(Plain):
        def act(self, state: Any, context: Any, mask: Any, key: Any) -> Any:
            return 3

    message = "Bare.act must return a banditsrl.Choice, got int."
    with pytest.raises(ContractViolation) as refusal:
        as_policy(Bare()).act("s", "x", "m", KEY)
    assert str(refusal.value) == message


def test_a_policy_is_made_for_an_outside_problem() -> None:
    class Outside:
        name, n_actions = "outside", 3
        representations = (Given(n_actions=3, dim=2),)
        contexts = noises = means = mask = reward = None

    policy = banditsrl.make_policy("linucb", Outside())
    assert policy.n_actions == 3
    assert policy.sigma is None
