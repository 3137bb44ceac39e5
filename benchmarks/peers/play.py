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

from measuring import Record, measured
from streams import load, stream_path

RUNNERS = {"vw": "vw", "mabwiser": "mabwiser_linucb", "calvera": "neural", "ours": "ours"}
"""Name of each runner, and its module."""


def main() -> None:
    """Play, and write the record down."""
    parser = argparse.ArgumentParser(description="Measure one library on one stream.")
    for name in ("runner", "setting", "problem"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("seed", "steps"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("folder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    asked = parser.parse_args()
    record = played(asked)
    asked.out.write_text(json.dumps(record))


def played(asked: argparse.Namespace) -> Record:
    """The record of one run."""
    module = importlib.import_module(RUNNERS[asked.runner])
    versions = {package: version(package) for package in module.PACKAGES}
    if asked.runner == "ours":
        own: Record = module.run(
            asked.setting, problem=asked.problem, seed=asked.seed, steps=asked.steps
        )
        return {**own, "versions": versions}
    stream = load(stream_path(asked.folder, asked.problem, asked.seed, asked.steps))
    sizes = {"n_columns": stream.n_columns, "n_actions": stream.n_actions}
    make = partial(module.Peer, asked.setting, seed=asked.seed, **sizes)
    return {**measured(make, stream, asked.steps), "versions": versions}


if __name__ == "__main__":
    main()
