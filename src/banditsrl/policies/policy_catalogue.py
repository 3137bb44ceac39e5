"""Which policies have a name? The table behind `make_policy` and the command line.

A maker takes a task, a preset and settings by name. It passes every setting to the part that has
it: the policy, its base, the network or the training. For a policy that works on one candidate,
`representation` is the index of that candidate, or of the one that supplies a network's inputs.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from banditsrl.arguments import count
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
from banditsrl.policies.presets import EXPLORER, PORTFOLIO, PRESETS, Settings
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


class PolicyMaker(Protocol):
    """A function that builds a policy for a task from a preset and settings."""

    def __call__(self, task: Task, preset: Settings, **settings: Any) -> Policy[Any]:
        """Build the policy."""


POLICIES: Registry[PolicyMaker] = Registry("policy")

MAXIMUM_LIKELIHOOD: Settings = {"loss": "none", "glrt_scale": None, "held_out": False}
"""With these, NN-BanditSRL is its base algorithm on the maximum-likelihood representation."""

NOT_SETTINGS = {"base", "representation", "representations", "network", "training", "wides"} | {
    "explorer",
    "learner",
    "trees",
    "networks",
    "tree_learner",
    "n_actions",
    "n_columns",
    "policy",
}
"""Fields that are parts of a policy, not settings."""


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
    outer = {key: value for key, value in settings.items() if key in _setting_names(Watched)}
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


def _make_alone(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> RidgePolicy:
    del preset
    (own,) = _share_out(settings, [base], task)
    return base(_pick(task, representation), **own)


def _make_glrt(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> GLRT:
    del preset
    rest, own = _share_out(settings, [GLRT, base], task)
    return GLRT(base=base(_pick(task, representation), **own), **rest)


def _make_banditsrl(
    base: type[RidgePolicy], task: Task, preset: Settings, **settings: Any
) -> BanditSRL:
    del preset
    rest, own = _share_out(settings, [BanditSRL, base], task)
    return BanditSRL(task.representations, base=base(**own), **rest)


def _make_leader(task: Task, preset: Settings, *, eliminate: bool, **settings: Any) -> Leader:
    del preset
    (own,) = _share_out(settings, [Leader], task)
    return Leader(task.representations, eliminate=eliminate, **own)


def _make_fourier(
    base: type[RidgePolicy],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    rff_dim: int = 100,
    rff_seed: int = 0,
    **settings: Any,
) -> RidgePolicy:
    del preset
    (own,) = _share_out(settings, [base], task)
    features = Fourier(_pick(task, representation), dim=rff_dim, seed=rff_seed)
    return base(features, **own)


def _make_nn_banditsrl(
    base: type[RidgePolicy],
    fixed: Settings,
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> NNBanditSRL:
    parts: list[type[Any]] = [NNBanditSRL, Training, Network, base]
    outer, training, network, own = _share_out(settings, parts, task, preset, fixed)
    return NNBanditSRL(
        Network(_pick(task, representation), **network),
        training=Training(**training),
        base=base(**own),
        **outer,
    )


def _make_neuralucb(
    task: Task, preset: Settings, *, representation: int = 0, **settings: Any
) -> NeuralUCB:
    parts: list[type[Any]] = [NeuralUCB, Training, Network]
    outer, training, network = _share_out(settings, parts, task, preset, {"loss": "none"})
    inputs = _pick(task, representation)
    return NeuralUCB(Network(inputs, **network), training=Training(**training), **outer)


def _make_auto(
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    n_features: int = 128,
    feature_seed: int = 0,
    **settings: Any,
) -> BanditSRLAuto:
    parts: list[type[Any]] = [BanditSRLAuto, NetworkLearner, Training, Network, WideUCB, Trees]
    shares = _share_out(settings, parts, task, {**preset, **PORTFOLIO})
    outer, learner, training, network, explorer, trees = shares
    # The noise level is estimated, and presets concern the networks only, unless given by name.
    outer = {k: v for k, v in outer.items() if k in settings}
    explorer = {**EXPLORER, **{k: v for k, v in explorer.items() if k in settings}}
    inputs = _pick(task, representation)
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
        Trees(task.n_actions, columns.n_rows * columns.n_columns, **trees),
        TwinNetworks(NetworkLearner(Network(scaled, **network), Training(**training), **learner)),
        **outer,
    )


def _make_disjoint(
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    n_features: int = 0,
    feature_seed: int = 0,
    **settings: Any,
) -> WideUCB:
    del preset
    (own,) = _share_out(settings, [WideUCB], task)
    inputs = _pick(task, representation)
    return WideUCB((Wide(inputs, n_features=n_features, seed=feature_seed),), **own)


def _make_trees(
    policy: type[TreeEGreedy] | type[TreeLinUCB],
    task: Task,
    preset: Settings,
    *,
    representation: int = 0,
    **settings: Any,
) -> TreeEGreedy | TreeLinUCB:
    del preset
    outer, trees = _share_out(settings, [policy, Trees], task)
    columns = Wide(_pick(task, representation), n_features=0)
    learner = TreeLearner(columns, Trees(columns.n_actions, columns.n_columns, **trees))
    return policy(learner, **outer)


def _pick(task: Task, representation: int) -> Representation:
    """Return one of the candidates of a task, by its index."""
    candidates = task.representations
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    if count("representation", representation, 0) >= len(candidates):
        raise InvalidArgument(
            f"representation must be below {len(candidates)}, got {representation}."
        )
    return candidates[representation]


def _share_out(
    settings: Settings,
    parts: Sequence[type[Any]],
    task: Task,
    preset: Settings | None = None,
    fixed: Settings | None = None,
) -> list[Settings]:
    """Return the settings of each part: every setting goes to the first part that has it.

    Settings in `fixed` cannot be changed. Settings of the preset, and the noise level of the task,
    are passed on if some part has them.
    """
    owners: dict[str, int] = {}
    for index, part in enumerate(parts):
        for name in _setting_names(part):
            owners.setdefault(name, index)
    known: Registry[int] = Registry(f"setting of {parts[0].__name__}")
    for name, index in owners.items():
        if name not in (fixed or {}):
            known.add(name, index)
    for name in settings:
        known[name]  # raises for an unknown name, and suggests the nearest one
    merged = {"sigma": task.sigma or None, **(preset or {}), **settings, **(fixed or {})}
    shares: list[Settings] = [{} for _ in parts]
    for name, value in merged.items():
        if name in owners:
            shares[owners[name]][name] = value
    return shares


def _setting_names(part: type[Any]) -> list[str]:
    """Return the names that can be set on one part."""
    if part is Network:
        return ["layers", "activation"]
    names = [field.name for field in dataclasses.fields(part)]
    return [name for name in names if not name.startswith("_") and name not in NOT_SETTINGS]


for _name in BASES:
    _base = BASES[_name]
    POLICIES.add(_name, partial(_make_alone, _base))
    POLICIES.add(f"glrt-{_name}", partial(_make_glrt, _base))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"banditsrl-{_name}", partial(_make_banditsrl, BASES[_name]))
POLICIES.add("leader", partial(_make_leader, eliminate=True))
POLICIES.add("leader-plain", partial(_make_leader, eliminate=False))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"nn-banditsrl-{_name}", partial(_make_nn_banditsrl, BASES[_name], {}))
for _name in ("linucb", "lints", "egreedy"):
    _maker = partial(_make_nn_banditsrl, BASES[_name], MAXIMUM_LIKELIHOOD)
    POLICIES.add(f"neural-{_name}", _maker)
for _name, _refit in (("igw-nn", "none"), ("igw-ref", "ridge")):
    POLICIES.add(_name, partial(_make_nn_banditsrl, IGW, {**MAXIMUM_LIKELIHOOD, "refit": _refit}))
POLICIES.add("neuralucb", _make_neuralucb)
POLICIES.add("banditsrl-auto", _make_auto)
POLICIES.add("linucb-disjoint", _make_disjoint)
POLICIES.add("tree-egreedy", partial(_make_trees, TreeEGreedy))
POLICIES.add("tree-linucb", partial(_make_trees, TreeLinUCB))
for _name in ("linucb", "egreedy"):
    POLICIES.add(f"rff-{_name}", partial(_make_fourier, BASES[_name]))
