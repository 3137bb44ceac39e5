"""Which policy is judged by a log? A target: probabilities of the actions in every logged round.

Estimators need nothing else, so many things can be judged: even play, one action in all rounds, the
logging policy itself, a policy with a state (`policy_targets`), a policy that learned from other
rounds of the same log (`learned_targets`), and a model version of a loop (`loop_targets`). A target
does not learn from the rows on which it is judged. For policies that do, see `rejection_replay`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument
from banditsrl.evaluation.learned_targets import learn_target
from banditsrl.evaluation.loop_targets import open_version
from banditsrl.evaluation.policy_targets import load_agent_target
from banditsrl.evaluation.policy_words import read_policy
from banditsrl.logs.log import Log, LogBatch, LogSchema
from banditsrl.registry import Registry


class Target(Protocol):
    """A policy that is judged by a log."""

    @property
    def name(self) -> str:
        """What the target is called in tables and messages."""

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the probability of every action in every round, (n, A).

        Rows sum to one, and an action that is not available has probability zero.
        """


class UniformTarget:
    """Every available action is equally likely."""

    def __init__(self, n_actions: int) -> None:
        self.name, self._n_actions = "uniform", count("n_actions", n_actions)

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return equal probability on the available actions, (n, A)."""
        return _even(offered_actions(batch, self._n_actions))


class ConstantTarget:
    """One action is played in all rounds; where it is not available, play is even.

    Args:
        action: Index of the action.
        n_actions: Number of actions A.
        name: Name of the target; "always:" and the index by default.
    """

    def __init__(self, action: int, n_actions: int, *, name: str | None = None) -> None:
        if count("action", action, 0) >= count("n_actions", n_actions):
            raise InvalidArgument(f"action must be an index below {n_actions}, got {action}.")
        self.name = f"always:{action}" if name is None else name
        self._action, self._n_actions = action, n_actions

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return probability one on the action, (n, A)."""
        offered = offered_actions(batch, self._n_actions)
        chosen = np.zeros_like(offered)
        chosen[:, self._action] = True
        chosen = np.where(offered[:, [self._action]], chosen, offered)
        return _even(chosen)


class LoggedTarget:
    """The policy that made the log, which must contain the probability of every action."""

    def __init__(self) -> None:
        self.name = "logged"

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the logged probabilities, (n, A)."""
        if batch.pmf is None:
            raise InvalidArgument(
                "target 'logged' must have the probability of every action in the log, got only "
                "that of the action which was played."
            )
        return batch.pmf


def offered_actions(batch: LogBatch, n_actions: int) -> NDArray[np.bool_]:
    """Return which actions were available in each round, (n, A)."""
    if batch.available is None:
        return np.ones((len(batch.rows), n_actions), dtype=bool)
    return batch.available


def _even(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return equal probability on every True of each row, (n, A)."""
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))


class TargetSource(NamedTuple):
    """What a target may be made from."""

    log: Log
    store: str | None
    loop: str | None
    seed: int
    progress: bool


def make_target(
    words: str,
    log: Log,
    *,
    store: str | None = None,
    loop: str | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Target:
    """Return the target that a text describes.

    Args:
        words: One of

            - ``uniform``: every available action is equally likely;
            - ``always:ACTION``: the action of this name in all rounds;
            - ``logged``: the logging policy, if the log has the probabilities of all actions;
            - ``learned:POLICY``: the policy after it has learned from the other folds of the log;
              it plays the action that it predicts to be best (see `learn_target`);
            - ``state:POLICY:FILE``: the policy in the state that `Agent.save` wrote to the file;
            - ``version:N``: model version N of a loop.

            Settings of a policy follow its name: ``learned:linucb-disjoint,ucb_scale=0.2``.
        log: The log on which the target will be judged.
        store: Path or URL of the store that has the model versions; by default the file that the
            log was read from.
        loop: Name of the loop in that store, if it has several.
        seed: Seed of what the target draws while it learns.
        progress: Whether to say on stderr how far a target has learned.
    """
    kind, _, rest = str(words).partition(":")
    return TARGET_KINDS[kind](rest, TargetSource(log, store, loop, seed, progress))


TargetMaker = Callable[[str, TargetSource], Target]

TARGET_KINDS: Registry[TargetMaker] = Registry("target")


@TARGET_KINDS.named("uniform")
def _make_uniform(rest: str, source: TargetSource) -> Target:
    _refuse_more("uniform", rest)
    return UniformTarget(source.log.schema.n_actions)


@TARGET_KINDS.named("always")
def _make_constant(rest: str, source: TargetSource) -> Target:
    index = _find_action(rest, source.log.schema)
    return ConstantTarget(index, source.log.schema.n_actions, name=f"always:{rest}")


@TARGET_KINDS.named("logged")
def _make_logged(rest: str, source: TargetSource) -> Target:
    del source
    _refuse_more("logged", rest)
    return LoggedTarget()


@TARGET_KINDS.named("learned")
def _make_learned(rest: str, source: TargetSource) -> Target:
    options: dict[str, Any] = {"seed": source.seed, "progress": source.progress}
    policy = read_policy(rest, source.log.schema)
    return learn_target(policy, source.log, name=f"learned:{rest}", **options)


@TARGET_KINDS.named("state")
def _make_saved(rest: str, source: TargetSource) -> Target:
    policy, _, path = rest.partition(":")
    if not path:
        raise InvalidArgument(f"target 'state' must be state:POLICY:FILE, got 'state:{rest}'.")
    built = read_policy(policy, source.log.schema)
    sizes = {"n_actions": source.log.schema.n_actions, "seed": source.seed}
    return load_agent_target(path, built, name=f"state:{rest}", **sizes)


@TARGET_KINDS.named("version")
def _make_version(rest: str, source: TargetSource) -> Target:
    if not rest.isdecimal():
        raise InvalidArgument(f"target 'version' must be version:N, got 'version:{rest}'.")
    url, loop = source.log.store or (None, None)
    if source.store is None and url is None:
        raise InvalidArgument(
            f"target 'version:{rest}' must come with the store of a loop as its log, got "
            f"{source.log.name}."
        )
    return open_version(
        source.store or str(url),
        int(rest),
        loop=source.loop or loop,
        n_actions=source.log.schema.n_actions,
        seed=source.seed,
    )


def _refuse_more(kind: str, rest: str) -> None:
    if rest:
        raise InvalidArgument(f"target {kind!r} must stand alone, got '{kind}:{rest}'.")


def _find_action(name: str, schema: LogSchema) -> int:
    """Return the index of an action by its name; an unknown name is refused."""
    known: Registry[int] = Registry("action in the log")
    for index, action in enumerate(schema.actions):
        known.add(action, index)
    return known[name]
