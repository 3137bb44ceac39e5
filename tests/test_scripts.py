"""Do the scripts and make targets work that the pages name? They are run as a reader would.

- Each script of `benchmarks/` runs in an empty folder with the arguments that the page gives it,
  followed by the options of SHORT. This needs BANDITSRL_DOCS=all, which CI sets.
- `.ci/run` makes every make target that a page names, except `make bench-peers`, which downloads
  gigabytes of other libraries. BANDITSRL_DOCS=peers runs that target in a copy of the project;
  otherwise its scripts are run with one of our policies only.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from documents import EVERY_PAGE, ROOT, RUN_SLOW_COMMANDS, read_commands
from shared_files import DATA, HAS_COVERTYPE

import banditsrl

SHORT = {
    "coba_compare": "--quick",
    "constant_regret": "--problems wheel --horizon 200 --seeds 1",
    "doctor_memory": "--rounds 300 --actions 3 --columns 2",
    "estimators": "--quick",
    "false_alarms": "--quick",
    "findings": "--problems vardim-no-hls",
    "findings_networks": "--problems wheel --horizon 200 --seeds 2 --workers 1 --only {label}",
    "gate": "--quick",
    "kill_serve": "--quick",
    "loop_memory": "--quick",
    "memory": "--horizon 2000 --max-updates 5",
    "open_bandit": "--quick",
    "overhead": "--horizon 100 --runs 10",
    "paper": "",
    "parity": "--first-seed 0 --seeds 4",
    "read_logs": "--quick",
    "serving": "--policies constant linucb-disjoint --seconds 3",
    "speed_against": "--repeats 1 --horizons 200",
    "trust": "--quick",
    "tuning": "--problems notes --horizon 200 --seeds 1",
    "warm_start": "--quick",
    "watched": "--seeds 2",
}
"""Options that shorten the run of a script."""

LABELS = {"presets": "'default preset, ε-greedy'", "findings": "Neural-LinUCB"}
"""The one policy of findings_networks.py that is run, by table."""

MAKEFILE = (ROOT / "Makefile").read_text()


def find_calls(program: str) -> list[list[str]]:
    """Return the arguments of a program, wherever a page calls it."""
    everything = [words for page in EVERY_PAGE for words, _ in read_commands(page)]
    return [list(rest) for rest in sorted({tuple(w[1:]) for w in everything if w[0] == program})]


SCRIPTS = [words for words in find_calls("python") if f"python {words[0]} $(BENCH)" not in MAKEFILE]
TARGETS = {word for words in find_calls("make") for word in words if "=" not in word}

Start = Callable[..., subprocess.CompletedProcess[str]]

slow = pytest.mark.skipif(not RUN_SLOW_COMMANDS, reason="slow: set BANDITSRL_DOCS=all to run it")


@pytest.fixture
def start(tmp_path: Path, compiled: Path) -> Start:
    """Return a function that runs a command in an empty folder."""
    data = {"BANDITSRL_DATA": str(DATA)} if HAS_COVERTYPE else {}
    cache = {"JAX_COMPILATION_CACHE_DIR": str(compiled)}
    environment = {**os.environ, **data, **cache}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        if words[0].startswith("benchmarks/"):
            words = (sys.executable, str(ROOT / words[0]), *words[1:])
        return subprocess.run(  # noqa: S603  (the commands come from our own pages)
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    """Make a folder DIR like that of the authors' figures, with our own figures in it."""
    folder = tmp_path / "DIR"
    folder.mkdir()
    problem = banditsrl.make_problem("vardim-no-hls")
    banditsrl.problems.write_problem(problem, folder / "vardim-no-hls.json")
    policy = banditsrl.make_policy("linucb", problem, conventions="authors")
    ours = banditsrl.simulate(problem, policy, horizon=40, seeds=4, steps=[20, 40])
    row = {"problem": problem.name, "policy": "linucb", "loss": None, "steps": [20, 40]}
    row |= {"mean": ours.mean.tolist(), "stderr": ours.stderr.tolist()}
    (folder / "regret-linear.json").write_text(json.dumps({"rows": [row]}))
    (folder / "regret-wheel.json").write_text(json.dumps({"problem": "wheel-100", "regret": {}}))
    return folder


@slow
@pytest.mark.parametrize("words", SCRIPTS, ids=" ".join)
def test_a_script_runs(words: list[str], tmp_path: Path, reference: Path, start: Start) -> None:
    name = Path(words[0]).stem
    if name == "memory" and not HAS_COVERTYPE:
        pytest.skip("The Covertype data set is not available")
    if name == "coba_compare":
        pytest.importorskip("coba", reason="coba is not installed")
    label = LABELS["presets" if "presets" in words else "findings"]
    words = [sys.executable if word == "OTHER_PYTHON" else word for word in words]
    done = start(*words, *shlex.split(SHORT[name].format(label=label)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--out" in words:
        assert (tmp_path / words[words.index("--out") + 1]).stat().st_size > 0


@slow
def test_parity_fails_where_figures_differ(reference: Path, start: Start) -> None:
    file = reference / "regret-linear.json"
    figures = json.loads(file.read_text())
    figures["rows"][0]["mean"] = [100.0 + mean for mean in figures["rows"][0]["mean"]]
    file.write_text(json.dumps(figures))
    done = start("benchmarks/parity.py", "--reference", "DIR", "--seeds", "4")
    assert done.returncode == 1, done.stderr
    assert re.search(r"largest \|z\| \d+\.\d+ \(limit 3\)", done.stdout)


def test_every_script_that_a_page_names_exists() -> None:
    assert SCRIPTS
    for words in find_calls("python"):
        assert (ROOT / words[0]).is_file(), shlex.join(words)


def test_continuous_integration_makes_every_target_that_a_page_names() -> None:
    made = re.findall(r"\bmake ([^;&|\n]+)", (ROOT / ".ci/run").read_text())
    words = {word for line in made for word in shlex.split(line, comments=True)}
    assert TARGETS - {"bench-peers"} <= words
    assert set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE)) >= TARGETS


@slow
def test_pip_installs_the_project(tmp_path: Path, start: Start) -> None:
    assert find_calls("pip") == [["install", "."], ["install", ".[serve]"]]
    pip = [sys.executable, "-m", "pip", "install", str(ROOT), "--target", str(tmp_path)]
    done = start(*pip, "--no-deps", "--no-build-isolation", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "banditsrl" / "py.typed").exists()
    assert (tmp_path / "bin" / "banditsrl").exists()


def test_the_suite_of_situations_runs_and_continues(tmp_path: Path, start: Start) -> None:
    words = ["benchmarks/trust.py", "--quick", "--policy", "linucb-disjoint", "--references"]
    done = start(*words)
    assert done.returncode == 0, done.stderr
    assert "4/4 linucb-disjoint fresh swap seed 1000" in done.stdout
    file = tmp_path / "build/trust/linucb-disjoint.jsonl"
    rows = {row["family"]: row for row in map(json.loads, file.read_text().splitlines())}
    assert set(rows) == {"xor", "swap", "delayed-rewards"}
    for row in rows.values():
        assert 0 < row["second_half_regret"] < row["regret"] < 0.6 * 300
        assert row["certificate_loss"] is None
    file.write_text("".join(json.dumps(rows[name]) + "\n" for name in ("xor", "swap")))
    assert "1/1 linucb-disjoint delayed-rewards" in start(*words).stdout
    page = (tmp_path / "build/trust/linucb-disjoint.md").read_text()
    assert "| **delayed-rewards** |" in page
    assert re.search(r"^\| swap \| [\d.]+ \| [\d.]+ \| [\d.]+ \| 0\.00% \|$", page, re.MULTILINE)
    assert (tmp_path / "build/trust/linucb-disjoint.png").stat().st_size > 0


@slow
def test_our_part_of_the_comparison_runs(tmp_path: Path, start: Start) -> None:
    options = "--seeds 1 --steps 1000 --problems wheel --only ours/linucb-disjoint"
    done = start("benchmarks/peers/run.py", *options.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 runs, 0 failed" in done.stdout
    done = start("benchmarks/peers/report.py")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "benchmarks/results/peers.json").read_text())
    (row,) = found["rows"]
    (curve,) = found["curves"]
    final = row["regret"]["1000"]["mean"]
    assert 0 < final < 1000 * (1.2 - 0.8)  # largest and smallest mean reward of the wheel
    assert (np.diff(curve["regret"]) >= 0).all()
    assert curve["regret"][-1] == pytest.approx(final, abs=1e-3)

    # The rows of a library that is not run again are kept.
    published = tmp_path / "benchmarks/results/peers.json"
    peer = {"runner": "vw", "setting": "squarecb, first order"}
    found["rows"], found["curves"] = [{**row, **peer, "best": True}], [{**curve, **peer}]
    published.write_text(json.dumps(found))
    assert start("benchmarks/peers/report.py", "--keep", "vw").returncode == 0
    again = json.loads(published.read_text())
    assert [one["runner"] for one in again["rows"]] == ["vw", "ours"]
    assert again["rows"][0] == found["rows"][0]
    assert again["rows"][1] == row
    assert again["curves"] == [curve, {**curve, **peer}]
    assert "The rows of Vowpal Wabbit were made earlier" in published.with_suffix(".md").read_text()
    done = start("benchmarks/peers/report.py", "--keep", "calvera")
    assert "there are no rows of calvera." in done.stderr


@slow
def test_our_part_of_the_comparison_after_a_change_runs(start: Start) -> None:
    options = "--rounds 400 --seeds 1 --only linucb-disjoint"
    done = start("benchmarks/peers/after_change.py", *options.split())
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0].partition(", ")[2] for row in rows] == ["stable", "changed at half time"] * 2
    for problem, policy, whole, late in rows:
        assert policy == "linucb-disjoint"
        at_random = 1 / 7 if problem.startswith("articles") else 0.5
        assert at_random < float(whole) < 1
        assert at_random < float(late) <= 1


@pytest.mark.skipif(os.environ.get("BANDITSRL_DOCS") != "peers", reason="downloads gigabytes")
def test_the_whole_comparison_runs_in_a_copy_of_the_project(tmp_path: Path, start: Start) -> None:
    for name in ("src", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    options = "--seeds 1 --steps 1000 --problems wheel magic"
    done = start("make", "bench-peers", f"PEERS={options}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "benchmarks/results/peers.json").read_text())
    runners = {"vw", "mabwiser", "lightgbm", "forest", "calvera", "ours"}
    assert {row["runner"] for row in found["rows"]} == runners
    assert not found["not_done"]
    assert np.isfinite([row["microseconds"] for row in found["rows"]]).all()
