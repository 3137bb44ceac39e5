"""How does an application decide and learn? With a `Loop`, which loses nothing and can be replayed.

A loop is kept in a store. `decide` returns once its decision is in the log, and `reward` once the
reward is. Everything may be called from several threads.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from banditsrl.core.yaml_files import naming_lines
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live.decide_requests import read_item, read_request, read_requests
from banditsrl.live.export import export_decisions
from banditsrl.live.loop_config import LoopConfig, RewardRule, check_name, read_config
from banditsrl.live.loop_engine import Clock, LoopEngine, closing_on_error
from banditsrl.live.loop_manager import LoopManager
from banditsrl.live.loop_opening import Progress, check_replica, create_loop, find_config
from banditsrl.live.programs import Programs
from banditsrl.live.reward_rules import add_activation, add_reward
from banditsrl.live_store.records import Decision, Settlement
from banditsrl.live_store.store_address import open_store

REWARD_FIELDS = ("id", "value", "key")
"""Fields of a reward in a batch; the first one is required."""


class Loop(LoopManager):
    """One learning problem in an application: its decisions, its rewards and what it has learned.

    Use `Loop.create` once, and `Loop.open` afterwards; `close` it, or use it in a `with` block.

    Example:
        >>> import tempfile
        >>> config = {
        ...     "name": "offers",
        ...     "actions": ["red", "green"],
        ...     "columns": {"age": "number", "member": "flag"},
        ...     "policy": "linucb-disjoint",
        ... }
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Loop.create(f"{folder}/offers.db", config) as loop:
        ...         decision = loop.decide({"age": 0.31, "member": True})
        ...         loop.reward(decision.id, 1.0).reason
        'The reward counts.'
    """

    @classmethod
    def create(
        cls,
        url: str | Path,
        config: Mapping[str, Any] | str | Path | LoopConfig,
        *,
        clock: Clock = time.time,
        replica: int = 0,
        warm_up: bool = True,
    ) -> "Loop":
        """Make a new loop in a store and open it.

        Args:
            url: Path of a SQLite file, which is made if there is none, or the URL of a store.
            config: The configuration, or the path of a YAML file with it.
            clock: Returns the time in seconds since 1970.
            replica: Number of this server among those that share the loop.
            warm_up: Whether to compile everything now, so that no request waits for it.
        """
        number = check_replica(replica)
        known = config if isinstance(config, LoopConfig) else read_config(config, strict=True)
        with naming_lines(config):
            programs = Programs(known)
        store = open_store(url, create=True)
        with closing_on_error(store):
            create_loop(store, known, clock())
            return cls(LoopEngine(store, known, programs, clock, number, warm_up=warm_up))

    @classmethod
    def open(
        cls,
        url: str | Path,
        name: str | None = None,
        *,
        clock: Clock = time.time,
        replica: int = 0,
        warm_up: bool = True,
        learner: bool = True,
        progress: Progress | None = None,
    ) -> "Loop":
        """Open a loop of a store; the name is needed if the store has several.

        With ``learner=False`` this process leaves training and expiries to other processes.
        `progress` is called now and then with the position reached, the last position and an
        estimate of the seconds left, if the loop has to be computed from a long log.
        """
        number = check_replica(replica)
        store = open_store(url, create=False)
        with closing_on_error(store):
            config = find_config(store, name)
            programs = Programs(config)
            options: dict[str, Any] = {"warm_up": warm_up, "progress": progress, "learns": learner}
            return cls(LoopEngine(store, config, programs, clock, number, **options))

    # Decisions and rewards.

    def decide(
        self,
        context: Mapping[str, Any],
        *,
        available: Iterable[str] | None = None,
        id: str | None = None,  # noqa: A002
        deferred: bool = False,
        baseline: str | None = None,
        actions: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Decision:
        """Choose an action for a context, and return once the decision is in the log.

        Args:
            context: Values by column; a column that is left out counts as missing.
            available: Names of the actions that may be played; None means all active ones.
            id: Id of the decision. The same request with the same id gets the same decision.
            deferred: Whether to learn from it only after `activate`.
            baseline: What is played in shadow mode, instead of the baseline of the configuration.
            actions: Columns of actions that come with the request.
        """
        asked: dict[str, Any] = {
            "available": available,
            "id": id,
            "deferred": deferred,
            "baseline": baseline,
        }
        return self._engine.decide([read_request(context, actions=actions, **asked)])[0]

    def decide_many(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision]:
        """Make several decisions at once; each request has the arguments of `decide`."""
        return self._engine.decide(read_requests(requests))

    def reward(self, id: str, value: float, *, key: str | None = None) -> Settlement:  # noqa: A002
        """Give a decision its reward, at any time and in any order.

        Args:
            id: Id of the decision.
            value: The reward; True counts as 1 and False as 0.
            key: Makes the call repeatable: the same key with the same value counts once.
        """
        checked = _read_reward(self.config.reward, id, value, key)
        change = partial(add_reward, rule=self.config.reward, time=self._engine.clock(), **checked)
        return self._engine.write(change)

    def reward_many(self, rewards: Sequence[Mapping[str, Any]]) -> list[Settlement]:
        """Give several rewards; each has the arguments of `reward`.

        If one of them is refused, the others are still counted, and then its error is raised.
        """
        rule = self.config.reward
        read = partial(_read_reward, rule)
        checked = [read_item(n, one, read, REWARD_FIELDS) for n, one in enumerate(rewards, 1)]
        changes = [
            partial(add_reward, rule=rule, time=self._engine.clock(), **reward)
            for reward in checked
        ]
        return self._engine.write_all(changes)

    def try_rewards(self, rewards: Sequence[Mapping[str, Any]]) -> list[Settlement | Exception]:
        """Give several rewards like `reward_many`, and return the error of each that is refused."""
        rule, now = self.config.reward, self._engine.clock()
        read = partial(_read_reward, rule)
        checked: list[dict[str, Any] | Exception] = []
        for number, reward in enumerate(rewards, 1):
            try:
                checked.append(read_item(number, reward, read, REWARD_FIELDS))
            except (InvalidArgument, InvalidType) as error:
                checked.append(error)
        good = [reward for reward in checked if not isinstance(reward, Exception)]
        changes = [partial(add_reward, rule=rule, time=now, **reward) for reward in good]
        answers = iter(self._engine.try_all(changes))
        return [each if isinstance(each, Exception) else next(answers) for each in checked]

    def activate(self, id: str) -> Settlement:  # noqa: A002
        """Say that a deferred decision was shown: the wait for its reward starts now."""
        check_name("id", id)
        now = self._engine.clock()
        return self._engine.write(partial(add_activation, rule=self.config.reward, id=id, time=now))

    # Maintenance.

    def flush(self) -> None:
        """Wait until everything that was written has taken effect in this process."""
        self._engine.flush()

    def warm_up(self) -> None:
        """Compile everything that requests need."""
        self._engine.warm_up()

    def export(self, path: str | Path) -> int:
        """Write one row per decision to a .jsonl or .parquet file; return how many there are."""
        return export_decisions(self._engine.store, self.name, Path(path))

    def import_decisions(self, path: str | Path) -> int:
        """Learn from decisions in an exported file; return how many were not known before."""
        return self._engine.import_file(Path(path))

    def backup(self, path: str | Path) -> None:
        """Copy the whole store to a new file while the loop runs."""
        self._engine.store.backup(Path(path))

    def close(self) -> None:
        """Write pending changes, save a snapshot and close the store."""
        self._engine.close()

    def __enter__(self) -> "Loop":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _read_reward(
    rule: RewardRule,
    id: str,  # noqa: A002
    value: Any = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Check the arguments of a reward, and return them in their final types."""
    checked = None if key is None else check_name("key", key)
    return {"id": check_name("id", id), "value": rule.check(value), "key": checked}
