"""What does training differentiate? The body of a network and its losses, written out by hand."""

from typing import Any

import numpy as np


def backward(parts: Any, x: Any, hidden: Any, phi: Any, slope: Any) -> list[Any]:
    """Gradients of the body, sample by sample, from the slopes at the embedding."""
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


def unit(phi: Any) -> tuple[Any, Any]:
    """Rows at length one (zero rows stay), and their lengths (n, 1)."""
    norms = np.linalg.norm(phi, axis=1, keepdims=True)
    return np.divide(phi, norms, out=np.zeros_like(phi), where=norms > 0), norms


def spectral(loss: str, every: Any, explored: Any, z: Any) -> tuple[float, Any]:
    """The loss of complete samples and its slope at their embeddings."""
    if loss == "none":
        return 0.0, np.zeros_like(every)
    u, norms = unit(every)
    outer = z
    if loss == "weak":
        candidates, _ = unit(explored)
        forms = [((u @ v) ** 2).mean() for v in candidates]
        outer = candidates[int(np.argmin(forms))]
    along = u @ outer  # (n,)
    turned = np.divide(outer - along[:, None] * u, norms, where=norms > 0, out=np.zeros_like(u))
    return -float((along**2).mean()), -2.0 / len(u) * along[:, None] * turned * (norms > 0)
