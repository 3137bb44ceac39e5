"""How is a log written as Vowpal Wabbit's dsjson? As one event per round, with a tag per action."""

import json
from typing import Any, BinaryIO

import numpy as np

from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import Log, LogBatch, LogSchema


def write_dsjson(stream: BinaryIO, log: Log) -> int:
    """Write a log as events, with one tag per action, and return how many there are."""
    schema, n = log.schema, 0
    odd = [name for name in schema.columns if name.startswith("_")]
    if odd:
        raise InvalidArgument(f"columns in dsjson must not begin with _, got {odd[0]!r}.")
    for batch in log.batches():
        for at in range(len(batch.rows)):
            stream.write(json.dumps(_make_event(batch, at, schema)).encode() + b"\n")
        n += len(batch.rows)
    return n


def _make_event(batch: LogBatch, at: int, schema: LogSchema) -> dict[str, Any]:
    mask = None if batch.available is None else batch.available[at]
    present = range(schema.n_actions) if mask is None else [int(k) for k in np.flatnonzero(mask)]
    slots = {action: slot for slot, action in enumerate(present, 1)}
    played = int(batch.actions[at])
    order = [played, *(action for action in present if action != played)]
    law = None if batch.pmf is None else [float(batch.pmf[at, action]) for action in order]
    context: dict[str, Any] = dict(zip(schema.columns, batch.contexts[at].tolist(), strict=True))
    names = [schema.actions[action] for action in present]
    context["_multi"] = [{"_tag": name, "action": {name: 1}} for name in names]
    known = not np.isnan(batch.propensities[at])
    event = {
        "_label_cost": 0.0 - float(batch.rewards[at]),
        "_label_probability": float(batch.propensities[at]) if known else None,
        "_label_Action": slots[played],
        "_labelIndex": slots[played] - 1,
        "Version": "1",
        "EventId": str(batch.rows[at]),
        "a": [slots[action] for action in order],
        "c": context,
        "p": law,
        "VWState": {"m": "N/A"},
    }
    return {name: value for name, value in event.items() if value is not None}
