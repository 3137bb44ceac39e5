"""What would another policy have earned, and may it go live? The answer in words and numbers.

`evaluate` reads a log, judges targets on it, and returns an `Evaluation`: what each target would
have earned with its intervals, how it compares with the policy that wrote the log, whether the log
is good enough for that, and, if a gate is given, whether the target may replace it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from banditsrl.arguments import check_range, one_of, probability
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.estimator_formulas import ESTIMATORS
from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.reward_models import KINDS as REWARD_MODELS
from banditsrl.evaluation.gate_verdict import GateRule, read_gate
from banditsrl.evaluation.judgement import LOGGED, LogJudge, TargetJudgement, fit_model
from banditsrl.evaluation.replay_judgement import REPLAY, judge_replay
from banditsrl.evaluation.targets import Target, make_target
from banditsrl.logs.log import Log
from banditsrl.reports.evaluation_findings import Evaluation

DEFAULT_ESTIMATORS = ("dr", "snips", "ips", "dm")
"""Estimators that are shown; the first one is also used for differences."""


def evaluate(
    log: Log | str | Path,
    targets: Sequence[str | Target] | str,
    *,
    against: str | Target = LOGGED,
    estimators: Sequence[str] = DEFAULT_ESTIMATORS,
    level: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    reward_model: str = "ridge",
    gate: str | GateRule | None = None,
    seed: int = 0,
    progress: bool = False,
    **reading: Any,
) -> Evaluation:
    """Say what targets would have earned on a log.

    Args:
        log: The log, or a path or URL that `banditsrl.Log.read` can read.
        targets: Targets, or words that `make_target` reads; "replay:POLICY" lets a policy learn
            while it is judged.
        against: What targets are compared with; "logged" is the policy that wrote the log.
        estimators: Names of estimators, the leading one first.
        level: Probability that an interval does not hold its value.
        reward_range: Least and largest reward that is possible. If it is not given, anytime-valid
            intervals assume the range that is seen in the log.
        least_propensity: Least probability of any action that was played, if it is known.
        reward_model: Reward model, "ridge" or "portfolio".
        gate: "better:MARGIN" or "not-worse:MARGIN": whether the target may replace the reference.
        seed: Seed of the random draws of targets that learn.
        progress: Whether to show how far learned targets and the reading of the log are.
        **reading: How to read a path, as `Log.read` takes it: `action`, `reward`, `columns`, ...

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> actions = rng.integers(2, size=2000)
        >>> log = Log.from_arrays(
        ...     contexts=rng.normal(size=(2000, 2)),
        ...     actions=actions,
        ...     rewards=(rng.random(2000) < 0.3 + 0.4 * actions).astype(float),
        ...     propensities=np.full(2000, 0.5),
        ... )
        >>> found = evaluate(log, ["always:1"], reward_range=(0, 1), gate="better:0.1")
        >>> found.gate.promoted
        True
    """
    words = [targets] if isinstance(targets, str) else list(targets)
    names = tuple(one_of("estimators", name, list(ESTIMATORS)) for name in estimators)
    one_of("reward_model", reward_model, REWARD_MODELS)
    _check_request(words, names, gate, reward_range)
    log = _open(log, reading)
    making: dict[str, Any] = {"seed": seed, "progress": progress}
    plain = [_resolve(word, log, making) for word in words if not _is_replay(word)]
    reference = None if against == LOGGED else _resolve(against, log, making)
    model = fit_model(log, names, kind=reward_model, seed=seed)
    judge = LogJudge(log, plain, reference=reference, model=model, progress=progress)
    quality, ends = judge.quality, reward_range or judge.quality.reward_range
    known: dict[str, Any] = {"reward_range": ends if ends[0] < ends[1] else None}
    known["level"] = probability("level", level)
    judged = _judge_plain(judge, plain, names, {**known, "least_propensity": least_propensity})
    replay: dict[str, Any] = {**known, "model": model, "seed": seed, "progress": progress}
    rest = iter(judged)
    found = [
        judge_replay(str(word), log, quality, **replay) if _is_replay(word) else next(rest)
        for word in words
    ]
    return Evaluation(
        log=log.name,
        n=quality.n,
        n_skipped=log.skipped.count,
        level=level,
        reward_range=(float(ends[0]), float(ends[1])),
        range_is_given=reward_range is not None,
        logged=estimate("ips", judge.logged, **known),
        reference=LOGGED if reference is None else reference.name,
        estimators=names,
        targets=tuple(found),
        quality=quality,
        gate=None if gate is None else judge.watch(gate, judged=found[0], **known),
    )


def _check_request(
    words: Sequence[str | Target],
    estimators: Sequence[str],
    gate: str | GateRule | None,
    reward_range: tuple[float, float] | None,
) -> None:
    if not words or not estimators:
        what = "estimators" if words else "targets"
        raise InvalidArgument(f"{what} must name at least one, got none.")
    if reward_range is not None:
        check_range(reward_range)
    if gate is None:
        return
    read_gate(gate)
    if len(words) != 1 or _is_replay(words[0]):
        raise InvalidArgument(
            "targets must be exactly one target, and not a replay, for a gate, "
            f"got {[str(w) for w in words]}."
        )
    if reward_range is None:
        raise InvalidArgument("reward_range must be given for a gate, got none.")


def _judge_plain(
    judge: LogJudge, targets: Sequence[Target], names: tuple[str, ...], settings: dict[str, Any]
) -> list[TargetJudgement]:
    """Return the judgements of targets that do not learn while they are judged."""
    shared = {**settings, "level": settings["level"] / max(len(targets), 1)}
    found = []
    for index in range(len(targets)):
        judged = judge.judge(index, names, **settings)
        if judged.refusal is None and judge.reference_refusal is None:
            judged = replace(judged, difference=judge.compare(index, names[0], **shared))
        elif judged.refusal is None:
            missing = f"No difference is given: {judge.reference_refusal}"
            judged = replace(judged, warnings=(*judged.warnings, missing))
        if judged.contradiction is not None:
            judged = replace(judged, warnings=(*judged.warnings, judged.contradiction))
        found.append(judged)
    return found


def _is_replay(word: str | Target) -> bool:
    return isinstance(word, str) and word.partition(":")[0] == REPLAY


def _open(log: Log | str | Path, reading: Mapping[str, Any]) -> Log:
    """Return a log that is given, or the one at a path."""
    if not isinstance(log, Log):
        return Log.read(log, **reading)
    if reading:
        raise InvalidArgument(
            f"log must be a path for the arguments {', '.join(reading)}, got a Log."
        )
    return log


def _resolve(word: str | Target, log: Log, making: Mapping[str, Any]) -> Target:
    return make_target(word, log, **making) if isinstance(word, str) else word
