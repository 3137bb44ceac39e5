"""May another model version of a loop decide? Its own log says what that version would have earned.

The current version wrote the rounds that it decided, so its value is what it really earned there,
and the candidate's is estimated by weights. Only rounds count that were decided by the current
version after both versions had been trained: neither is judged by a round that it has learned
from. In shadow mode a baseline decides, so the candidate is compared with the baseline. A baseline
plays one action for sure, so unless the candidate agrees with it, the log cannot tell.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, NotFound
from banditsrl.evaluation.gate_verdict import LEVEL, GateRule, GateVerdict
from banditsrl.evaluation.log_quality import QualityTally
from banditsrl.evaluation.loop_targets import open_version
from banditsrl.evaluation.policy_targets import PolicyTarget
from banditsrl.evaluation.promotion_gate import PromotionGate
from banditsrl.evaluation.quality_words import doubt_gate
from banditsrl.evaluation.target_overlap import UNSUPPORTED_LIMIT, OverlapTally, find_unsupported
from banditsrl.live.encoder import make_mask
from banditsrl.live.log_reader import read_position
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.loop_queries import find_deciding_model, list_models, read_revision
from banditsrl.live_store.decision_rows import SETTLED, WAITING, to_vector
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.logs.log import LogBatch, LogSchema
from banditsrl.logs.loop_logs import name_features

ROWS_AT_ONCE = 1024

ROUNDS = """SELECT position, features, available, slot, law, value, mode FROM decisions
    WHERE loop = ? AND position > ? AND position <= ? AND model = ? AND status = ?
    AND mode <> 'import' ORDER BY position LIMIT ?"""


class LoopVerdict(NamedTuple):
    """A verdict on a model version, and where its evidence comes from."""

    verdict: GateVerdict
    version: int
    current: int
    first: int  # position after which rounds count
    end: int  # position up to which they count
    last: int  # position of the log when it was read
    unsupported: float  # share of the candidate's play on actions that could not be played
    n_shadow: int  # rounds that a baseline decided

    @property
    def evidence(self) -> dict[str, Any]:
        """What is written into the log with the promotion."""
        plain = {name: value for name, value in self._asdict().items() if name != "verdict"}
        return {**plain, **self.verdict.as_dict()}


def judge_version(
    store: LoopStore,
    config: LoopConfig,
    version: int,
    gate: str | GateRule,
    *,
    level: float = LEVEL,
) -> LoopVerdict:
    """Say whether the log of a loop lets a model version decide; nothing is changed.

    Args:
        store: The store of the loop.
        config: Its configuration.
        version: The candidate.
        gate: What is asked of it, such as "better:0.01".
        level: Probability with which a version that is not good enough is ever let through.
    """
    watched = PromotionGate(gate, reward_range=_find_range(config), level=level)
    current = find_deciding_model(store, config.name)
    first = _find_start(store, config, version, current)
    with store.read() as cursor:
        last = read_position(cursor, config.name)
    end = _find_end(store, config, first, last)
    schema = LogSchema(_name_slots(store, config), name_features(config))
    weigher = _Weigher(open_version(store.url, version, loop=config.name), QualityTally(schema))
    for batch, n_shadow in _iterate_rounds(store, config, first=first, end=end, model=current):
        weights = weigher.weigh(batch, n_shadow)
        watched.add(weights, np.ones_like(weights), batch.rewards)
    verdict = watched.judge(_refuse(version, current, weigher))
    shares = weigher.share, weigher.n_shadow
    return LoopVerdict(verdict, version, current, first, end, last, *shares)


def _find_range(config: LoopConfig) -> tuple[float, float]:
    """Return the least and the largest reward of a loop, without which a gate has no bound."""
    low, high = config.reward.low, config.reward.high
    if low is None or high is None:
        raise InvalidArgument(
            "range must be given in the reward settings of a loop for a gate, got none."
        )
    return low, high


def _name_slots(store: LoopStore, config: LoopConfig) -> tuple[str, ...]:
    """Return the names of all actions that a loop ever had, and of its spare slots."""
    names = [f"slot {slot}" for slot in range(config.n_slots)]
    for entry in read_revision(store, config)["actions"].values():
        names[entry.slot] = entry.name
    return tuple(names)


def _find_start(store: LoopStore, config: LoopConfig, version: int, current: int) -> int:
    """Return the position after which neither version has learned anything."""
    models = {row["version"]: row["trained_at"] for row in list_models(store, config.name, current)}
    if version not in models:
        raise NotFound(f"There is no model version {version}.")
    return int(max(models[version], models[current]))


def _find_end(store: LoopStore, config: LoopConfig, first: int, last: int) -> int:
    """Return the position before the first round that still waits for its reward.

    A reward may come at once, but that none comes is known only after the wait. Rounds that are
    settled early would therefore have rewards that are too good. A loop without a limit on the wait
    has no such end.
    """
    if config.reward.wait is None:
        return last
    with store.read() as cursor:
        found = cursor.execute(
            "SELECT MIN(position) FROM decisions WHERE loop = ? AND position > ? AND status = ?",
            (config.name, first, WAITING),
        )
    return last if found[0][0] is None else int(found[0][0]) - 1


@dataclass
class _Weigher:
    """Weighs the rounds of a log for one version, and counts what it could not have played."""

    target: PolicyTarget
    tally: QualityTally
    overlap: OverlapTally | None = None
    n: int = 0
    unsupported: float = 0.0
    n_shadow: int = 0

    @property
    def share(self) -> float:
        """Share of its play on actions that could not be played."""
        return self.unsupported / max(self.n, 1)

    def weigh(self, batch: LogBatch, n_shadow: int) -> NDArray[np.float64]:
        """Return the weights of rounds, (n,)."""
        pmf = self.target.pmf(batch)
        self.n += len(pmf)
        self.n_shadow += n_shadow
        self.unsupported += float(find_unsupported(batch, pmf).sum())
        members = self.tally.add(batch)
        if self.overlap is None:
            self.overlap = OverlapTally(self.target.name, pmf.shape[1], members.shape[1])
        return self.overlap.add(batch, pmf, members)

    def doubt(self) -> str | None:
        """Return why the rounds refute the logged probabilities, or None."""
        if self.overlap is None:
            return None
        return doubt_gate(self.tally.judge(), self.tally.judge_target(self.overlap))


def _refuse(version: int, current: int, weigher: _Weigher) -> str | None:
    """Return why nothing can be said about a version, or None."""
    if version == current:
        return f"version {version} decides already."
    if weigher.n == 0:
        return (
            f"no round with a reward was decided by version {current} after both versions were "
            "trained."
        )
    if weigher.share <= UNSUPPORTED_LIMIT:
        return weigher.doubt()
    reason = (
        "since in shadow mode the baseline plays one action for sure"
        if weigher.n_shadow
        else "and only the setting `audit` of the loop keeps a share of them for every action"
    )
    return (
        f"version {version} plays what could not be played in {weigher.share:.1%} of the rounds, "
        f"{reason}."
    )


def _iterate_rounds(
    store: LoopStore, config: LoopConfig, *, first: int, end: int, model: int
) -> Iterator[tuple[LogBatch, int]]:
    """Yield rounds with a reward that a version decided, and how many of them a baseline played."""
    while True:
        with store.read() as cursor:
            values = (config.name, first, end, model, SETTLED, ROWS_AT_ONCE)
            found = cursor.execute(ROUNDS, values)
        if not found:
            return
        yield _to_batch(found, config.n_slots), sum(row[-1] == "shadow" for row in found)
        first = int(found[-1][0])


def _to_batch(rows: list[tuple[Any, ...]], n_slots: int) -> LogBatch:
    positions, features, available, slots, pmfs, rewards, _ = zip(*rows, strict=True)
    actions = np.asarray(slots, dtype=np.int32)
    pmf = np.stack([to_vector(one) for one in pmfs])
    masks = [make_mask(n_slots, json.loads(names).values()) for names in available]
    return LogBatch(
        rows=np.asarray(positions, dtype=np.int64),
        contexts=np.stack([to_vector(row) for row in features]),
        actions=actions,
        rewards=np.asarray(rewards, dtype=np.float64),
        propensities=pmf[np.arange(len(pmf)), actions],
        pmf=pmf,
        available=np.stack(masks),
        certified=None,
        audited=None,
    )
