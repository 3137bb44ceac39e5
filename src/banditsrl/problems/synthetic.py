"""How are the paper's linear problems generated? Varying dimension (four variants), and mixing.

All share one construction: reference features N(0, 1) of dimension 6 for 20 contexts and 5
actions, a unit parameter, noise 0.3. The reference is HLS. Every other realizable candidate
predicts the same rewards, but its optimal actions were changed so that they no longer span the
space. What the name of a generated problem promises is verified; if it does not hold, the problem
is refused.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count, one_of
from banditsrl.errors import InvalidProblem
from banditsrl.problems.claims import Claim, best_fit
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.problem_catalogue import PROBLEMS
from banditsrl.problems.verification import verify_optimum, verify_realizable
from banditsrl.representations.table import Table

N_CONTEXTS, N_ACTIONS, DIM, NOISE_STD = 20, 5, 6, 0.3
VARIANTS = ("realizable", "misspecified", "no-hls", "weak-hls")
RANDOM_DIMS = (3, 9, 12, 12, 18)
N_PADDING = 5

MIN_GAP = 0.14
"""Contexts whose two best actions are closer than in the paper's instance are drawn again.

The time after which regret is flat grows like 1 / gap^2, and the smallest gap of twenty normal
contexts is often 0.01: regret would not become flat within any horizon of the paper.
"""

MIN_LAMBDA_STAR = 0.5
"""Reference features with a smaller lambda-star are drawn again, for the same reason: the time to
select the HLS candidate grows like 1 / lambda-star (the paper's instance has 0.88)."""

REALIZABLE_TOLERANCE = 1e-9
"""Features are generated in float64, so that the only error is rounding (about 1e-15)."""

RANK_TOLERANCE = 1e-6
"""Singular values below this share of the largest count as zero."""

Floats = NDArray[np.float64]

Candidates = list[tuple[Floats, Claim]]
"""Features (X, A, d) and what is claimed about them."""


def vardim(
    *,
    variant: str,
    seed: int = 0,
    rho: Any = None,
    noise: str = "gaussian",
    noise_std: float = NOISE_STD,
) -> FiniteProblem:
    """Generate the varying-dimension problem (paper, Section 5).

    Args:
        variant: "realizable" (dimensions 2..6 without HLS, and the HLS one), "misspecified" (the
            same and seven candidates that do not predict the rewards), "no-hls" (without the HLS
            one) or "weak-hls" (the number 1 is appended five times to the features of each of the
            six, so that none is HLS and only the first is weakly HLS).
        seed: Seed of the problem; the same seed gives the same problem.
        rho: Probability of every context, (20,); uniform by default.
        noise: "gaussian" or "none"; the means are not probabilities.
        noise_std: Standard deviation of Gaussian noise.
    """
    one_of("variant", variant, VARIANTS)
    rng = np.random.default_rng(count("seed", seed, 0))
    reference, theta = _draw_reference(rng)
    means = reference @ theta
    hls = (reference, Claim(theta, True, "hls d=6"))
    collinear = [_make_collinear(reference, theta, dim, rng) for dim in range(2, DIM + 1)]
    variants: dict[str, Callable[[], Candidates]] = {
        "realizable": lambda: [hls, *collinear],
        "misspecified": lambda: [hls, *collinear, *_make_misspecified(reference, means, rng)],
        "no-hls": lambda: collinear,
        "weak-hls": lambda: [_append_ones(*candidate) for candidate in [hls, *collinear]],
    }
    problem = _build(
        means,
        variants[variant](),
        name=f"vardim-{variant}",
        rho=rho,
        noise=noise,
        noise_std=noise_std,
    )
    spanning = None if variant == "no-hls" else 0
    _verify_spanning(problem, spanning, weak=variant == "weak-hls")
    return problem


def mixing(
    *, seed: int = 0, rho: Any = None, noise: str = "gaussian", noise_std: float = NOISE_STD
) -> FiniteProblem:
    """Generate six candidates of optimal rank 5, none of which is HLS, but a mixture is.

    The parameter is absorbed into the features. In the k-th candidate the coordinates k and k+1
    of the optimal actions are replaced by their mean, so the direction $e_k-e_{k+1}$ is lost. Every
    other action also has such a pair of equal coordinates, so that the optimal actions of some
    candidate span it: this is the condition under which LEADER is proved to have constant regret.

    Args:
        seed: Seed of the problem; the same seed gives the same problem.
        rho: Probability of every context, (20,); uniform by default.
        noise: "gaussian" or "none"; the means are not probabilities.
        noise_std: Standard deviation of Gaussian noise.
    """
    rng = np.random.default_rng(count("seed", seed, 0))
    reference, theta = _draw_reference(rng)
    means = reference @ theta
    rows, best = np.arange(N_CONTEXTS), means.argmax(axis=1)
    weighted = reference * theta
    spanned = _average_pairs(weighted, rng.integers(DIM, size=(N_CONTEXTS, N_ACTIONS)))
    candidates = []
    for k in range(DIM):
        features = spanned.copy()
        features[rows, best] = _average_pairs(weighted[rows, best], np.full(N_CONTEXTS, k))
        claim = Claim(np.ones(DIM), True, f"without e{k}-e{(k + 1) % DIM}")
        candidates.append((features, claim))
    problem = _build(means, candidates, name="mixing", rho=rho, noise=noise, noise_std=noise_std)
    _verify_spanning(problem, None, weak=False)
    _verify_mixing(problem)
    return problem


def _build(means: Floats, candidates: Candidates, **settings: Any) -> FiniteProblem:
    """Return a problem with these candidates, whose optimum and claims are verified."""
    features = [features for features, _ in candidates]
    claims = [claim for _, claim in candidates]
    problem = FiniteProblem(means, features, claims=claims, **settings)
    verify_optimum(problem)
    verify_realizable(problem, REALIZABLE_TOLERANCE)
    return problem


def _draw_reference(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw normal features and a unit parameter whose gap and lambda-star are large enough."""
    theta = rng.standard_normal(DIM)
    theta /= np.linalg.norm(theta)
    lambda_star = 0.0
    while lambda_star < MIN_LAMBDA_STAR:
        features = np.stack([_draw_context(theta, rng) for _ in range(N_CONTEXTS)])
        optimal = features[np.arange(N_CONTEXTS), (features @ theta).argmax(axis=1)]
        lambda_star = np.linalg.eigvalsh(optimal.T @ optimal / N_CONTEXTS)[0]
    return features, theta


def _draw_context(theta: Floats, rng: np.random.Generator) -> Floats:
    """Draw normal features of one context, (A, d), with a gap of at least MIN_GAP."""
    while True:
        features = rng.standard_normal((N_ACTIONS, DIM))
        second, best = np.sort(features @ theta)[-2:]
        if best - second >= MIN_GAP:
            return features


def _make_collinear(
    features: Floats, theta: Floats, dim: int, rng: np.random.Generator
) -> tuple[Floats, Claim]:
    """Return a realizable candidate of dimension `dim` whose optimal actions lie on one line."""
    weight = np.linalg.norm(theta[dim - 1 :])
    surplus = features[..., dim - 1 :] @ theta[dim - 1 :] / weight
    folded = np.concatenate([features[..., : dim - 1], surplus[..., None]], axis=-1)
    short = np.append(theta[: dim - 1], weight)
    means = folded @ short
    rows, best = np.arange(N_CONTEXTS), means.argmax(axis=1)
    folded[rows, best] = means[rows, best][:, None] * short / (short @ short)
    rotation, _ = np.linalg.qr(rng.standard_normal((dim, dim)))
    return folded @ rotation, Claim(rotation.T @ short, True, f"collinear d={dim}")


def _average_pairs(features: Floats, k: NDArray[np.int64]) -> Floats:
    """Return features (..., d) with coordinates k (...) and k + 1 replaced by their mean."""
    pair = np.stack([k, (k + 1) % DIM], axis=-1)
    mean = np.take_along_axis(features, pair, axis=-1).mean(axis=-1, keepdims=True)
    averaged = features.copy()
    np.put_along_axis(averaged, pair, mean, axis=-1)
    return averaged


def _make_misspecified(reference: Floats, means: Floats, rng: np.random.Generator) -> Candidates:
    """Return two parts of the reference and five random candidates, none of them realizable."""
    everywhere = np.ones(means.shape, dtype=bool)
    parts = [("half", reference[..., : DIM // 2]), ("third", reference[..., : DIM // 3])]
    random = [
        (f"random d={dim}", rng.standard_normal((N_CONTEXTS, N_ACTIONS, dim)))
        for dim in RANDOM_DIMS
    ]
    return [
        (features, Claim(best_fit(features, means, everywhere)[0], False, name))
        for name, features in parts + random
    ]


def _append_ones(features: Floats, claim: Claim) -> tuple[Floats, Claim]:
    """Return a candidate with N_PADDING ones appended, whose parameter ignores them."""
    ones = np.ones((*features.shape[:2], N_PADDING))
    theta = np.append(claim.theta, np.zeros(N_PADDING))
    padded = Claim(theta, claim.realizable, f"{claim.name} + ones")
    return np.concatenate([features, ones], axis=-1), padded


def _verify_spanning(problem: FiniteProblem, spanning: int | None, *, weak: bool) -> None:
    """Refuse a problem unless `spanning`, and no other realizable candidate, is (weakly) HLS."""
    for k, (table, claim) in enumerate(zip(problem.representations, problem.claims, strict=True)):
        optimal = _optimal_features(problem, table)
        target = _rank(table.features[problem.possible]) if weak else table.dim
        spans = _rank(optimal) == target
        if claim.realizable and spans != (k == spanning):
            word = "weakly HLS" if weak else "HLS"
            raise InvalidProblem(
                f"{problem.name}: representation {k} must "
                f"{'' if k == spanning else 'not '}be {word}, "
                f"got optimal features of rank {_rank(optimal)} in dimension {target}."
            )


def _verify_mixing(problem: FiniteProblem) -> None:
    """Refuse a problem with a feature that the optimal features of no candidate span."""
    outside = np.full(problem.mean_rewards.shape, np.inf)
    for table in problem.representations:
        _, sizes, axes = np.linalg.svd(_optimal_features(problem, table))
        lost = axes[int((sizes > RANK_TOLERANCE * sizes[0]).sum()) :]
        distance = np.linalg.norm(table.features @ lost.T, axis=-1)
        outside = np.minimum(outside, np.where(problem.possible, distance, 0.0))
    if outside.max() > RANK_TOLERANCE:
        context, action = np.unravel_index(outside.argmax(), outside.shape)
        raise InvalidProblem(
            f"{problem.name}: some candidate's optimal features must span every feature, got a "
            f"distance of {outside.max():.2g} in context {context} for action {action}."
        )


def _optimal_features(problem: FiniteProblem, table: Table) -> Floats:
    """Return the features of the optimal actions, one row per context that can occur."""
    (contexts,) = np.nonzero(problem.rho > 0)
    return table.features[contexts, problem.optimal_actions[contexts]]


def _rank(rows: Floats) -> int:
    return int(np.linalg.matrix_rank(rows, rtol=RANK_TOLERANCE))


for _variant in VARIANTS:
    PROBLEMS.add(f"vardim-{_variant}", partial(vardim, variant=_variant))
PROBLEMS.add("mixing", mixing)
