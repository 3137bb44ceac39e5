"""How is an environment of coba simulated here? From a bounded number of recorded interactions.

    from coba import Environments
    environments = Environments.from_neighbors_synthetic(5000, n_action_features=0)
    problem = record_coba_environment(environments[0])
    banditsrl.simulate(problem, banditsrl.make_policy("banditsrl-auto", problem), horizon=5000)

An interaction must hold the reward of every action that it offers, as in simulations and in
supervised data; a log, which has one reward per round, is refused. coba itself prepares the
interactions as it does for its learners, and actions and contexts are read as by `CobaLearner`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.integrations.action_table import ActionTable
from banditsrl.integrations.coba_values import is_batch, read_levels
from banditsrl.integrations.column_table import ColumnTable
from banditsrl.integrations.recorded_problem import RecordedProblem


def record_coba_environment(
    environment: Any,
    *,
    n_rounds: int = 10_000,
    actions: Sequence[Any] | None = None,
    n_actions: int | None = None,
    n_columns: int | None = None,
    name: str | None = None,
) -> RecordedProblem:
    """Read the first interactions of an environment, and return them as a problem.

    Args:
        environment: One environment of coba, such as the first one of an `Environments`.
        n_rounds: Most interactions to read.
        actions: The actions, if they are known beforehand.
        n_actions: Most actions that there will be. None means those of `actions`, or of the first
            interaction.
        n_columns: Most columns that contexts need; it must be given where contexts hold words
            without levels, or are dictionaries.
        name: Name in tables and figures; that of the environment by default.
    """
    table = ActionTable(actions, n_actions=n_actions)
    columns = ColumnTable(n_columns, levels=read_levels)
    vectors, found = [], []
    for i, interaction in enumerate(_read(environment, count("n_rounds", n_rounds))):
        _check(interaction, i)
        indices = table.find(interaction["actions"])
        vectors.append(columns.encode(interaction["context"]))
        found.append((indices, _list_rewards(interaction)))
    if not found:
        raise InvalidProblem("environment must have at least one interaction, got none.")
    rewards = np.zeros((len(found), table.n_actions or 0))
    available = np.zeros(rewards.shape, dtype=bool)
    for i, (indices, earned) in enumerate(found):
        rewards[i, indices], available[i, indices] = earned, True
    return RecordedProblem(
        np.stack(vectors), rewards, available=available, name=name or str(environment)
    )


def _read(environment: Any, n: int) -> Iterator[Mapping[str, Any]]:
    """Yield the first n interactions, prepared by coba: nothing lazy, and words as codes."""
    try:
        from coba.environments import Environments, Finalize  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise InvalidArgument(
            "environment must come from coba, which needs the package coba: "
            "pip install 'banditsrl[coba]'."
        ) from error
    if isinstance(environment, Environments):
        raise InvalidType(
            "environment must be one environment, such as environments[0], got "
            f"{len(environment)} together."
        )
    yield from Finalize().filter(islice(environment.read(), n))


def _check(interaction: Mapping[str, Any], i: int) -> None:
    """Refuse an interaction that lacks something, or is a batch of several."""
    for part in ("context", "actions", "rewards"):
        if part not in interaction:
            raise InvalidProblem(
                f"environment must give context, actions and rewards, got no {part} in "
                f"interaction {i}."
            )
    if not interaction["actions"]:
        raise InvalidProblem(
            f"environment must offer a list of actions, got {interaction['actions']!r} in "
            f"interaction {i}."
        )
    if is_batch(interaction["actions"]):
        raise InvalidType("environment must give one round per interaction, got a batch.")


def _list_rewards(interaction: Mapping[str, Any]) -> list[float]:
    """Return the rewards of the actions that an interaction offers, in their order."""
    rewards: Sequence[float] | Callable[[Any], float] = interaction["rewards"]
    if not callable(rewards):
        return [float(reward) for reward in rewards]
    return [float(rewards(action)) for action in interaction["actions"]]
