"""Which loops does the service answer for, and are they ready?

Loops are opened in the background: a long log takes a while to fold and a policy to compile, and
meanwhile the service can already say that it is alive and not ready.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from banditsrl.errors import BanditSRLError, InvalidArgument, NotFound
from banditsrl.numerics.process import keep_live_objects_out_of_garbage_collection
from banditsrl.registry import guess_at
from banditsrl.web.refusals import Refusal

if TYPE_CHECKING:
    from banditsrl.live.live_loop import Loop

log = logging.getLogger("banditsrl.web")


class Loops:
    """The loops of a service, by name.

    Args:
        openers: Functions that each open one loop, called in order in the background.
        on_failure: Called where one of them fails.
    """

    def __init__(
        self,
        openers: "Sequence[Callable[[], Loop]]",
        *,
        on_failure: Callable[[], object] | None = None,
    ) -> None:
        self._openers = openers
        self._loops: dict[str, Loop] = {}
        self.failure: str | None = None
        self._on_failure = on_failure
        self._ready = threading.Event()
        self._decided = threading.Event()  # ready, failed, or stopped on the way
        self._closing = False
        self._thread = threading.Thread(target=self._open, name="open-loops", daemon=True)

    def start(self) -> None:
        """Begin to open the loops."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until the loops are open, or it is known why they cannot be."""
        self._decided.wait()

    def close(self) -> None:
        """Close every loop, after what it has acknowledged was written."""
        self._closing = True
        self._thread.join()
        self._ready.clear()
        for loop in self._loops.values():
            loop.close()

    @property
    def ready(self) -> bool:
        """Whether every loop is open and warm."""
        return self._ready.is_set()

    @property
    def state(self) -> str:
        """One sentence about whether the service is ready."""
        if self.failure is not None:
            return f"A loop could not be opened: {self.failure}"
        counts = f"{len(self._loops)} of {len(self._openers)} loops are ready"
        return f"{counts}." if self.ready else f"{counts}; the others are being opened."

    @property
    def opened(self) -> "Mapping[str, Loop]":
        """The loops that are ready, by name."""
        return dict(self._loops)

    def find(self, name: str | None) -> "Loop":
        """Return the loop of a name; the name may be left out where there is one loop only."""
        if not self.ready:
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, self.state, {"Retry-After": "2"})
        known = ", ".join(self._loops)
        if name is None:
            if len(self._loops) > 1:
                raise InvalidArgument(f"loop must be one of {known}, got none.")
            return next(iter(self._loops.values()))
        if name not in self._loops:
            raise NotFound(
                f"loop must be one of {known}, got {name!r}{guess_at(name, self._loops)}"
            )
        return self._loops[name]

    def _open(self) -> None:
        try:
            for opener in self._openers:
                if self._closing:
                    return
                loop = opener()
                if loop.name in self._loops:
                    loop.close()
                    raise InvalidArgument(f"names of loops must differ, got {loop.name!r} twice.")
                loop.warm_up()
                self._loops[loop.name] = loop
            keep_live_objects_out_of_garbage_collection()  # a collection would stop all requests
            self._ready.set()
        except Exception as error:
            self.failure = str(error)
            if isinstance(error, BanditSRLError):
                log.error("A loop could not be opened: %s", error)
            else:
                log.exception("A loop could not be opened.")
            if self._on_failure is not None:
                self._on_failure()
        finally:
            self._decided.set()
