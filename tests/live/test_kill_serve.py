"""Do servers keep what they acknowledged when they are killed? Short runs of the benchmarks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

for package in ("uvicorn", "starlette", "msgspec", "prometheus_client"):
    pytest.importorskip(package, reason="The packages of the extra `serve` are not installed.")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL.")


def run(compiled: Path, *words: str) -> str:
    """Run a benchmark, which fails if anything was lost, and return what it prints."""
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(compiled)}
    done = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, str(ROOT / "benchmarks" / words[0]), *words[1:]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(printed: str) -> None:
    assert "Lost: 0. Doubled: 0. Otherwise wrong: 0." in printed
    assert ": no difference in " in printed
    assert not printed.split(" decisions and ", maxsplit=1)[0].endswith("\n0")


def test_a_server_with_a_file_is_killed(compiled: Path) -> None:
    printed = run(compiled, "kill_serve.py", "--store", "sqlite", "--kills", "2")
    assert printed.startswith("2 kills with SIGKILL")
    check(printed)


def test_a_server_is_killed_while_it_publishes_models(compiled: Path) -> None:
    words = ("--publications", "--kills", "3", "--clients", "1")
    printed = run(compiled, "kill_serve.py", *words)  # it fails if kills were not near
    check(printed)
    assert re.search(r"^[1-9]\d* models were published", printed, re.MULTILINE)
    assert re.search(r"decisions, [1-9]\d* trainings? and", printed)


@pytest.mark.usefixtures("postgres_programs")
def test_a_server_with_postgresql_is_killed(compiled: Path) -> None:
    check(run(compiled, "kill_serve.py", "--store", "postgres", "--kills", "2"))


@pytest.mark.usefixtures("postgres_programs")
def test_the_learner_is_killed_while_others_serve(compiled: Path) -> None:
    printed = run(compiled, "replicas.py", "--quick")
    check(printed)
    learners = printed.split("the learners were [")[1].split("]")[0].split(",")
    assert len({name.strip() for name in learners}) > 1  # another one took over
