r"""The logits of an additive encoding in four terms: content and position, of query and of key.

    (c_i + p_i) W_q . (c_j + p_j) W_k = cc + cp + pc + pp                               [gu2025]

cc_ij is content against content, cp content against position (of the key), and so on. The variance
of the sum is that of the terms and their covariances; the *part* of a term is its covariance with
the sum over the variance of the sum, so that parts add to 1, and a term that works against the rest
has a part below 0. The Toeplitz share of pp says how far positions alone see the lag: 1 for a
sinusoid with W_q = W_k orthogonal, and anything once W_q and W_k are learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.numeric.reals import reals
from gnomon.results import Result
from gnomon.spectra.share import lag_share

Floats = NDArray[np.float64]
NAMES = ("content-content", "content-position", "position-content", "position-position")


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms(Result):
    """The four terms of one head, in the order of `names`; queries come first in a name."""

    names: tuple[str, ...]
    matrices: Floats
    """(4, n, n); their sum is the logits."""
    deviation: Floats
    """Standard deviation of each over the entries that are seen."""
    part: Floats
    """Of the variance of the sum; NaN where nothing varies."""
    toeplitz_share: Floats
    """Of each term; NaN where it does not vary."""
    whole_share: float
    """The Toeplitz share of the sum."""
    causal: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers without the matrices."""
        return {key: value for key, value in super().to_dict().items() if key != "matrices"}


def four_terms(
    content: Any,
    vectors: Any,
    queries: Any = None,
    keys: Any = None,
    *,
    scale: float | None = None,
    causal: bool = False,
) -> Terms:
    """Return the terms of content and vectors (n, d) under W_q and W_k (d, width).

    Without weights queries and keys are the sums themselves. `scale` is width^(-1/2) by default.

    >>> found = four_terms(np.eye(3), np.zeros((3, 3)))
    >>> found.part.tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    c, p = _checked(content, vectors)
    w_q, w_k = (
        np.eye(c.shape[1]) if w is None else _weights(w, c.shape[1]) for w in (queries, keys)
    )
    if w_q.shape != w_k.shape:
        raise SpectrumError(
            f"W_q has shape {w_q.shape} and W_k {w_k.shape}; pass the weights of one head, both "
            "(dimension, width)."
        )
    times = w_q.shape[1] ** -0.5 if scale is None else float(scale)
    return terms_of((c @ w_q, p @ w_q), (c @ w_k, p @ w_k), scale=times, causal=causal)


def terms_of(
    queries: tuple[Any, Any], keys: tuple[Any, Any], *, scale: float, causal: bool = False
) -> Terms:
    """Return the terms of queries and keys (n, width) that are given as content and position."""
    left, right = ([reals(x, "x") for x in pair] for pair in (queries, keys))
    parts = np.array([scale * (a @ b.T) for a in left for b in right])
    if not np.isfinite(parts).all():
        raise SpectrumError("Weights, scale or vectors are not finite; pass finite numbers.")
    every = np.ones(parts.shape[1:], dtype=bool)
    seen = np.tril(every) if causal else every
    flat = parts[:, seen] - parts[:, seen].mean(axis=1, keepdims=True)
    whole = flat.sum(axis=0)
    variance = float(whole @ whole)
    share = flat @ whole / variance if variance > 0.0 else np.full(4, np.nan)
    return Terms(
        names=NAMES,
        matrices=parts,
        deviation=np.sqrt(np.mean(flat**2, axis=1)),
        part=share,
        toeplitz_share=np.array([lag_share(one, causal=causal) for one in parts]),
        whole_share=lag_share(parts.sum(axis=0), causal=causal),
        causal=causal,
    )


def _checked(content: Any, vectors: Any) -> tuple[Floats, Floats]:
    c, p = (reals(x, "x") for x in (content, vectors))
    if c.ndim != 2 or c.shape != p.shape or len(c) < 2:
        raise SpectrumError(
            f"The content has shape {c.shape} and the vectors {p.shape}; pass both as "
            "(positions, dimension), at least two positions."
        )
    if not (np.isfinite(c).all() and np.isfinite(p).all()):
        raise SpectrumError(
            "Content or vectors hold numbers that are not finite; pass finite ones."
        )
    return c, p


def _weights(weights: Any, dimension: int) -> Floats:
    w = reals(weights, "weights")
    if w.ndim != 2 or len(w) != dimension:
        raise SpectrumError(
            f"The weights have shape {w.shape}; pass ({dimension}, width): they act on the right "
            f"of vectors of dimension {dimension}."
        )
    return w
