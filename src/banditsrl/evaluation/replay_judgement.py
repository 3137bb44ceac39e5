"""How is a policy judged that learns while it runs? By a replay, which words "replay:..." ask for.

Two numbers are given: the mean reward of accepted rounds, and the doubly robust mean over all
rounds. Both are about a run of the policy with as many rounds as were accepted.
"""

from typing import Any

from banditsrl.core.policy import Policy
from banditsrl.estimation.estimators import Estimate
from banditsrl.estimation.reward_models import CrossFitted
from banditsrl.evaluation.judgement import TargetJudgement
from banditsrl.evaluation.log_quality import LogQuality
from banditsrl.evaluation.policy_words import read_policy
from banditsrl.evaluation.quality_words import refuse_log
from banditsrl.evaluation.rejection_replay import replay_by_rejection, replay_doubly_robust
from banditsrl.evaluation.replay_estimates import ReplayEstimate
from banditsrl.logs.log import Log

REPLAY = "replay"


def judge_replay(
    words: str,
    log: Log,
    quality: LogQuality,
    *,
    model: CrossFitted | None,
    reward_range: tuple[float, float] | None,
    level: float,
    seed: int,
    progress: bool,
) -> TargetJudgement:
    """Return what a log says about a policy that learns from it while it is judged."""
    policy: Policy[Any] = read_policy(words.partition(":")[2], log.schema)
    refusal = refuse_log(quality, None)
    if refusal is not None:
        return TargetJudgement(words, refusal=refusal)
    shared: dict[str, Any] = {"level": level, "name": words, "seed": seed, "progress": progress}
    accepted = replay_by_rejection(policy, log, reward_range=reward_range, **shared)
    found = {"replay": to_estimate("replay", accepted)}
    if model is not None:
        robust = replay_doubly_robust(policy, log, model=model, **shared)
        found["replay-dr"] = to_estimate("replay-dr", robust)
    note = (
        f"{words} is judged by its first {accepted.n_accepted:,} rounds; a policy that still "
        "learns earns more later."
    )
    return TargetJudgement(words, estimates=found, notes=(note,))


def to_estimate(name: str, found: ReplayEstimate) -> Estimate:
    """Return a replay in the form of other estimates; its effective size is what was accepted."""
    return Estimate(
        name=name,
        value=found.value,
        stderr=found.stderr,
        low=found.low,
        high=found.high,
        always_low=found.always_low,
        always_high=found.always_high,
        n=found.n,
        effective_n=float(found.n_accepted),
    )
