"""What would a model version of a loop earn, if it were promoted? It is read from the store.

The target plays as the loop does: by the policy's distribution, with the loop's share of even draws
where the policy is not certain. Audits are as they were when the version was trained.
"""

from pathlib import Path

from banditsrl.arguments import count
from banditsrl.evaluation.policy_targets import PolicyTarget
from banditsrl.live.chooser import even_share
from banditsrl.live.loop_opening import find_config
from banditsrl.live.model_shelf import ModelShelf
from banditsrl.live.programs import Programs
from banditsrl.live_store.store_address import open_store


def open_version(
    url: str | Path,
    version: int,
    *,
    loop: str | None = None,
    n_actions: int | None = None,
    seed: int = 0,
) -> PolicyTarget:
    """Return a model version of a loop as a target.

    Args:
        url: Path or URL of the store.
        version: Number of the version; 0 is the model before the first training.
        loop: Name of the loop, if the store has several.
        n_actions: Number of actions of the log, which may be fewer than the loop's slots.
        seed: Seed of the keys that the policy takes.
    """
    store = open_store(url, create=False)
    try:
        config = find_config(store, loop, argument="loop")
        programs = Programs(config)
        shelf = ModelShelf(store, config.name, programs)
        state = shelf.find_model(count("version", version, 0), None)
    finally:
        store.close()
    return PolicyTarget(
        programs.policy,
        state,
        name=f"version:{version}",
        n_actions=n_actions,
        even_share=even_share(config),
        seed=seed,
    )
