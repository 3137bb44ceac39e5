"""How are the actions, the mode and the model of a loop changed? By records that were checked.

Each function runs inside a transaction and refuses a change before it writes anything.
"""

from collections.abc import Mapping
from typing import Any

from banditsrl.errors import Conflict, NotFound
from banditsrl.live.encoder import change_actions, first_actions
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live_store.ledger import Ledger


def add_action_change(
    ledger: Ledger, config: LoopConfig, change: Mapping[str, Any], *, time: float
) -> int:
    """Add, pause, resume or retire an action."""
    table = first_actions(config)
    for _, _, body in ledger.changes("actions"):
        table = change_actions(table, body, config.n_slots)
    change_actions(table, change, config.n_slots)
    return ledger.append("actions", time, body=dict(change))


def set_settings(ledger: Ledger, settings: Mapping[str, Any], *, time: float) -> int:
    """Change the mode, or resume training after a version was put back."""
    position = ledger.append("settings", time, body=dict(settings))
    ledger.mode = settings.get("mode", ledger.mode)
    return position


def promote_model(
    ledger: Ledger,
    version: int,
    *,
    settings: str,
    time: float,
    evidence: Mapping[str, Any] | None = None,
) -> int:
    """Put an older version of the model back, and stop trainings until they are resumed.

    The evidence for it is written into the same record. It is refused if another version has
    started to decide since the position `last`, up to which the evidence was gathered.
    """
    found = ledger.cursor.execute(
        "SELECT settings FROM models WHERE loop = ? AND version = ?", (ledger.loop, version)
    )
    if version != 0 and not found:
        raise NotFound(f"There is no model version {version}.")
    if found and found[0][0] != settings:
        raise NotFound(
            f"The model version {version} was made by a policy of other settings, so it cannot "
            "be put back."
        )
    body: dict[str, Any] = {"version": version}
    if evidence is not None:
        if ledger.last_of("published", "promoted") > evidence["last"]:
            raise Conflict("Another model version has started to decide; please try again.")
        body["evidence"] = dict(evidence)
    return ledger.append("promoted", time, body=body)


def add_alarm(ledger: Ledger, n_alarms: int, *, time: float) -> int | None:
    """Record that the policy has noticed a change, once for each alarm."""
    noted = len(ledger.changes("alarm"))
    if noted >= n_alarms:
        return None
    return ledger.append("alarm", time, body={"alarms": n_alarms})


def start_training(ledger: Ledger, known: int, *, time: float) -> int | None:
    """Record that a training starts from the state at this position.

    Nothing is recorded if, since position `known`, a version was put back, settings were changed or
    another training has started.
    """
    if ledger.last_of("promoted", "settings", "training") > known:
        return None
    return ledger.append("training", time, body={})


def end_training(ledger: Ledger, kind: str, trained_at: int, *, time: float) -> int | None:
    """Record that a training ended without a new model, unless its end is in the log already.

    It is "unchanged" if it left the state as it was, and "abandoned" if it was stopped.
    """
    if not is_last_training(ledger, trained_at):
        return None
    return ledger.append(kind, time, body={"trained_at": trained_at})


def is_last_training(ledger: Ledger, trained_at: int) -> bool:
    """Return whether the training that started at a position is the last one and has not ended."""
    ends = ("training", "unchanged", "abandoned", "published", "promoted")
    return ledger.last_of(*ends) == trained_at
