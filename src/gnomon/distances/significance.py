"""Is there positional signal: two statistics under random signs, and which positions differ.

Against the pooled law p, with y_gi = (x_gi - N_gi p) / sqrt p the deviation of fold g,

    G_ij = 1/4 sum_v s_i s_j (Y_i Y_j - sum_g y_gi y_gj) / (N_i N_j - sum_g N_gi N_gj)

has mean zero where all positions have one law. Two statistics of G, centred on the law of all
positions together. *spread*: the largest eigenvalue, whitened by the noise of the positions, sees a
drift that many of them share. *isolated*: the largest diagonal in units of its own deviation sees a
single position, in G and in the same sum over common types weighted by sqrt p_v, where a position
that tilts the whole law stands out most. The p-value is twice the smaller of the two. Any cause
counts here, also which documents reach a position. Types expected less than half a time at every
position say next to nothing one by one and are left out of G.

Together they may say much, as where a vocabulary grows or shrinks. So both statistics look at the
totals of the frequency classes as well, B_ic = sqrt N_i sum_g (x_gic / N_i - P_c), centred like G
and each class in units of its deviation under signs: the largest singular value of B, and its
largest row. Of two views of one statistic the one further above its null counts, each in units of
its deviation.

The null is G with a random sign for every fold. Where there is no signal the deviations of a fold
are as likely as their opposites, so the data are one draw among the others and their rank is an
exact p-value, whatever depends inside a fold. (Signs that sum to zero would take the signal out of
the draws altogether, but then 16 folds are judged by a normal law where Student's was needed: the
false alarms of isolated positions double.) F folds with tokens have 2^(F-1) patterns of signs: no
p-value is below the share of those drawn that agree with the data.

*Word order* alone is tested with x - x', the counts minus those of the windows shuffled: both have
the same documents and lengths, so their difference has mean zero unless order matters.

*distinct*: T_i = G_ii - 2 (G pi)_i + pi' G pi is the squared distance of position i to a reference
law with weights pi. Its p-value is the rank of T_i / sd_i among those of all positions under signs
that nearly balance, so that a strong position does not hide others; distinct positions are found at
a false discovery rate of 5 % [benjamini1995]. The reference is the largest set of positions that
look alike where that is at least half of them ("the rest"), otherwise all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from gnomon.distances.drift import no_drift
from gnomon.distances.estimate import top_eigenvalue
from gnomon.distances.folds import Block, Floats, FoldedCounts, Singles, quotient
from gnomon.distances.pilot import pilot
from gnomon.results import Result

LEVEL = 0.05
LEAST_EXPECTED = 0.5
LEAST_TESTED = 8
"""With fewer folds too few patterns of signs differ from the data themselves."""
_ALIKE = 3.0
"""Two positions look alike where their distance is less than this many of its null's deviations."""
_COMMON = 1e-3
"""Common types are at least this part as common as the commonest."""
_ROUNDS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Signal(Result):
    """What the test found."""

    p_value: float
    """Twice the smaller of the two below, at most 1."""
    p_spread: float
    """Of the largest eigenvalue: signal that many positions share."""
    p_isolated: float
    """Of the largest diagonals: one position unlike the rest."""
    draws: int
    folds: int
    """Folds that hold tokens, whose signs were drawn."""
    distinct: NDArray[np.bool_]
    """Which of the positions tested differ from the reference."""
    reference: NDArray[np.bool_]
    """Which of them make the reference law."""

    @property
    def able(self) -> bool:
        """Whether there are folds enough for a small p-value."""
        return self.folds >= LEAST_TESTED

    @property
    def found(self) -> bool:
        """Whether there is signal at the level of 5 %."""
        return self.p_value <= LEVEL


def signal(
    folded: FoldedCounts,
    *,
    draws: int,
    rng: np.random.Generator,
    minus: Any = None,
    core: NDArray[np.int64] | None = None,
) -> Signal:
    """Test the positions of folded counts; `minus` holds counts to be taken off (shuffled ones).

    The statistics are taken over the positions `core` (default all), *distinct* over all.
    """
    signs = np.vstack([np.ones(folded.folds), rng.choice((-1.0, 1.0), (draws, folded.folds))])
    found = _grams(folded, signs, minus)
    among = np.arange(folded.size) if core is None else core
    if len(among) < 2:
        among = np.arange(folded.size)
    tops, diagonals = _statistics(found, among, folded.tokens[among])
    common = _common_diagonals(found, signs, among, folded.tokens[among])
    class_tops, class_rows = _class_statistics(found, signs, among, folded.tokens[among])
    spread = np.maximum(_in_deviations(tops), _in_deviations(class_tops))
    isolated = np.max([_highest(part) for part in (diagonals, common, class_rows)], axis=0)
    p_spread, p_isolated = (_rank_p(values, folded.folds) for values in (spread, isolated))
    grams = found.grams[_nearly_balanced(signs)]
    distinct, reference = _distinct(grams, folded.tokens)
    return Signal(
        p_value=min(1.0, 2.0 * min(p_spread, p_isolated)),
        p_spread=p_spread,
        p_isolated=p_isolated,
        draws=draws,
        folds=folded.folds,
        distinct=distinct,
        reference=reference,
    )


@dataclass(frozen=True, kw_only=True)
class _Grams:
    """What the statistics are made of."""

    grams: Singles
    """G for every row of signs, the first being the data."""
    sigma: Floats
    """Noise of every position."""
    common: Singles
    """Positions x folds x common types: deviations weighted by the fourth root of p_v."""
    totals: Floats
    """Positions x folds x classes: deviations of the totals, those of no class last."""
    pairs: Floats
    """N_i N_j - sum_g N_gi N_gj."""


def _grams(folded: FoldedCounts, signs: Floats, minus: Any) -> _Grams:
    grams = np.zeros((len(signs), folded.size, folded.size), np.float32)
    own = np.zeros((folded.size, folded.size))
    fourth = np.zeros(folded.size)
    flat = no_drift(folded)
    common: list[Singles] = [np.zeros((folded.size, folded.folds, 0), np.float32)]
    for block, taken in _pairs(folded, minus):
        at = pilot(folded, block, flat)
        expected = folded.fold_tokens[:, :, None] * (at.root**2)[:, None, :]
        deviations = block.counts - (expected if taken is None else taken)
        weighted = (deviations * (at.weight / at.root)[:, None, :]).astype(np.float32)
        _add(grams, own, weighted, signs)
        fourth += ((at.weight**2 * folded.type_inflation[block.types]) ** 2).sum(axis=1)
        law = folded.pooled[block.types]
        chosen = law >= _COMMON * folded.pooled[0]
        common.append((weighted[:, :, chosen] * law[chosen] ** 0.25).astype(np.float32))
    tokens = folded.tokens
    pairs = np.outer(tokens, tokens) - folded.fold_tokens @ folded.fold_tokens.T
    grams -= own.astype(np.float32)
    grams /= (4.0 * pairs).astype(np.float32)
    return _Grams(
        grams=grams,
        sigma=np.sqrt(np.sqrt(fourth) / (4.0 * tokens)),
        common=np.concatenate(common, axis=2),
        totals=_class_deviations(folded, minus),
        pairs=pairs,
    )


def _class_deviations(folded: FoldedCounts, minus: Any) -> Floats:
    """Return how the total of every class, and of types met once, differs from what is expected."""
    totals = _class_totals(folded, folded.columns)
    if minus is not None:
        totals -= _class_totals(folded, folded.align(minus))
        return totals
    law = totals.sum(axis=(0, 1)) / folded.tokens.sum()
    return totals - folded.fold_tokens[:, :, None] * law


def _class_totals(folded: FoldedCounts, columns: csc_array) -> Floats:
    shape = (folded.size, folded.folds, folded.classes)
    classes = np.repeat(np.arange(folded.classes), np.diff(folded.class_bounds))
    ones = np.ones(len(classes))
    merge = csc_array((ones, (np.arange(len(classes)), classes)), shape=(len(classes), shape[2]))
    totals = (columns @ merge).toarray().astype(np.float64).reshape(shape)
    rest = folded.fold_tokens - totals.sum(axis=2)
    all_totals: Floats = np.concatenate([totals, rest[:, :, None]], axis=2)
    return all_totals


def _add(grams: Singles, own: Floats, weighted: Singles, signs: Floats) -> None:
    """Add a block of types to the products under every row of signs, and to those of one fold."""
    for g in range(weighted.shape[1]):
        own += weighted[:, g] @ weighted[:, g].T
    for k, draw in enumerate(signs.astype(np.float32)):
        total = np.matmul(draw, weighted)
        grams[k] += total @ total.T


def _pairs(folded: FoldedCounts, minus: Any) -> Iterator[tuple[Block, Floats | None]]:
    """Give every block of types that can tell, with the counts to be taken off it."""
    columns = None if minus is None else folded.align(minus)
    most = folded.tokens.max() * folded.pooled
    for block in folded.blocks():
        if most[block.types].max() < LEAST_EXPECTED:
            return  # types are sorted from common to rare
        if columns is None:
            yield block, None
        else:
            dense = columns[:, block.types].toarray().astype(np.float64)
            yield block, dense.reshape(folded.size, folded.folds, -1)


def _statistics(found: _Grams, among: NDArray[np.int64], tokens: Floats) -> tuple[Floats, Floats]:
    """Return for every G the largest eigenvalue, whitened, and the diagonal."""
    share = tokens / tokens.sum()
    scale = np.outer(found.sigma[among], found.sigma[among])
    tops, diagonals = [], []
    for gram in found.grams:
        centred = _centred(gram[np.ix_(among, among)], share)
        whitened = quotient(centred, scale)
        tops.append(top_eigenvalue(whitened))
        diagonals.append(np.diag(centred))
    return np.array(tops), np.array(diagonals)


def _common_diagonals(
    found: _Grams, signs: Floats, among: NDArray[np.int64], tokens: Floats
) -> Floats:
    """Return the centred diagonals of the common types, weighted, for every row of signs."""
    share = tokens / tokens.sum()
    part, pairs = found.common[among], found.pairs[np.ix_(among, among)]
    own = sum(part[:, g] @ part[:, g].T for g in range(part.shape[1]))
    diagonals = []
    for draw in signs.astype(np.float32):
        total = np.matmul(draw, part)
        diagonals.append(np.diag(_centred((total @ total.T - own) / pairs, share)))
    return np.array(diagonals)


def _class_statistics(
    found: _Grams, signs: Floats, among: NDArray[np.int64], tokens: Floats
) -> tuple[Floats, Floats]:
    """Return for every row of signs the largest singular value of B, and its squared rows."""
    laws = np.tensordot(signs, found.totals[among], axes=(1, 1)) / tokens[:, None]
    laws -= np.tensordot(laws, tokens / tokens.sum(), axes=(1, 0))[:, None, :]
    laws *= np.sqrt(tokens)[:, None]
    deviation = np.sqrt(np.square(laws).mean(axis=(0, 1)))
    laws = quotient(laws, deviation)
    tops = np.linalg.eigvalsh(np.matmul(laws.transpose(0, 2, 1), laws))[:, -1]
    return np.sqrt(np.maximum(tops, 0.0)), np.square(laws).sum(axis=2)


def _centred(gram: NDArray[Any], share: Floats) -> Floats:
    rows = gram.astype(np.float64) @ share
    centred: Floats = gram - rows[:, None] - rows[None, :] + share @ rows
    return centred


def _highest(diagonals: Floats) -> Floats:
    """Return the largest of every draw's positions, each in units of its deviation.

    The data count among the draws, or they would be judged by a deviation they had no part in.
    The result has mean 0 and deviation 1, to be compared with that of other weights.
    """
    spread = diagonals.std(axis=0)
    return _in_deviations(quotient(diagonals, spread).max(axis=1))


def _in_deviations(values: Floats) -> Floats:
    """Return draws with mean 0 and deviation 1."""
    centred = values - values.mean()
    return centred / max(float(centred.std()), np.finfo(float).tiny)


def _nearly_balanced(signs: Floats) -> NDArray[np.bool_]:
    """Return the data and the draws in which the signal is cancelled to a sixteenth or less."""
    folds = signs.shape[1]
    nearly = np.abs(signs.sum(axis=1)) <= max(folds / 4, 1.0)
    if nearly[1:].sum() < 2:
        nearly[:] = True
    nearly[0] = True
    return nearly


def _standardise(values: NDArray[Any]) -> Floats:
    """Return draws x positions in units of each position's deviation under signs, 0 without any."""
    spread = values[1:].astype(np.float64).std(axis=0)
    return np.divide(values, spread, out=np.zeros(values.shape), where=spread > 0.0)


def _rank_p(values: Floats, folds: int) -> float:
    """Return the share of draws (with the data) at least as large as the data, the first value.

    Of F folds there are 2^(F - 1) patterns of signs up to a common one: no p-value is below that.
    """
    return max(float((values >= values[0]).mean()), 2.0 ** (1 - folds))


def _distinct(grams: Singles, tokens: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the reference and the positions that differ from it, in turns until both stay."""
    reference = _largest_alike(grams, tokens)
    distinct = np.zeros(len(tokens), bool)
    for _ in range(_ROUNDS):
        distinct = _differing(grams, np.where(reference, tokens, 0.0))
        rest = ~distinct
        majority = 2 * rest.sum() >= len(tokens)
        renewed = rest if majority else np.ones_like(rest)
        if (renewed == reference).all():
            break
        reference = renewed
        if not majority:
            distinct = _differing(grams, tokens)
            break
    return distinct, reference


def _largest_alike(grams: Singles, tokens: Floats) -> NDArray[np.bool_]:
    """Return the positions like the one that most are like, or all where that is no majority."""
    own = np.einsum("kii->ki", grams)
    deviation = np.zeros(grams.shape[1:])
    mean = np.zeros(grams.shape[1:])
    for k in range(1, len(grams)):
        squares = own[k][:, None] + own[k][None, :] - 2.0 * grams[k]
        mean += squares
        deviation += squares**2
    count = len(grams) - 1
    spread = np.sqrt(np.maximum(deviation / count - (mean / count) ** 2, 0.0))
    squares = own[0][:, None] + own[0][None, :] - 2.0 * grams[0]
    alike = squares <= _ALIKE * spread
    np.fill_diagonal(alike, val=True)
    chosen: NDArray[np.bool_] = alike[int(np.argmax(alike @ np.sqrt(tokens)))]
    return chosen if 2 * chosen.sum() >= len(tokens) else np.ones_like(chosen)


def _differing(grams: Singles, weights: Floats) -> NDArray[np.bool_]:
    """Return which positions differ from the law with these weights."""
    share = (weights / weights.sum()).astype(grams.dtype)
    rows = grams @ share
    squares = np.einsum("kii->ki", grams) - 2.0 * rows + (rows @ share)[:, None]
    found = _standardise(squares)
    null = np.sort(found[1:].ravel())
    above = null.size - np.searchsorted(null, found[0], side="left")
    return discoveries((1.0 + above) / (1.0 + null.size))


def discoveries(p_values: Floats, rate: float = LEVEL) -> NDArray[np.bool_]:
    """Return which p-values are discoveries at a false discovery rate (Benjamini-Hochberg).

    >>> discoveries(np.array([0.01, 0.02, 0.9])).tolist()
    [True, True, False]
    """
    order = np.argsort(p_values)
    passed = np.flatnonzero(p_values[order] <= rate * np.arange(1, len(order) + 1) / len(order))
    found = np.zeros(len(order), bool)
    if passed.size:
        found[order[: passed[-1] + 1]] = True
    return found
