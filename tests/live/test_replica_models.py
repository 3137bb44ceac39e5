"""Do the other servers of a loop use what its learner has trained?"""

from typing import TYPE_CHECKING, Any

import numpy as np
from waiting import wait_until

from banditsrl import Loop
from banditsrl.live_store.state_bytes import digest_content, pack_state

if TYPE_CHECKING:
    from postgres_server import PostgresServer

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"a": "number", "b": "number"},
    "policy": "glrt-linucb",
    "spare_actions": 0,
    "reward": {"range": [0, 1]},
}


def test_a_model_of_the_learner_reaches_the_other_replica(postgres: "PostgresServer") -> None:
    url, rng = postgres.new_database(), np.random.default_rng(0)
    with Loop.create(url, CONFIG) as learner, Loop.open(url, replica=1) as other:
        for _ in range(40):
            a, b = rng.normal(size=2)
            decision = other.decide({"a": a, "b": b})
            learner.reward(decision.id, float(decision.action == "red"))
        wait_until(lambda: learner.status()["model"] >= 1)
        wait_until(lambda: not learner.status()["training"])
        wait_until(lambda: other.status()["model"] == learner.status()["model"])
        learner.set_mode("frozen")  # nothing is trained any more
        wait_until(lambda: not learner.status()["training"])
        learner.flush()
        other.flush()
        assert other.status()["training_starts"] == 0
        states = [digest_content(pack_state(one._engine.fold.state)) for one in (learner, other)]
        assert states[0] == states[1]
        assert other.decide({"a": 1.0}).model == learner.status()["model"]
