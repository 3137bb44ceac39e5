"""What does the quality of a log mean, in sentences? Problems, and refusals of a number."""

from typing import TYPE_CHECKING

import numpy as np

from banditsrl.evaluation.target_overlap import FEW_ROUNDS, UNSUPPORTED_LIMIT, TargetOverlap

if TYPE_CHECKING:
    from banditsrl.evaluation.log_quality import LogQuality

HEAVY_LIMIT = 0.5
"""Share of the weight in the heaviest hundredth of the rounds that is called too large."""

RARE = 10
"""An action with fewer plays is called rare."""

SHOWN_NAMES = 5
"""Names that a sentence lists; the others are counted."""


def describe_quality(quality: "LogQuality") -> list[str]:
    """Return what is wrong with a log, whatever the target, the most serious first."""
    found = [refuse_log(quality, None), _describe_certificates(quality), describe_fit(quality)]
    never = [a for a, n in zip(quality.actions, quality.counts, strict=True) if n == 0]
    rare = [a for a, n in zip(quality.actions, quality.counts, strict=True) if 0 < n < RARE]
    if never:
        found.append(f"Never played: {_list(never)}; the log says nothing about them.")
    if rare:
        found.append(f"Played fewer than {RARE} times: {_list(rare)}.")
    found.append(_describe_holes(quality))
    return [sentence for sentence in dict.fromkeys(found) if sentence]


def refuse_log(quality: "LogQuality", overlap: TargetOverlap | None) -> str | None:
    """Return why no weighted estimate can be given, or None."""
    unusable = _refuse_propensities(quality)
    if unusable is not None:
        return unusable
    if overlap is not None:
        return _refuse_target(quality, overlap)
    if quality.n_certain == quality.n:
        return f"{_explain_certainty(quality)}, so the log shows nothing about any other action."
    return None


def _refuse_propensities(quality: "LogQuality") -> str | None:
    n = quality.n
    if n == 0:
        return "The log has no rounds."
    if quality.n_missing == n:
        return (
            "The log has no propensities, so only the direct method can give a number, and that "
            "number is as wrong as its reward model."
        )
    if quality.n_missing:
        return (
            f"{quality.n_missing:,} of {n:,} rounds have no propensity (the first is row "
            f"{quality.first_missing}), and leaving them out would favour those that have one."
        )
    if quality.n_zero:
        return (
            f"{quality.n_zero:,} of {n:,} rounds were played with a logged propensity of zero (the "
            f"first is row {quality.first_zero}), which cannot be."
        )
    return None


def _refuse_target(quality: "LogQuality", overlap: TargetOverlap) -> str | None:
    if overlap.supported:
        return None
    if overlap.unsupported <= UNSUPPORTED_LIMIT:
        return _refuse_weights(overlap)
    reason = "" if not quality.n_certain else f" {_explain_certainty(quality)}."
    return (
        f"{overlap.target} plays what could not be played in {overlap.unsupported:.1%} of the "
        f"rounds, so the log cannot tell what it would have earned.{reason}"
    )


def _refuse_weights(overlap: TargetOverlap) -> str:
    """Return why no number can be given if the mean weight is far from one."""
    name, mean = overlap.target, overlap.mean_weight
    if mean == 0.0:
        return f"No round of the log plays what {name} plays, so the log says nothing about it."
    if mean > 1.0:
        return (
            f"The weights of {name} average {mean:.3f} and not one, so the propensities are wrong, "
            "and the log cannot tell what it would have earned."
        )
    return (
        f"The weights of {name} average {mean:.3f} and not one: about {1.0 - mean:.1%} of what it "
        "plays could not be played (or propensities are wrong), so the log cannot tell what it "
        "would have earned."
    )


def doubt_gate(quality: "LogQuality", overlap: TargetOverlap) -> str | None:
    """Return why no gate may open although estimates can be given, or None."""
    fit = describe_fit(quality)
    if fit is not None:
        return fit
    return describe_weights(overlap)


def describe_weights(overlap: TargetOverlap) -> str | None:
    """Return how the weights of a target contradict the propensities, or None."""
    if not overlap.weights_off:
        return None
    return (
        f"The weights of {overlap.target} average {overlap.mean_weight:.3f} and not one: "
        "propensities are wrong, or actions that it plays could not be played."
    )


def _explain_certainty(quality: "LogQuality") -> str:
    """Return why actions were played with probability one, without a full stop."""
    n = quality.n
    share = (
        "Every round" if quality.n_certain == n else f"{quality.n_certain / n:.1%} of the rounds"
    )
    if quality.n_unaudited:
        return (
            f"{quality.n_unaudited / n:.1%} of the rounds were decided by a certificate without "
            "audits, and were therefore played with probability one (the setting `audit` of a "
            "loop or a policy keeps a small share for other actions)"
        )
    verb = "was" if quality.n_certain == n else "were"
    return f"{share} {verb} played with probability one"


def _describe_certificates(quality: "LogQuality") -> str | None:
    if not quality.n_unaudited or quality.n_certain == quality.n:
        return None
    return (
        f"{_explain_certainty(quality)}; there the log says nothing about actions that the "
        "certificate did not name."
    )


def describe_fit(quality: "LogQuality") -> str | None:
    """Return how the propensities contradict the plays, or None if they do not."""
    fit = quality.fit
    if not fit.rejected:
        return None
    name, where = quality.actions[fit.action], f" in rounds with {fit.group}" if fit.group else ""
    proof = f"right propensities give this with probability at most {fit.p_value:.2g}"
    if fit.tested == "law":
        return (
            f"The propensities do not fit the plays: {name} should have been played "
            f"{fit.expected:,.0f} times{where} and was played {fit.observed:,.0f} times ({proof})."
        )
    cause = "too small" if fit.observed > fit.expected else "too large, or sometimes zero"
    return (
        f"The propensities do not fit the plays: if each play of {name} counts as one over its "
        f"propensity, its plays make {fit.observed:,.0f} rounds{where}, but it could be played in "
        f"{fit.expected:,.0f}, so the propensities are {cause} ({proof})."
    )


def _describe_holes(quality: "LogQuality") -> str | None:
    """Return where actions that are played elsewhere are never played, or None."""
    table = np.asarray(quality.segment_counts, dtype=np.int64).reshape(-1, len(quality.actions))
    played = np.asarray(quality.counts) > 0
    sized = table.sum(axis=1) >= RARE * len(quality.actions)
    places = np.argwhere((table == 0) & played & sized[:, None]).tolist()
    holes = [f"{quality.actions[a]} where {quality.segments[s].label}" for s, a in places]
    return f"Never played: {_list(holes)}." if holes else None


def describe_overlap(quality: "LogQuality", overlap: TargetOverlap) -> list[str]:
    """Return what is wrong with a log for one target, the most serious first."""
    refusal = refuse_log(quality, overlap)
    if refusal is not None:
        return [refusal]
    found = _describe_support(overlap)
    if (off := describe_weights(overlap)) is not None:
        found.append(off)
    return found + _describe_precision(overlap)


def _describe_support(overlap: TargetOverlap) -> list[str]:
    """Return sentences about plays of the target that the log does not contain."""
    name, found = overlap.target, []
    if overlap.unsupported > 0:
        found.append(
            f"{name} plays what could not be played in {overlap.unsupported:.2%} of the rounds; up "
            f"to {UNSUPPORTED_LIMIT:.0%} this is tolerated, and makes an error of at most this "
            "share of the range of rewards."
        )
    if overlap.never_tried > 0:
        found.append(
            f"{name} plays {overlap.never_tried:.1%} of its rounds where the log has no round of "
            f"that action (most of it: {overlap.never_tried_where})."
        )
    return found


def _describe_precision(overlap: TargetOverlap) -> list[str]:
    """Return sentences about weights that leave estimates uncertain."""
    name, found = overlap.target, []
    if overlap.effective_n < FEW_ROUNDS:
        found.append(
            f"For {name} the log is worth {overlap.effective_n:,.0f} rounds, so its estimates "
            "say little."
        )
    if overlap.heavy_share > HEAVY_LIMIT:
        found.append(
            f"{overlap.heavy_share:.0%} of the weight of {name} is in one hundredth of the rounds "
            f"(largest weight {overlap.largest_weight:,.0f})."
        )
    return found


def _list(names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    rest = len(names) - SHOWN_NAMES
    return f"{shown} and {rest:,} more" if rest > 0 else shown
