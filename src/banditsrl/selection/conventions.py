"""Where do the authors' experiments differ from their paper? Each difference has a name here.

A policy has a setting `conventions`, "paper" or "authors", which is the name of one object of this
file. Code that depends on the difference reads it from that object.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from banditsrl.linear.bounds import Number, authors_beta, beta, ucb_width
from banditsrl.registry import Registry


@dataclass(frozen=True)
class Conventions:
    """The choices in which the paper and the authors' experiments differ.

    Attributes:
        radius: Radius of the confidence ellipsoid of the test.
        squared_test: The test is gap^2 / (2 norm^2) > s beta^2 instead of gap / norm > s beta.
        tie_of_tables: On a fixed embedding, contexts with a predicted gap below this are not
            certified.
        tie_of_networks: The same limit for the embedding of a network.
        waits_for_batch: A network certifies nothing before one training batch of explored samples
            exists.
        offset: Name of the elimination offset.
        elimination_is_final: A candidate that was eliminated never returns to Phi_t.
        fits_in_ball: Errors are those of the best theta in the ball, not of the ridge fit.
        starts_with_first: The run begins with the first candidate of the list, not a random one.
        shares_delta: Candidates share delta, and the base's part shrinks from phase to phase.
        scales_whole_width: alpha_UCB multiplies the whole width, not only its noise term.
    """

    radius: Callable[..., Array]
    squared_test: bool
    tie_of_tables: float
    tie_of_networks: float
    waits_for_batch: bool
    offset: str
    elimination_is_final: bool
    fits_in_ball: bool
    starts_with_first: bool
    shares_delta: bool
    scales_whole_width: bool

    def ucb_width(
        self,
        log_det: Number,
        *,
        delta: Number,
        sigma: Number,
        lam: Number,
        B: Number,
        scale: Number,
    ) -> Array:
        """Return C_UCB, with alpha_UCB = `scale` where these conventions put it."""
        if self.scales_whole_width:
            whole = ucb_width(log_det, delta=delta, sigma=sigma, lam=lam, B=B)
            return jnp.asarray(scale * whole)
        return ucb_width(log_det, delta=delta, sigma=sigma, lam=lam, B=B, scale=scale)


CONVENTIONS: Registry[Conventions] = Registry("set of conventions")
CONVENTIONS.add(
    "paper",
    Conventions(
        radius=beta,
        squared_test=False,
        tie_of_tables=0.0,
        tie_of_networks=0.0,
        waits_for_batch=False,
        offset="paper",
        elimination_is_final=False,
        fits_in_ball=True,
        starts_with_first=False,
        shares_delta=True,
        scales_whole_width=False,
    ),
)
CONVENTIONS.add(
    "authors",
    Conventions(
        radius=authors_beta,
        squared_test=True,
        tie_of_tables=0.01,
        tie_of_networks=0.001,
        waits_for_batch=True,
        offset="tight",
        elimination_is_final=True,
        fits_in_ball=False,
        starts_with_first=True,
        shares_delta=False,
        scales_whole_width=True,
    ),
)
