"""How does a loop call its policy? Through three compiled programs, the same in every process.

One program chooses, one learns a round, and one predicts. They are compiled for one shape of rows
and states, before the first request, so that no request waits for a compiler.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.policy import Choice, Policy, State
from banditsrl.errors import InvalidArgument
from banditsrl.live.encoder import Encoder
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live_store.state_bytes import lay_out_state
from banditsrl.numerics.draws import is_key, key_words
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.process import read_memory
from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.policies.watched import Watched
from banditsrl.problems.stream import Stream

START_STREAM, DRAW_STREAM, TRAINING_STREAM = 0, 1, 2
"""The loop's key is split into one key for each purpose."""


ROUNDS_AHEAD = 8
"""Rounds that are handed over before the first of them is learned. JAX would take 32, and then a
decision would queue behind them."""


COPIES = 3
"""States that a loop has in memory at the same time: the first, the present and the next one."""


class LearnedRound(NamedTuple):
    """A round whose reward is known, as a policy learns it."""

    features: NDArray[np.float64]  # (n_columns,)
    slot: int
    pmf: NDArray[np.float64]  # (n_slots,)
    certified: bool
    glr: float
    threshold: float
    representation: int
    audited: bool
    reward: float
    by_policy: bool  # False if a baseline chose the action


def build_policy(config: LoopConfig) -> Policy[Any]:
    """Return the policy of a configuration, with slots for all its actions."""
    columns, slots = Encoder(config).n_columns, config.n_slots
    settings = dict(config.settings)
    if config.audit:
        settings.setdefault("audit", config.audit)
        if config.reward.low is not None and config.reward.high is not None:
            settings.setdefault("reward_range", (config.reward.low, config.reward.high))
    if config.drift is not None:
        settings.setdefault("drift", config.drift or None)
    preset = settings.pop("preset", None)
    stream = Stream(n_columns=columns, n_actions=slots)
    return make_policy(config.policy, stream, preset=preset, **_hashable(settings))


def _hashable(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with tuples where YAML and JSON have lists."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}


def check_memory(config: LoopConfig, n_columns: int, layout: State) -> None:
    """Refuse a policy whose states do not fit into the memory of this machine."""
    leaves = jax.tree.leaves(layout)
    size = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    if size > (most := read_memory() / COPIES):
        raise InvalidArgument(
            f"spare_actions, columns and settings must give {config.policy!r} a state of at most "
            f"{most / 1e9:,.1f} GB on this machine, got {size / 1e9:,.1f} GB for "
            f"{config.n_slots:,} slots of actions and {n_columns:,} encoded columns."
        )


class Programs:
    """The compiled policy of a loop."""

    def __init__(self, config: LoopConfig) -> None:
        self.policy = build_policy(config)
        self.n_slots, self.n_columns = config.n_slots, Encoder(config).n_columns
        self.layout = lay_out_state(self.policy)
        check_memory(config, self.n_columns, self.layout)
        self._parts = partition(self.policy)
        self._key = jax.random.key(config.seed)

        self._start: State | None = None
        self._count = itertools.count(1)

    @in_float64
    def start(self) -> State:
        """Return the state before the first round; it is computed once."""
        if self._start is None:
            key = jax.random.fold_in(self._key, START_STREAM)
            self._start = settle_types(self.policy.init(key))
        return self._start

    @in_float64
    def draw_key(self, replica: int, opening: int) -> Array:
        """Return the key from which all draws of one opening by one replica come."""
        key = jax.random.fold_in(self._key, DRAW_STREAM)
        return jax.random.fold_in(jax.random.fold_in(key, replica), opening)

    @in_float64
    def training_key(self, rounds: int) -> Array:
        """Return the key of a training on so many rounds."""
        return jax.random.fold_in(jax.random.fold_in(self._key, TRAINING_STREAM), rounds)

    @in_float64
    def choose(
        self,
        state: State,
        features: NDArray[np.float64],
        mask: NDArray[np.bool_],
        key: Array,
        count: int,
    ) -> tuple[Choice, NDArray[np.float64] | None, float]:
        """Return a choice, the predicted rewards (None without a model), and a uniform number."""
        drawn = np.asarray(_choose(self._parts, state, features, mask, key, np.uint32(count)))
        return _unpack_choice(drawn, self.n_slots)

    @in_float64
    def learn(self, state: State, one: LearnedRound) -> State:
        """Return the state after one more round, without waiting until it is computed."""
        choice = Choice(*_choice_arrays(one))
        reward = np.asarray(one.reward, dtype=np.float64)
        by_policy = np.asarray(one.by_policy)
        learned = _learn(self._parts, state, np.asarray(one.features), choice, reward, by_policy)
        return computed(learned) if next(self._count) % ROUNDS_AHEAD == 0 else learned

    @in_float64
    def predict(self, state: State, features: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the predicted mean reward of every slot, or None without a model."""
        found = _predict(self._parts, state, features)
        return None if found is None else np.asarray(found)

    def warm_up(self, state: State) -> None:
        """Compile everything that requests need, for states of any age."""
        self.start()  # needed if version 0 is put back
        if isinstance(self.policy, Watched):
            self.policy.trust(state)
        features, mask = np.zeros(self.n_columns), np.ones(self.n_slots, dtype=bool)
        key = self.draw_key(0, 0)
        pmf = np.full(self.n_slots, 1.0 / self.n_slots)
        one = LearnedRound(features, 0, pmf, False, np.nan, np.inf, 0, False, 0.0, True)
        for _ in range(2):  # a learned state may have other types than the first one
            self.choose(state, features, mask, key, 0)
            self.predict(state, features)
            state = self.learn(state, one)
        self.choose(state, features, mask, key, 0)


def _choice_arrays(one: LearnedRound) -> tuple[Any, ...]:
    """Return the fields of `Choice` as arrays of the types that the program was compiled for."""
    return (
        np.asarray(one.slot, dtype=np.int32),
        np.asarray(one.pmf),
        np.asarray(one.certified),
        np.asarray(one.glr, dtype=np.float64),
        np.asarray(one.threshold, dtype=np.float64),
        np.asarray(one.representation, dtype=np.int32),
        np.asarray(one.audited),
    )


@jax.jit
def _choose(
    parts: Partitioned[Policy[Any]],
    state: State,
    features: Array,
    mask: Array,
    key: Array,
    count: Array,
) -> Array:
    """Return everything as one vector, since each array that leaves a program takes its time."""
    own, other = jax.random.split(jax.random.fold_in(key, count))
    policy = parts.combine()
    choice = policy.act(state, features, mask, own)
    predicted = policy.predict(state, features)
    single = [choice.action, choice.certified, choice.glr, choice.threshold]
    single += [choice.representation, jnp.asarray(choice.audited)]
    single += [jax.random.uniform(other, dtype=jnp.float64)]
    vectors = [jnp.stack([jnp.asarray(one, dtype=jnp.float64) for one in single]), choice.pmf]
    vectors += [] if predicted is None else [predicted]
    return jnp.concatenate([vector.astype(jnp.float64) for vector in vectors])


def _unpack_choice(
    drawn: NDArray[np.float64], n_slots: int
) -> tuple[Choice, NDArray[np.float64] | None, float]:
    """Return what `_choose` put into one vector."""
    action, certified, glr, threshold, representation, audited, uniform = drawn[:7].tolist()
    pmf, predicted = drawn[7 : 7 + n_slots], drawn[7 + n_slots :]
    fields: list[Any] = [int(action), pmf, bool(certified), glr, threshold]
    fields += [int(representation), bool(audited)]
    return Choice(*fields), predicted if len(predicted) else None, uniform


@jax.jit
def _learn(
    parts: Partitioned[Policy[Any]],
    state: State,
    features: Array,
    choice: Choice,
    reward: Array,
    by_policy: Array,
) -> State:
    # The cast to its own type makes the type of an array strong, as it is in a stored state.
    policy = parts.combine()
    if policy.watches:
        seen = policy.watch(state, features, choice, reward)
        state = jax.tree.map(lambda new, old: jnp.where(by_policy, new, old), seen, state)
    learned = policy.learn(state, features, choice.action, reward, choice.certified)
    return jax.tree.map(lambda leaf: leaf if is_key(leaf) else leaf.astype(leaf.dtype), learned)


@jax.jit
def _predict(parts: Partitioned[Policy[Any]], state: State, features: Array) -> Array | None:
    return parts.combine().predict(state, features)


def computed(state: State) -> State:
    """Return a state once it is computed.

    A compiled program returns before its result is computed. A decision with such a state would
    have to wait for all rounds that are still being learned.
    """
    waited: State = jax.block_until_ready(state)
    return waited


def settle_types(state: State) -> State:
    """Return a state whose arrays have the types that a stored state has, so it is compiled once.

    A number that came from Python has a weak type in JAX, which a file does not keep.
    """
    leaves, structure = jax.tree.flatten(state)
    strong = [
        jax.random.wrap_key_data(key_words(leaf)) if is_key(leaf) else np.asarray(leaf)
        for leaf in leaves
    ]
    return jax.tree.unflatten(structure, jax.device_put(strong))


def alarms(policy: Policy[Any], state: State) -> int:
    """Return the number of changes that a watched policy has noticed."""
    return int(state.n_alarms) if isinstance(policy, Watched) else 0
