"""debias: from fold counts to squared distances that hold signal, with their standard errors.

U: d2_ij = ext_ij sum_c E_ij,c, unbiased up to the shared tail; it may be negative and is not
clipped. Known noise: var0_ij = ext_ij^2 sum_v c_v^2 s_i^2 s_j^2 (1/N_i + 1/N_j)^2 / 8, and
sigma_i^2 = ext_ii sqrt(sum_v c_v^2 s_i^4) / (4 N_i). Standard errors come from the delete-fold
jackknife, which doubles the degenerate part, hence

    se^2 = max(se_J^2 - var0, var0, se_J^2 / 4) + tail^2,

the last term being an allowance for the tail that was filled, not measured (see `profile`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.geometry.debiased.folded import Floats, FoldedCounts, folded
from gnomon.geometry.debiased.lowrank import LowRank, core_of, low_rank, noise_edges
from gnomon.geometry.debiased.pilot import drift_energy
from gnomon.geometry.debiased.profile import Profile, class_profile
from gnomon.geometry.debiased.sums import Sums, balanced_signs, sums
from gnomon.results import Result, pairs_dataframe

DRAWS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Debiased(Result):
    """Squared distances between m positions, and what of them is certain."""

    positions: NDArray[np.int64]
    """Indices of the m positions that could be estimated."""
    tokens: Floats
    squares: Floats
    """m x m: U, unbiased, possibly negative."""
    standard_error: Floats
    """m x m."""
    extension: Floats
    """m x m: 1 / extension is the measured share."""
    tail: Floats
    """m x m: the part of the standard error that allows for what was filled, not measured."""
    sigma: Floats
    """m: noise of a position's coordinate."""
    profile: Floats
    """Relative drift by frequency class, common classes first."""
    core: NDArray[np.int64]
    """Which of the m positions are counted well enough (indices into `positions`)."""
    edge: float
    """What the first eigenvalue had to exceed."""
    edges: Floats
    """What each eigenvalue had to exceed, in turn; the last one was not exceeded."""
    low_rank: LowRank
    """On the core."""
    replicates: Floats
    """F x m x m: U with one fold left out."""
    null_means: Floats
    """K: mean over core pairs of the quadratic terms under signs, which has no signal in it."""

    @property
    def rank(self) -> int:
        """Effective rank: directions above the noise edge."""
        return self.low_rank.rank

    @property
    def mean_squared(self) -> float:
        """Mean squared distance (U) over pairs of core positions."""
        return pair_mean(self.squares[np.ix_(self.core, self.core)])

    def to_dataframe(self) -> Any:
        """Return one row per pair of estimated positions: squared distance and standard error."""
        columns = {"squared_distance": self.squares, "standard_error": self.standard_error}
        return pairs_dataframe(self.positions, columns)


def debias(
    counts: Any,
    *,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
    keep: NDArray[np.bool_] | None = None,
) -> Debiased:
    """Estimate the squared distances of counts that come in folds."""
    stream = np.random.default_rng(0) if rng is None else rng
    data = folded(counts, keep)
    signs = balanced_signs(data.folds, draws, stream)
    found = sums(data, drift_energy(data), signs)
    return _assembled(data, found, class_profile(found, np.diff(data.class_bounds)))


def _assembled(data: FoldedCounts, found: Sums, profile: Profile) -> Debiased:
    extension, tokens = profile.extension, data.tokens
    squares = extension * found.energy.sum(axis=0)
    np.fill_diagonal(squares, 0.0)  # it is, up to rounding
    replicates = extension * found.deleted
    variance = extension**2 * found.weight_squares
    known = variance * (1.0 / tokens[:, None] + 1.0 / tokens[None, :]) ** 2 / 8.0
    sigma = np.sqrt(np.sqrt(np.diag(variance)) / (4.0 * tokens))
    core = core_of(sigma**2)
    among = np.ix_(core, core)
    flipped = (extension * found.flipped)[:, core][:, :, core]
    known_noise = (sigma[core], tokens[core])
    types = len(data.type_tokens) - 1
    edges = noise_edges(squares[among], flipped, *known_noise, types=types)
    return Debiased(
        positions=data.positions,
        tokens=tokens,
        squares=squares,
        standard_error=_standard_error(replicates, known, profile.tail),
        extension=extension,
        tail=profile.tail,
        sigma=sigma,
        profile=profile.relative,
        core=core,
        edge=float(edges[0]),
        edges=edges,
        low_rank=low_rank(squares[among], *known_noise, edge=edges[0], rank=len(edges) - 1),
        replicates=replicates,
        null_means=np.array([pair_mean(one) for one in flipped]),
    )


def _standard_error(replicates: Floats, known: Floats, tail: Floats) -> Floats:
    folds = len(replicates)
    spread = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0) * (folds - 1) / folds
    sampling = np.maximum(np.maximum(spread - known, known), spread / 4.0)
    error: Floats = np.sqrt(sampling + tail**2)
    np.fill_diagonal(error, 0.0)
    return error


def pair_mean(squares: Floats) -> float:
    """Return the mean over pairs i < j of a symmetric matrix."""
    m = len(squares)
    return float((squares.sum() - np.trace(squares)) / (m * (m - 1))) if m > 1 else 0.0
