r"""Mutual information by lag: it detects dependence, and says how far it reaches.

    I(tau) = sum_uv J_tau(u, v) log2 (J_tau(u, v) / (p(u) p(v)))    bits        [cover2006 ch. 2]

of the tokens x_i and x_(i+tau) of a document. It sees dependence of every kind, and no sign: a
period of 10 in the covariance is one of 5 here, so periods are read from `gnomon.lags.kernel`.

*Bias*. From N pairs of K types I comes out too large by about (K - 1)^2 / (2 N ln 2) bits, more so
where pairs depend on each other. The jackknife over folds of documents takes off all that falls
as 1/N, whatever depends inside a document: I* = F I - (F - 1) mean_f I_(-f) [efron1982].

*Nulls*. Two parts of I are not dependence on the lag, and are taken off:

* shuffled: I of the pairs expected were each document shuffled: documents have different laws.
  What tokens that are near depend on each other is in these expectations too, spread over all lags,
  and is taken out of them (`own_share`), or far lags would seem to have less than nothing;
* across: I of pairs at positions i and i + tau of two documents of one fold, neighbours in length,
  less I of what is expected of them were both shuffled alike: positions have different laws. A
  fold of one document has no such pairs.

*Rare types*, with fewer than sqrt(N) tokens or beyond the `MOST` most frequent, are dealt by their
rank into at most `BINS` types, each of sqrt(N) tokens or more: pairs of them by themselves are
expected less than once. This can only lower I. One type for all of them would leave nothing to see
where all are rare.

What a document tells as a whole, information of its shuffles, is kept beside: it is what documents
are about, or memory longer than they are, which lags do not tell apart. `whole` is both together.

*Detection*. With Q_f the pairs of fold f less both nulls, E Q_f = 0 where nothing depends on the
lag. Then U = sum_(f != g) <Q_f, Q_g>, in which no fold meets itself, is 0 on average, and as likely
with any signs of the folds. Its law under random signs, the largest over all lags [westfall1993],
gives p-values that hold for all lags together. U is measured in units of its spread under random
signs, or of the spread that shuffles would have,

    sqrt(2 sum_(f != g) w_f w_g sum_uv (1 - p(u)) (1 - p(v)) E_uv / (E_uv + 1)),

where that is more: w_f is the share of pairs in fold f and E_uv the pairs expected. Pairs of rare
types come by ones; where by chance there are hardly any, all folds agree, and signs see no spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.lags.kernel import FOLDS, jackknife_errors, own_share
from gnomon.lags.token_line import (
    Floats,
    Integers,
    TokenLine,
    join_documents,
    lag_range,
    null_tables,
    pair_tables,
    rename_types,
)
from gnomon.results import Result

MOST = 128
"""Types that are told apart, at most."""
BINS = 8
"""Types that rare ones are dealt into, at most. Of what B types that are alike tell by being equal
again about 1 - 1/B is left, so that more would see little more, and have more noise."""
SIGNS = 4096
"""Random signs of the folds."""
NEAR = 0.5
"""Of the share that shuffles spread over all lags, at most so much is called near."""
RATIO = 4.0
"""Pairs inside documents for one across: with fewer, what positions do is not fully taken off."""
LEVEL = 0.05
"""Of a false alarm, over all lags together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LagInformation(Result):
    """Bits that a token tells of the one a lag later, beyond both nulls."""

    lags: Integers
    values: Floats
    """Corrected for bias, less both nulls; noise makes it negative where there is nothing."""
    errors: Floats
    plugin: Floats
    """As counted: with its bias, and both nulls in it."""
    shuffled: Floats
    across: Floats
    whole_errors: Floats
    """Errors of `whole`."""
    p_values: Floats
    """That nothing depends on the lag, adjusted for all lags."""
    replicates: Floats
    """The values without each fold in turn, (folds, lags)."""
    types: int
    """Types that were told apart, the merged ones among them: 1 where there is no other."""
    merged: float
    """Share of tokens whose types were merged, being rare."""
    bins: int = 0
    """Types that the rare ones were merged into."""

    @property
    def detected(self) -> NDArray[np.bool_]:
        """Return the lags with more than nothing, 5 % for a false one anywhere.

        Where tokens are less alike than shuffles, as at lags beyond what a document remembers,
        there is dependence too, and no information beyond the nulls: such a lag is not among them.
        """
        return np.asarray((self.p_values <= LEVEL) & (self.values > 0.0))

    @property
    def furthest(self) -> int:
        """Return the furthest lag with dependence of either sign, 0 where there is none."""
        return int(np.max(self.lags[self.p_values <= LEVEL], initial=0))

    @property
    def whole(self) -> Floats:
        """Return bits beyond other documents: what order tells, and the document as a whole."""
        return np.asarray(self.values + self.shuffled)

    @property
    def strongest(self) -> int:
        """Return where most information is, of the lags with dependence, as a place in `lags`."""
        return int(np.argmax(np.where(self.detected, self.values, -np.inf)))

    @property
    def reach(self) -> int:
        """Return the furthest lag at which more than nothing is detected, 0 where there is none."""
        return int(np.max(self.lags[self.detected], initial=0))


def lag_information(
    documents: Iterable[ArrayLike] | TokenLine,
    *,
    lags: int = 128,
    folds: int = FOLDS,
    seed: int = 0,
) -> LagInformation:
    """Return the mutual information of documents, each a list of token numbers, by lag.

    Cost O(tokens x lags): some seconds for a million tokens and 128 lags.
    """
    line = (
        documents
        if isinstance(documents, TokenLine)
        else join_documents(documents, folds=folds, seed=seed)
    )
    steps = lag_range(line, lags)
    line, merged, bins = _merge_rare(line)
    bits, grams = _count_bits(line, steps)
    whole, left_out = bits[:, 0], bits[:, 1:]
    parts = line.folds * whole - (line.folds - 1) * left_out.mean(axis=1)
    replicates = left_out[0] - left_out[1] - (left_out[2] - left_out[3])
    return LagInformation(
        lags=steps,
        values=parts[0] - parts[1] - (parts[2] - parts[3]),
        errors=jackknife_errors(replicates),
        plugin=whole[0],
        shuffled=parts[1],
        across=parts[2] - parts[3],
        whole_errors=jackknife_errors(left_out[0] - (left_out[2] - left_out[3])),
        p_values=_p_values(grams, _least_spread(line, steps), np.random.default_rng([seed, 1]))
        if line.types > 1
        else np.ones(len(steps)),
        replicates=replicates,
        types=line.types,
        merged=merged,
        bins=bins,
    )


def _merge_rare(line: TokenLine) -> tuple[TokenLine, float, int]:
    """Return the line with rare types in a few bins, their share of the tokens, and the bins."""
    counts = np.bincount(line.tokens, minlength=line.types)
    order = np.argsort(-counts, kind="stable")
    kept = order[:MOST][counts[order[:MOST]] ** 2 >= len(line.tokens)]
    if len(kept) == line.types:
        return line, 0.0, 0
    kept = kept[: MOST - BINS]
    rare = order[len(kept) :]
    tokens = int(counts[rare].sum())
    enough = int(tokens / np.sqrt(len(line.tokens)))
    bins = min(max(enough, 1 if len(kept) else 2), BINS, len(rare))
    names = np.empty(line.types, dtype=np.int64)
    names[kept] = np.arange(len(kept))
    names[rare] = len(kept) + np.arange(len(rare)) % bins
    made = rename_types(line, names, len(kept) + bins)
    return made, tokens / len(line.tokens), bins


def _count_bits(line: TokenLine, steps: Integers) -> tuple[Floats, Floats]:
    """Return bits (4 parts, 1 + folds, lags), whole and without each fold, and Gram matrices."""
    own, share = np.arange(len(line.fold)), own_share(line, steps)
    types = np.bincount(line.tokens, minlength=line.types) / len(line.tokens)
    bits = np.zeros((4, 1 + line.folds, len(steps)))
    grams = np.zeros((len(steps), line.folds, line.folds))
    spread = _spread(line, steps)
    shuffles = null_tables(line, own, steps)
    for place, (step, across, dealt) in enumerate(_across(line, steps)):
        within, shuffled = pair_tables(line, own, step), next(shuffles)
        pairs = shuffled.sum(axis=(1, 2), keepdims=True)
        shuffled = np.maximum(shuffled - share[place] * pairs * spread, 0.0)
        for part, table in enumerate((within, shuffled, across, dealt)):
            bits[part, :, place] = _bits(table)
        excess = within - shuffled - _scale(within, across) * (across - dealt)
        grams[place] = _gram(excess, within.sum() * np.outer(types, types))
    return bits, grams


def _across(line: TokenLine, steps: Integers) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each lag with the pairs of neighbouring documents, and those expected of shuffles."""
    after = neighbours(line)
    before = np.argsort(after)
    alone = line.fold[after == np.arange(len(after))]  # such a document would meet itself
    nulls = [null_tables(line, partner, steps) for partner in (after, before)]
    for step in steps.tolist():
        across = pair_tables(line, after, step) + pair_tables(line, before, step)
        dealt = next(nulls[0]) + next(nulls[1])
        across[alone], dealt[alone] = 0.0, 0.0
        yield step, across, dealt


def _spread(line: TokenLine, steps: Integers) -> Floats:
    """Return what near tokens depend on each other, which shuffles spread over all lags.

    With q(t) the excess per pair at lag t beyond both nulls, as counted, and q* without this
    effect, q* = q + b sum q*, so that sum q* = sum q / (1 - sum b), over lags that hold at most
    half of all shares b.
    """
    own, share = np.arange(len(line.fold)), own_share(line, steps)
    near = steps[: max(int(np.searchsorted(share.cumsum(), NEAR)), 1)]
    total = np.zeros((line.folds, line.types, line.types))
    shuffles = null_tables(line, own, near)
    for step, across, dealt in _across(line, near):
        counted = pair_tables(line, own, step)
        pairs = np.maximum(counted.sum(axis=(1, 2), keepdims=True), 1.0)
        total += (counted - next(shuffles) - _scale(counted, across) * (across - dealt)) / pairs
    return 0.5 * (total + total.transpose(0, 2, 1)) / max(1.0 - share[: len(near)].sum(), NEAR)


def _scale(within: Floats, across: Floats) -> Floats:
    """Return how many pairs inside there are for one across, by fold, at most `RATIO`."""
    inside, outside = (table.sum(axis=(1, 2), keepdims=True) for table in (within, across))
    return np.asarray(np.minimum(inside / np.maximum(outside, 1.0), RATIO))


def neighbours(line: TokenLine) -> Integers:
    """Return for each document one of its fold that is next longer, for the longest the shortest.

    Copies are no two documents: groups are ordered by their mean length and stay together, and a
    partner is as many documents away as the largest group has. Where that group is more than half
    of a fold, documents of the fold are their own partners.
    """
    sizes = np.bincount(line.group)
    mean = np.bincount(line.group, line.lengths) / np.maximum(sizes, 1)
    order = np.lexsort((line.lengths, line.group, mean[line.group], line.fold))
    found = np.empty(len(order), dtype=np.int64)
    for fold in range(line.folds):
        here = order[line.fold[order] == fold]
        apart = int(sizes[line.group[here]].max(initial=0))
        found[here] = np.roll(here, -apart) if 2 * apart <= len(here) else here
    return found


def _bits(tables: Floats) -> Floats:
    """Return I of the sum of all tables, then without each fold in turn."""
    sums = tables.sum(axis=0)
    joint = np.concatenate([sums[None], sums - tables])
    total = np.maximum(joint.sum(axis=(1, 2)), 1.0)
    rows, columns = joint.sum(axis=2), joint.sum(axis=1)
    entropies = _plog(joint).sum(axis=(1, 2)) - _plog(rows).sum(axis=1) - _plog(columns).sum(axis=1)
    return np.asarray((entropies / total + np.log(total)) / np.log(2.0))


def _plog(counts: Floats) -> Floats:
    """Return n ln n, 0 for 0; what is expected may be off 0 by rounding."""
    safe = np.maximum(counts, 1e-300)
    return np.asarray(safe * np.log(safe))


def _gram(excess: Floats, expected: Floats) -> Floats:
    """Return inner products of folds, cells in units of what is expected in them, and one more."""
    flat = (excess / np.sqrt(expected + 1.0)).reshape(len(excess), -1)
    return np.asarray(flat @ flat.T)


def _least_spread(line: TokenLine, steps: Integers) -> Floats:
    """Return the spread of sum_(f != g) s_f s_g G_fg, were tokens of any two places independent."""
    types = np.bincount(line.tokens, minlength=line.types) / len(line.tokens)
    pairs = np.stack(
        [
            np.bincount(line.fold, np.maximum(line.lengths - step, 0), minlength=line.folds)
            for step in steps
        ]
    )
    total = np.maximum(pairs.sum(axis=1), 1.0)
    expected = total[:, None, None] * np.outer(types, types)
    free = np.outer(1.0 - types, 1.0 - types) * expected / (expected + 1.0)
    shares = pairs / total[:, None]
    apart = 1.0 - (shares**2).sum(axis=1)
    return np.asarray(np.sqrt(2.0 * apart * free.sum(axis=(1, 2))))


def _p_values(grams: Floats, least: Floats, rng: np.random.Generator) -> Floats:
    """Return p-values of sum_(f != g) s_f s_g G_fg for all lags, against random signs s."""
    folds = grams.shape[1]
    signs = rng.choice([-1.0, 1.0], size=(SIGNS, folds))
    signs[0] = 1.0
    off = grams * (1.0 - np.eye(folds))
    sizes = np.stack([((signs @ one) * signs).sum(axis=1) for one in off])
    spread = np.maximum(sizes.std(axis=1), np.maximum(least, np.finfo(np.float64).tiny))[:, None]
    largest = (sizes / spread).max(axis=0)
    return np.asarray((largest >= (sizes / spread)[:, :1] - 1e-9).mean(axis=1))
