"""What can a policy from outside do? An adapter that asks the object for every optional member."""

import inspect
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy, RegretBound, State
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import ContractViolation


class OutsidePolicy(Policy[State]):
    """A policy around an outside object.

    The object has `init`, `act` and `learn`; it may also have `refresh`, `report`, `phase_growth`,
    `uses_history` (true by default if it has phases), `longest_phase`, `watch`, `predict`,
    `challengers` with `n_challengers`, `n_actions`, `embeddings`, `pmf_draws`, `seeds_at_once`,
    `worst_case_regret` and `replays`, with the meaning they have in `Policy`. Its `learn` is given
    whether a round was certified if it has a parameter `certified`.
    """

    inner: Any

    def init(self, key: Array) -> State:
        """Return the object's state before the first round."""
        return self.inner.init(key)

    def act(self, state: State, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Return the object's choice."""
        choice = self.inner.act(state, context, mask, key)
        if not isinstance(choice, Choice):
            raise ContractViolation(
                f"{self.display_name}.act must return a banditsrl.Choice, got "
                f"{type(choice).__name__}."
            )
        check_choice_form(self.display_name, choice.action, choice.pmf, mask)
        return choice

    def learn(
        self,
        state: State,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> State:
        """Return the object's state after a reward."""
        if "certified" in inspect.signature(self.inner.learn).parameters:
            return self.inner.learn(state, context, action, reward, certified=certified)
        return self.inner.learn(state, context, action, reward)

    @property
    def watches(self) -> bool:
        """Whether the object has a method `watch`."""
        return hasattr(self.inner, "watch")

    def watch(self, state: State, context: Context, choice: Choice, reward: ArrayLike) -> State:
        """Return the object's state after seeing a whole choice."""
        return self.inner.watch(state, context, choice, reward) if self.watches else state

    def predict(self, state: State, context: Context) -> Array | None:
        """Return what the object predicts, if it predicts."""
        predict = getattr(self.inner, "predict", None)
        return None if predict is None else predict(state, context)

    @property
    def n_challengers(self) -> int:
        """The object's number of challengers; zero by default."""
        return int(getattr(self.inner, "n_challengers", 0))

    def challengers(self, state: State, context: Context) -> Array:
        """Return the object's challengers, if it has any."""
        if not self.n_challengers:
            return super().challengers(state, context)
        return jnp.asarray(self.inner.challengers(state, context), dtype=jnp.int32)

    def refresh(self, state: State, history: History, key: Array) -> State:
        """Return the object's state at the start of the next phase."""
        refresh = getattr(self.inner, "refresh", None)
        return state if refresh is None else refresh(state, history, key)

    @property
    def phase_growth(self) -> float | None:
        """Gamma of the object's phases."""
        return getattr(self.inner, "phase_growth", None)

    @property
    def longest_phase(self) -> int | None:
        """The object's longest phase, if it says."""
        return getattr(self.inner, "longest_phase", None)

    @property
    def uses_history(self) -> bool:
        """Whether the object reads the history: if it has phases, unless it says no."""
        return self.phase_growth is not None and bool(getattr(self.inner, "uses_history", True))

    def report(self, state: State) -> dict[str, Array]:
        """Return what the object reports."""
        report = getattr(self.inner, "report", None)
        return {} if report is None else report(state)

    @property
    def n_actions(self) -> int | None:
        """The object's number of actions, if it says."""
        return getattr(self.inner, "n_actions", super().n_actions)

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The object's representations, if it says."""
        return tuple(getattr(self.inner, "embeddings", ()))

    @property
    def display_name(self) -> str:
        """The name of the object's class."""
        return type(self.inner).__name__

    @property
    def pmf_draws(self) -> int:
        """The object's number of Monte-Carlo draws; zero by default."""
        return int(getattr(self.inner, "pmf_draws", 0))

    @property
    def seeds_at_once(self) -> int | None:
        """How many seeds of the object run side by side, if it says."""
        return getattr(self.inner, "seeds_at_once", None)

    @property
    def worst_case_regret(self) -> RegretBound | None:
        """The object's regret bound, if it has one."""
        return getattr(self.inner, "worst_case_regret", None)

    @property
    def replays(self) -> bool:
        """Whether the object learns all past rounds when a new phase begins; no by default."""
        return bool(getattr(self.inner, "replays", False))


def check_choice_form(name: str, action: Any, pmf: Any, mask: Any) -> None:
    """Refuse a choice of several actions, or a distribution over another number of them.

    Shapes and types are known while a program is compiled, so this costs nothing when it runs.
    Without the check some wrong ones would be made to fit in silence.
    """
    if jnp.shape(action) != ():
        raise ContractViolation(
            f"{name} must choose one integer action, got an array of shape {jnp.shape(action)}."
        )
    if not jnp.issubdtype(jnp.result_type(action), jnp.integer):
        raise ContractViolation(
            f"{name} must choose an integer action, got {jnp.result_type(action)}."
        )
    if mask is not None and jnp.shape(pmf) != jnp.shape(mask):
        raise ContractViolation(
            f"{name} must return a pmf of shape {jnp.shape(mask)}, got {jnp.shape(pmf)}."
        )
