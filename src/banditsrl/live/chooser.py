"""How is one decision made? From the newest state of the policy, without waiting for training."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from banditsrl.core.policy import Choice
from banditsrl.errors import Conflict, NotFound
from banditsrl.live.action_draws import DrawnAction, draw, play_baseline
from banditsrl.live.decide_requests import DecideRequest, pick_actions, pick_baseline
from banditsrl.live.encoder import RETIRED, Encoder, make_mask
from banditsrl.live.fold import Fold
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.programs import Programs
from banditsrl.live_store.decision_rows import (
    DecisionRow,
    to_bytes,
    write_json,
    write_json_in_order,
)
from banditsrl.live_store.ledger import Ledger, starts_as
from banditsrl.registry import guess_at

DRAWS_PER_OPENING = 2**32
"""Draw k of an opening has the number `opening * DRAWS_PER_OPENING + k` in the log."""


class Chooser:
    """Makes the decisions of one replica while it has the loop open."""

    def __init__(
        self,
        config: LoopConfig,
        programs: Programs,
        *,
        replica: int,
        opening: int,
        clock: Callable[[], float],
    ) -> None:
        self._config, self._programs, self._encoder = config, programs, Encoder(config)
        self._replica, self._opening, self._clock = replica, opening, clock
        self._counter = itertools.count()
        self._key = programs.draw_key(replica, opening)
        self._share = even_share(config)

    def choose(self, fold: Fold, request: DecideRequest) -> DecisionRow:
        """Return the row of a new decision; its position is set when it is written."""
        for name in request.actions:
            if name not in fold.actions:
                raise NotFound(f"There is no action named {name!r}{guess_at(name, fold.actions)}")
        actions = pick_actions(fold.actions, request.available)
        present = [entry for entry in fold.actions.values() if entry.state != RETIRED]
        features = self._encoder.encode(request.context, present, request.actions)
        mask = make_mask(self._programs.n_slots, (action.slot for action in actions))
        count = next(self._counter)
        choice, predicted, uniform = self._programs.choose(
            fold.state, features, mask, self._key, count
        )
        drawn, shadow = draw(choice, predicted, mask, self._share, uniform), None
        names = {action.slot: action.name for action in actions}
        if fold.mode == "shadow":
            shadow = names[drawn.slot]
            drawn = play_baseline(pick_baseline(self._config, request, actions), len(mask))
        now, wait = self._clock(), self._config.reward.wait
        deferred = request.deferred
        return DecisionRow(
            id=request.id,
            position=0,
            time=now,
            context=write_json(request.context),
            digest=request.digest,
            available=write_json_in_order({action.name: action.slot for action in actions}),
            action=names[drawn.slot],
            slot=drawn.slot,
            features=to_bytes(features),
            law=to_bytes(drawn.pmf),
            predicted=None if predicted is None else to_bytes(predicted),
            replica=self._replica,
            draw=self._opening * DRAWS_PER_OPENING + count,
            model=fold.model,
            known=fold.position,
            **describe_choice(choice, drawn, by_policy=shadow is None),
            deferred=int(deferred),
            mode=fold.mode,
            shadow=shadow,
            status=starts_as(deferred),
            deadline=None if deferred or wait is None else now + wait,
        )


def even_share(config: LoopConfig) -> float:
    """Return the share of uncertain rounds in which every available action is equally likely."""
    audit = config.settings.get("audit", config.audit)
    return float(audit) if isinstance(audit, int | float) else 0.0


def describe_choice(choice: Choice, drawn: DrawnAction, *, by_policy: bool) -> dict[str, Any]:
    """Return the columns that record why an action was chosen."""
    glr, threshold = float(choice.glr), float(choice.threshold)
    return {
        "certified": int(bool(choice.certified) and by_policy),
        "glr": None if math.isnan(glr) else glr,
        "threshold": None if math.isinf(threshold) or math.isnan(threshold) else threshold,
        "representation": int(choice.representation),
        "audited": int(bool(np.asarray(choice.audited)) and by_policy),
        "explored": int(drawn.explored),
    }


def check_repetition(before: DecisionRow, digest: str) -> None:
    """Refuse a request whose id belongs to a decision that was made for another request."""
    if not before.digest:
        raise Conflict(f"The context of the decision {before.id!r} was erased; use another id.")
    if before.digest != digest:
        raise Conflict(f"The id {before.id!r} was used before for another request.")


def log_decisions(ledger: Ledger, rows: list[DecisionRow], revision: int) -> list[DecisionRow]:
    """Write new decisions; a request that was answered before gets its earlier decision.

    All of them are checked before the first one is written.
    """
    known: dict[str, DecisionRow] = {}
    for row in rows:
        before = known.get(row.id) or ledger.find(row.id)
        if before is not None:
            check_repetition(before, row.digest)
        known[row.id] = before or row
    ledger.check_revision(revision)
    written = {}
    for id_, row in known.items():
        written[id_] = row if row.position else ledger.add_decision(row)
    return [written[row.id] for row in rows]
