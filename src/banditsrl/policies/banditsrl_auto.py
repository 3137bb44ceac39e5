"""BanditSRL over a portfolio: five predictors share the choice, three of them certify.

*Prediction.* The value of an action is the weighted mean of what five predictors say: ridge
regression on the columns alone, on random waves and on random steps of them (`Wide`), boosted trees
(`Trees`), and networks. The weights are those that would have predicted the explored rounds best
(`stacking`).

*Exploration* is optimism: the width of the ridge regressions is added to the value, and a second
width, of an action that was hardly played in rounds nearby (`selection.twin_trees`). Without the
second one, an action that is best in a small region only may never be tried there. Both are
measured in units of the error that the mixture makes on rewards it has not seen, so a policy that
predicts well explores less, whatever part of the rewards it has learned to explain.

*Units.* Rewards count in their own standard deviations, columns in theirs, and the noise level is
the mean squared error of the mixture on rewards that it had not seen. So no scale, shift or unit of
rewards and columns matters.

*Certificates* come from the predictors that need few rounds to be sure: the plain columns, the
trees and the networks, mixed by weights of their own. Of trees and networks there are twins, each
fitted to half of the rounds (`selection.twin_networks`). A round is certified if all of these hold:

- there is a signal at all: the mixture predicts rewards better than their mean does. This is a
  sequential test at level delta, valid at all times (`selection.signal_test`).
- the round is expected to lose little: the action is better than every other available one by so
  much that, given the errors of these gaps, the expected loss is at most `tolerance` times what
  random play loses. The errors are those of the ridge regression, of the twins, whose disagreement
  shows them whatever the model, and of the few rounds nearby in which an action was played
  (`selection.twin_certificate`).
- the mixture of all five prefers the same action, and optimism would play it too.
- the context is familiar: its values, and pairs of them, occurred in the rounds that the predictors
  were fitted to, and have not become much more frequent since (`selection.familiarity`).

If rewards have the same mean everywhere, the first condition gives certificates with a probability
of at most about delta: mean and variance of the rewards are estimated. The others are careful
heuristics: no theorem says that a certified action is the best one. An audit (`Watched`) measures
what certified rounds lose, whatever the model.

*Probes.* A small share of the uncertified rounds tries the rival that contributes most to the
expected loss, rarely at first and more often as the rounds become many (`selection.probes`).
Without them a policy that plays well never becomes sure that the rest is worse.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, at_least, check_action, check_mask, check_reward, probability
from banditsrl.core.actions import draw_best
from banditsrl.core.history import History, Rounds, fold_blocks
from banditsrl.core.policy import Choice
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.policies.wide_ucb import WideState, WideUCB
from banditsrl.representations.trees import TreeWeights
from banditsrl.selection.familiarity import (
    ValueCounts,
    add_fitted,
    add_values,
    count_anew,
    empty_counts,
    is_familiar,
    is_late,
)
from banditsrl.selection.network_learner import NetworkState
from banditsrl.selection.probes import add_probes, probe_rates
from banditsrl.selection.reward_scale import subtract_anchor
from banditsrl.selection.signal_test import SignalTest, add_to_test, empty_test, found_signal
from banditsrl.selection.stacking import MEMORY, Stack, add_errors, empty_stack, fade, fit_weights
from banditsrl.selection.twin_certificate import (
    Errors,
    Opinions,
    TwinCertificate,
    UnseenErrors,
    add_gap_errors,
    empty_errors,
)
from banditsrl.selection.twin_networks import TwinNetworks, split
from banditsrl.selection.twin_trees import TwinTrees, rescale

TRUSTED = 0.5
"""How much a certificate trusts the trees about which rounds are alike; exploration trusts them
fully. They cannot know of a small group of contexts in which an action was hardly played."""

SOME_WEIGHT = 0.1
"""A predictor of at least this weight counts as active in reports."""


class AutoState(NamedTuple):
    """State of the portfolio; its E predictors are the wide embeddings, the trees, the networks."""

    explorer: WideState
    trees: TreeWeights  # of both twins
    networks: NetworkState  # of both twins
    location: Array  # () what the networks' rewards have subtracted, beyond the anchor
    scale: Array  # () what they are divided by; zero while all rewards are equal
    stack: Stack
    weights: Array  # (E,)
    small: Stack  # of the certifying predictors
    small_weights: Array  # (3,)
    errors: Errors
    signal: SignalTest
    has_signal: Array  # ()
    seen: ValueCounts


class BanditSRLAuto(FittedPolicy[AutoState]):
    """A portfolio of ridge regressions, trees and networks that certifies what it is sure of.

    Args:
        explorer: The wide embeddings, and the scale of their width.
        trees: The two sets of boosted trees.
        networks: The two networks and their training; their inputs are the standardised columns.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> policy = banditsrl.make_policy("banditsrl-auto", problem)
        >>> result = banditsrl.simulate(problem, policy, horizon=300, seeds=1)
        >>> bool(result.mean[-1] < 60)  # playing at random costs about 75
        True
    """

    explorer: WideUCB
    trees: TwinTrees
    networks: TwinNetworks
    _: KW_ONLY
    sigma: float | None = setting(None, "Noise level of the rewards; None means estimated.")
    delta: float = setting(
        0.01, "Probability of any certificate if all rewards have the same mean."
    )
    tolerance: float = setting(
        0.005, "Largest expected loss of a certified round, as a share of what random play loses."
    )
    gamma: float = setting(1.2, "A phase ends when the number of rounds has grown by this factor.")
    slack: float = setting(2.0, "Standard errors by which the excess error is enlarged.")
    near_scale: float = setting(
        1.0, "Width of an action that was never played nearby, in units of the noise level."
    )
    probe: float = setting(
        0.01, "Share of uncertified rounds that try the rival which most prevents a certificate."
    )
    certifies: bool = setting(True, "Whether rounds may be certified.")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        at_least("slack", self.slack, 0.0)
        at_least("near_scale", self.near_scale, 0.0)
        probability("delta", self.delta)
        probability("tolerance", self.tolerance)
        if self.probe:
            probability("probe", self.probe)
        counts = [self.explorer.n_actions, self.trees.n_actions, self.networks.n_actions]
        if len(set(counts)) > 1:
            raise InvalidArgument(
                "explorer, trees and networks must have the same number of actions, "
                f"got {counts[0]}, {counts[1]} and {counts[2]}."
            )

    @in_float64
    def init(self, key: Array) -> AutoState:
        """Return empty statistics and fresh weights."""
        stack, small = empty_stack(len(self.explorer.wides) + 2), empty_stack(3)
        weights_key, _ = jax.random.split(key)
        zero = jnp.zeros((), dtype=jnp.float64)
        return AutoState(
            explorer=self.explorer.init(key),
            trees=self.trees.init(),
            networks=self.networks.init(weights_key),
            location=zero,
            scale=zero,
            stack=stack,
            weights=fit_weights(stack),
            small=small,
            small_weights=fit_weights(small),
            errors=empty_errors(),
            signal=empty_test(),
            has_signal=jnp.zeros((), dtype=bool),
            seen=empty_counts(self._n_values),
        )

    @in_float64
    def act(self, state: AutoState, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Play optimistically on the mixture; certify if the conditions hold."""
        opinions = self._consult(state, context)
        available = check_mask(mask, opinions.width.shape[0])
        predicted = jnp.where(available, state.weights @ opinions.values, -jnp.inf)
        action, pmf = draw_best(predicted + opinions.width, key)
        verdict, losses = self._certificate.test(
            opinions, state.small_weights, state.errors, state.scale, available
        )
        agrees = (jnp.argmax(predicted) == verdict.greedy) & (action == verdict.greedy)
        familiar = is_familiar(state.seen, self._locate(state.explorer, context))
        sure = verdict.certified & agrees & familiar & state.has_signal & self.certifies
        final = verdict._replace(certified=sure | (available.sum() == 1))
        if self.probe and self.certifies:
            rates = self._find_probes(state, predicted, losses)
            action, pmf = add_probes(rates, action, pmf, key)
        return final.override(action, pmf, jnp.argmax(state.weights).astype(jnp.int32))

    def _find_probes(self, state: AutoState, predicted: Array, losses: Array) -> Array:
        """Return the probability with which an uncertified round probes each action, (A,)."""
        n_rounds, usual = state.explorer.rewards.n, state.errors.random_loss()
        rates = probe_rates(self.probe, losses, predicted, usual, n_rounds)
        return rates * state.has_signal

    def _consult(self, state: AutoState, context: Context) -> Opinions:
        """Ask every predictor."""
        z = self._standardise(state.explorer, context)
        phi = self.networks.embed(state.networks, self._as_input(z))
        wide, norms = self.explorer.score(state.explorer, context)
        nets = state.location + state.scale * self.networks.predict(state.networks, phi)
        trees = self.trees.predict(state.trees, z.ravel())
        plain = jnp.stack([wide[0], wide[0]])
        late = is_late(state.seen, self._locate(state.explorer, context))
        explored, proven = (
            self.trees.find_scarcity(state.trees, z.ravel(), late, trusted=share)
            for share in (1.0, TRUSTED)
        )
        width = self.explorer.ucb_scale * (state.explorer.weights @ norms)
        width += self.near_scale * jnp.sqrt(explored)
        return Opinions(
            values=jnp.vstack([wide, trees.mean(0), nets.mean(0)]),
            width=_unit_of_width(state.errors, state.explorer.rewards.deviation) * width,
            twins=jnp.stack([plain, trees, nets], axis=1),
            noise=norms[0] ** 2,
            scarcity=proven,
            phi=phi,
        )

    @in_float64
    def learn(
        self,
        state: AutoState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> AutoState:
        """Add the errors of the predictions; the wide embeddings and the networks learn."""
        opinions = self._consult(state, context)
        played = jnp.asarray(check_action(action, opinions.width.shape[0]))
        rewards, y = subtract_anchor(state.explorer.rewards, check_reward(reward))
        errors = opinions.values[:, played] - y  # (E,)
        small = opinions.twins.mean(0)[:, played] - y  # (3,)
        certified = jnp.asarray(certified)
        scaled = jnp.where(state.scale > 0, (y - state.location) / state.scale, 0.0)
        mixture = state.weights @ errors
        return state._replace(
            explorer=self.explorer.learn(state.explorer, context, played, reward, certified),
            networks=self.networks.learn(state.networks, opinions.phi, played, scaled, certified),
            stack=add_errors(state.stack, errors, ~certified),
            small=add_errors(state.small, small, ~certified),
            errors=add_gap_errors(
                state.errors,
                opinions,
                state.small_weights,
                state.weights @ opinions.values,
                UnseenErrors(mixture, state.small_weights @ small),
            ),
            signal=add_to_test(state.signal, mixture + y, y, rewards.mean, rewards.deviation),
            seen=add_values(state.seen, self._locate(state.explorer, context)),
        )

    @in_float64
    def predict(self, state: AutoState, context: Context) -> Array | None:
        """Return the prediction of the mixture for every action."""
        values = self._consult(state, context).values
        return state.explorer.rewards.anchor + state.weights @ values

    @in_float64
    def challengers(self, state: AutoState, context: Context) -> Array:
        """Return the action that each predictor prefers, (E,)."""
        return jnp.argmax(self._consult(state, context).values, axis=1)

    @property
    def n_challengers(self) -> int:
        """Number E of predictors."""
        return len(self.explorer.wides) + 2

    @in_float64
    def refresh(self, state: AutoState, history: History, key: Array) -> AutoState:
        """Fit the weights and the trees, and train the networks."""
        explorer_key, network_key = jax.random.split(key)
        explorer = self.explorer.refresh(state.explorer, history, explorer_key)
        rewards = explorer.rewards
        scale = jnp.where(rewards.deviation > 0, rewards.deviation, 1.0)
        columns = jax.vmap(lambda context: self._standardise(explorer, context))(history.contexts)
        scaled = (history.rewards - rewards.anchor - rewards.mean) / scale
        halves = split(history._replace(contexts=columns, rewards=scaled))
        inputs = jax.vmap(jax.vmap(self._as_input))(halves.contexts)
        networks = self.networks.train(
            state.networks, halves._replace(contexts=inputs), network_key
        )
        trees = self.trees.fit(state.trees, halves, jax.random.split(explorer_key))
        return AutoState(
            explorer=explorer,
            trees=rescale(trees, rewards.mean, scale),
            networks=networks._replace(n_rounds=jnp.full(2, history.n, dtype=jnp.int32)),
            location=rewards.mean,
            scale=rewards.deviation,
            stack=fade(state.stack),
            weights=fit_weights(state.stack),
            small=fade(state.small),
            small_weights=fit_weights(state.small),
            errors=jax.tree.map(lambda value: MEMORY * value, state.errors),
            signal=state.signal,
            has_signal=found_signal(state.signal, jnp.asarray(self.delta)),
            seen=self._count_values(explorer, history, count_anew(state.seen)),
        )

    def _count_values(
        self, explorer: WideState, history: History, start: ValueCounts
    ) -> ValueCounts:
        """Count the values of the columns in all rounds."""

        def add(counts: ValueCounts, rounds: Rounds) -> ValueCounts:
            values = jax.vmap(lambda context: self._locate(explorer, context))(rounds.contexts)
            return add_fitted(counts, values, rounds.valid)

        return fold_blocks(history, start, add)

    def _standardise(self, explorer: WideState, context: Context) -> Array:
        """Return the standardised columns of a context, (R, m)."""
        return self.explorer.wides[0].at(explorer.learners[0].scaling).standardise(context)

    def _locate(self, explorer: WideState, context: Context) -> Array:
        """Return where the values of a context lie, (R m,), for what has been seen."""
        return self.explorer.wides[0].at(explorer.learners[0].scaling).locate(context).ravel()

    @property
    def _certificate(self) -> TwinCertificate:
        """The test of the gaps with the settings of this policy."""
        return TwinCertificate(tolerance=self.tolerance, slack=self.slack, sigma=self.sigma)

    @property
    def _n_values(self) -> int:
        """Number R m of values of a context."""
        return self.explorer.wides[0].n_rows * self.explorer.wides[0].n_columns

    def _as_input(self, z: Array) -> Array:
        """Return the columns as the networks take them: one vector, or one for each action."""
        return (z[0] if len(z) == 1 else z).astype(jnp.float32)

    def report(self, state: AutoState) -> dict[str, Array]:
        """Return the predictor of largest weight, all weights, and the spectral loss."""
        return {
            "representation": jnp.argmax(state.weights).astype(jnp.int32),
            "weights": state.weights,
            "active": state.weights >= SOME_WEIGHT,
            "small_weights": state.small_weights,
            "loss": state.networks.loss.mean(),
            "lambda_min": state.networks.lambda_min.min(),
            "sigma": state.errors.noise_level(),
            "eps": self._certificate.misfit(state.errors),
            "signal": state.has_signal,
        }

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the wide embeddings, against which contexts are checked."""
        return self.explorer.embeddings[:1]

    @property
    def display_name(self) -> str:
        """The name in the catalogue, under which people know this policy."""
        return "banditsrl-auto"


def _unit_of_width(errors: Errors, deviation: Array) -> Array:
    """Return the noise level that the mixture leaves, at most the deviation of the rewards."""
    return jnp.where(errors.n > 0, jnp.minimum(errors.noise_level(), deviation), deviation)
