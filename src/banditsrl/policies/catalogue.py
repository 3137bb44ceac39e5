"""Which policies have a name? The table behind `make_policy` and the command line.

A maker takes the problem's candidates and the noise level, and settings by name; `representation`
picks the candidate of a policy that works on one.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear import LinearPolicy
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import LinUCB
from banditsrl.policies.srl import BanditSRL
from banditsrl.policies.uniform import Uniform
from banditsrl.registry import Registry

POLICIES: Registry[Callable[..., Any]] = Registry("policy")

BASES: dict[str, type[LinearPolicy]] = {
    "uniform": Uniform,
    "greedy": Greedy,
    "linucb": LinUCB,
    "lints": LinTS,
    "egreedy": EpsilonGreedy,
    "igw": IGW,
}


def make_policy(name: str, problem: Any, **settings: Any) -> Any:
    """Build a registered policy for a problem, with the problem's noise level unless given.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> banditsrl.make_policy("banditsrl-linucb", problem, loss="weak").loss
        'weak'
    """
    settings = {"sigma": problem.sigma or None, **settings}
    return POLICIES[name](problem.representations, **settings)


def _alone(
    base: type[LinearPolicy], candidates: Any, *, representation: int = 0, **settings: Any
) -> LinearPolicy:
    return base(_pick(candidates, representation), **_known(base, settings))


def _certified(
    base: type[LinearPolicy], candidates: Any, *, representation: int = 0, **settings: Any
) -> GLRT:
    own, rest = _shared_out(base, GLRT, settings)
    return GLRT(base(_pick(candidates, representation), **own), **rest)


def _selecting(base: type[LinearPolicy], candidates: Any, **settings: Any) -> BanditSRL:
    own, rest = _shared_out(base, BanditSRL, settings)
    return BanditSRL(candidates, base=base(**own), **rest)


def _leading(candidates: Any, *, eliminate: bool, **settings: Any) -> Leader:
    return Leader(candidates, eliminate=eliminate, **_known(Leader, settings))


def _pick(candidates: Any, representation: int) -> Any:
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    if count("representation", representation, 0) >= len(candidates):
        raise InvalidArgument(
            f"representation must be below {len(candidates)}, got {representation}."
        )
    return candidates[representation]


def _shared_out(
    base: type[LinearPolicy], outer: type[Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the outer policy stay there; what only the base knows goes to the base."""
    outer_names = {f.name for f in dataclasses.fields(outer)}
    own = {k: v for k, v in settings.items() if k not in outer_names}
    rest = {k: v for k, v in settings.items() if k in outer_names}
    return _known(base, own, also=outer), rest


def _known(kind: type[Any], settings: dict[str, Any], also: type[Any] | None = None) -> Any:
    known: Registry[None] = Registry(f"setting of {(also or kind).__name__}")
    for owner in filter(None, (kind, also)):
        for field in dataclasses.fields(owner):
            if field.name not in known and not field.name.startswith("_"):
                known.add(field.name, None)
    for name in settings:
        known[name]  # an unknown one is refused, with the nearest
    return settings


for _name, _base in BASES.items():
    POLICIES.add(_name, partial(_alone, _base))
    POLICIES.add(f"glrt-{_name}", partial(_certified, _base))
for _name in ("linucb", "lints", "egreedy", "igw"):
    POLICIES.add(f"banditsrl-{_name}", partial(_selecting, BASES[_name]))
POLICIES.add("leader", partial(_leading, eliminate=True))
POLICIES.add("leader-plain", partial(_leading, eliminate=False))
