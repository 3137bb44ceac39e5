"""What happens in one run? One library, one setting, one problem, one seed, one process.

python benchmarks/peers/play.py --runner vw --setting "squarecb, first order"
    --problem magic --seed 100 --steps 10000 --folder build/peers --out record.json
"""

import argparse
import importlib
import json
from functools import partial
from importlib.metadata import version
from pathlib import Path

from measuring import Record, measure
from streams import load, stream_path

RUNNERS = {
    "vw": "vw",
    "mabwiser": "mabwiser_linucb",
    "lightgbm": "lightgbm_egreedy",
    "forest": "forest_ucb",
    "calvera": "neural",
    "ours": "ours",
}
"""The module of each runner, by name."""


def main() -> None:
    """Play one run and write its record."""
    parser = argparse.ArgumentParser(description="Measure one library on one stream.")
    for name in ("runner", "setting", "problem"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("seed", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("folder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    record = play(arguments)
    arguments.out.write_text(json.dumps(record))


def play(arguments: argparse.Namespace) -> Record:
    """Return the record of one run."""
    module = importlib.import_module(RUNNERS[arguments.runner])
    versions = {package: version(package) for package in module.PACKAGES}
    if arguments.runner == "ours":
        own: Record = module.run(
            arguments.setting, problem=arguments.problem, seed=arguments.seed, steps=arguments.steps
        )
        return {**own, "versions": versions}
    stream = load(stream_path(arguments.folder, arguments.problem, arguments.seed, arguments.steps))
    sizes = {"n_columns": stream.n_columns, "n_actions": stream.n_actions}
    make = partial(module.Peer, arguments.setting, seed=arguments.seed, **sizes)
    return {**measure(make, stream, arguments.steps), "versions": versions}


if __name__ == "__main__":
    main()
