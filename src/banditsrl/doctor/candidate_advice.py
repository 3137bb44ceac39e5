"""Which candidate embedding should be used, and why? The recommendation that verdicts lead to."""

from collections.abc import Sequence

from banditsrl.doctor.verdicts import CandidateVerdict


def recommend(verdicts: Sequence[CandidateVerdict]) -> CandidateVerdict:
    """Return the candidate to use.

    A candidate that fits comes before one that does not; then HLS, weak HLS, the strongest
    spectrum and the smallest dimension decide. If none fits, it is the one with the smallest error.
    """
    fitting = [verdict for verdict in verdicts if verdict.realizable is not False]
    if not fitting:
        return min(verdicts, key=lambda verdict: verdict.error)
    return max(fitting, key=_rank_key)


def write_advice(verdicts: Sequence[CandidateVerdict], *, estimated: bool) -> str:
    """Return the recommendation in words; `estimated` says that it rests on a log."""
    best = recommend(verdicts)
    if best.realizable is False:
        return (
            f"No candidate explains the rewards. {best.name} comes nearest, but do not trust its "
            "certificates: they hold only for a candidate that explains the rewards. Look for "
            "better features first."
        )
    start = f"Use {best.name}: it {_describe_fit(best, estimated=estimated)}"
    if best.hls:
        return (
            f"{start}, and its best actions span all {best.dim} directions. Playing the best "
            "actions keeps teaching the policy all it needs, so exploration can end."
        )
    if best.weak_hls:
        return (
            f"{start}, and its best actions span all {best.rank} directions that any action "
            f"reaches ({best.dim - best.rank} of {best.dim} are never used). Exploration can end; "
            "select with the loss weak or span."
        )
    return (
        f"{start}, but its best actions miss {best.rank - best.greedy_rank} of {best.rank} "
        "directions, and no candidate does better: some exploration has to go on. LEADER can "
        "combine candidates that complement each other."
    )


def _describe_fit(verdict: CandidateVerdict, *, estimated: bool) -> str:
    """Return whether a candidate explains the rewards, in words."""
    if not verdict.realizable:
        return "may explain the rewards (the log cannot tell)"
    return f"explains the rewards{', as far as the data show' if estimated else ''}"


def describe_span(verdict: CandidateVerdict, *, estimated: bool) -> str:
    """Return what the best actions span, in words."""
    caveat = " as far as the data show" if estimated else ""
    unused = f" Redundant: {verdict.dim - verdict.rank} of {verdict.dim} directions are never used."
    if verdict.hls:
        return f"HLS{caveat}: the best actions span every direction."
    if verdict.weak_hls:
        return f"weak HLS{caveat}: the best actions span all that any action reaches.{unused}"
    missed = verdict.rank - verdict.greedy_rank
    return (
        f"not HLS{caveat}: the best actions miss {missed} of the {verdict.rank} directions that "
        f"all actions span.{unused if verdict.redundant else ''}"
    )


def _rank_key(verdict: CandidateVerdict) -> tuple[bool, bool, bool, float, int]:
    strength = verdict.strength if verdict.weak_hls else 0.0
    return (verdict.realizable is True, verdict.hls, verdict.weak_hls, strength, -verdict.dim)
