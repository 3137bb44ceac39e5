"""Are the times right? They are found again by scanning t, with the formulas in plain Python."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.synthetic import vardim
from banditsrl.representations.table import Table
from banditsrl.theory.guarantees import theory

SIGMA, LAM, DELTA, GAP, N_ACTIONS = 0.3, 4.0, 0.05, 0.8, 2
POWERS = [2**j for j in range(1, 400)]

HLS = Table([[[1.0], [-1.0]], [[0.8], [-0.8]]])
FLAT = Table([[[1.0, 0.0], [-1.0, 1.0]], [[0.8, 0.0], [-0.8, 1.0]]])  # optimal actions on one line
WRONG = Table([[[1.0], [0.5]], [[1.0], [0.6]]])


def small_problem(*candidates, **settings):
    means = [[0.5, -0.5], [0.4, -0.4]]
    return FiniteProblem(means, candidates, **{"noise_std": SIGMA, **settings})


@dataclass
class Facts:
    dim: int
    L: float
    B: float
    gamma: float


def facts(candidate):
    """What the formulas need, from the definitions."""
    flat = candidate.features.reshape(4, -1)
    means = np.array([0.5, -0.5, 0.4, -0.4])
    theta = np.linalg.lstsq(flat, means, rcond=None)[0]
    gamma = np.linalg.eigvalsh(flat.T @ flat / 2)[0]
    norms = [math.sqrt(sum(v * v for v in row)) for row in flat]
    return Facts(flat.shape[1], max(norms), float(np.linalg.norm(theta)), float(gamma))


def beta(t, f, level):
    noise = 2 * math.log(1 / level) + f.dim * math.log(1 + t * f.L**2 / (LAM * f.dim))
    return SIGMA * math.sqrt(noise) + math.sqrt(LAM) * f.B


def rbar(t, f, level, base, loss):
    growth = f.dim * math.log(1 + t * f.L**2 / (LAM * f.dim))
    if base == "linucb" and loss == "eig":
        return 128 * LAM * f.B**2 * SIGMA**2 * (2 * math.log(1 / level) + growth) ** 2 / GAP
    if base == "linucb":
        return 2 * beta(t, f, level) * math.sqrt(2 * t * max(1, f.L**2 / LAM) * growth)
    forced = 2 * math.sqrt(t * math.log(6 * t / level)) + 3 * t ** (2 / 3)
    if loss == "bic":
        return 6 * beta(t, f, level / 3) * math.sqrt(N_ACTIONS) * t ** (2 / 3) + forced
    burn_in = (128 * f.L**2 * N_ACTIONS * math.sqrt(math.log(12 * f.dim / level)) / f.gamma) ** 8
    widths = f.L / math.sqrt(LAM) * (burn_in + 2)
    widths += 3 * f.L * math.sqrt(N_ACTIONS) * t ** (2 / 3) / math.sqrt(f.gamma)
    return 2 * beta(t, f, level / 3) * widths + forced


def level_at(t, n):
    return DELTA / (2 * (math.log2(t) + 1) ** 2) / n


def g(t, tau_elim, base, loss):
    """Suboptimal pulls with the three candidates, of which two are realizable."""
    worst = max(rbar(t, facts(c), level_at(t, 3), base, loss) for c in (HLS, FLAT))
    return (2 * tau_elim + worst * math.log2(t)) / GAP


def root(t, dim, n):
    return math.sqrt(t * math.log(4 * n * t * dim / DELTA))


def misspecification_of_wrong():
    """All four policies, with the least squares of one feature in closed form."""
    means = [[0.5, -0.5], [0.4, -0.4]]
    values = []
    for a, b in itertools.product(range(2), repeat=2):
        phi = [float(WRONG.features[0, a, 0]), float(WRONG.features[1, b, 0])]
        mu = [means[0][a], means[1][b]]
        fit = (phi[0] * mu[0] + phi[1] * mu[1]) / (phi[0] ** 2 + phi[1] ** 2)
        values.append(sum((p * fit - m) ** 2 for p, m in zip(phi, mu, strict=True)) / 2)
    return min(values)


CASES = [(base, loss) for base in ("linucb", "egreedy") for loss in ("eig", "bic")]


@pytest.fixture(scope="module")
def results():
    problem = small_problem(HLS, FLAT, WRONG)
    return {
        (base, loss): theory(problem, base=base, loss=loss, delta=DELTA, lam=LAM)
        for base, loss in CASES
    }


def test_elimination_is_the_first_power_of_two_beyond_the_misspecified_ones(results):
    epsilon, wrong = misspecification_of_wrong(), facts(WRONG)

    def eliminated(t):
        cover = {f.L: 160 * f.dim * math.log(12 * f.L * f.B * t) for f in map(facts, (HLS, FLAT))}
        total = 160 * wrong.dim * math.log(12 * wrong.L * wrong.B * t) + min(cover.values())
        return t > (total + 328 * math.log(8 * 9 * t**3 / DELTA)) / epsilon

    expected = next(t for t in POWERS if eliminated(t))
    assert not eliminated(expected / 2)
    assert {result.tau_elim for result in results.values()} == {expected}


@pytest.mark.parametrize(("base", "loss"), CASES)
def test_selection_is_the_first_power_of_two_that_satisfies_the_proof(results, base, loss):
    result = results[base, loss]

    def selected(t):
        need = 2 * g(t, result.tau_elim, base, loss) + 16 * root(t, 2, 3)
        if loss == "bic":
            need += rbar(t, facts(HLS), level_at(t, 3), base, loss)
        return t * 0.82 / 1.0 > need  # lambda* = (1 + 0.64) / 2 and L = 1

    assert result.tau_hls == next(t for t in POWERS if selected(t))


@pytest.mark.parametrize(("base", "loss"), CASES)
def test_the_base_algorithm_has_a_time_of_its_own(results, base, loss):
    outgrown = (t for t in POWERS if t > 8 / 0.82 * g(t, 0, base, loss))
    assert results[base, loss].tau_alg == next(outgrown)


def certified(t, tau_elim, base, loss):
    need = 16 * beta(t, facts(HLS), DELTA / 3) ** 2 / GAP**2
    need += g(t, tau_elim, base, loss) + 8 * root(t, 1, 3)
    return t >= need / 0.82 + 1


@pytest.mark.parametrize(("base", "loss"), CASES)
def test_the_test_triggers_from_the_first_time_that_satisfies_its_lemma(results, base, loss):
    result = results[base, loss]
    t = result.tau_glrt
    margin = 0.0 if t < 2**40 else 1e-9 * t  # two orders of summation differ by 1e-15 of t
    before, after = t - max(1.0, margin), t + margin
    assert certified(after, result.tau_elim, base, loss)
    assert not certified(before, result.tau_elim, base, loss)
    later = (t * 2.0**j for j in range(1, 60))
    assert all(certified(s, result.tau_elim, base, loss) for s in later)


@pytest.mark.parametrize(("base", "loss"), CASES)
def test_the_bound_is_that_of_the_main_theorem(results, base, loss):
    result, both = results[base, loss], [facts(HLS), facts(FLAT)]
    opt = max(result.tau_elim, result.tau_hls, result.tau_glrt)
    steps = opt - result.tau_elim
    worst = max(rbar(steps, f, level_at(opt, 3), base, loss) for f in both)
    assert result.tau_opt == opt
    assert result.bound == pytest.approx(2 * result.tau_elim + worst * math.log2(opt), rel=1e-9)
    assert result.bound_single is None
    assert result.bound_no_hls is None


def test_a_horizon_before_the_last_time_cuts_the_bound_there():
    result = theory(small_problem(HLS, FLAT), delta=DELTA, lam=LAM, horizon=1000)
    worst = max(rbar(1000, facts(c), level_at(1000, 2), "linucb", "eig") for c in (HLS, FLAT))
    assert result.tau_elim == 0.0
    assert result.tau_opt > 1000
    assert result.bound == pytest.approx(worst * math.log2(1000), rel=1e-9)
    assert any("exceeds 2 T" in note for note in result.notes)


@pytest.mark.parametrize("base", ["linucb", "egreedy"])
def test_a_single_representation_is_never_reset(base):
    result = theory(small_problem(HLS), base=base, delta=DELTA, lam=LAM)
    only, t = facts(HLS), result.tau_glrt

    def triggers(t):
        need = 16 * beta(t, only, DELTA) ** 2 / GAP**2
        need += rbar(t, only, DELTA, base, "eig") / GAP + 8 * root(t, 1, 1)
        return t >= need / 0.82 + 1

    assert (result.tau_elim, result.tau_hls, result.tau_opt) == (0.0, 0.0, t)
    assert triggers(t * (1 + 1e-9))
    assert not triggers(t * (1 - 1e-9) - 1)
    assert result.bound_single == pytest.approx(rbar(t, only, DELTA, base, "eig"), rel=1e-9)
    short = theory(small_problem(HLS), base=base, delta=DELTA, lam=LAM, horizon=50)
    assert short.bound_single == pytest.approx(rbar(50, only, DELTA, base, "eig"), rel=1e-9)


@pytest.mark.parametrize(("loss", "reduce"), [("eig", max), ("bic", min)])
def test_without_hls_the_bound_grows_with_the_horizon(loss, reduce):
    other = Table(np.concatenate([FLAT.features, -(FLAT.features[..., :1] ** 2)], axis=-1))
    problem = small_problem(FLAT, other)
    result = theory(problem, loss=loss, delta=DELTA, lam=LAM, horizon=10**6)
    each = [rbar(1e6, facts(c), level_at(1e6, 2), "linucb", loss) for c in (FLAT, other)]
    assert result.bound_no_hls == pytest.approx(reduce(each) * math.log2(1e6), rel=1e-6)
    assert result.tau_hls == result.tau_glrt == result.tau_opt == math.inf
    assert any("no realizable representation is HLS" in note for note in result.notes)
    endless = theory(problem, loss=loss, delta=DELTA, lam=LAM)
    assert endless.bound == math.inf
    assert endless.bound_no_hls is None
    assert any("only with a horizon" in note for note in endless.notes)


def test_the_rows_hold_each_number_with_its_logarithm(results):
    rows = {name: (value, log10) for name, value, log10 in results["linucb", "eig"].as_rows()}
    assert list(rows) == ["tau_elim", "tau_hls", "tau_alg", "tau_glrt", "tau_opt", "bound"]
    assert all(log10 == pytest.approx(math.log10(value)) for value, log10 in rows.values())
    single = {row[0]: row for row in theory(small_problem(HLS)).as_rows()}
    assert single["tau_elim"] == ("tau_elim", 0.0, -math.inf)
    assert "bound_single" in single


def test_astronomic_times_of_egreedy_are_finite_floats_on_vardim():
    result = theory(vardim(variant="realizable", seed=0), base="egreedy")
    assert 1e30 < result.tau_glrt < 1e60
    assert result.tau_opt < math.inf
