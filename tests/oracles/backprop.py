"""What are the gradients of a network with two layers and of its losses? Computed by hand."""

from typing import Any

import numpy as np


def backpropagate(parts: Any, x: Any, hidden: Any, phi: Any, slope: Any) -> list[Any]:
    """Return the gradients of the body, given the gradients at the embedding."""
    W2 = parts[2]
    found = [np.zeros_like(part) for part in parts]
    for i in range(len(x)):
        at_two = slope[i] * (phi[i] > 0)
        at_one = (W2 @ at_two) * (hidden[i] > 0)
        found[0] += np.outer(x[i], at_one)
        found[1] += at_one
        found[2] += np.outer(hidden[i], at_two)
        found[3] += at_two
    return found


def normalise(phi: Any) -> tuple[Any, Any]:
    """Return the rows scaled to length one (zero rows stay zero), and their lengths (n, 1)."""
    norms = np.linalg.norm(phi, axis=1, keepdims=True)
    return np.divide(phi, norms, out=np.zeros_like(phi), where=norms > 0), norms


def spectral_loss(loss: str, every: Any, explored: Any, z: Any) -> tuple[float, Any]:
    """Return the spectral loss of all samples and its gradient at their embeddings."""
    if loss == "none":
        return 0.0, np.zeros_like(every)
    u, norms = normalise(every)
    outer = z
    if loss == "weak":
        candidates, _ = normalise(explored)
        forms = [((u @ v) ** 2).mean() for v in candidates]
        outer = candidates[int(np.argmin(forms))]
    along = u @ outer  # (n,)
    tangent = np.divide(outer - along[:, None] * u, norms, where=norms > 0, out=np.zeros_like(u))
    return -float((along**2).mean()), -2.0 / len(u) * along[:, None] * tangent * (norms > 0)
