"""How is a finite problem kept in a file? JSON with its features, parameters and claims.

    {"name": ..., "noise_std": 0.3, "mean_rewards": [[...]], "rho": [...],
     "representations": [{"features": [[[...]]], "theta": [...], "realizable": true}, ...]}

A file with "contexts" (X, columns) instead of "representations" has one candidate: the context
followed by the one-hot code of the action. What a file claims is checked when it is read, to 1e-6.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import finite_array
from banditsrl.core.files import read_json, write_bytes
from banditsrl.errors import InvalidArgument, InvalidProblem
from banditsrl.problems.finite import Candidate, FiniteProblem, verify_optimum, verify_realizable
from banditsrl.representations.coded import one_hot_features

CLAIM_TOLERANCE = 1e-6
"""Files carry numbers that were rounded on the way (float32 in the authors' instances)."""


def read_problem(path: str | Path) -> FiniteProblem:
    """Read a finite problem and verify what it claims."""
    path = Path(path)
    document = _parsed(path)
    problem = FiniteProblem(
        _field(document, "mean_rewards", path),
        _candidates(document, path),
        name=str(document.get("name", path.stem)),
        rho=document.get("rho"),
        noise=document.get("noise", "gaussian"),
        noise_std=document.get("noise_std", 0.3),
        available=document.get("available"),
    )
    verify_optimum(problem)
    verify_realizable(problem, CLAIM_TOLERANCE)
    return problem


def write_problem(problem: FiniteProblem, path: str | Path) -> None:
    """Write a finite problem so that `read_problem` gives it back."""
    document = {
        "name": problem.name,
        "noise": problem.noise,
        "noise_std": problem.noise_std,
        "rho": problem.rho.tolist(),
        "available": problem.available.tolist(),
        "mean_rewards": problem.mean_rewards.tolist(),
        "representations": [
            {
                "name": candidate.name,
                "features": candidate.features.tolist(),
                "theta": candidate.theta.tolist(),
                "realizable": candidate.realizable,
            }
            for candidate in problem.representations
        ],
    }
    try:
        write_bytes(Path(path), json.dumps(document).encode())
    except OSError as error:
        raise InvalidProblem(f"{path}: cannot be written ({error.strerror}).") from error


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except InvalidArgument as error:
        raise InvalidProblem(str(error)) from error


def _field(entry: dict[str, Any], name: str, path: Path) -> Any:
    if name not in entry:
        raise InvalidProblem(f"{path}: {name} is missing.")
    return entry[name]


def _candidates(document: dict[str, Any], path: Path) -> tuple[Any, ...]:
    """The candidates of a file, each a `Candidate` or an array of features."""
    if "representations" not in document and "contexts" in document:
        return (_coded(document, path),)
    entries = _field(document, "representations", path)
    if not isinstance(entries, list) or not entries:
        raise InvalidProblem(f"{path}: representations must be a non-empty list, got {entries!r}.")
    return tuple(_candidate(entry, k, path) for k, entry in enumerate(entries))


def _coded(document: dict[str, Any], path: Path) -> NDArray[np.float64]:
    """Every context followed by the one-hot code of the action, (X, A, columns + A)."""
    contexts = finite_array("contexts", document["contexts"], "(X, columns)")
    means = finite_array("mean_rewards", _field(document, "mean_rewards", path), "(X, A)")
    if len(contexts) != len(means):
        raise InvalidProblem(
            f"{path}: contexts must have one row per row of mean_rewards, "
            f"got {len(contexts)} and {len(means)} rows."
        )
    return one_hot_features(contexts, means.shape[1])


def _candidate(entry: Any, k: int, path: Path) -> Candidate:
    where = f"representations[{k}]"
    if not isinstance(entry, dict):
        raise InvalidProblem(f"{path}: {where} must be an object, got {entry!r}.")
    realizable = entry.get("realizable", True)
    if not isinstance(realizable, bool):
        raise InvalidProblem(
            f"{path}: {where}.realizable must be true or false, got {realizable!r}."
        )
    return Candidate(
        finite_array(f"{where}.features", _field(entry, "features", path), "(X, A, d)"),
        finite_array(f"{where}.theta", _field(entry, "theta", path), "(d,)"),
        realizable,
        str(entry.get("name", "")),
    )
