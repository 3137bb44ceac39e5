"""The service on a loopback socket, in a thread, with loops in memory."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="no httpx: install the extra test")
pytest.importorskip("uvicorn", reason="no uvicorn: install the extra serve")

from fake_loop import FakeLoop  # noqa: E402


@pytest.fixture
def start() -> Iterator[Callable[..., Any]]:
    """A function that starts a service with some loops and returns a client for it."""
    from banditsrl.web.server import HttpService

    with ExitStack() as stack:

        def run(*loops: Any, headers: dict[str, str] | None = None, **settings: Any) -> Any:
            service = HttpService([lambda loop=loop: loop for loop in loops], **settings)
            address = stack.enter_context(service.run_beside())
            return stack.enter_context(
                httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=30)
            )

        yield run


@pytest.fixture
def loop() -> FakeLoop:
    return FakeLoop()


CONFIG = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"age": "number", "member": "flag", "country": {"category": ["fr", "de"]}},
    "policy": "linucb-disjoint",
    "reward": {"range": [0, 1]},
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service without tokens on a loop in a file: `.client`, `.loop` and `.address`."""
    from types import SimpleNamespace

    from banditsrl.live.live_loop import Loop
    from banditsrl.web.server import HttpService

    loop = Loop.create(tmp_path_factory.mktemp("loop") / "offers.db", CONFIG)
    running = HttpService([lambda: loop])
    with (
        running.run_beside() as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        yield SimpleNamespace(client=client, loop=loop, address=address)
