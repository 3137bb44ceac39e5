"""What can be asked about an open loop without changing it? Its log, its models and its state."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from banditsrl.arguments import count
from banditsrl.display.charts import LineChart
from banditsrl.display.displayed import Displayed
from banditsrl.display.summaries import Summary
from banditsrl.live.export import tabulate_decisions
from banditsrl.live.loop_engine import LoopEngine
from banditsrl.live.loop_queries import (
    describe_outcome,
    find_decision,
    last_decisions,
    list_models,
    read_counts,
    read_history,
    read_log,
)
from banditsrl.live.loop_summary import draw_history, summarise_loop
from banditsrl.live.loop_trust import LoopTrust, explain_decision, judge_trust
from banditsrl.live_store.decision_rows import to_decision
from banditsrl.live_store.records import Decision
from banditsrl.selection.trust import Trust

if TYPE_CHECKING:
    import polars as pl


class LoopReader(Displayed):
    """The part of a loop that only reads."""

    def __init__(self, engine: LoopEngine) -> None:
        self._engine = engine
        self.config, self.name = engine.config, engine.config.name

    def decision(self, id: str) -> Decision:  # noqa: A002
        """Return a decision by its id."""
        return to_decision(find_decision(self._engine.store, self.name, id), self.name)

    def outcome(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Return what became of a decision: status, value, settled_at (a position) and time."""
        return describe_outcome(find_decision(self._engine.store, self.name, id))

    def decisions(self, last: int = 50) -> list[Decision]:
        """Return the last decisions, the newest first."""
        rows = last_decisions(self._engine.store, self.name, count("last", last))
        return [to_decision(row, self.name) for row in rows]

    def log(self, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """Return records after a position: position, kind, time, id and body."""
        count("after", after, 0)
        return read_log(self._engine.store, self.name, after, count("limit", limit))

    def history(self, bins: int = 200) -> list[dict[str, Any]]:
        """Return counts, mean rewards and shares over time, in at most so many bins."""
        return read_history(self._engine.store, self.name, count("bins", bins))

    def models(self) -> list[dict[str, Any]]:
        """Return the versions of the model, the oldest first, and which one is current."""
        return list_models(self._engine.store, self.name, self._engine.fold.model)

    def status(self) -> dict[str, Any]:
        """Return the current state of the loop: positions, rounds, training, trouble."""
        return self._engine.status()

    def trust(self) -> LoopTrust:
        """Return what the certificates are worth so far; `print` it for a sentence."""
        counts = read_counts(self._engine.store, self.name)
        return LoopTrust(**asdict(self.audits()), counts=counts)

    def audits(self) -> Trust:
        """Return what `trust` says without its counts, which are summed over the whole log."""
        engine, fold = self._engine, self._engine.fold
        names = {action.slot: action.name for action in fold.actions.values()}
        return judge_trust(engine.programs.policy, fold.state, names)

    def explain(self, id: str) -> dict[str, Any]:  # noqa: A002
        """Return why a decision was made, in numbers and in sentences."""
        return explain_decision(find_decision(self._engine.store, self.name, id), self.name)

    def actions(self) -> list[dict[str, Any]]:
        """Return all actions that the loop ever had: name, state, slot and columns."""
        return [dict(entry.__dict__) for entry in self._engine.fold.actions.values()]

    @property
    def mode(self) -> str:
        """The mode: "learn", "shadow" or "frozen"."""
        return self._engine.fold.mode

    # What people see.

    def __repr__(self) -> str:
        decisions = read_counts(self._engine.store, self.name)["decisions"]
        return f"Loop({self.name!r}, {self.config.policy}, {decisions:,} decisions)"

    def summary(self) -> Summary:
        """Return counts, mode and model of the loop, and what its certificates are worth."""
        return summarise_loop(self.config.policy, self.status(), self.trust())

    def chart(self) -> LineChart | None:
        """Return mean reward and certified share over decisions; None before the first one."""
        return draw_history(self.name, self.history(bins=60))

    def to_polars(self) -> "pl.DataFrame":
        """Return one row per decision, with the columns of `export`."""
        return tabulate_decisions(self._engine.store, self.name)
