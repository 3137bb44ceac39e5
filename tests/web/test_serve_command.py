"""Does `banditsrl serve` serve, stop when told to, and find everything again? In a process."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from banditsrl.cli import main
from banditsrl.cli.service_commands import _open_or_create
from banditsrl.live.live_loop import Loop

SECONDS = 120.0
"""A process that takes longer has failed; opening a loop takes a few seconds."""

CONFIG = """
name: offers
actions: [red, green]
columns: {zip: number, age: number}
policy: linucb-disjoint
spare_actions: 0
reward: {range: [0, 1]}
"""

PROGRAM = "import sys; from banditsrl.cli import main; sys.argv[0] = 'banditsrl'; main()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "offers.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def call(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """A function that runs a command in this process: exit status, standard output, error."""
    monkeypatch.chdir(folder)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["banditsrl", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return run


@contextmanager
def serve(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the service and give its process and its address."""
    command = [sys.executable, "-c", PROGRAM, "serve", "offers.yaml", "--store", "offers.db"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(  # noqa: S603
            [*command, "--port", "0", *words], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        yield process, wait_until_ready(process, folder / "log")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def wait_until_ready(process: subprocess.Popen[str], log: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            try:
                if httpx.get(f"{found[0]}/ready", trust_env=False).status_code == 200:
                    return found[0]
            except httpx.TransportError:
                pass
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_what_was_acknowledged_is_there_after_sigterm_and_a_restart(folder: Path) -> None:
    with serve(folder) as (process, address), httpx.Client(trust_env=False) as client:
        made = client.post(f"{address}/v1/decide", json={"context": {"age": 1.0}}).json()
        client.post(f"{address}/v1/reward", json={"id": made["id"], "value": 1.0})
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    log = (folder / "log").read_text()
    assert "No tokens were given, so only this machine can connect." in log
    assert "Traceback" not in log
    with Loop.open(folder / "offers.db", warm_up=False) as loop:
        assert loop.decision(made["id"]).action == made["action"]
        assert loop.outcome(made["id"])["value"] == 1.0


def test_tokens_are_made_listed_and_removed(
    folder: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    words = ("--file", "tokens.json")
    status, out, _ = call("token", "new", "--scopes", "decide,read", "--name", "shop", *words)
    assert status == 0
    token = out.strip()
    assert token not in (folder / "tokens.json").read_text()
    assert call("token", "list", *words)[1] == "shop: decide, read\n"
    with serve(folder, "--tokens", "tokens.json") as (_, address):
        headers = {"Authorization": f"Bearer {token}"}
        body = {"context": {"age": 1.0}}
        with httpx.Client(base_url=address, trust_env=False) as client:
            assert client.post("/v1/decide", json=body).status_code == 401
            assert client.post("/v1/decide", json=body, headers=headers).status_code == 200
            assert (
                client.post("/v1/mode", json={"mode": "frozen"}, headers=headers).status_code == 403
            )
    assert token not in (folder / "log").read_text()
    assert call("token", "remove", "shop", *words)[0] == 0
    assert json.loads((folder / "tokens.json").read_text()) == {"tokens": []}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("offers.yaml", "--store", "x.db", "--host", "192.0.2.1"),
            "host must be a loopback address",
        ),
        (("missing.yaml", "--store", "x.db"), "missing.yaml"),
        (("offers.yaml", "--store", "x.db", "--tokens", "none.json"), "tokens must be an existing"),
    ],
)
def test_mistakes_are_one_sentence(
    folder: Path,
    call: Callable[..., tuple[int, str, str]],
    words: tuple[str, ...],
    message: str,
) -> None:
    status, _, err = call("serve", *words)
    assert status == 2
    assert message in " ".join(err.split())
    assert not (folder / "x.db").exists()


def test_a_loop_keeps_the_configuration_that_it_was_made_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, store = folder / "offers.yaml", str(folder / "offers.db")
    _open_or_create(store, path, "offers", 0).close()
    _open_or_create(store, path, "offers", 0).close()
    assert capsys.readouterr().err == ""
    path.write_text(CONFIG.replace("[red, green]", "[red, green, blue]"))
    with _open_or_create(store, path, "offers", 0) as loop:
        assert [action["name"] for action in loop.actions()] == ["red", "green"]
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("The loop offers keeps the configuration that it was made with")
    assert said.endswith("has another actions.")


def test_the_shop_of_the_examples_runs(folder: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "shop.py"
    words = ("--minutes", "4", "--visitors", "10", "--port", "0")
    done: Any = subprocess.run(  # noqa: S603
        [sys.executable, str(script), *words],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
        env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"The dashboard is at http://127\.0\.0\.1:\d+/", done.stdout)
    assert "40 visitors were served." in done.stdout
