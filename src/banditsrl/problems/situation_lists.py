"""Which situations are for choosing settings, and which for reporting? Two lists that are disjoint.

Settings are chosen on the families of TUNING with seeds below `FIRST_REPORTED_SEED`. Results are
reported on all families with seeds from there on, and those on HELD_OUT are the ones that count:
nothing was chosen on these families.
"""

from banditsrl.problems import change_families, context_families, reward_families
from banditsrl.problems.situations import FAMILIES

__all__ = ["FIRST_REPORTED_SEED", "HELD_OUT", "TUNING", "TUNING_SEEDS"]

TUNING_SEEDS = 50
"""Seeds below this one are for choosing settings."""

FIRST_REPORTED_SEED = 1000

TUNING = (
    "linear-boundary",
    "xor",
    "interactions",
    "steps",
    "flags",
    "categories-10x10",
    "offers",
    "heavy-columns",
    "collinear",
    "logistic-20",
    "rare-action",
    "noise-0.05",
    "noise-2",
    "smooth",
    "near-ties",
    "revenue",
    "shifted-1000",
    "scaled-0.01",
    "missing-rewards",
    "no-signal",
    "swap",
    "better-action",
    "fading-means",
    "moving-contexts",
    "new-segment",
    "new-combination",
)

HELD_OUT = tuple(name for name in FAMILIES if name not in TUNING)

_ = (context_families, reward_families, change_families)  # importing them registers the families
