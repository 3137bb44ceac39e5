"""Use a policy in an application: decide, learn from rewards, read the certificate, save and load.

    python examples/application.py

The application has 50 kinds of visitors and 4 offers, which a table of features describes. Each
visitor is shown one offer, and the reward is whether they accept it.
"""

import tempfile
from pathlib import Path

import numpy as np

import banditsrl


def main(n_rounds: int = 300) -> int:
    rng = np.random.default_rng(7)
    features = rng.normal(size=(50, 4, 3)) / np.sqrt(3)
    taste = np.array([0.6, -0.3, 0.2])
    probability = 0.5 + 0.4 * np.tanh(features @ taste)

    policy = banditsrl.GLRT(banditsrl.LinUCB(features, sigma=0.5))
    agent = banditsrl.Agent(policy)
    certified = 0
    for _ in range(n_rounds):
        visitor = int(rng.integers(50))
        in_stock = rng.random(4) > 0.1
        in_stock[0] = True
        choice = agent.act(visitor, in_stock)
        reward = float(rng.random() < probability[visitor, int(choice.action)])
        agent.learn(visitor, choice, reward)
        certified += bool(choice.certified)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.state"
        agent.save(path)
        again = banditsrl.Agent.load(path, policy)
    before, after = agent.act(3), again.act(3)
    print(f"offer {int(before.action)} before saving, {int(after.action)} after loading")
    print(f"probability of each offer: {np.round(np.asarray(before.pmf), 3)}")
    print(f"likelihood ratio {float(before.glr):.2f}, needed {float(before.threshold):.2f}")
    print(f"{certified} of {n_rounds} rounds were certified")
    return certified


if __name__ == "__main__":
    main()
