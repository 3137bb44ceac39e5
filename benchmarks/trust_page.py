"""What does the suite say on one page? A table of all families, and how many limits were kept.

    python benchmarks/trust_page.py [--label banditsrl-auto] [--rounds 10000]

Writes README.md and trust.png next to the results, or LABEL.md and LABEL.png if the label is not
that of the default policy. Only seeds from 1000 on are shown if there are
any. A regret ratio compares the seeds that both runs have. The picture in the documentation is
drawn by `python docs/figures/make.py trust`.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from trust_picture import draw
from trust_rounds import read_rows

from banditsrl.problems import FAMILIES, HELD_OUT
from banditsrl.problems.situation_lists import FIRST_REPORTED_SEED

DEFAULT_LABEL = "banditsrl-auto"
REFERENCES = ("linucb-disjoint", "lightgbm", "0.2.0")
LOSS_LIMIT, SMALL_LOSS, CERTIFIED_LIMIT, RATIO_LIMIT = 0.01, 0.002, 0.5, 1.1
"""Limits of the certificate loss, of the certified share of easy families and of the ratio."""

Rows = dict[int, dict[str, Any]]
"""The rows of one family, by seed."""


class Line(NamedTuple):
    """One family in the table and in the picture; lists have one entry per seed."""

    family: str
    change: str
    easy: bool
    held_out: bool
    random_loss: float
    losses: list[float]  # only of seeds that certified something
    loss: float | None  # of all certified rounds together
    certified: list[float]
    last_fifth: list[float]
    wrong: float  # share of certified rounds
    regret: float
    references: dict[str, float]  # mean regret
    ratio: float | None  # to the best reference


def write_page(folder: Path, label: str, *, rounds: int) -> None:
    """Write the table and the picture of a label, if it has any results."""
    lines = read_lines(folder, label, rounds)
    if not lines:
        print(f"There are no results of {label} with {rounds} rounds.")
        return
    is_default = label == DEFAULT_LABEL
    page, picture = ("README.md", "trust.png") if is_default else (f"{label}.md", f"{label}.png")
    draw(lines, title=name_run(label, rounds)).savefig(folder / picture, dpi=130)
    text = describe(lines, label, rounds, picture) + describe_swaps(folder, label, rounds)
    (folder / page).write_text(text)
    print(f"{folder / page}: {count_kept(lines)}")


def name_run(label: str, rounds: int) -> str:
    """Return the title of the picture."""
    return f"{label}, {rounds:,} rounds"


def fresh_label(label: str) -> str:
    """Return the label of runs that start after the change."""
    return f"{label} fresh"


def read_lines(folder: Path, label: str, rounds: int) -> list[Line]:
    """Return one line per family that the label has results of."""
    own = _by_family(read_rows(folder / f"{label}.jsonl"), rounds)
    others = {
        name: _by_family(read_rows(folder / f"{name}.jsonl"), rounds)
        for name in REFERENCES
        if name != label
    }
    return [
        _make_line(family, own[family], {name: others[name].get(family, {}) for name in others})
        for family in FAMILIES
        if family in own
    ]


def _by_family(rows: Iterable[dict[str, Any]], rounds: int) -> dict[str, Rows]:
    """Return the rows by family and seed; later ones replace earlier ones."""
    chosen = [row for row in rows if row["rounds"] == rounds]
    reported = [row for row in chosen if row["seed"] >= FIRST_REPORTED_SEED]
    found: dict[str, Rows] = {}
    for row in reported or chosen:
        found.setdefault(row["family"], {})[row["seed"]] = row
    return found


def _make_line(family: str, rows: Rows, others: dict[str, Rows]) -> Line:
    facts, every = FAMILIES[family].facts, list(rows.values())
    losses = [row["certificate_loss"] for row in every if row["certificate_loss"] is not None]
    certified = [row["certified"] for row in every]
    total = sum(certified)
    together = sum((row["certificate_loss"] or 0.0) * row["certified"] for row in every)
    return Line(
        family=family,
        change=facts.change,
        easy=facts.easy,
        held_out=family in HELD_OUT,
        random_loss=float(np.mean([row["random_loss"] for row in every])),
        losses=losses,
        loss=together / total if losses else None,
        certified=certified,
        last_fifth=[row["certified_last_fifth"] for row in every],
        wrong=sum(row["wrong"] * row["certified"] for row in every) / total if total else 0.0,
        regret=float(np.mean([row["regret"] for row in every])),
        references={
            name: float(np.mean([row["regret"] for row in other.values()]))
            for name, other in others.items()
            if other
        },
        ratio=_best_ratio(rows, others.values()),
    )


def _best_ratio(rows: Rows, others: Iterable[Rows]) -> float | None:
    """Return the largest ratio of regret to a reference, each on the seeds that both have."""
    ratios = []
    for other in others:
        shared = sorted(set(rows) & set(other))
        theirs = sum(other[seed]["regret"] for seed in shared)
        if shared and theirs > 0:
            ratios.append(sum(rows[seed]["regret"] for seed in shared) / theirs)
    return max(ratios, default=None)


def count_kept(lines: list[Line]) -> str:
    """Say how many families keep within each limit."""
    steady = [line for line in lines if line.change in ("none", "contexts") and line.random_loss]
    losses = [line.loss for line in steady if line.loss is not None]
    easy = [float(np.mean(line.last_fifth)) for line in lines if line.easy]
    ratios = [line.ratio for line in lines if line.ratio is not None]
    silent = [sum(line.certified) == 0 for line in lines if not line.random_loss]
    return (
        f"of {len(steady)} families whose rewards do not change, {len(losses)} have certificates, "
        f"and their certificate loss is at most 1% on {sum(x <= LOSS_LIMIT for x in losses)} of "
        f"those (at most 0.2% on {sum(x <= SMALL_LOSS for x in losses)}); "
        "certified share of the last fifth at least 0.5 "
        f"on {sum(x >= CERTIFIED_LIMIT for x in easy)} of {len(easy)} easy families; regret at "
        f"most 1.1 times the best reference on {sum(x <= RATIO_LIMIT for x in ratios)} of "
        f"{len(ratios)}; no certificate on {sum(silent)} of {len(silent)} families without signal."
    )


HEADER = """# Can the certificates be trusted?

`{label}` on {n} situations with known truth, {rounds:,} rounds, {seeds} seeds each.
Families in **bold** were held out: no setting was chosen on them. Families marked ° are easy.

In short: {kept}

![Certificate loss, certified share and regret ratio of every family]({picture})

- *Certificate loss*: regret in certified rounds per certified round, as a share of what random play
  loses per round. A dash means that nothing was certified.
- *Certified*: certified rounds over rounds, in the whole run and in its last fifth.
- *Wrong*: certified rounds whose action was not the best, over certified rounds.
- *Random play*: what it loses per round. *Regret* is that of the whole run.
- *Ratio*: regret over that of the best reference on the same seeds.
- References: LinUCB with an intercept (`linucb-disjoint`), epsilon-greedy LightGBM, and the default
  policy of 0.2.0 (commit 7917999).

| family | changes | random play | certificate loss | certified | last fifth | wrong | regret \
| LinUCB | LightGBM | 0.2.0 | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def describe(lines: list[Line], label: str, rounds: int, picture: str) -> str:
    """Return the page."""
    sizes = sorted({len(line.certified) for line in lines})
    seeds = "-".join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
    head = HEADER.format(
        label=label,
        n=len(lines),
        rounds=rounds,
        seeds=seeds,
        kept=count_kept(lines),
        picture=picture.replace(" ", "%20"),
    )
    return head + "\n".join(_format_line(line) for line in lines) + "\n"


def _format_line(line: Line) -> str:
    name = f"**{line.family}**" if line.held_out else line.family
    cells = [
        name + ("°" if line.easy else ""),
        "" if line.change == "none" else line.change,
        f"{line.random_loss:.3g}",
        "-" if line.loss is None else f"{100 * line.loss:.2f}%",
        f"{np.mean(line.certified):.2f}",
        f"{np.mean(line.last_fifth):.2f}",
        f"{100 * line.wrong:.1f}%",
        _format_regret(line.regret),
        *(_format_regret(line.references.get(name)) for name in REFERENCES),
        "" if line.ratio is None else f"{line.ratio:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


SWAPS = """
## After a swap at half time

A policy that is started afresh at the change plays the second half alone. *Wrong* is the share of
all rounds of the second half that were certified wrongly.

| family | regret of the second half | started afresh | ratio | wrong |
|---|---|---|---|---|
"""


def describe_swaps(folder: Path, label: str, rounds: int) -> str:
    """Return the section about sudden changes, or nothing if there are no results."""
    whole = _by_family(read_rows(folder / f"{label}.jsonl"), rounds)
    fresh = _by_family(read_rows(folder / f"{fresh_label(label)}.jsonl"), rounds)
    lines = []
    for family in fresh:
        seeds = sorted(set(fresh[family]) & set(whole.get(family, {})))
        if not seeds:
            continue
        ours = float(np.mean([whole[family][seed]["second_half_regret"] for seed in seeds]))
        theirs = float(np.mean([fresh[family][seed]["regret"] for seed in seeds]))
        wrong = float(np.mean([whole[family][seed]["wrong_second_half"] for seed in seeds]))
        cells = [family, _format_regret(ours), _format_regret(theirs), f"{ours / theirs:.2f}"]
        lines.append(f"| {' | '.join([*cells, f'{100 * wrong:.2f}%'])} |")
    return SWAPS + "\n".join(lines) + "\n" if lines else ""


def _format_regret(regret: float | None) -> str:
    if regret is None:
        return ""
    return f"{regret:,.0f}" if regret >= 100 else f"{regret:.3g}"


def main() -> None:
    """Write the page again from stored results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--label", default=DEFAULT_LABEL, help="Name of the results.")
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/trust"))
    options = parser.parse_args()
    write_page(options.out, options.label, rounds=options.rounds)


if __name__ == "__main__":
    main()
