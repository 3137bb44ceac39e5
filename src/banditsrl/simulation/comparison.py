"""Which policy is better on a problem? All of them on the same seeds, compared pair by pair.

With one seed, every policy meets the same contexts and the same noise. So the difference of two
regrets varies less from seed to seed than the regrets do, and pairs are compared by it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from banditsrl.display.charts import LineChart, make_line
from banditsrl.display.displayed import Displayed
from banditsrl.display.intervals import BAND, margin_of_mean
from banditsrl.display.numerals import format_count, format_plus_minus, format_share
from banditsrl.display.summaries import Summary
from banditsrl.errors import UnknownName
from banditsrl.simulation.named_sides import (
    ON_CANDIDATE,
    GivenPolicy,
    GivenProblem,
    find_problem,
    name_policies,
)
from banditsrl.simulation.result import Result, chart_certificates
from banditsrl.simulation.simulate import HORIZON, simulate

if TYPE_CHECKING:
    import polars as pl


class Difference(NamedTuple):
    """The regret of one policy minus that of another, at the end, over the common seeds.

    Attributes:
        first: Name of the one policy.
        second: Name of the other.
        mean: The mean difference, below zero if the first has less regret.
        margin: Half the width of the 95% interval of the mean, by Student's t.
        n_better: Number of seeds in which the first has less regret.
        n_seeds: Number of seeds.
    """

    first: str
    second: str
    mean: float
    margin: float
    n_better: int
    n_seeds: int

    def __str__(self) -> str:
        size = format_plus_minus(abs(self.mean), self.margin)
        if self.n_seeds > 1 and not abs(self.mean) > self.margin:
            return f"{self.first} and {self.second} cannot be told apart (difference {size})."
        better, worse = _order_by_regret(self)
        return f"{better} has {size} less regret than {worse}."


@dataclass(frozen=True, repr=False)
class Comparison(Displayed):
    """Several policies on one problem with the same seeds.

    Attributes:
        results: One result per policy, in the order given.
    """

    results: tuple[Result, ...]

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.policy == name:
                return result
        begun = [each for each in self.results if each.policy.startswith(f"{name}{ON_CANDIDATE}")]
        if len(begun) == 1:
            return begun[0]
        known = ", ".join(result.policy for result in self.results)
        raise UnknownName(f"There is no policy named {name!r} in this comparison; known: {known}.")

    def __repr__(self) -> str:
        names = ", ".join(result.policy for result in self.results)
        return f"Comparison({names} on {self.results[0].problem})"

    @property
    def table(self) -> Summary:
        """Regret and certificates of every policy, the smallest regret first."""
        first = self.results[0]
        size = f"{format_count(first.horizon, 'step')}, {format_count(first.n_seeds, 'seed')}"
        rows = tuple(_describe(result) for result in sorted(self.results, key=_final_regret))
        headers = ("policy", "regret", "in the second half", "certified", "wrong")
        return Summary(f"{first.problem}, {size}", rows, headers)

    def differences(self) -> tuple[Difference, ...]:
        """Return the difference of every pair of policies, seed by seed."""
        return tuple(_compare_pair(*pair) for pair in combinations(self.results, 2))

    def summary(self) -> Summary:
        """Return the table, and one sentence for every pair below it.

        Margins are those of a 95% interval of the mean over seeds, by Student's t. They are not
        corrected for the number of pairs.
        """
        table = self.table
        sentences = tuple(str(difference) for difference in self.differences())
        return Summary(table.title, table.rows, table.headers, sentences)

    def chart(self) -> LineChart:
        """Return the mean regret of every policy with its 95% band, and its certificates below."""
        lines = tuple(
            make_line(result.policy, result.steps, result.mean, margin_of_mean(result.regret))
            for result in self.results
        )
        seeds = format_count(self.results[0].n_seeds, "seed")
        caption = f"mean of {seeds}; {BAND}" if self.results[0].n_seeds > 1 else seeds
        title, below = self.results[0].problem, chart_certificates(self.results)
        return LineChart(title, "step", "cumulative regret", lines, caption, below)

    def to_polars(self) -> "pl.DataFrame":
        """Return one row per policy, seed and recorded step, with the columns that all have."""
        import polars as pl

        frames = [result.to_polars() for result in self.results]
        common = [name for name in frames[0].columns if all(name in f.columns for f in frames)]
        return pl.concat([frame.select(common) for frame in frames], how="vertical_relaxed")


def compare(
    problem: GivenProblem,
    policies: Sequence[GivenPolicy] | Mapping[str, GivenPolicy],
    *,
    horizon: int = HORIZON,
    seeds: int | Sequence[int] = 40,
    steps: Sequence[int] | None = None,
    progress: bool | Callable[..., None] | None = None,
) -> Comparison:
    """Run several policies on a problem with the same seeds.

    Args:
        problem: A problem, or its name.
        policies: Policies and names of policies; or a dictionary, whose keys are their names. On
            a problem with several candidates, a policy that works on one of them is listed with
            its number. A name such as "linucb" means the policy on candidate 0.
        horizon: Number of steps.
        seeds: How many seeds (0, 1, ...), or which ones.
        steps: The steps to record; about a hundred by default.
        progress: True shows a bar for each policy; a function is called as by `simulate`.

    Example:
        >>> import banditsrl
        >>> comparison = banditsrl.compare(
        ...     "vardim-realizable", ["linucb", "uniform"], horizon=500, seeds=3
        ... )
        >>> comparison.table.rows[0][0]  # the smallest regret
        'linucb on candidate 0'
    """
    common = find_problem(problem)
    results = [
        simulate(
            common, policy, horizon=horizon, seeds=seeds, steps=steps, name=name, progress=progress
        )
        for name, policy in name_policies(policies, common).items()
    ]
    return Comparison(tuple(results))


def _final_regret(result: Result) -> float:
    """Return the mean regret at the end."""
    return float(result.mean[-1])


def _order_by_regret(difference: Difference) -> tuple[str, str]:
    """Return the two names, the one with less regret first."""
    names = (difference.first, difference.second)
    return names if difference.mean < 0 else names[::-1]


def _describe(result: Result) -> tuple[str, ...]:
    final, half = result.regret[:, -1], result.second_half_regret
    return (
        result.policy,
        format_plus_minus(float(final.mean()), float(margin_of_mean(final))),
        format_plus_minus(float(half.mean()), float(margin_of_mean(half))),
        format_share(result.certificates.certified_in_last_tenth),
        result.wrong_words,
    )


def _compare_pair(first: Result, second: Result) -> Difference:
    gap = first.regret[:, -1] - second.regret[:, -1]
    return Difference(
        first.policy,
        second.policy,
        mean=float(gap.mean()),
        margin=float(margin_of_mean(gap)),
        n_better=int((gap < 0).sum()),
        n_seeds=len(gap),
    )
