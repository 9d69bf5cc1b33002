"""debias: from fold counts to squared distances that hold signal, with their standard errors.

U: d2_ij = sum over bands b of f_b,ij E_b,ij, with E_b the energy of the types of a band and f_b
what fills it up (`class_profile`): the types that stand out (`drift`) are one band, the others come
in three by how well they are counted. It is unbiased up to the shared tail and the curvature of the
root (`pilot.curvature`); it may be negative and is not clipped. Known noise:

    var0_ij = sum_v (f_b c_v s_i s_j)^2 (1/N_i + 1/N_j)^2 / 8,
    sigma_i^2 = sqrt(sum_v (f_b c_v)^2 s_i^4) / (4 N_i).

Standard errors come from the delete-fold jackknife, which doubles the degenerate part, hence

    se^2 = max(se_J^2 - var0, var0, se_J^2 / 4) + tail^2,

where the last term allows for what was filled, not measured, and for a quarter of what the
curvature ratio corrected.

The class profile: how much of the vocabulary is measured, and what fills the rest.

The relative drift energy r_c of a frequency class is taken to be the same for all pairs up to a
pair's own scale (*shared tail*). It is learnt from the well-counted pairs,

    rhat_c = sum_ij omega_ij E_ij,c / sum_ij omega_ij m_ij,c,  divided by the overall rate,

smoothed over neighbouring classes and pulled gently to 1, and only unmeasured mass is filled by it:

    ext_ij = sum_c r_c M_ij,c / sum_c r_c m_ij,c  >= 1,       d2_ij = ext_ij sum_c E_ij,c.

M is all the mass there is: types too rare to be used at all count with the rarest class. Where the
overall rate is within two null standard deviations (jackknife) of nothing, r = 1.

Neighbours are held together by as much as they are alike: the steps of rhat vary by eta^2 more
than their noise explains, and the weight of a step is 1 / max(1, eta^2). Beside markers that drift
alone the classes are left as they were found.

The tail is not shared where common types drift one way and rare ones another. With a_ij the rate of
a pair and E_b, m_b, M_b energy, measured and full mass of a band of classes, weighted by r_c, the
variance xi^2 a_ij^2 of its rate about a_ij is what the gaps E_b - a_ij m_b exceed their noise by;

    w = xi^2 (a_ij m_b)^2 / [xi^2 (a_ij m_b)^2 + var E_b],
    d2_ij = sum_b { E_b + (M_b - m_b) [w E_b / m_b + (1 - w) a_ij] },

so that a band that disagrees fills itself as far as it is known. Without disagreement w = 0 and
d2_ij = ext_ij sum_c E_ij,c.

How far what is filled can be wrong, with the gaps G_c = ext_ij m_ij,c - M_ij,c and C the covariance
of the profile as smoothed:

    tail_ij^2 = a_ij^2 [ sum_c (4 / n_c) (r_c G_c)^2 + G' C G ]
                + sum_b [(1 - w) xi a_ij (M_b - m_b)]^2.

The energy of n types, each with a drift of its own, has a relative variance of 2 / n, and so has
the profile that was learnt from other directions; n_c counts the types that carry the drift of the
class (`drift`).

Low rank: the U matrix whitened, its noise edge found by signs, its spikes inverted.

On the core (positions with sqrt 2 sigma_i^2 <= 0.02, and those with a tenth of their distance to
these) with pi_i ~ N_i and J = I - 1 pi^T,

    K = -1/2 J D J^T,   M_ij = K_ij / (sigma_i sigma_j),

noise in M is close to a symmetric matrix of unit variance, so its eigenvalues stay below about
2 sqrt m. An eigenvalue l above the edge belongs to a spike theta with l = theta + m / theta, seen
at squared cosine c2 = 1 - m / theta^2 [benaychgeorges2011]. Of all multiples eta of u u^T the one
nearest to the true theta v v^T is eta = theta <u, v>^2 = theta c2, hence

    a_ik = sigma_i u_ik sqrt(theta c2),    nu_ik = sigma_i^2 c2 / theta,
    d2_ij = sum_k (a_ik - a_jk)^2,

with nu the noise of a coordinate. A strong spike is kept as it is; one at the edge, whose axis is
mostly noise, fades to nothing, so that a weak direction does less harm than leaving it out would.
The number of spikes is the effective rank. No spike means no geometry that can be told from noise.

Edges come from matrices of noise alone, the same sums under balanced random signs on the folds. The
first eigenvalue must exceed all of them and their mean by 2.33 deviations: with K draws a corpus
without signal is given a direction about once in K + 1 times. Then directions are tested in turn:
those found are projected out of every draw, and the next eigenvalue must exceed the mean top of
what is left by 2 deviations. A direction found also takes one dimension from the types: noise of
m positions and V types has the edge (sqrt m + sqrt V)^2 - V, so the k-th edge is lowered by

    [(sqrt(m - k) + sqrt(V - k))^2 - V] / [(sqrt(m - k) + sqrt V)^2 - V],

which is nothing for a text and a fifth for 25 amino acids and ten directions. A spike must also
exceed 2.05 sqrt m, which noise of unit variance does once in twenty times. On few positions the
sign edge can lie below that, and under strong drift too: the pilot then follows the counts, and
what is left for the signs is less than the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.drift import Drift, effective_types, excess, measure_drift
from gnomon.distances.energies import Frame, Sums, balanced_signs, frame_of, join, sums
from gnomon.distances.folds import Floats, FoldedCounts, Singles, fold_counts, quotient
from gnomon.distances.pilot import curvature
from gnomon.distances.totals import (
    Between,
    Totals,
    between,
    restrict_to_classes,
    split_off,
    totals_of,
)
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
_PULL = 0.05
_LEAST_RATIO = 0.02
_APART = 2.0
"""The largest relative drift energy: laws without a common type."""
_BEYOND = 4.0
"""Deviations by which steps of the profile, or of totals, are no chance."""
_LOOSE, _LEAST_ETA = 0.25, 0.1
_SURE = 3.0
"""Deviations by which the gaps of a band must exceed their noise."""
_TYPE_VARIANCE = 4.0
"""n Var xi: 2 for the squared normal drift of the pair's types, 2 for that of the profile's."""
CORE_NOISE = 0.02
FAR = 10.0
"""A position this many times its noise from the core is known well enough, however noisy it is."""
LEAST_EDGE = 2.05
FIRST_DEVIATIONS = 2.33
NEXT_DEVIATIONS = 2.0
LANCZOS_FROM = 160


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
    data = fold_counts(counts, keep)
    signs = balanced_signs(data.folds, draws, stream)
    return _assemble(data, _whole(data, signs))


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
    whole = _fill(rest, drift.only(~alone), kap[~alone], frame, totals)
    whole.lift(between(totals, signs))
    if alone.any():
        whole.add(_fill(data.only(alone), drift.only(alone), kap[alone], frame))
    return whole


def _fill(
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
    found = join(bands)
    masses = 0.5 * (found.mass[:, :, None] + found.mass[:, None, :])
    missing = np.zeros(masses.shape[1:])
    if totals is not None:
        missing = restrict_to_classes(masses, totals)
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
    whole[totals.split] += quotient(of[:-1], own)
    share = float(np.median(whole[~rare])) if counted else 0.0
    rarest = np.append(~common, True)  # the mass in no class is the last
    noise = mean(totals.chance_squares)[rarest]
    chance = float(np.sqrt((noise**2).sum())) * 2.0 / np.sqrt(data.size)
    coming = of[:-1][~common].sum() + of[-1] - share * (mass[rare].sum() + float(mean(missing)))
    found = ((RARE_TYPES, drifting, 0.0), (NEW_TYPES, coming, chance))
    return tuple(name for name, value, least in found if value > max(most, least, 0.0))


def _assemble(data: FoldedCounts, whole: _Filled) -> Debiased:
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


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Relative drift by class, and the extension of every pair."""

    relative: Floats
    """C: r_c, common classes first."""
    rate: float
    """The overall rate, 0 where no drift is seen: class c drifts by r_c of it."""
    extension: Floats
    """m x m: ext_ij."""
    tail: Floats
    """m x m: standard deviation of a squared distance because its tail was filled."""
    part: Floats
    """C x m x m: r_c m_ij,c."""
    full: Floats
    """C x m x m: r_c M_ij,c."""


def class_profile(
    found: Sums, masses: Floats, effective: Floats, missing: Floats, *, seen: bool
) -> Profile:
    """Learn the profile, or leave it flat where no drift is seen.

    `masses` are M_ij,c, `missing` is the mass of a pair that is in no class, `effective` counts the
    types that carry the drift of each class, and `seen` says that a class is known to drift.
    """
    measured = np.tensordot(found.measured, found.learning, 2)
    total = max(float(measured.sum()), np.finfo(float).tiny)  # nothing where no pair may teach
    taught = np.tensordot(found.energy, found.learning, 2)
    rate = float(taught.sum()) / total
    noise = _rate_noise(found) / total
    relative, covariance = np.ones(len(measured)), np.zeros((len(measured), len(measured)))
    drifts = seen or rate > 2.0 * noise
    if drifts and len(measured) > 1 and measured.min() > 0.0:
        relative, covariance = _smooth(found, taught, measured, max(rate, noise))
    part = relative[:, None, None] * found.measured
    full = relative[:, None, None] * masses
    full[-1] += relative[-1] * missing
    whole = part.sum(axis=0)
    extension = np.where(whole > 0.0, quotient(full.sum(axis=0), whole), 1.0)
    tail = quotient(
        _tail_deviation(found, masses, relative, extension, effective, covariance), whole
    )
    return Profile(
        relative=relative,
        rate=max(rate, noise) if drifts else 0.0,
        extension=extension,
        tail=tail,
        part=part,
        full=full,
    )


def band_factors(
    bands: list[Sums], profile: Profile, tokens: Floats
) -> tuple[list[Floats], Floats]:
    """Return the factor that fills up every band, and what the filling may be off by, squared."""
    first, per_pair = 0, 1.0 / tokens[:, None] + 1.0 / tokens[None, :]
    energies = [band.energy.sum(axis=0) for band in bands]
    measured = profile.part.sum(axis=0)
    rate = quotient(np.maximum(np.sum(energies, axis=0), 0.0), measured)
    factors: list[Floats] = []
    shared: Floats = np.zeros(rate.shape)
    variance: Floats = np.zeros(rate.shape)
    for band, energy in zip(bands, energies, strict=True):
        classes = slice(first, first := first + len(band.energy))
        part, full = profile.part[classes].sum(axis=0), profile.full[classes].sum(axis=0)
        noise = band.weight_squares * per_pair**2 / 8.0 + np.maximum(energy, 0.0) * per_pair
        unlike = _unlike(energy - rate * part, noise, rate * part, band.learning)
        own = unlike * (rate * part) ** 2
        trust = quotient(own, own + noise)
        gap = quotient(full - part, part)
        factors.append(1.0 + gap * trust)
        shared += quotient((1.0 - trust) * (full - part), measured)
        variance += np.square((1.0 - trust) * gap) * own
    whole: list[Floats] = [factor + shared for factor in factors]
    return whole, variance


def _unlike(gap: Floats, noise: Floats, expected: Floats, learning: Floats) -> float:
    """Return xi^2 of a band, 0 where its gaps may be noise."""
    excess = float((learning * (gap**2 - noise)).sum())
    chance = float((learning * noise).sum()) * float(np.sqrt(2.0 / len(gap)))
    below = float((learning * expected**2).sum())
    return excess / below if excess > _SURE * chance and below > 0.0 else 0.0


def _rate_noise(found: Sums) -> float:
    """Return the null deviation of sum omega E: the jackknife doubles a variance without signal."""
    deleted = found.deleted_classes.sum(axis=1)
    folds = len(deleted)
    return float(np.sqrt(0.5 * (folds - 1) / folds * ((deleted - deleted.mean()) ** 2).sum()))


def _smooth(found: Sums, taught: Floats, measured: Floats, rate: float) -> tuple[Floats, Floats]:
    """Minimise sum (r - rhat)^2 / var + sum (r_c - r_c+1)^2 / step_c + 0.05 sum (r - 1)^2.

    Also return the covariance of what is found.
    """
    raw = taught / measured / rate
    variance = np.maximum(_jackknife_variance(found.deleted_classes / measured / rate), 1e-8)
    eta = _unlikeness(raw, variance)
    free = np.maximum(_jumps(raw, variance), _of_totals(found.moved / measured / rate))
    pull = 1.0 / np.maximum.accumulate(np.append(1.0, free))  # to 1, but not beyond a free step
    steps = np.diff(np.eye(len(raw)), axis=0)

    def roughness(least: float) -> Floats:
        rough: Floats = (steps.T / np.maximum(max(least, eta), free)) @ steps
        return rough

    matrix = np.diag(1.0 / variance + _PULL * pull) + roughness(1.0)
    least, most = _LEAST_RATIO, max(_APART / rate, 1.0)
    solved: Floats = np.clip(np.linalg.solve(matrix, raw / variance + _PULL * pull), least, most)
    loose: Floats = np.diag(1.0 / variance + _LOOSE * pull) + roughness(_LEAST_ETA)
    return solved, np.linalg.inv(loose).astype(np.float64)


def _jackknife_variance(deleted: Floats) -> Floats:
    """Return the variance of figures from their fold-deleted values, F x C."""
    folds = len(deleted)
    variance: Floats = (folds - 1) / folds * ((deleted - deleted.mean(axis=0)) ** 2).sum(axis=0)
    return variance


def _of_totals(moved: Floats) -> Floats:
    """Return how far the profile may step since the totals of the classes do, squared."""
    step, variance = np.diff(moved[0]), _jackknife_variance(np.diff(moved[1:], axis=1))
    return np.where(step**2 > _BEYOND**2 * variance, step**2, 0.0)


def _jumps(raw: Floats, variance: Floats) -> Floats:
    """Return the squares of jumps of the profile that are beyond doubt, 0 where there is none.

    A jump parts the classes where the means on either side are the most deviations apart; then
    either side is parted in its turn.
    """
    squares, parts = np.zeros(len(raw) - 1), [(0, len(raw))]
    while parts:
        first, last = parts.pop()
        best = max(
            (_apart(raw, variance, first, k, last) for k in range(first + 1, last)),
            default=(0.0, 0.0, 0),
        )
        score, square, at = best
        if score > _BEYOND:
            squares[at - 1] = square
            parts += [(first, at), (at, last)]
    return squares


def _apart(
    raw: Floats, variance: Floats, first: int, at: int, last: int
) -> tuple[float, float, int]:
    """Return by how many deviations the means before and from `at` on differ, and their gap^2."""
    weights = 1.0 / variance
    sides = [slice(first, at), slice(at, last)]
    means = [np.average(raw[side], weights=weights[side]) for side in sides]
    noise = sum(1.0 / weights[side].sum() for side in sides)
    gap = float(means[1] - means[0]) ** 2
    return float(np.sqrt(gap / noise)), gap, at


def _unlikeness(raw: Floats, variance: Floats) -> float:
    """Return eta^2: how much more the steps of the profile vary than their noise explains."""
    noise = variance[1:] + variance[:-1]
    trust = 1.0 / (noise + 0.5)
    return max(0.0, float((trust * (np.diff(raw) ** 2 - noise)).sum() / trust.sum()))


def _tail_deviation(
    found: Sums,
    masses: Floats,
    relative: Floats,
    extension: Floats,
    effective: Floats,
    covariance: Floats,
) -> Floats:
    """Return sum_c E times the deviation of what was filled; 0 for a negative sum."""
    gaps = extension * found.measured
    gaps -= masses
    types = _TYPE_VARIANCE / effective * relative**2
    variance: Floats = np.zeros_like(extension)
    moved = np.tensordot(covariance + np.diag(types), gaps, 1)
    for gap, one in zip(gaps, moved, strict=True):
        variance += gap * one
    deviation: Floats = np.maximum(found.energy.sum(axis=0), 0.0) * np.sqrt(
        np.maximum(variance, 0.0)
    )
    return deviation


@dataclass(frozen=True, kw_only=True)
class LowRank:
    """What is left above the noise edge."""

    rank: int
    eigenvalues: Floats
    """All eigenvalues of the whitened matrix, descending."""
    coordinates: Floats
    """core x rank: a_ik."""
    noise: Floats
    """core x rank: nu_ik."""
    squares: Floats
    """core x core: d2_ij."""


def core_of(sigma_squared: Floats, squares: Floats) -> NDArray[np.int64]:
    """Return the positions counted well enough to be estimated."""
    noise = np.sqrt(2.0) * sigma_squared
    quiet = noise <= CORE_NOISE
    if not quiet.any():
        return np.flatnonzero(quiet)
    far = np.median(squares[:, quiet], axis=1) >= FAR * noise
    return np.flatnonzero(quiet | far)


def whiten(squares: Floats, sigma: Floats, tokens: Floats) -> Floats:
    """Return M for squared distances between core positions."""
    share = tokens / tokens.sum()
    rows = squares @ share
    gram = -0.5 * (squares - rows[:, None] - rows[None, :] + share @ rows)
    matrix: Floats = gram / np.outer(sigma, sigma)
    return matrix


def noise_edges(
    squares: Floats, flipped: Floats, sigma: Floats, tokens: Floats, *, types: int
) -> Floats:
    """Return what each eigenvalue had to exceed, in turn; the last one was not exceeded.

    `flipped` are squares under signs and `types` the dimensions that noise has. Without a draw, or
    with fewer than two positions or types, no edge is known and nothing exceeds it.
    """
    most = min(len(squares) - 1, types)
    if most < 1 or not len(flipped):
        return np.array([np.inf])
    values, axes = np.linalg.eigh(whiten(squares, sigma, tokens))
    values, axes = values[::-1], axes[:, ::-1]
    noise = [whiten(one, sigma, tokens) for one in flipped]
    edges = [_edge(noise, 0, types)]
    # Taking directions out lowers every top (interlacing), so all these exceed their own edge too.
    found = min(int((values > edges[0]).sum()), most)
    edges *= max(found, 1)
    while 0 < found < most:
        left = [_without(one, axes[:, :found]) for one in noise]
        edges.append(_edge(left, found, types))
        if values[found] <= edges[-1]:
            return np.array(edges)
        found += 1
    return np.array([*edges, np.inf] if found else edges)


def _edge(noise: list[Floats], found: int, types: int) -> float:
    """Return the edge of the next direction, after `found` of them were taken out of the noise."""
    m = len(noise[0])
    tops = np.array([top_eigenvalue(one) for one in noise])
    deviation = float(tops.std(ddof=1)) if len(tops) > 1 else 0.0
    signs = float(tops.mean()) + (NEXT_DEVIATIONS if found else FIRST_DEVIATIONS) * deviation
    if found:
        left, all_types = _bulk(m, found, types - found), _bulk(m, found, types)
        signs *= (left - types) / (all_types - types)
    else:
        signs = max(signs, float(tops.max()))
    return max(signs, LEAST_EDGE * float(np.sqrt(m)))


def _bulk(m: int, found: int, types: int) -> float:
    return float((np.sqrt(m - found) + np.sqrt(types)) ** 2)


def _without(matrix: Floats, axes: Floats) -> Floats:
    """Project directions out on both sides."""
    if not axes.size:
        return matrix
    half = matrix - axes @ (axes.T @ matrix)
    projected: Floats = half - (half @ axes) @ axes.T
    return projected


def top_eigenvalue(matrix: Floats) -> float:
    """Return the largest eigenvalue; of large matrices by Lanczos, which needs it alone."""
    if len(matrix) < LANCZOS_FROM:
        return float(np.linalg.eigvalsh(matrix)[-1])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).normal(size=len(matrix))
    return float(eigsh(matrix, k=1, which="LA", tol=1e-3, v0=start, return_eigenvectors=False)[0])


def low_rank(
    squares: Floats, sigma: Floats, tokens: Floats, *, edge: float, rank: int | None = None
) -> LowRank:
    """Keep what exceeds the edge, or exactly `rank` directions."""
    values, axes = np.linalg.eigh(whiten(squares, sigma, tokens))
    values, axes = values[::-1], axes[:, ::-1]
    kept = int((values > edge).sum()) if rank is None else rank
    top = values[:kept]
    free = len(squares) - np.arange(kept)  # each direction leaves one less for the noise
    theta = 0.5 * (top + np.sqrt(np.maximum(top**2 - 4.0 * free, 0.0)))
    cosine = np.maximum(1.0 - free / theta**2, 0.0)
    coordinates = sigma[:, None] * axes[:, :kept] * np.sqrt(theta * cosine)
    noise = sigma[:, None] ** 2 * cosine / theta
    return LowRank(
        rank=kept,
        eigenvalues=values,
        coordinates=coordinates,
        noise=noise,
        squares=_squares(coordinates),
    )


def _squares(coordinates: Floats) -> Floats:
    own = (coordinates**2).sum(axis=1)
    squares = own[:, None] + own[None, :] - 2.0 * coordinates @ coordinates.T
    np.fill_diagonal(squares, 0.0)
    positive: Floats = np.maximum(squares, 0.0)  # up to rounding they are
    return positive
