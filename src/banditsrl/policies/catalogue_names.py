"""What is a policy called? The name under which `make_policy` builds one like it."""

from collections.abc import Callable, Mapping
from typing import Any

from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, Policy
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.base_names import BASES
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear_policy import RidgePolicy
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.tree_egreedy import TreeEGreedy
from banditsrl.policies.tree_linucb import TreeLinUCB
from banditsrl.policies.watched import Watched
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.fourier import Fourier


def find_name(policy: AnyPolicy) -> str:
    """Return the name of a policy in the catalogue, whatever its settings; else that of its class.

    Example:
        >>> import banditsrl
        >>> find_name(banditsrl.make_policy("linucb-disjoint", "wheel"))
        'linucb-disjoint'
        >>> find_name(banditsrl.make_policy("glrt-linucb", "wheel", audit=0.01))
        'glrt-linucb, audited'
    """
    known = as_policy(policy)
    if isinstance(known, Watched):
        return f"{find_name(known.inner)}{known.watch_words}"
    naming = NAMINGS.get(type(known))
    return known.display_name if naming is None else naming(known)


def _name_base(policy: Policy[Any]) -> str:
    """Return the name of a base algorithm, alone or inside another policy."""
    names = [name for name in BASES if BASES[name] is type(policy)]
    return names[0] if names else policy.display_name


def _name_alone(policy: RidgePolicy) -> str:
    """Return the name of a base algorithm on an embedding of its own."""
    on_fourier = any(isinstance(embedding, Fourier) for embedding in policy.embeddings)
    return f"{'rff-' if on_fourier else ''}{_name_base(policy)}"


def _name_network(policy: NNBanditSRL) -> str:
    """Return the name of a policy with a network, which may be its base alone."""
    if policy.glrt_scale is not None or policy.training.loss != "none":
        return f"nn-banditsrl-{_name_base(policy.base_policy)}"
    if isinstance(policy.base_policy, IGW):
        return "igw-nn" if policy.refit == "none" else "igw-ref"
    return f"neural-{_name_base(policy.base_policy)}"


NAMINGS: Mapping[type[Any], Callable[[Any], str]] = {
    **dict.fromkeys((BASES[name] for name in BASES), _name_alone),
    GLRT: lambda policy: f"glrt-{_name_base(policy.base_policy)}",
    BanditSRL: lambda policy: f"banditsrl-{_name_base(policy.base_policy)}",
    Leader: lambda policy: "leader" if policy.eliminate else "leader-plain",
    NNBanditSRL: _name_network,
    NeuralUCB: lambda _: "neuralucb",
    BanditSRLAuto: lambda _: "banditsrl-auto",
    WideUCB: lambda _: "linucb-disjoint",
    TreeEGreedy: lambda _: "tree-egreedy",
    TreeLinUCB: lambda _: "tree-linucb",
}
"""For each class of the catalogue, how its objects are named."""
