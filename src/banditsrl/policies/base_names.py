"""Which base algorithms have a name? Those that the names of policies are composed of."""

from typing import Any

from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, Policy
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.igw import IGW
from banditsrl.policies.linear_policy import RidgePolicy
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import LinUCB
from banditsrl.policies.uniform import Uniform
from banditsrl.registry import Registry

BASES: Registry[type[RidgePolicy]] = Registry("base")

for _name, _base in (
    ("uniform", Uniform),
    ("greedy", Greedy),
    ("linucb", LinUCB),
    ("lints", LinTS),
    ("egreedy", EpsilonGreedy),
    ("igw", IGW),
):
    BASES.add(_name, _base)


def as_base(given: AnyPolicy | str) -> Policy[Any]:
    """Return a base as a policy; a name stands for the base of that name with its defaults."""
    return BASES[given]() if isinstance(given, str) else as_policy(given, "base")
