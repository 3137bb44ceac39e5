"""TreeEGreedy: play greedily on boosted trees, but at random with a probability that shrinks.

The trees predict the reward of every action (`representations.trees`). They are fitted anew at the
end of each phase, and nothing is learned within a phase.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, check_action, check_mask, check_reward
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.history import History
from banditsrl.core.policy import Choice
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.egreedy import Epsilon, check_epsilon, exploration_rate
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.representations.trees import TreeWeights
from banditsrl.selection.tree_learner import TreeLearner


class TreeEGreedyState(NamedTuple):
    """State of TreeEGreedy."""

    weights: TreeWeights
    n: Array  # () rounds so far


class TreeEGreedy(FittedPolicy[TreeEGreedyState]):
    """Explore uniformly with probability epsilon_t, else play the best action by the trees.

    A decision costs T D comparisons. A fit costs about the number of trees times the depth times
    `n_rows_of_tree` times `n_questions` additions.

    Args:
        tree_learner: The trees, and the columns that they split.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> policy = banditsrl.make_policy("tree-egreedy", problem, n_trees=20)
        >>> result = banditsrl.simulate(problem, policy, horizon=600, seeds=1)
        >>> bool(result.mean[-1] < 100)  # playing at random costs about 150
        True
    """

    tree_learner: TreeLearner
    _: KW_ONLY
    epsilon: Epsilon = setting(
        "t^-1/2", "Probability of a random action: t^-1/3, t^-1/2, a constant, or a function of t."
    )
    gamma: float = setting(1.2, "A phase ends when the number of rounds has grown by this factor.")

    def __check_init__(self) -> None:
        check_epsilon(self.epsilon)
        above("gamma", self.gamma, 1.0)

    @in_float64
    def init(self, key: Array) -> TreeEGreedyState:
        """Return trees that predict 0."""
        del key
        return TreeEGreedyState(self.tree_learner.trees.init(), jnp.zeros((), dtype=jnp.float64))

    @in_float64
    def act(
        self, state: TreeEGreedyState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Draw from 1 - epsilon on the greedy actions, and epsilon on all available ones."""
        available = check_mask(mask, self.tree_learner.trees.n_actions)
        values = self.tree_learner.predict(state.weights, context)
        epsilon = exploration_rate(self.epsilon, state.n + 1.0)
        greedy = uniform_over(maximisers(jnp.where(available, values, -jnp.inf)))
        pmf = (1.0 - epsilon) * greedy + epsilon * uniform_over(available)
        return Choice.without_test(draw_action(pmf, uniform_from_key(key)), pmf)

    @in_float64
    def learn(
        self,
        state: TreeEGreedyState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> TreeEGreedyState:
        """Count the round; the trees learn from the history at the end of the phase."""
        del context, certified
        check_action(action, self.tree_learner.trees.n_actions)
        check_reward(reward)
        return state._replace(n=state.n + 1.0)

    @in_float64
    def refresh(self, state: TreeEGreedyState, history: History, key: Array) -> TreeEGreedyState:
        """Fit the trees to all rounds."""
        return state._replace(weights=self.tree_learner.fit(key, history))

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the trees, against which contexts are checked."""
        return (self.tree_learner.columns.inputs,)
