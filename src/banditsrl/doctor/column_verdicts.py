"""What does the doctor say about a log with plain columns? It makes the embeddings itself."""

from collections.abc import Mapping

import numpy as np

from banditsrl.display.numerals import format_count, format_number, format_plus_minus
from banditsrl.doctor.examination import Examination
from banditsrl.doctor.log_sample import LogSample, sample_log
from banditsrl.doctor.policy_advice import advise_policy
from banditsrl.doctor.verdicts import (
    CandidateVerdict,
    compare_error,
    describe_noise,
    judge_logged,
)
from banditsrl.logs.log import Log
from banditsrl.theory.column_diagnosis import ColumnDiagnosis, diagnose_columns
from banditsrl.theory.log_diagnosis import Noise

MOST_NAMES = 5
"""Actions that are listed by name at most."""


def examine_columns(log: Log, *, words: str = "", progress: bool = False) -> Examination:
    """Examine the embeddings that can be made from the columns of a log, and advise a policy.

    Args:
        log: The log.
        words: Arguments with which a command reads it; empty if it is not a file.
        progress: Whether to show how far the log has been read.
    """
    sample = sample_log(log, progress=progress)
    noise, found = diagnose_columns(sample.rounds, n_rounds=sample.n)
    sizes = {"n_columns": len(log.schema.columns), "n_actions": log.schema.n_actions}
    return Examination(
        source=log.name,
        kind="columns",
        summary=_summarise(log, sample, noise),
        noise=noise.variance,
        verdicts=tuple(_judge(found, noise)),
        forecasts={
            name: one.forecast
            for name, one in found.items()
            if one.forecast is not None and one.logged.realizable is not False
        },
        policy=advise_policy(found, variance=noise.variance, words=words, **sizes),
    )


def _judge(found: Mapping[str, ColumnDiagnosis], noise: Noise) -> list[CandidateVerdict]:
    smallest = min(one.logged.error for one in found.values())
    return [
        judge_logged(index, name, one.logged, _describe_fit(one, noise, smallest))
        for index, (name, one) in enumerate(found.items())
    ]


def _describe_fit(one: ColumnDiagnosis, noise: Noise, smallest: float) -> str:
    """Return the error on held-out rounds in words, and whether it may be noise alone."""
    d = one.logged
    error = f"squared error on held-out rounds {format_plus_minus(d.error, d.error_stderr)}"
    error += compare_error(d.error, smallest)
    if d.realizable is None:
        return f"{error}; whether more rounds would make it better was not tested."
    against = f"the noise ({format_number(noise.variance)})"
    if noise.source == "best":
        against = f"the best candidate ({format_number(noise.variance)})"
    if d.realizable:
        return f"{error}; fitted to all rounds, it is not distinguishable from {against}."
    return (
        f"{error}; fitted to all rounds, it is worse than {against} by "
        f"{format_number(d.excess, d.excess_stderr)}, which is "
        f"{d.excess / max(d.excess_stderr, 1e-300):.0f} standard errors."
    )


def _summarise(log: Log, sample: LogSample, noise: Noise) -> str:
    """Return what the log holds, and what the verdicts rest on."""
    n, n_kept = sample.n, len(sample.rounds.rewards)
    counts = [(n, "logged round"), (log.schema.n_actions, "action")]
    counts.append((len(log.schema.columns), "column"))
    sentences = [", ".join(format_count(number, word) for number, word in counts) + "."]
    if n_kept < n:
        sentences.append(f"{n_kept:,} rounds, drawn at random, were examined.")
    sentences += _describe_idle(log, sample)
    sentences.append(f"Variance of the noise: {describe_noise(noise)}.")
    sentences.append(_describe_propensities(sample))
    return " ".join(sentences)


def _describe_idle(log: Log, sample: LogSample) -> list[str]:
    """Return a sentence about actions that were never played, if there are any."""
    idle = [log.schema.actions[i] for i in np.flatnonzero(sample.n_played == 0)]
    if not idle:
        return []
    listed = ", ".join(idle[:MOST_NAMES]) + (", ..." if len(idle) > MOST_NAMES else "")
    verb = "was" if len(idle) == 1 else "were"
    return [f"The log shows nothing about {listed}, which {verb} never played."]


def _describe_propensities(sample: LogSample) -> str:
    if sample.n_missing == sample.n:
        return (
            "No propensities are logged: the doctor needs none, but what another policy would "
            "have earned can then be estimated by a model only."
        )
    missing = f"; {format_count(sample.n_missing, 'round')} have none" if sample.n_missing else ""
    return f"The smallest propensity is {format_number(sample.least)}{missing}."
