"""Does a policy from outside that fails get a sentence about itself, and not about tracers?"""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import banditsrl
from banditsrl.errors import ContractViolation


class Fair:
    """Uniform play; children break one rule each."""

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        return banditsrl.Choice.without_test(action, mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1.0}


class Forgets(Fair):
    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return None


class Tuple(Fair):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Any:
        return 0, mask / mask.sum()


class Everything(Fair):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return super().act(state, context, mask, key)._replace(action=jnp.arange(len(mask)))


class Fraction(Fair):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return super().act(state, context, mask, key)._replace(action=jnp.asarray(0.5))


class Short(Fair):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return super().act(state, context, mask, key)._replace(pmf=jnp.ones(2) / 2)


class Wide(banditsrl.LinearPolicy):
    """A linear base whose distribution has the wrong shape."""

    def pmf(self, view: banditsrl.View) -> Any:
        return jnp.ones(3) / 3


RULES = [
    (Forgets(), "Forgets must return from learn a state of the structure"),
    (Tuple(), r"Tuple.act must return a banditsrl.Choice, got tuple"),
    (Fraction(), "Fraction must choose an integer action, got float"),
    (Everything(), r"Everything must choose one integer action, got an array of shape \(5,\)"),
]

WIDE = r"Wide must return a pmf of shape \(5,\), got \(3,\)"


@pytest.mark.parametrize(("policy", "message"), RULES)
def test_alone_it_is_named(policy: Any, message: str, three: banditsrl.FiniteProblem) -> None:
    with pytest.raises(ContractViolation, match=message):
        banditsrl.simulate(three, policy, horizon=10, seeds=1)


@pytest.mark.parametrize(
    ("base", "message"),
    [*RULES, (Short(), r"Short must return a pmf of shape \(5,\), got \(2,\)"), (Wide(), WIDE)],
)
def test_as_a_base_it_is_named_and_not_the_policy_around_it(
    base: Any, message: str, three: banditsrl.FiniteProblem
) -> None:
    policy = banditsrl.BanditSRL(three.representations, base=base, sigma=0.3)
    with pytest.raises(ContractViolation, match=message) as caught:
        banditsrl.simulate(three, policy, horizon=10, seeds=1)
    assert "Tracer" not in str(caught.value)


def test_an_error_of_a_policy_that_keeps_the_contract_stays_what_it_is(
    three: banditsrl.FiniteProblem,
) -> None:
    def stop(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        banditsrl.simulate(three, Fair(), horizon=10, seeds=1, progress=stop)


class Worse(Fair):
    """Plays what is not available, and never the same."""

    calls = 0

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        self.calls += 1
        fair = super().act(state, context, mask, key)
        return fair._replace(action=jnp.asarray(self.calls % 5), pmf=mask * 1.0)


def test_all_defects_are_listed_at_once(three: banditsrl.FiniteProblem) -> None:
    with pytest.raises(ContractViolation) as caught:
        banditsrl.check_policy(Worse(), three)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"Worse breaks the contract in {len(lines) - 1} ways:"
    assert [line.removeprefix("- ") for line in lines[1:]] == list(caught.value.defects)
    assert lines[1].startswith("- Worse must make the same choice with the same key")
    assert any("pmf that sums to one" in line for line in lines)
    assert any("must play the only available action" in line for line in lines)


class Outside(Fair):
    """Plays an action that does not exist, with a pmf that does not sum to one."""

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        fair = super().act(state, context, mask, key)
        return fair._replace(action=jnp.asarray(7), pmf=mask * 1.0)


class Both(Short):
    """The wrong shape of a pmf, and a state of another structure."""

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return None


@pytest.mark.parametrize("policy", [Outside(), Both()], ids=["in the end", "at once"])
def test_a_simulation_lists_the_defects_that_the_check_lists(
    policy: Any, three: banditsrl.FiniteProblem
) -> None:
    with pytest.raises(ContractViolation) as checked:
        banditsrl.check_policy(policy, three)
    with pytest.raises(ContractViolation) as simulated:
        banditsrl.simulate(three, policy, horizon=10, seeds=1)
    assert len(checked.value.defects) > 1
    assert simulated.value.defects == checked.value.defects


def test_all_missing_methods_are_listed_at_once(three: banditsrl.FiniteProblem) -> None:
    with pytest.raises(ContractViolation) as caught:
        banditsrl.check_policy(object(), three)  # type: ignore[arg-type]
    assert caught.value.defects == tuple(
        f"object must have a method {name}." for name in ("init", "act", "learn")
    )
