"""Which decision follows from what was known? The one in the log, if nothing has been altered."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import BanditSRLError
from banditsrl.live.action_draws import draw, play_baseline
from banditsrl.live.chooser import DRAWS_PER_OPENING, describe_choice, even_share
from banditsrl.live.encoder import Encoder, make_mask
from banditsrl.live.fold import Fold
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.programs import Programs
from banditsrl.live_store.decision_rows import DecisionRow, to_bytes, to_vector


def encode_again(config: LoopConfig, row: DecisionRow) -> NDArray[np.float64]:
    """Return the encoded row of a decision with its context encoded again.

    Columns of actions that came with the request are in the encoded row alone, so they are taken
    from there. A context that cannot be encoded gives a row that equals no other.
    """
    features = to_vector(row.features).copy()
    try:
        Encoder(config).encode_context(json.loads(row.context or "{}"), features)
    except (BanditSRLError, ValueError):
        features[:] = np.nan
    return features


def choose_again(
    config: LoopConfig, programs: Programs, fold: Fold, row: DecisionRow
) -> dict[str, Any]:
    """Return the columns of a decision that follow from what was known, computed again."""
    features = encode_again(config, row)
    slots: dict[str, int] = json.loads(row.available)
    mask = make_mask(programs.n_slots, slots.values())
    opening, count = divmod(row.draw, DRAWS_PER_OPENING)
    key = programs.draw_key(row.replica, opening)
    choice, predicted, uniform = programs.choose(fold.state, features, mask, key, count)
    drawn, shadow = draw(choice, predicted, mask, even_share(config), uniform), None
    names = {slot: name for name, slot in slots.items()}
    if row.mode == "shadow":
        shadow, drawn = names[drawn.slot], play_baseline(row.slot, len(mask))
    return {
        "features": to_bytes(features),
        "action": names.get(drawn.slot),
        "slot": drawn.slot,
        "law": to_bytes(drawn.pmf),
        "predicted": None if predicted is None else to_bytes(predicted),
        "model": fold.model,
        "shadow": shadow,
        **describe_choice(choice, drawn, by_policy=shadow is None),
    }
