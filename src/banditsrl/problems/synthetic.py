"""The paper's linear problems, generated: varying dimension (four variants) and mixing.

All share one construction: reference features N(0, 1) of dimension 6 for 20 contexts and 5
actions, a unit parameter, noise 0.3. The reference is HLS; every other candidate predicts the
same rewards but was bent so that its optimal actions no longer span the space. A generated
problem verifies what its name promises and refuses to exist otherwise.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count, one_of
from banditsrl.errors import InvalidProblem
from banditsrl.problems.finite import (
    Candidate,
    FiniteProblem,
    best_fit,
    verify_optimum,
    verify_realizable,
)
from banditsrl.problems.problem_catalogue import PROBLEMS

N_CONTEXTS, N_ACTIONS, DIM, NOISE_STD = 20, 5, 6, 0.3
VARIANTS = ("realizable", "misspecified", "no-hls", "weak-hls")
RANDOM_DIMS = (3, 9, 12, 12, 18)
N_PADDING = 5

MIN_GAP = 0.14
"""Contexts whose two best actions are closer than in the paper's instance are drawn again.

The time after which regret is flat grows like 1 / gap^2, and the smallest gap of twenty normal
contexts is often 0.01: no horizon of the paper would show it.
"""

MIN_LAMBDA_STAR = 0.5
"""Reference features with a smaller lambda-star are drawn again, for the same reason: the time to
select the HLS candidate grows like 1 / lambda-star (the paper's instance has 0.88)."""

REALIZABLE_TOLERANCE = 1e-9
"""Generated in float64, so what remains is rounding (some 1e-15)."""

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest are zero."""

Table = NDArray[np.float64]


def vardim(
    *,
    variant: str,
    seed: int = 0,
    rho: Any = None,
    noise: str = "gaussian",
    noise_std: float = NOISE_STD,
) -> FiniteProblem:
    """The varying-dimension problem (paper, Section 5).

    Args:
        variant: "realizable" (dimensions 2..6 without HLS, and the HLS one), "misspecified" (the
            same and seven candidates that do not predict the rewards), "no-hls" (without the HLS
            one) or "weak-hls" (five ones appended to each of the six, so that none is HLS and the
            first is weakly so).
        seed: The problem seed; the same seed gives the same problem.
        rho: Probability of every context, (20,); uniform by default.
        noise: "gaussian" or "none" (the means are no probabilities).
        noise_std: Standard deviation of Gaussian noise.
    """
    one_of("variant", variant, VARIANTS)
    rng = np.random.default_rng(count("seed", seed, 0))
    reference, theta = _reference(rng)
    means = reference @ theta
    hls = Candidate(reference, theta, True, "hls d=6")
    collinear = [_collinear(reference, theta, dim, rng) for dim in range(2, DIM + 1)]
    variants = {
        "realizable": lambda: [hls, *collinear],
        "misspecified": lambda: [hls, *collinear, *_misspecified(reference, means, rng)],
        "no-hls": lambda: collinear,
        "weak-hls": lambda: [_padded(candidate) for candidate in [hls, *collinear]],
    }
    problem = FiniteProblem(
        means,
        variants[variant](),
        name=f"vardim-{variant}",
        rho=rho,
        noise=noise,
        noise_std=noise_std,
    )
    verify_optimum(problem)
    verify_realizable(problem, REALIZABLE_TOLERANCE)
    spanning = {"no-hls": None}.get(variant, 0)
    _verify_spanning(problem, spanning, weak=variant == "weak-hls")
    return problem


def mixing(
    *, seed: int = 0, rho: Any = None, noise: str = "gaussian", noise_std: float = NOISE_STD
) -> FiniteProblem:
    """Six candidates of optimal rank 5, none of which is HLS, but a mixture is.

    The parameter is absorbed into the features. In the k-th candidate the coordinates k and k+1
    of the optimal actions are replaced by their mean, so the direction e_k - e_{k+1} is lost. Any
    other action has some such pair of equal coordinates, so that a candidate's optimal actions
    span it: the condition under which LEADER is proved to have constant regret. The settings are
    those of `vardim`.
    """
    rng = np.random.default_rng(count("seed", seed, 0))
    reference, theta = _reference(rng)
    means = reference @ theta
    rows, best = np.arange(N_CONTEXTS), means.argmax(axis=1)
    weighted = reference * theta
    spanned = _levelled(weighted, rng.integers(DIM, size=(N_CONTEXTS, N_ACTIONS)))
    candidates = []
    for k in range(DIM):
        features = spanned.copy()
        features[rows, best] = _levelled(weighted[rows, best], np.full(N_CONTEXTS, k))
        candidates.append(Candidate(features, np.ones(DIM), True, f"without e{k}-e{(k + 1) % DIM}"))
    problem = FiniteProblem(
        means, candidates, name="mixing", rho=rho, noise=noise, noise_std=noise_std
    )
    verify_optimum(problem)
    verify_realizable(problem, REALIZABLE_TOLERANCE)
    _verify_spanning(problem, None, weak=False)
    _verify_mixing(problem)
    return problem


def _reference(rng: np.random.Generator) -> tuple[Table, Table]:
    """Normal features and a unit parameter with a gap and a lambda-star that can be seen."""
    theta = rng.standard_normal(DIM)
    theta /= np.linalg.norm(theta)
    lambda_star = 0.0
    while lambda_star < MIN_LAMBDA_STAR:
        features = np.stack([_context(theta, rng) for _ in range(N_CONTEXTS)])
        optimal = features[np.arange(N_CONTEXTS), (features @ theta).argmax(axis=1)]
        lambda_star = np.linalg.eigvalsh(optimal.T @ optimal / N_CONTEXTS)[0]
    return features, theta


def _context(theta: Table, rng: np.random.Generator) -> Table:
    """Normal features of one context, (A, d), with a gap of at least MIN_GAP."""
    while True:
        features = rng.standard_normal((N_ACTIONS, DIM))
        second, best = np.sort(features @ theta)[-2:]
        if best - second >= MIN_GAP:
            return features


def _collinear(features: Table, theta: Table, dim: int, rng: np.random.Generator) -> Candidate:
    """Realizable in dimension `dim` by a unit parameter, with all optimal actions on one line."""
    weight = np.linalg.norm(theta[dim - 1 :])
    surplus = features[..., dim - 1 :] @ theta[dim - 1 :] / weight
    folded = np.concatenate([features[..., : dim - 1], surplus[..., None]], axis=-1)
    short = np.append(theta[: dim - 1], weight)
    means = folded @ short
    rows, best = np.arange(N_CONTEXTS), means.argmax(axis=1)
    folded[rows, best] = means[rows, best][:, None] * short / (short @ short)
    rotation, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    return Candidate(folded @ rotation, rotation.T @ short, True, f"collinear d={dim}")


def _levelled(features: Table, k: NDArray[np.int64]) -> Table:
    """Features (..., d) whose coordinates k (...) and k + 1 are replaced by their mean."""
    pair = np.stack([k, (k + 1) % DIM], axis=-1)
    mean = np.take_along_axis(features, pair, axis=-1).mean(axis=-1, keepdims=True)
    levelled = features.copy()
    np.put_along_axis(levelled, pair, mean, axis=-1)
    return levelled


def _misspecified(reference: Table, means: Table, rng: np.random.Generator) -> list[Candidate]:
    everywhere = np.ones(means.shape, dtype=bool)
    parts = [("half", reference[..., : DIM // 2]), ("third", reference[..., : DIM // 3])]
    random = [
        (f"random d={dim}", rng.standard_normal((N_CONTEXTS, N_ACTIONS, dim)))
        for dim in RANDOM_DIMS
    ]
    return [
        Candidate(features, best_fit(features, means, everywhere)[0], False, name)
        for name, features in parts + random
    ]


def _padded(candidate: Candidate) -> Candidate:
    ones = np.ones((*candidate.features.shape[:2], N_PADDING))
    return Candidate(
        np.concatenate([candidate.features, ones], axis=-1),
        np.append(candidate.theta, np.zeros(N_PADDING)),
        candidate.realizable,
        f"{candidate.name} + ones",
    )


def _verify_spanning(problem: FiniteProblem, spanning: int | None, *, weak: bool) -> None:
    """Among realizable candidates only `spanning` may have optimal features that span."""
    for k, candidate in enumerate(problem.representations):
        optimal = _optimal(problem, candidate)
        everything = candidate.features[problem.possible]
        target = _rank(everything) if weak else candidate.dim
        spans = _rank(optimal) == target
        if candidate.realizable and spans != (k == spanning):
            word = "weakly HLS" if weak else "HLS"
            raise InvalidProblem(
                f"{problem.name}: representation {k} must "
                f"{'' if k == spanning else 'not '}be {word}, "
                f"got optimal features of rank {_rank(optimal)} in dimension {target}."
            )


def _verify_mixing(problem: FiniteProblem) -> None:
    """Every feature must lie in the span of the optimal ones of some candidate."""
    outside = np.full(problem.mean_rewards.shape, np.inf)
    for candidate in problem.representations:
        _, sizes, axes = np.linalg.svd(_optimal(problem, candidate))
        lost = axes[int((sizes > RANK_TOLERANCE * sizes[0]).sum()) :]
        distance = np.linalg.norm(candidate.features @ lost.T, axis=-1)
        outside = np.minimum(outside, np.where(problem.possible, distance, 0.0))
    if outside.max() > RANK_TOLERANCE:
        context, action = np.unravel_index(outside.argmax(), outside.shape)
        raise InvalidProblem(
            f"{problem.name}: some candidate's optimal features must span every feature, got a "
            f"distance of {outside.max():.2g} in context {context} for action {action}."
        )


def _optimal(problem: FiniteProblem, candidate: Candidate) -> Table:
    """The features of the optimal actions, one row per context that can occur."""
    (contexts,) = np.nonzero(problem.rho > 0)
    return candidate.features[contexts, problem.optimal_actions[contexts]]


def _rank(rows: Table) -> int:
    return int(np.linalg.matrix_rank(rows, rtol=RANK_TOLERANCE))


for _variant in VARIANTS:
    PROBLEMS.add(f"vardim-{_variant}", partial(vardim, variant=_variant))
PROBLEMS.add("mixing", mixing)
