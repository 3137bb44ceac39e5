"""Policies choose an action in an embedding and learn from the reward."""

from banditsrl.policies.agent import Agent
from banditsrl.policies.catalogue import POLICIES, make_policy
from banditsrl.policies.certified import CertifiedPolicy, CertifiedState
from banditsrl.policies.compiled import compiled
from banditsrl.policies.contract import check_policy
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.history import History, allocate, appended
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear import LinearPolicy, View
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import OFUL, LinUCB
from banditsrl.policies.logged import warm_start
from banditsrl.policies.neural import NNBanditSRL
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.policy import Choice, Policy, phase_ends, untested
from banditsrl.policies.presets import PRESETS
from banditsrl.policies.srl import BanditSRL
from banditsrl.policies.storage import load_state, save_state
from banditsrl.policies.training import Training
from banditsrl.policies.uniform import Uniform

__all__ = [
    "GLRT",
    "IGW",
    "OFUL",
    "POLICIES",
    "PRESETS",
    "Agent",
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
    "allocate",
    "appended",
    "check_policy",
    "compiled",
    "load_state",
    "make_policy",
    "phase_ends",
    "save_state",
    "untested",
    "warm_start",
]
