"""How is a finite problem kept in a file? As JSON with its features, parameters and claims.

    {"name": ..., "noise_std": 0.3, "mean_rewards": [[...]], "rho": [...],
     "representations": [{"features": [[[...]]], "theta": [...], "realizable": true}, ...]}

A file with "contexts" (X, columns) instead of "representations" has one candidate: the context
followed by the one-hot code of the action. Claims are checked to 1e-6 when a file is read. A key
that is unknown or occurs twice is refused, so that a misspelt one is noticed.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import finite_array
from banditsrl.core.files import write_bytes
from banditsrl.errors import InvalidProblem
from banditsrl.problems.claims import Claim
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.verification import verify_optimum, verify_realizable
from banditsrl.representations.coded import one_hot_features

CLAIM_TOLERANCE = 1e-6
"""Numbers in files were rounded when they were written (to float32 in the authors' instances)."""

SETTINGS = ("name", "noise", "noise_std", "rho", "available", "mean_rewards")
REMARKS = ("note", "reference")
"""Keys that people may add for other people; they are not read."""

PROBLEM_KEYS = (*SETTINGS, "representations", "contexts", *REMARKS)
REPRESENTATION_KEYS = ("name", "features", "theta", "realizable")

Floats = NDArray[np.float64]


def read_problem(path: str | Path) -> FiniteProblem:
    """Read a finite problem from a JSON file and verify what it claims."""
    path = Path(path)
    document = _parse(path)
    _refuse_unknown_keys(document, PROBLEM_KEYS, path)
    means = _require(document, "mean_rewards", path)
    representations, claims = _read_representations(document, path)
    problem = FiniteProblem(
        means,
        representations,
        claims=claims,
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
    """Write a finite problem to a JSON file, from which `read_problem` reads it back."""
    document = {
        "name": problem.name,
        "noise": problem.noise,
        "noise_std": problem.noise_std,
        "rho": problem.rho.tolist(),
        "available": problem.available.tolist(),
        "mean_rewards": problem.mean_rewards.tolist(),
        "representations": [
            {
                "name": claim.name,
                "features": table.features.tolist(),
                "theta": claim.theta.tolist(),
                "realizable": claim.realizable,
            }
            for table, claim in zip(problem.representations, problem.claims, strict=True)
        ],
    }
    try:
        write_bytes(Path(path), json.dumps(document).encode())
    except OSError as error:
        raise InvalidProblem(f"{path}: cannot be written ({error.strerror}).") from error


def _parse(path: Path) -> dict[str, Any]:
    def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise InvalidProblem(f"{path}: {key} occurs twice in one object.")
        return dict(pairs)

    try:
        document = json.loads(path.read_text(), object_pairs_hook=refuse_repeated_keys)
    except OSError as error:
        raise InvalidProblem(f"{path}: cannot be read ({error.strerror}).") from error
    except InvalidProblem:
        raise
    except ValueError as error:
        raise InvalidProblem(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(document, dict):
        raise InvalidProblem(f"{path}: must hold a JSON object, got {type(document).__name__}.")
    return document


def _refuse_unknown_keys(
    entry: dict[str, Any], known: tuple[str, ...], path: Path, where: str = ""
) -> None:
    for key in entry:
        if key not in known:
            raise InvalidProblem(
                f"{path}: {where}{key} is not a known key; known: {', '.join(known)}."
            )


def _require(entry: dict[str, Any], name: str, path: Path) -> Any:
    if name not in entry:
        raise InvalidProblem(f"{path}: {name} is missing.")
    return entry[name]


def _read_representations(
    document: dict[str, Any], path: Path
) -> tuple[tuple[Floats, ...], tuple[Claim, ...] | None]:
    """Return the features of every candidate, and the claims if the file has them."""
    if "representations" not in document and "contexts" in document:
        return (_code_contexts(document, path),), None
    entries = _require(document, "representations", path)
    if not isinstance(entries, list) or not entries:
        raise InvalidProblem(f"{path}: representations must be a non-empty list, got {entries!r}.")
    pairs = [_read_representation(entry, k, path) for k, entry in enumerate(entries)]
    return tuple(features for features, _ in pairs), tuple(claim for _, claim in pairs)


def _code_contexts(document: dict[str, Any], path: Path) -> Floats:
    """Return every context followed by the one-hot code of the action, (X, A, columns + A)."""
    contexts = finite_array("contexts", document["contexts"], "(X, columns)")
    means = finite_array("mean_rewards", _require(document, "mean_rewards", path), "(X, A)")
    if len(contexts) != len(means):
        raise InvalidProblem(
            f"{path}: contexts must have one row per row of mean_rewards, "
            f"got {len(contexts)} and {len(means)} rows."
        )
    return one_hot_features(contexts, means.shape[1])


def _read_representation(entry: Any, k: int, path: Path) -> tuple[Floats, Claim]:
    where = f"representations[{k}]"
    if not isinstance(entry, dict):
        raise InvalidProblem(f"{path}: {where} must be an object, got {type(entry).__name__}.")
    _refuse_unknown_keys(entry, REPRESENTATION_KEYS, path, f"{where}.")
    realizable = entry.get("realizable", True)
    if not isinstance(realizable, bool):
        raise InvalidProblem(
            f"{path}: {where}.realizable must be true or false, got {realizable!r}."
        )
    features = finite_array(f"{where}.features", _require(entry, "features", path), "(X, A, d)")
    theta = finite_array(f"{where}.theta", _require(entry, "theta", path), "(d,)")
    return features, Claim(theta, realizable, str(entry.get("name", "")))
