"""debias: from fold counts to squared distances that hold signal, with their standard errors.

U: d2_ij = sum over bands b of f_b,ij E_b,ij, with E_b the energy of the types of a band and f_b
what fills it up (`profile`): the types that stand out (`drift`) are one band, the others come in
three by how well they are counted. It is unbiased up to the shared tail and the curvature of the
root (`curvature`); it may be negative and is not clipped. Known noise:

    var0_ij = sum_v (f_b c_v s_i s_j)^2 (1/N_i + 1/N_j)^2 / 8,
    sigma_i^2 = sqrt(sum_v (f_b c_v)^2 s_i^4) / (4 N_i).

Standard errors come from the delete-fold jackknife, which doubles the degenerate part, hence

    se^2 = max(se_J^2 - var0, var0, se_J^2 / 4) + tail^2,

where the last term allows for what was filled, not measured, and for a quarter of what the
curvature ratio corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.debiased.coherent import (
    Between,
    Totals,
    between,
    split_off,
    totals_of,
    within,
)
from gnomon.distances.debiased.curvature import curvature
from gnomon.distances.debiased.drift import Drift, effective_types, excess, measure_drift
from gnomon.distances.debiased.folded import Floats, FoldedCounts, Singles, folded
from gnomon.distances.debiased.lowrank import LowRank, core_of, low_rank, noise_edges
from gnomon.distances.debiased.profile import Profile, band_factors, class_profile
from gnomon.distances.debiased.sums import balanced_signs, joined, sums
from gnomon.distances.debiased.terms import Frame, frame_of
from gnomon.results import Result, pairs_dataframe

DRAWS = 40
_SEEN = 4.0
"""Deviations by which one class may tell of drift that all classes together do not show."""
_COUNTED = (1.0, 8.0)
"""Mean expected counts at which the classes are cut into bands."""
RARE_TYPES, NEW_TYPES = "rare types", "new types"
"""Reservations: what most of the distance rests on is hardly counted."""
_MATTERS = 0.2
"""Of the mean squared distance, what such types must hold."""
_UNLIKE, _STRONG = 3.0, 0.25
"""They drift so many times as much as counted types; or, where these are few, so much."""
_FEW_COUNTED = 0.3
"""The share of all mass below which counted types are few."""
_CORRECTED = 0.25
"""The allowance for the curvature ratio, as a share of what it changed."""


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
    """m x m: by how much the energy of the types that do not stand out was filled up."""
    filled: Floats
    """m x m: the part of the squared distances that was filled, not measured."""
    tail: Floats
    """m x m: the part of the standard error that allows for what was filled and corrected."""
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
    reservations: tuple[str, ...]
    """Why the mean may be too small, and its interval miss the truth.

    "rare types": types expected less than once at a position drift, and those that are counted do
    not, so that nothing tells how the former are spread. "new types": whole classes of such types
    come and go, as where a vocabulary grows.
    """

    @property
    def rank(self) -> int:
        """Effective rank: directions above the noise edge."""
        return self.low_rank.rank

    @property
    def mean_squared(self) -> float:
        """Mean squared distance (U) over pairs of core positions."""
        return pair_mean(self.squares[np.ix_(self.core, self.core)])

    @property
    def measured_share(self) -> float:
        """Share of the mean squared distance, over pairs of core positions, that was measured."""
        among = np.ix_(self.core, self.core)
        mean = self.mean_squared
        if mean <= 0.0:
            return pair_mean(1.0 / self.extension[among])
        return float(np.clip(1.0 - pair_mean(self.filled[among]) / mean, 0.0, 1.0))

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
    return _assembled(data, _whole(data, signs))


@dataclass(frozen=True, kw_only=True)
class _Filled:
    """Sums over some types, filled up where they were not measured."""

    profile: Profile
    squares: Floats
    filled: Floats
    deleted: Floats
    flipped: Singles
    weight_squares: Floats
    unfilled: Floats
    """m x m: the same, of what was measured alone."""
    variance: Floats
    """m x m: of what was filled and corrected."""
    reservations: tuple[str, ...]

    def add(self, other: _Filled) -> None:
        """Add what was filled up from classes of its own."""
        scalars = ("profile", "reservations")
        for name in (field.name for field in fields(self) if field.name not in scalars):
            own = getattr(self, name)
            own += getattr(other, name)

    def lift(self, totals: Between) -> None:
        """Add what whole classes have between positions, which needs no filling."""
        for name in ("squares", "deleted", "flipped", "weight_squares", "variance"):
            own = getattr(self, name)
            own += getattr(totals, name)
        self.unfilled[...] += totals.weight_squares


def _whole(data: FoldedCounts, signs: Floats) -> _Filled:
    """Add up the types that stand out and the others, each filled up from their like."""
    drift = measure_drift(data)
    kap = curvature(data, drift)
    alone = drift.outstanding
    rest = data.only(~alone)
    frame = frame_of(data, signs)
    totals = totals_of(rest, data.missing(), frame)
    whole = _filled(rest, drift.only(~alone), kap[~alone], frame, totals)
    whole.lift(between(totals, signs))
    if alone.any():
        whole.add(_filled(data.only(alone), drift.only(alone), kap[alone], frame))
    return whole


def _filled(
    data: FoldedCounts,
    drift: Drift,
    kap: Floats,
    frame: Frame,
    totals: Totals | None = None,
) -> _Filled:
    """Add up some types, band by band, and fill up what was not measured of them.

    What the totals of the classes tell is left out.
    """
    bands = [sums(data.only(kept), drift.only(kept), frame, kap[kept]) for kept in _bands(data)]
    if totals is not None:
        ends = np.cumsum([len(band.energy) for band in bands])
        for band, end in zip(bands, ends, strict=True):
            split_off(band, np.arange(end - len(band.energy), end), totals, frame.signs)
    found = joined(bands)
    masses = 0.5 * (found.mass[:, :, None] + found.mass[:, None, :])
    missing = np.zeros(masses.shape[1:])
    if totals is not None:
        missing = within(masses, totals)
    seen = bool(excess(data, drift).max() > _SEEN)
    profile = class_profile(found, masses, effective_types(data, drift), missing, seen=seen)
    factors, variance = band_factors(bands, profile, data.tokens)
    unfilled: Floats = np.sum([band.weight_squares for band in bands], axis=0)
    bent = np.zeros_like(variance)
    for factor, band in zip(factors, bands, strict=True):
        band.scale(factor)
        for ratio, energy in zip(band.curvature, band.energy, strict=True):
            if ratio != 1.0:
                bent += abs(1.0 - 1.0 / ratio) * np.abs(energy)
    first, *others = bands
    for band in others:
        first.deleted[...] += band.deleted
        first.flipped[...] += band.flipped
        first.weight_squares[...] += band.weight_squares
    squares = sum((band.energy.sum(axis=0) for band in bands), start=np.zeros_like(variance))
    return _Filled(
        profile=profile,
        squares=squares,
        filled=squares - found.energy.sum(axis=0),
        deleted=first.deleted,
        flipped=first.flipped,
        weight_squares=first.weight_squares,
        unfilled=unfilled,
        variance=profile.tail**2 + variance + (_CORRECTED * bent) ** 2,
        reservations=()
        if totals is None
        else _reservations(data, profile, masses, missing, totals, squares, found.learning),
    )


def _bands(data: FoldedCounts) -> list[NDArray[np.bool_]]:
    """Return which types are counted well, now and then, or hardly, class by class."""
    band = np.repeat(np.digitize(_levels(data), _COUNTED), np.diff(data.class_bounds))
    return [band == b for b in np.unique(band)[::-1]]


def _levels(data: FoldedCounts) -> Floats:
    """Return what is expected of a type of every class at a position, by the mean of tokens."""
    rates, bounds = data.pooled / data.type_inflation, data.class_bounds[:-1]
    level = (data.tokens**2).sum() / data.tokens.sum()
    levels: Floats = level * np.add.reduceat(rates**2, bounds) / np.add.reduceat(rates, bounds)
    return levels


def _reservations(
    data: FoldedCounts,
    profile: Profile,
    masses: Floats,
    missing: Floats,
    totals: Totals,
    squares: Floats,
    learning: Floats,
) -> tuple[str, ...]:
    """Say which types that are hardly counted hold much of the distance, and unlike the counted.

    How the tokens of such types are spread over positions is not known: a type that is there or
    not has up to four times the distance of one that varies a little, at the same dispersion.
    """
    weights = learning / max(float(learning.sum()), np.finfo(float).tiny)

    def mean(of: Floats) -> Floats:
        means: Floats = np.tensordot(of, weights, 2)
        return means

    rare, moved = _levels(data) < _COUNTED[0], totals.squares
    mass, most = mean(masses), _MATTERS * float(mean(squares + moved.sum(axis=0)))
    rates, counted = profile.rate * profile.relative, float(mass[~rare].sum())
    known = float(rates[~rare] @ mass[~rare]) / counted if counted else 0.0
    least = _UNLIKE * known if counted > _FEW_COUNTED * mass.sum() else _STRONG
    above = np.maximum(rates - least, 0.0) * rare
    drifting = above @ mass + (above[-1] * float(mean(missing)) if rare[-1] else 0.0)
    # Where counted classes move as well, as all do beside a blank, rare ones move by their share.
    of, common = mean(moved), ~rare[totals.split]
    whole = rates.copy()
    own = mass[totals.split]
    whole[totals.split] += np.divide(of[:-1], own, out=np.zeros_like(own), where=own > 0.0)
    share = float(np.median(whole[~rare])) if counted else 0.0
    rarest = np.append(~common, True)  # the mass in no class is the last
    noise = mean(totals.chance_squares)[rarest]
    chance = float(np.sqrt((noise**2).sum())) * 2.0 / np.sqrt(data.size)
    coming = of[:-1][~common].sum() + of[-1] - share * (mass[rare].sum() + float(mean(missing)))
    found = ((RARE_TYPES, drifting, 0.0), (NEW_TYPES, coming, chance))
    return tuple(name for name, value, least in found if value > max(most, least, 0.0))


def _assembled(data: FoldedCounts, whole: _Filled) -> Debiased:
    tokens, variance = data.tokens, whole.weight_squares
    squares = 0.5 * (whole.squares + whole.squares.T)  # it is, up to rounding
    np.fill_diagonal(squares, 0.0)
    known = variance * (1.0 / tokens[:, None] + 1.0 / tokens[None, :]) ** 2 / 8.0
    sigma = np.sqrt(np.sqrt(_own(variance, whole.unfilled)) / (4.0 * tokens))
    core = core_of(sigma**2, squares)
    among = np.ix_(core, core)
    flipped = whole.flipped[:, core][:, :, core].astype(np.float64)
    known_noise = (sigma[core], tokens[core])
    types = len(data.type_tokens) - 1
    edges = noise_edges(squares[among], flipped, *known_noise, types=types)
    tail = np.sqrt(whole.variance)
    return Debiased(
        positions=data.positions,
        tokens=tokens,
        squares=squares,
        standard_error=_standard_error(whole.deleted, known, tail),
        extension=whole.profile.extension,
        filled=whole.filled,
        tail=tail,
        sigma=sigma,
        profile=whole.profile.relative,
        core=core,
        edge=float(edges[0]),
        edges=edges,
        low_rank=low_rank(squares[among], *known_noise, edge=edges[0], rank=len(edges) - 1),
        replicates=whole.deleted,
        null_means=np.array([pair_mean(one) for one in flipped]),
        reservations=whole.reservations,
    )


def _own(variance: Floats, unfilled: Floats) -> Floats:
    """Return the diagonal of sum_v c_v^2 s_i^2 s_j^2, filled no more than pairs with others are.

    What is filled at a position is for its distances to others. A position whose types are hardly
    those of another one has nearly all of its own mass unmeasured, and half of what its pairs have.
    """
    filled = np.divide(variance, unfilled, out=np.ones_like(variance), where=unfilled > 0.0)
    own = np.diag(filled)
    shared = filled**2 / own
    np.fill_diagonal(shared, np.nan)
    usual = np.nanmedian(shared, axis=1) if len(own) > 1 else own
    found: Floats = np.diag(unfilled) * np.minimum(own, usual)
    return found


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
