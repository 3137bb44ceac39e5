"""Does a loop say what happened? Counts over time, trust and explanations against plain sums."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from waiting import Clock

from banditsrl import Loop
from banditsrl.live_store.records import Decision

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"age": "number"},
    "policy": "glrt-linucb",
    "audit": 0.1,
    "spare_actions": 0,
}


Played = tuple[Loop, list[tuple[float, Decision, float]]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """A loop that was played for some minutes: times, decisions and rewards."""
    clock, rng, rounds = Clock(6_000_000.0), np.random.default_rng(0), []
    path = tmp_path_factory.mktemp("queries") / "offers.db"
    with Loop.create(path, CONFIG, clock=clock, warm_up=False) as loop:
        for i in range(60):
            clock.now += 10.0
            decision = loop.decide({"age": i / 60})
            reward = float(rng.random())
            loop.reward(decision.id, reward)
            rounds.append((clock.now, decision, reward))
        loop.flush()
        yield loop, rounds


@pytest.mark.parametrize("bins", [1, 3, 200])
def test_the_history_agrees_with_plain_sums(played: Played, bins: int) -> None:
    loop, rounds = played
    history = loop.history(bins=bins)
    assert len(history) <= bins
    assert sum(entry["decisions"] for entry in history) == 60
    for entry in history:
        first, last = entry["time"], entry["time"] + entry["seconds"]
        own = [(one, reward) for at, one, reward in rounds if first <= at < last]
        rewards = [reward for _, reward in own]
        n = len(own)
        assert (entry["decisions"], entry["rewards"]) == (n, n)
        assert entry["mean"] == pytest.approx(np.mean(rewards))
        if n > 1:
            assert entry["error"] == pytest.approx(np.std(rewards, ddof=1) / np.sqrt(n))
            _, high = stats.t.interval(0.95, n - 1, np.mean(rewards), stats.sem(rewards))
            assert entry["mean"] + entry["margin"] == pytest.approx(high)
        assert entry["explored"] == pytest.approx(sum(one.explored for one, _ in own) / n)
        counts = Counter(one.action for one, _ in own)
        assert entry["actions"] == {name: pytest.approx(k / n) for name, k in counts.items()}


def test_versions_are_in_the_history(played: Played) -> None:
    loop, _ = played
    published = [model["version"] for model in loop.models() if model["version"]]
    shown = [version for entry in loop.history() for version in entry["versions"]]
    assert set(shown) <= set(published)


def test_trust_counts_every_round(played: Played) -> None:
    loop, rounds = played
    trust = loop.trust()
    assert trust.counts["decisions"] == trust.counts["rewards"] == 60
    assert trust.counts["explored"] == sum(one.explored for _, one, _ in rounds)
    assert trust.counts["certified"] == sum(one.certificate.certified for _, one, _ in rounds)
    assert "certif" in str(trust).lower()


def test_an_explanation_names_what_was_predicted_and_what_was_second(played: Played) -> None:
    loop, rounds = played
    for _, decision, reward in rounds[-5:]:
        found = loop.explain(decision.id)
        predicted = found["predicted"]
        others = {name: value for name, value in predicted.items() if name != decision.action}
        assert set(predicted) == {"red", "green", "blue"}
        assert found["second"] == max(others, key=lambda name: others[name])
        assert (found["decision"], found["outcome"]["value"]) == (decision, reward)
        text = " ".join(found["sentences"])
        assert f"position {decision.certificate.position:,} of the log" in text
        assert all(sentence.endswith(".") for sentence in found["sentences"])


def test_the_log_is_read_in_pieces(played: Played) -> None:
    loop, _ = played
    whole, pieces = loop.log(limit=10**6), []
    while more := loop.log(after=pieces[-1]["position"] if pieces else 0, limit=7):
        pieces += more
    assert pieces[: len(whole)] == whole
    assert whole[0]["kind"] == "created"
