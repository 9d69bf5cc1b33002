r"""Pairs of tokens as they would be without order: their expectation, exactly, at every lag.

Shuffle document d, with n tokens and c_u of type u. The m = n - tau pairs at lag tau then are

    m (c_u c_v - [u = v] c_u) / (n (n - 1))      pairs of types (u, v), on average,

and the pairs of two different documents of n and n' tokens, both shuffled in the same way so that
no position meets itself, m (c_u c'_v - e_uv) / (n n' - min(n, n')), where m = min(n, n' - tau) and
e_uv pairs stand at the same position. A document meets itself there in [u = v] c_u, so this is one
formula: where positions alone have laws, both expectations are the same. They are sums over
documents of m(tau) times a fixed table, and m is constant, then falls by one a lag, then is 0. So
tables are summed once, and changed where a document bends: O(documents x types^2) in all, for any
number of lags.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from gnomon.lags.line import Floats, Line, Whole


def expected_tables(line: Line, partner: Whole, steps: Whole) -> Iterator[Floats]:
    """Yield expected pairs of documents and their partners, (folds, types, types), by lag.

    A document that is its own partner is shuffled; two different ones alike.
    """
    counts = line.counts
    lengths = line.lengths.astype(np.float64)
    most = np.minimum(lengths, lengths[partner])
    weights = 1.0 / np.maximum(lengths * lengths[partner] - most, 1.0)
    meeting = _meeting(line, partner)
    falls = np.maximum(line.lengths[partner] - line.lengths, 0)
    ends = line.lengths[partner]

    entries = counts.tocoo()
    documents, types = entries.coords

    def table(which: Whole, scale: Floats) -> Floats:
        """Return the sum of scale times the table of these documents."""
        factor = np.zeros(len(lengths))
        factor[which] = weights[which] * scale[which]
        kept = factor[documents] != 0.0
        here, kind = documents[kept], types[kept]
        values = entries.data[kept] * factor[here]
        rows = line.fold[here] * line.types + kind
        left = csr_array((values, (rows, here)), shape=(line.folds * line.types, len(lengths)))
        made = (left @ counts[partner]).toarray().reshape(line.folds, line.types, line.types)
        shape = (line.folds, len(which))
        by_fold = csr_array((factor[which], (line.fold[which], np.arange(len(which)))), shape=shape)
        return np.asarray(made - (by_fold @ meeting[which]).toarray().reshape(made.shape))

    level = np.zeros((line.folds, line.types, line.types))
    slope = np.zeros_like(level)
    done = -1
    ones = np.ones_like(lengths)
    rising = np.flatnonzero(falls > 0)
    level += table(rising, lengths)
    for step in (0, *steps.tolist()):
        bent = np.flatnonzero((falls > done) & (falls <= step) & (ends > falls))
        over = np.flatnonzero((ends > done) & (ends <= step))
        if len(bent):
            level += table(bent, lengths[partner]) - table(bent[falls[bent] > 0], lengths)
            slope += table(bent, ones)
        if len(over):
            level -= table(over, lengths[partner])
            slope -= table(over, ones)
        done = step
        if step:
            yield level - step * slope


def _meeting(line: Line, partner: Whole) -> csr_array:
    """Return how often (u, v) stand at one position of a document and its partner, (docs, K^2)."""
    owner = line.owner
    others = line.starts[partner][owner] + line.place
    inside = others < line.starts[partner + 1][owner]
    keys = line.tokens[inside].astype(np.int64) * line.types + line.tokens[others[inside]]
    shape = (len(partner), line.types**2)
    made = csr_array((np.ones(len(keys)), (owner[inside], keys)), shape=shape)
    made.sum_duplicates()
    return made
