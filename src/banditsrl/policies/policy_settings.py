"""What is a policy of the catalogue, and what can be set on it? One sentence, and its settings.

The settings are the fields that the parts of a policy declare, so that help is written once.
"""

from functools import partial
from inspect import getdoc
from typing import Any, get_type_hints

from banditsrl.core.settings import SettingRow, list_fields, list_parameters, parse_arguments
from banditsrl.policies import policy_catalogue as catalogue
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.leader import Leader
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.policies.presets import PORTFOLIO, PRESETS
from banditsrl.policies.setting_shares import setting_names
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.problems.stream import Stream
from banditsrl.representations.network import Network
from banditsrl.representations.trees import Trees
from banditsrl.selection.network_learner import NetworkLearner
from banditsrl.selection.training import Training

DESCRIPTIONS = {
    "uniform": "Plays at random; every other policy should do better.",
    "greedy": "Plays the best estimate and never explores on purpose.",
    "linucb": "Optimism: ridge estimate plus a confidence width.",
    "lints": "Thompson sampling from the ridge estimate.",
    "egreedy": "Explores at random with probability epsilon.",
    "igw": "Inverse gap weighting: worse actions are rarer.",
    "leader": "Chooses among candidates the tightest confidence bound.",
    "leader-plain": "LEADER that never eliminates a candidate.",
    "igw-nn": "Inverse gap weighting on the network's own output.",
    "igw-ref": "Inverse gap weighting on a ridge refit of the network.",
    "neuralucb": "Optimism on the gradient of a network.",
    "banditsrl-auto": "Ridge, trees and networks together, with a certificate.",
    "linucb-disjoint": "LinUCB with one ridge regression per action.",
    "tree-egreedy": "Epsilon-greedy on boosted trees.",
    "tree-linucb": "LinUCB on the leaves of boosted trees.",
}
"""One line for each policy that is no base with a prefix."""

WORDS = {"linucb": "LinUCB", "lints": "LinTS", "egreedy": "epsilon-greedy", "igw": "IGW"}

PREFIXES = {
    "glrt-": "{base}, and greedy where the test is sure.",
    "nn-banditsrl-": "BanditSRL with a network, around {base}.",
    "banditsrl-": "BanditSRL on given candidates, around {base}.",
    "neural-": "{base} on a network trained by least squares.",
    "rff-": "{base} on random Fourier features.",
}
"""One line for every policy that is built around a base."""

OWN_HELP = {
    "representation": "Index of the candidate representation that is used.",
    "rff_dim": "Number of random Fourier features.",
    "rff_seed": "Seed of the random Fourier features.",
    "n_features": "Number of random features beside the columns.",
    "feature_seed": "Seed of the random features.",
    "lam": "Regulariser of the ridge regressions on the networks.",
}
"""Help for what a maker takes itself, or what a part declares without help."""

PARTS: dict[Any, tuple[type[Any], ...]] = {
    catalogue.make_glrt: (GLRT,),
    catalogue.make_banditsrl: (BanditSRL,),
    catalogue.make_leader: (Leader,),
    catalogue.make_nn_banditsrl: (NNBanditSRL, Training, Network),
    catalogue.make_neuralucb: (NeuralUCB, Training, Network),
    catalogue.make_auto: (
        BanditSRLAuto,
        NetworkLearner,
        Training,
        Network,
        WideUCB,
        Trees,
    ),
    catalogue.make_disjoint: (WideUCB,),
    catalogue.make_trees: (Trees,),
}
"""The parts of what each maker builds, besides a class that it is given.

A maker of a policy with one part need not be listed: its part is what it says it returns.
"""


KEEP_DEFAULTS = (BanditSRLAuto, WideUCB)
"""Parts of the portfolio that presets do not concern."""


def describe_policy(name: str) -> str:
    """Return one sentence about a policy.

    Example:
        >>> describe_policy("glrt-linucb")
        'LinUCB, and greedy where the test is sure.'
    """
    maker = POLICIES[name]
    if name in DESCRIPTIONS:
        return DESCRIPTIONS[name]
    for prefix, sentence in PREFIXES.items():
        if name.startswith(prefix):
            base = name.removeprefix(prefix)
            words = sentence.format(base=WORDS.get(base, base))
            return words[0].upper() + words[1:]
    function, classes = _take_apart(maker)
    return (getdoc(classes[0] if classes else function) or "").partition("\n")[0]


def list_policy_settings(name: str, preset: str = "default") -> list[SettingRow]:
    """Return what can be set on a policy, with the defaults that hold under a preset."""
    maker: Any = POLICIES[name]
    given = maker.args if isinstance(maker, partial) else ()
    bound = maker.keywords if isinstance(maker, partial) else {}
    function, classes = _take_apart(maker)
    parts = PARTS.get(function, () if classes else (get_type_hints(function)["return"],))
    rows = {row.name: row for row in list_parameters(function)}
    for part in (*classes, *parts) if function is catalogue.make_trees else (*parts, *classes):
        replaced = {} if part in KEEP_DEFAULTS else _read_preset(function, preset)
        for row in _list_part(part):
            rows.setdefault(row.name, row._replace(default=replaced.get(row.name, row.default)))
    fixed = {key for each in given if isinstance(each, dict) for key in each}
    fixed |= {"loss"} if function is catalogue.make_neuralucb else set()
    return [
        row._replace(help=row.help or OWN_HELP.get(row.name, ""))
        for row in rows.values()
        if row.name not in fixed | set(bound)
    ]


def has_presets(name: str) -> bool:
    """Return whether a preset changes the settings of a policy."""
    function, _ = _take_apart(POLICIES[name])
    return Training in PARTS.get(function, ())


def _take_apart(maker: Any) -> tuple[Any, tuple[type[Any], ...]]:
    """Return the function of a maker, and the classes that it is given beforehand."""
    if not isinstance(maker, partial):
        return maker, ()
    return maker.func, tuple(each for each in maker.args if isinstance(each, type))


def _read_preset(function: Any, preset: str) -> dict[str, Any]:
    """Return the settings that a preset gives to what a maker builds."""
    if Training not in PARTS.get(function, ()):
        return {}
    task = Stream(n_columns=1, n_actions=2)  # presets differ for Covertype only
    more = PORTFOLIO if function is catalogue.make_auto else {}
    return {**PRESETS[preset](task), **more}


def _list_part(part: type[Any]) -> list[SettingRow]:
    names = setting_names(part)
    if part is not Network:
        return [row for row in list_fields(part) if row.name in names]
    described = parse_arguments(getdoc(Network) or "")
    rows = list_parameters(Network.__init__)
    return [row._replace(help=described[row.name]) for row in rows if row.name in names]
