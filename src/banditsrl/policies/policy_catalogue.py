"""Which policies have a name? The table behind `make_policy` and the command line.

A maker takes a task, a preset and settings by name. It passes every setting to the part that has
it: the policy, its base, the network or the training. For a policy that works on one candidate,
`representation` is the index of that candidate, or of the one that supplies a network's inputs.
"""

from functools import partial
from pathlib import Path
from typing import Any, Protocol

from banditsrl.core.adapters import as_task
from banditsrl.core.policy import Policy
from banditsrl.core.problem import ProblemLike, Task
from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.base_names import BASES
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear_policy import RidgePolicy
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.presets import PORTFOLIO, PRESETS, Settings
from banditsrl.policies.setting_shares import pick_candidate, setting_names, share_out
from banditsrl.policies.tested_policy import TestedPolicy
from banditsrl.policies.tree_egreedy import TreeEGreedy
from banditsrl.policies.tree_linucb import TreeLinUCB
from banditsrl.policies.watched import Watched
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.problems.problem_catalogue import look_up_problem
from banditsrl.problems.stream import Stream
from banditsrl.registry import Registry
from banditsrl.representations.coded import Coded
from banditsrl.representations.fourier import Fourier
from banditsrl.representations.mapped import Given
from banditsrl.representations.network import Network
from banditsrl.representations.trees import Trees
from banditsrl.representations.wide import KINDS, Wide
from banditsrl.selection.network_learner import NetworkLearner
from banditsrl.selection.training import Training
from banditsrl.selection.tree_learner import TreeLearner
from banditsrl.selection.twin_networks import TwinNetworks
from banditsrl.selection.twin_trees import TwinTrees


class PolicyMaker(Protocol):
    """A function that builds a policy for a task from a preset and settings."""

    def __call__(self, task: Task, preset: Settings, **settings: Any) -> Policy[Any]:
        """Build the policy."""


POLICIES: Registry[PolicyMaker] = Registry("policy")

MAXIMUM_LIKELIHOOD: Settings = {"loss": "none", "glrt_scale": None, "held_out": False}
"""With these, NN-BanditSRL is its base algorithm on the maximum-likelihood representation."""


LIVE_DRIFT = 1e5
"""Average number of rounds between false alarms of a change, in the default policy for live use."""


def make_policy(
    name: str,
    problem: Task | ProblemLike | str | Path,
    *,
    preset: str | None = None,
    **settings: Any,
) -> Policy[Any]:
    """Build a registered policy for a problem; `sigma` is the problem's noise level unless given.

    Args:
        name: For example "banditsrl-linucb"; see `POLICIES`.
        problem: The problem, its name, or the `Stream`, for which the policy is built.
        preset: Preset of a policy with a network, "paper" or "default"; None means "default".
        **settings: Settings of the policy or of its parts, by name. With `audit`, `drift` or
            another setting of `Watched` the policy is put into one. For a `Stream`, which is live,
            `banditsrl-auto` watches for changes unless drift=None.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> banditsrl.make_policy("banditsrl-linucb", problem, loss="weak").loss
        'weak'
    """
    chosen = PRESETS["default" if preset is None else preset]
    task = as_task(look_up_problem(problem))
    outer = {key: value for key, value in settings.items() if key in setting_names(Watched)}
    own = {key: value for key, value in settings.items() if key not in outer}
    if name == "banditsrl-auto" and isinstance(task, Stream):
        outer = {"drift": LIVE_DRIFT, **outer}
    policy = POLICIES[name](task, chosen(task), **own)
    watches = outer not in ({}, {"drift": None})
    return _watch(name, policy, outer) if watches else policy


def _watch(name: str, policy: Policy[Any], settings: Settings) -> Watched:
    """Put audits and the test for changes around a policy."""
    has_test = (isinstance(policy, TestedPolicy) and bool(policy.glrt_scale)) or (
        isinstance(policy, BanditSRLAuto) and policy.certifies
    )
    if settings.get("audit") and not has_test:
        raise InvalidArgument(
            f"audit must be set on a policy with a certificate, such as glrt-linucb, got {name}."
        )
    return Watched(policy, **settings)


def make_alone(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> RidgePolicy:
    """Return a base algorithm on one candidate."""
    del preset
    (own,) = share_out(settings, [base], task)
    return base(pick_candidate(task, representation), **own)


def make_glrt(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> GLRT:
    """Return a base algorithm that is greedy where the test is sure, on one candidate."""
    del preset
    rest, own = share_out(settings, [GLRT, base], task)
    return GLRT(base=base(pick_candidate(task, representation), **own), **rest)


def make_banditsrl(
    base: type[RidgePolicy], task: Task, preset: Settings, **settings: Any
) -> BanditSRL:
    """Return BanditSRL on all candidates, around a base algorithm."""
    del preset
    rest, own = share_out(settings, [BanditSRL, base], task)
    return BanditSRL(task.representations, base=base(**own), **rest)


def make_leader(task: Task, preset: Settings, *, eliminate: bool, **settings: Any) -> Leader:
    """Return LEADER on all candidates."""
    del preset
    (own,) = share_out(settings, [Leader], task)
    return Leader(task.representations, eliminate=eliminate, **own)


def make_fourier(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    rff_dim: int = 100,
    rff_seed: int = 0,
    **settings: Any,
) -> RidgePolicy:
    """Return a base algorithm on random Fourier features of one candidate."""
    del preset
    (own,) = share_out(settings, [base], task)
    features = Fourier(pick_candidate(task, representation), dim=rff_dim, seed=rff_seed)
    return base(features, **own)


def make_nn_banditsrl(
    base: type[RidgePolicy],
    fixed: Settings,
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> NNBanditSRL:
    """Return BanditSRL with a network, around a base algorithm; `fixed` cannot be changed."""
    parts: list[type[Any]] = [NNBanditSRL, Training, Network, base]
    outer, training, network, own = share_out(settings, parts, task, preset, fixed)
    return NNBanditSRL(
        Network(pick_candidate(task, representation), **network),
        training=Training(**training),
        base=base(**own),
        **outer,
    )


def make_neuralucb(
    task: Task, preset: Settings, *, representation: int = 0, **settings: Any
) -> NeuralUCB:
    """Return NeuralUCB on one candidate."""
    parts: list[type[Any]] = [NeuralUCB, Training, Network]
    outer, training, network = share_out(settings, parts, task, preset, {"loss": "none"})
    inputs = pick_candidate(task, representation)
    return NeuralUCB(Network(inputs, **network), training=Training(**training), **outer)


def make_auto(
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    n_features: int = 128,
    feature_seed: int = 0,
    **settings: Any,
) -> BanditSRLAuto:
    """Return the portfolio: ridge, trees and networks together."""
    parts: list[type[Any]] = [BanditSRLAuto, NetworkLearner, Training, Network, WideUCB, Trees]
    shares = share_out(settings, parts, task, {**preset, **PORTFOLIO})
    outer, learner, training, network, explorer, trees = shares
    # The noise level is estimated, and presets concern the networks only, unless given by name.
    outer, explorer = (
        {name: value for name, value in part.items() if name in settings}
        for part in (outer, explorer)
    )
    inputs = pick_candidate(task, representation)
    random = {"n_features": n_features, "seed": feature_seed}
    columns = Wide(inputs, n_features=0)
    wides = (columns, *(Wide(inputs, kind=kind, **random) for kind in KINDS))
    code = inputs.code if isinstance(inputs, Coded) else "one-hot"
    if columns.n_rows == 1:
        scaled: Representation = Coded(
            n_actions=task.n_actions, code=code, n_columns=columns.n_columns
        )
    else:
        scaled = Given(n_actions=task.n_actions, dim=columns.n_columns)
    return BanditSRLAuto(
        WideUCB(wides, **explorer),
        TwinTrees(Trees(task.n_actions, columns.n_rows * columns.n_columns, **trees)),
        TwinNetworks(NetworkLearner(Network(scaled, **network), Training(**training), **learner)),
        **outer,
    )


def make_disjoint(
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    n_features: int = 0,
    feature_seed: int = 0,
    **settings: Any,
) -> WideUCB:
    """Return LinUCB with one ridge regression per action."""
    del preset
    (own,) = share_out(settings, [WideUCB], task)
    inputs = pick_candidate(task, representation)
    return WideUCB((Wide(inputs, n_features=n_features, seed=feature_seed),), **own)


def make_trees(
    policy: type[TreeEGreedy] | type[TreeLinUCB],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> TreeEGreedy | TreeLinUCB:
    """Return a policy on boosted trees."""
    del preset
    outer, trees = share_out(settings, [policy, Trees], task)
    columns = Wide(pick_candidate(task, representation), n_features=0)
    learner = TreeLearner(columns, Trees(columns.n_actions, columns.n_columns, **trees))
    return policy(learner, **outer)


for _name in BASES:
    _base = BASES[_name]
    POLICIES.add(_name, partial(make_alone, _base))
    POLICIES.add(f"glrt-{_name}", partial(make_glrt, _base))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"banditsrl-{_name}", partial(make_banditsrl, BASES[_name]))
POLICIES.add("leader", partial(make_leader, eliminate=True))
POLICIES.add("leader-plain", partial(make_leader, eliminate=False))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"nn-banditsrl-{_name}", partial(make_nn_banditsrl, BASES[_name], {}))
for _name in ("linucb", "lints", "egreedy"):
    _maker = partial(make_nn_banditsrl, BASES[_name], MAXIMUM_LIKELIHOOD)
    POLICIES.add(f"neural-{_name}", _maker)
for _name, _refit in (("igw-nn", "none"), ("igw-ref", "ridge")):
    POLICIES.add(_name, partial(make_nn_banditsrl, IGW, {**MAXIMUM_LIKELIHOOD, "refit": _refit}))
POLICIES.add("neuralucb", make_neuralucb)
POLICIES.add("banditsrl-auto", make_auto)
POLICIES.add("linucb-disjoint", make_disjoint)
POLICIES.add("tree-egreedy", partial(make_trees, TreeEGreedy))
POLICIES.add("tree-linucb", partial(make_trees, TreeLinUCB))
for _name in ("linucb", "egreedy"):
    POLICIES.add(f"rff-{_name}", partial(make_fourier, BASES[_name]))
