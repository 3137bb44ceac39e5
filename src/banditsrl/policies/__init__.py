"""Policies choose an action in an embedding and learn from the reward."""

from banditsrl.core.history import History, append_round, empty_history
from banditsrl.core.phases import phase_ends
from banditsrl.core.policy import Choice, Policy, untested
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear_policy import LinearPolicy, View
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import OFUL, LinUCB
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.policy_catalogue import POLICIES, make_policy
from banditsrl.policies.presets import PRESETS
from banditsrl.policies.uniform import Uniform
from banditsrl.selection.certificate import CertifiedPolicy, CertifiedState
from banditsrl.selection.training import Training

__all__ = [
    "GLRT",
    "IGW",
    "OFUL",
    "POLICIES",
    "PRESETS",
    "BanditSRL",
    "CertifiedPolicy",
    "CertifiedState",
    "Choice",
    "EpsilonGreedy",
    "Greedy",
    "History",
    "Leader",
    "LinTS",
    "LinUCB",
    "LinearPolicy",
    "NNBanditSRL",
    "NeuralUCB",
    "Policy",
    "Training",
    "Uniform",
    "View",
    "append_round",
    "empty_history",
    "make_policy",
    "phase_ends",
    "untested",
]
