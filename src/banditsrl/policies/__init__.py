"""Policies choose an action in an embedding and learn from the reward."""

from banditsrl.core.actions import draw_action, draw_best, maximisers, uniform_over
from banditsrl.policies.banditsrl import BanditSRL
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.egreedy import EpsilonGreedy
from banditsrl.policies.glrt import GLRT
from banditsrl.policies.greedy import Greedy
from banditsrl.policies.igw import IGW
from banditsrl.policies.leader import Leader
from banditsrl.policies.linear_policy import LinearPolicy, RidgePolicy, View
from banditsrl.policies.lints import LinTS
from banditsrl.policies.linucb import OFUL, LinUCB
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL
from banditsrl.policies.policy_catalogue import POLICIES, make_policy
from banditsrl.policies.presets import PRESETS
from banditsrl.policies.uniform import Uniform
from banditsrl.policies.watched import Watched
from banditsrl.policies.wide_ucb import WideUCB

__all__ = [
    "GLRT",
    "IGW",
    "OFUL",
    "POLICIES",
    "PRESETS",
    "BanditSRL",
    "BanditSRLAuto",
    "EpsilonGreedy",
    "Greedy",
    "Leader",
    "LinTS",
    "LinUCB",
    "LinearPolicy",
    "NNBanditSRL",
    "NeuralUCB",
    "RidgePolicy",
    "Uniform",
    "View",
    "Watched",
    "WideUCB",
    "draw_action",
    "draw_best",
    "make_policy",
    "maximisers",
    "uniform_over",
]
