"""Which pictures show an idea at work? Small experiments that run in seconds to minutes."""

import math
import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import banditsrl
from banditsrl.display.intervals import student_factor
from banditsrl.display.pictures import make_canvas
from banditsrl.representations.trees import Trees

PHONE_WIDTH = 3.9
"""Width of a narrow picture in inches, so that its text is read at its own size on a phone."""

LETTERS = 18
"""Letters of a caption that fit into an inch."""


def make_panels(
    ink: Any, width: float, height: float, columns: int = 1, *, rows: int = 1, **settings: Any
) -> tuple[Any, Any]:
    """Return a figure of a size in inches, and its panels; a narrow one has them in one column."""
    if not ink.narrow:
        canvas = make_canvas(width, height)
        return canvas, canvas.subplots(rows, columns, squeeze=False, **settings).ravel()
    canvas = make_canvas(PHONE_WIDTH, height * columns)
    return canvas, canvas.subplots(rows * columns, 1, squeeze=False, **settings).ravel()


def add_shared_legend(canvas: Any, n_columns: int = 3) -> Any:
    """Put one legend above all panels, where it hides no curve."""
    lines: dict[str, Any] = {}  # the first line of each name
    for axis in canvas.axes:
        for line, name in zip(*axis.get_legend_handles_labels(), strict=True):
            lines.setdefault(name, line)
    if canvas.get_figwidth() <= PHONE_WIDTH:
        letters = max(map(len, lines)) + 8  # and the sample of the line
        n_columns = min(n_columns, max(1, math.floor(PHONE_WIDTH * LETTERS / letters)))
    canvas.legend(lines.values(), lines, loc="outside upper center", ncols=n_columns, fontsize=7.5)
    return canvas


def run_glrt() -> Any:
    """Return estimate, design matrix and radius after few and after many rounds in the plane."""
    rng = np.random.default_rng(3)
    truth, actions = np.array([0.85, 0.35]), np.array([[1.0, 0.0], [0.0, 1.0], [-0.7, 0.6]])
    found = []
    for n in (30, 400):
        phi = actions[rng.integers(0, 3, n)]
        y = phi @ truth + 0.3 * rng.normal(size=n)
        V = np.eye(2) + phi.T @ phi
        theta = np.linalg.solve(V, phi.T @ y)
        beta = 0.3 * np.sqrt(2 * np.log(100) + 2 * np.log(1 + n / 2)) + 1.0
        ratio = banditsrl.glr(actions, theta, V=V)
        found.append((n, theta, V, beta, ratio))
    return truth, actions, found


def draw_glrt(data: Any, ink: Any) -> Any:
    """Draw the parameters under which the first action is best, and the confidence ellipse."""
    truth, actions, found = data
    canvas, panels = make_panels(ink, 7.6, 3.5, 2)
    grid = np.linspace(-0.9, 1.9, 300)
    points = np.stack(np.meshgrid(grid, grid), axis=-1)  # (300, 300, 2)
    first_is_best = (points @ actions.T).argmax(-1) == 0
    for axis, (n, theta, V, beta, ratio) in zip(panels, found, strict=True):
        region = (grid[0], grid[-1], grid[0], grid[-1])
        shade = np.where(first_is_best, 0.22, 0.0)
        colour = np.ones((*shade.shape, 4)) * [*to_rgb(ink.lines[0]), 1.0]
        colour[..., 3] = shade
        axis.imshow(colour, origin="lower", extent=region, interpolation="bilinear")
        angles = np.linspace(0, 2 * np.pi, 200)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        edge = theta[:, None] + beta * np.linalg.solve(np.linalg.cholesky(V).T, circle)
        axis.plot(*edge, color=ink.lines[1], label="confidence ellipse")
        axis.plot(*theta, "o", color=ink.lines[1], ms=4, label="estimate")
        axis.plot(*truth, "x", color=ink.text, ms=6, label="truth")
        verdict = "certified" if ratio > beta else "not certified"
        axis.set(xlim=(-0.9, 1.9), ylim=(-0.9, 1.9), aspect="equal")
        axis.set_title(f"{n} rounds: GLR {ratio:.1f}, β {beta:.1f}, {verdict}", fontsize=9)
    add_shared_legend(canvas)
    return add_caption(canvas, "shaded: the parameters under which the first action is best")


def run_trees() -> Any:
    """Return the truth and the predictions of 1, 5 and 40 trees on a grid of two columns."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(3_000, 2))
    rewards = name_truth(x) + 0.3 * rng.normal(size=3_000)
    grid = np.linspace(-1, 1, 120)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    maps = [name_truth(points)]
    for n_trees in (1, 5, 40):
        trees = Trees(n_actions=1, n_columns=2, n_trees=n_trees)
        played, weight = np.zeros(3_000, np.int64), np.ones(3_000)
        weights = trees.fit(jax.random.key(0), x, played, rewards, weight)
        predict = jax.jit(jax.vmap(trees.predict, in_axes=(None, 0)))
        maps.append(np.asarray(predict(weights, jnp.asarray(points)))[:, 0])
    return [values.reshape(120, 120) for values in maps]


def name_truth(x: Any) -> Any:
    """Return mean rewards with a threshold and an interaction."""
    return np.where(x[:, 0] * x[:, 1] > 0, 0.8, 0.2) + 0.4 * (x[:, 0] > 0.4)


def draw_trees(maps: Any, ink: Any) -> Any:
    """Draw the truth beside the predictions."""
    canvas, panels = make_panels(ink, 7.6, 2.15, 4)
    titles = ("mean reward", "1 tree", "5 trees", "40 trees")
    for axis, values, title in zip(panels, maps, titles, strict=True):
        axis.imshow(values, origin="lower", vmin=0.1, vmax=1.3, cmap="cividis", rasterized=True)
        axis.set_title(title, color=ink.text)
        axis.set(xticks=[], yticks=[])
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
    return add_caption(canvas, "two columns, 3,000 rounds with noise of standard deviation 0.3")


def follow_context() -> Any:
    """Return the likelihood ratio and the threshold of one context after every round."""
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    policy = banditsrl.make_policy("glrt-egreedy", problem)
    means, mask = jnp.asarray(problem.mean_rewards), jnp.ones(problem.n_actions, bool)

    def play(state: Any, key: Any) -> Any:
        deal, act, noise, look = jax.random.split(key, 4)
        x = jax.random.randint(deal, (), 0, problem.n_contexts)
        choice = policy.act(state, x, mask, act)
        y = means[x, choice.action] + problem.noise_std * jax.random.normal(noise)
        state = policy.learn(state, x, choice.action, y, choice.certified)
        first = policy.act(state, 0, mask, look)
        return state, (first.glr, first.threshold)

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(2), 1_000)
        start = policy.init(jax.random.key(0))
        _, found = jax.jit(lambda: jax.lax.scan(play, start, keys))()
    return [np.asarray(values) for values in found]


def draw_certificates(data: Any, ink: Any) -> Any:
    """Draw the two sides of the test of one context."""
    glr, threshold = data
    canvas, (axis,) = make_panels(ink, 5.2, 3.0)
    rounds = np.arange(1, len(glr) + 1)
    axis.plot(rounds, glr, color=ink.lines[0], label="likelihood ratio, choice.glr")
    axis.plot(rounds, threshold, color=ink.lines[1], label="threshold, choice.threshold")
    passed = glr > threshold
    top = 1.08 * glr.max()
    axis.fill_between(rounds, 0, top, where=passed, color=ink.lines[2], alpha=0.15, lw=0)
    axis.plot([], [], color=ink.lines[2], lw=6, alpha=0.3, label="certified")
    axis.set(xlabel="round", xlim=(1, 1_000), ylim=(0, top), title="the test of one context")
    axis.legend(fontsize=7, loc="lower right")
    return add_caption(canvas, "glrt-egreedy on vardim-realizable, one run")


def run_auto() -> Any:
    """Return the phases and the weights of the five predictors on the wheel."""
    problem = banditsrl.make_problem("wheel")
    policy = banditsrl.make_policy("banditsrl-auto", problem)
    result = banditsrl.simulate(problem, policy, horizon=3_000, seeds=[0])
    return np.array([1, *result.phases, result.horizon]), result.reports["weights"][0]


def draw_auto(data: Any, ink: Any) -> Any:
    """Draw the weights as a stack."""
    times, weights = data
    canvas, (axis,) = make_panels(ink, 5.2, 3.2)
    names = ("columns", "waves", "steps", "trees", "networks")
    rows = np.vstack([weights, weights[-1:]]).T
    axis.stackplot(times, rows, labels=names, colors=ink.lines[:5], step="post", alpha=0.85)
    axis.set(xlabel="round", xscale="log", xlim=(10, times[-1]), ylim=(0, 1))
    axis.set_title("weights of the five predictors on the wheel")
    canvas.legend(loc="outside right center", reverse=True, fontsize=7.5)
    return add_caption(canvas, "one run of 3,000 rounds (seed 0)")


def draw_curve(axis: Any, steps: Any, mean: Any, stderr: Any, colour: str, n: int) -> None:
    """Draw a mean with the 95% interval of a mean of n seeds, by Student's t."""
    axis.plot(steps, mean, color=colour)
    half = student_factor(n) * stderr
    low, high = mean - half, mean + half
    axis.fill_between(steps, low, high, color=colour, alpha=0.2, lw=0)


def add_caption(canvas: Any, text: str) -> Any:
    """Write a small line below the panels, or several if it is long, and return the figure."""
    letters = round(LETTERS * canvas.get_figwidth())
    canvas.supxlabel(textwrap.fill(text, letters), fontsize=7.5)
    return canvas


def to_rgb(colour: str) -> tuple[float, ...]:
    """Return a colour such as #0072B2 as three numbers from 0 to 1."""
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


FIGURES = {
    "glrt": (run_glrt, draw_glrt),
    "trees": (run_trees, draw_trees),
    "certificates": (follow_context, draw_certificates),
    "auto": (run_auto, draw_auto),
}
