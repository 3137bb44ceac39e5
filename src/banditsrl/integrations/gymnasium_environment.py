"""How is a one-step environment of Gymnasium simulated? From rounds that are recorded with seeds.

A round is `reset` and one `step`, after which the episode must be over. To learn what the other
actions would have earned, the environment is reset with the same seed for every action, and must
show the same observation again. Recording n rounds therefore takes n episodes per action.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidProblem
from banditsrl.integrations.recorded_problem import RecordedProblem


def record_gymnasium_environment(
    environment: Any, *, n_rounds: int = 1000, seed: int = 0, name: str | None = None
) -> RecordedProblem:
    """Play every action of every round, and return the rounds as a problem.

    Observations become vectors by `gymnasium.spaces.flatten`; the actions must be `Discrete`.

    Args:
        environment: An environment whose episodes are over after one step.
        n_rounds: Number of rounds to record.
        seed: Seed of the first round; rounds have consecutive seeds.
        name: Name in tables and figures; that of the environment's class by default.
    """
    from gymnasium import spaces  # noqa: PLC0415 - an extra

    if not isinstance(environment.action_space, spaces.Discrete):
        raise InvalidArgument(
            f"environment must have a Discrete action space, got {environment.action_space}."
        )
    first = count("seed", seed, 0)
    contexts, rewards = [], []
    for round_seed in range(first, first + count("n_rounds", n_rounds)):
        context, earned = _play_round(environment, round_seed)
        contexts.append(context)
        rewards.append(earned)
    return RecordedProblem(
        np.stack(contexts), rewards, name=name or type(environment.unwrapped).__name__
    )


def _play_round(environment: Any, seed: int) -> tuple[NDArray[np.float64], list[float]]:
    """Return the vector of a round, and the reward of every action in it."""
    space, first = environment.action_space, None
    earned = []
    for action in range(int(space.start), int(space.start + space.n)):
        context = _reset(environment, seed)
        if first is not None and not np.array_equal(first, context):
            raise InvalidProblem(
                "environment must show the same observation when it is reset with the same seed, "
                f"got a different one with seed {seed}."
            )
        first = context
        _, reward, terminated, truncated, _ = environment.step(action)
        if not (terminated or truncated):
            raise InvalidProblem(
                "environment must end after one step, got an episode that goes on "
                f"with seed {seed}."
            )
        earned.append(float(reward))
    return context, earned


def _reset(environment: Any, seed: int) -> NDArray[np.float64]:
    """Return the first observation of an episode as a vector."""
    from gymnasium import spaces  # noqa: PLC0415 - an extra

    observation, _ = environment.reset(seed=seed)
    flat = spaces.flatten(environment.observation_space, observation)
    return np.asarray(flat, dtype=np.float64).ravel()
