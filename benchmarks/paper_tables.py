"""Tables of the paper's figures, from the stored curves: regret, certificates, paired differences.

Each `list_*` yields the rows of one table as text, the head first.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from paper_curves import BASES, MIN_SEEDS, PROBLEMS, Curve, Floats

from banditsrl.display.intervals import margin_of_mean
from banditsrl.display.numerals import NO_VALUE, format_number, format_plus_minus, format_share

SHORT = 10_000
"""Horizon of the scale `quick`, at which the linear figures were shown before."""


def list_linear(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a linear figure, the head first.

    A seed is flat at a horizon if it adds no regret in the second half of the steps up to there.
    """
    horizon = curves[0].steps[-1]
    yield (
        "panel",
        "policy",
        f"regret at {SHORT:,}",
        f"regret at {horizon:,}",
        "added in the second half",
        f"flat at {SHORT:,}",
        f"flat at {horizon:,}",
        "certified in the last tenth",
        "wrong certificates",
    )
    for curve in curves:
        early, added = curve.until(SHORT), curve.second_half()
        n = len(curve.seeds)
        yield (
            curve.panel,
            curve.label,
            format_mean(early.regret[:, -1]),
            format_mean(curve.regret[:, -1]),
            format_mean(added),
            f"{count_flat(early.second_half())}/{n}",
            f"{count_flat(added)}/{n}",
            *_list_certificates(curve),
        )


def list_choices(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield how many seeds use the weakly HLS candidate in the end, the head first."""
    yield "panel", "policy", "candidate 0 in use at the end", "and flat", "another one, and flat"
    for curve in curves:
        if curve.panel == "weak HLS" and curve.representation is not None:
            chosen, flat = curve.representation[:, -1] == 0, curve.second_half() == 0
            counts = (chosen.sum(), (chosen & flat).sum(), (~chosen & flat).sum())
            yield curve.panel, curve.label, *(f"{n}/{len(chosen)}" for n in counts)


def list_growth(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield how much regret is added by ten times the steps, where it grows, the head first.

    Logarithmic regret adds the same twice, and regret like T^(2/3) adds 4.6 times as much.
    """
    ends = (SHORT // 10, SHORT, SHORT * 10)
    yield (
        "panel",
        "policy",
        *(f"added from {a:,} to {b:,}" for a, b in pairwise(ends)),
        "ratio",
    )
    for curve in curves:
        regret = curve.regret[:, np.searchsorted(curve.steps, ends)]  # (S, 3)
        early, late = np.diff(regret).T
        if late.any():
            ratio = f"{late.mean() / early.mean():.2f}"
            yield curve.panel, curve.label, format_mean(early), format_mean(late), ratio


def list_against_leader(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield the paired difference of regret between BanditSRL-LinUCB and LEADER, the head first."""
    known = {(curve.panel, curve.label): curve for curve in curves}
    yield "panel", "BanditSRL-LinUCB less LEADER", "95% interval"
    for panel in dict.fromkeys(curve.panel for curve in curves):
        names = [(panel, "BanditSRL-LinUCB"), (panel, "LEADER")]
        if all(name in known for name in names):
            yield panel, *compare_pair(*(known[name] for name in names))[1:]


def _list_certificates(curve: Curve) -> tuple[str, str]:
    if not curve.has_test:
        return "no test", NO_VALUE
    wrong = curve.wrong[:, -1].mean()
    return format_share(curve.counts.certified_in_last_tenth), f"{wrong:.3g}"


def list_networks(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a figure with networks, the head first.

    Wrong certificates are counted per million certified rounds of the whole run. Regret is flat
    from a step on if no seed adds any after it, and if that is before the last tenth.
    """
    yield (
        "problem",
        "policy",
        "seeds",
        f"regret at {curves[0].steps[-1]:,}",
        "added in the last tenth",
        "certified in the last tenth",
        "wrong per million",
        "flat from step",
    )
    for curve in curves:
        counts = curve.counts
        yield (
            curve.panel,
            curve.label,
            str(len(curve.seeds)),
            format_mean(curve.regret[:, -1]),
            format_mean(curve.last_tenth()),
            format_share(counts.certified_in_last_tenth) if curve.has_test else "no test",
            f"{1e6 * counts.wrong_overall:,.0f}" if curve.has_test else NO_VALUE,
            name_flat(curve),
        )


def name_flat(curve: Curve) -> str:
    """Return the recorded step after which no seed adds regret; none if one does in the end."""
    last = int(curve.last_regret().max())
    return "none" if curve.last_tenth().any() else f"{last:,}"


def list_pairs(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield the paired differences of regret between NN-BanditSRL and its base, the head first.

    They are means over the common seeds, at three steps of the same runs.
    """
    known = {(curve.panel, curve.label): curve for curve in curves}
    ends = (SHORT, SHORT * 10, int(curves[0].steps[-1]))
    yield "problem", "base", "seeds", *(f"at {end:,}" for end in ends), "95% interval at the end"
    for problem in PROBLEMS:
        for base, alone in BASES.items():
            names = [(problem, f"nn-banditsrl-{base}"), (problem, alone)]
            if all(name in known for name in names):
                pair = [known[name] for name in names]
                early = [compare_pair(*(curve.until(end) for curve in pair)) for end in ends[:-1]]
                n_seeds, mean, interval = compare_pair(*pair)
                yield problem, base, n_seeds, *(found[1] for found in early), mean, interval


def compare_pair(ours: Curve, base: Curve) -> tuple[str, str, str]:
    """Return the number of common seeds, the mean difference of final regret, and its interval."""
    seeds = [seed for seed in ours.seeds if seed in base.seeds]
    finals = [
        np.array([curve.regret[curve.seeds.index(seed), -1] for seed in seeds])
        for curve in (ours, base)
    ]
    difference = finals[0] - finals[1]
    mean, margin = float(difference.mean()), float(margin_of_mean(difference))
    low, high = (format_number(end, margin) for end in (mean - margin, mean + margin))
    interval = f"{low} to {high}" if len(seeds) >= MIN_SEEDS else NO_VALUE
    return str(len(seeds)), format_number(mean, margin), interval


def count_flat(added: Floats) -> int:
    """Return how many seeds add no regret."""
    return int((added == 0).sum())


def format_mean(values: Floats) -> str:
    """Return a mean over seeds with its standard error; 0 alone if all of them are zero."""
    if not values.any():
        return "0"
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return format_plus_minus(float(values.mean()), float(error))


def format_rows(rows: Iterator[tuple[str, ...]]) -> str:
    """Return rows as a Markdown table; the first one is the head. Nothing if there is no other."""
    head, *body = rows
    if not body:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in body]
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines])
