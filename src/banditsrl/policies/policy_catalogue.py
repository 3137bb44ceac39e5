"""Which policies have a name? The table behind `make_policy` and the command line.

A maker takes the problem and settings by name, and hands every setting to the part that knows it:
the policy, its base, the network, the training. `representation` picks the candidate (or the
inputs of the network) of a policy that works on one.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear_policy import LinearPolicy
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import LinUCB
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.presets import PORTFOLIO, PRESETS
from banditsrl.policies.uniform import Uniform
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.registry import Registry
from banditsrl.representations.fourier import Fourier
from banditsrl.representations.network import Network
from banditsrl.representations.wide import KINDS, Wide
from banditsrl.selection.training import Training

POLICIES: Registry[Callable[..., Any]] = Registry("policy")

BASES: dict[str, type[LinearPolicy]] = {
    "uniform": Uniform,
    "greedy": Greedy,
    "linucb": LinUCB,
    "lints": LinTS,
    "egreedy": EpsilonGreedy,
    "igw": IGW,
}

MAXIMUM_LIKELIHOOD = {"loss": "none", "glrt_scale": None}
"""NN-BanditSRL with these is its base algorithm on the maximum-likelihood representation."""


def make_policy(name: str, problem: Any, *, preset: str | None = None, **settings: Any) -> Any:
    """Build a registered policy for a problem, with the problem's noise level unless given.

    Args:
        name: For example "banditsrl-linucb"; see `POLICIES`.
        problem: The problem it is for.
        preset: "paper" or "default" (when None) settings of a policy with a network.
        **settings: Any setting of the policy or of its parts, by name.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> banditsrl.make_policy("banditsrl-linucb", problem, loss="weak").loss
        'weak'
    """
    chosen = PRESETS["default" if preset is None else preset]
    return POLICIES[name](problem, chosen(problem), **settings)


def _alone(
    base: type[LinearPolicy], problem: Any, preset: Any, *, representation: int = 0, **settings: Any
) -> LinearPolicy:
    del preset
    (own,) = _shared_out(settings, [base], problem)
    return base(_pick(problem, representation), **own)


def _certified(
    base: type[LinearPolicy], problem: Any, preset: Any, *, representation: int = 0, **settings: Any
) -> GLRT:
    del preset
    rest, own = _shared_out(settings, [GLRT, base], problem)
    return GLRT(base(_pick(problem, representation), **own), **rest)


def _selecting(base: type[LinearPolicy], problem: Any, preset: Any, **settings: Any) -> BanditSRL:
    del preset
    rest, own = _shared_out(settings, [BanditSRL, base], problem)
    return BanditSRL(problem.representations, base=base(**own), **rest)


def _leading(problem: Any, preset: Any, *, eliminate: bool, **settings: Any) -> Leader:
    del preset
    (own,) = _shared_out(settings, [Leader], problem)
    return Leader(problem.representations, eliminate=eliminate, **own)


def _fourier(
    base: type[LinearPolicy],
    problem: Any,
    preset: Any,
    *,
    representation: int = 0,
    rff_dim: int = 100,
    rff_seed: int = 0,
    **settings: Any,
) -> LinearPolicy:
    del preset
    (own,) = _shared_out(settings, [base], problem)
    features = Fourier(_pick(problem, representation), dim=rff_dim, seed=rff_seed)
    return base(features, **own)


def _network(
    base: type[LinearPolicy],
    fixed: dict[str, Any],
    problem: Any,
    preset: dict[str, Any],
    *,
    representation: int = 0,
    **settings: Any,
) -> NNBanditSRL:
    parts: list[type[Any]] = [NNBanditSRL, Training, Network, base]
    outer, training, network, own = _shared_out(settings, parts, problem, preset, fixed)
    return NNBanditSRL(
        Network(_pick(problem, representation), **network),
        training=Training(**training),
        base=base(**own),
        **outer,
    )


def _neuralucb(
    problem: Any, preset: dict[str, Any], *, representation: int = 0, **settings: Any
) -> NeuralUCB:
    parts: list[type[Any]] = [NeuralUCB, Training, Network]
    outer, training, network = _shared_out(settings, parts, problem, preset, {"loss": "none"})
    inputs = _pick(problem, representation)
    return NeuralUCB(Network(inputs, **network), training=Training(**training), **outer)


def _auto(
    problem: Any,
    preset: dict[str, Any],
    *,
    representation: int = 0,
    n_features: int = 128,
    feature_seed: int = 0,
    **settings: Any,
) -> BanditSRLAuto:
    parts: list[type[Any]] = [BanditSRLAuto, NNBanditSRL, Training, Network, WideUCB]
    shares = _shared_out(settings, parts, problem, {**preset, **PORTFOLIO})
    outer, certifier, training, network, explorer = shares
    inputs = _pick(problem, representation)
    explorer = {k: v for k, v in explorer.items() if k in settings}  # presets are the network's
    random = {"n_features": n_features, "seed": feature_seed}
    wides = tuple(Wide(inputs, kind=kind, **random) for kind in KINDS)
    return BanditSRLAuto(
        WideUCB(wides, **explorer),
        NNBanditSRL(
            Network(inputs, **network),
            training=Training(**training),
            base=Greedy(),
            **certifier,
        ),
        **outer,
    )


def _disjoint(
    problem: Any,
    preset: Any,
    *,
    representation: int = 0,
    n_features: int = 0,
    feature_seed: int = 0,
    **settings: Any,
) -> WideUCB:
    del preset
    (own,) = _shared_out(settings, [WideUCB], problem)
    inputs = _pick(problem, representation)
    return WideUCB((Wide(inputs, n_features=n_features, seed=feature_seed),), **own)


def _pick(problem: Any, representation: int) -> Any:
    candidates = problem.representations
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    if count("representation", representation, 0) >= len(candidates):
        raise InvalidArgument(
            f"representation must be below {len(candidates)}, got {representation}."
        )
    return candidates[representation]


def _shared_out(
    settings: dict[str, Any],
    parts: Sequence[type[Any]],
    problem: Any,
    preset: dict[str, Any] | None = None,
    fixed: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Settings for each part: every one goes to the first part that knows it.

    What was `fixed` can not be set; what a preset or the problem says applies where it is known.
    """
    owners: dict[str, int] = {}
    for index, part in enumerate(parts):
        for name in _settings_of(part):
            owners.setdefault(name, index)
    known: Registry[int] = Registry(f"setting of {parts[0].__name__}")
    for name, index in owners.items():
        if name not in (fixed or {}):
            known.add(name, index)
    for name in settings:
        known[name]  # an unknown one is refused, with the nearest
    merged = {"sigma": problem.sigma or None, **(preset or {}), **settings, **(fixed or {})}
    shares: list[dict[str, Any]] = [{} for _ in parts]
    for name, value in merged.items():
        if name in owners:
            shares[owners[name]][name] = value
    return shares


def _settings_of(part: type[Any]) -> list[str]:
    """The names that can be set on one part."""
    if part is Network:
        return ["layers", "activation"]
    parts = {"base", "representation", "representations", "network", "training", "wides"}
    parts |= {"explorer", "certifier"}
    names = [field.name for field in dataclasses.fields(part)]
    return [name for name in names if not name.startswith("_") and name not in parts]


for _name, _base in BASES.items():
    POLICIES.add(_name, partial(_alone, _base))
    POLICIES.add(f"glrt-{_name}", partial(_certified, _base))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"banditsrl-{_name}", partial(_selecting, BASES[_name]))
POLICIES.add("leader", partial(_leading, eliminate=True))
POLICIES.add("leader-plain", partial(_leading, eliminate=False))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"nn-banditsrl-{_name}", partial(_network, BASES[_name], {}))
for _name in ("linucb", "lints", "egreedy"):
    POLICIES.add(f"neural-{_name}", partial(_network, BASES[_name], MAXIMUM_LIKELIHOOD))
POLICIES.add("igw-nn", partial(_network, IGW, {**MAXIMUM_LIKELIHOOD, "refit": "none"}))
POLICIES.add("igw-ref", partial(_network, IGW, {**MAXIMUM_LIKELIHOOD, "refit": "ridge"}))
POLICIES.add("neuralucb", _neuralucb)
POLICIES.add("banditsrl-auto", _auto)
POLICIES.add("linucb-disjoint", _disjoint)
for _name in ("linucb", "egreedy"):
    POLICIES.add(f"rff-{_name}", partial(_fourier, BASES[_name]))
