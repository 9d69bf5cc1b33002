r"""How much of a matrix of logits the lag alone explains: its Toeplitz share, whole and by terms.

The Toeplitz matrix nearest to L in the Frobenius norm has the mean of each diagonal on it. Over the
entries that are seen (all, keys up to their query, or those of a mask),

    share = 1 - sum (L_ij - mean of its diagonal)^2 / sum (L_ij - mean of all)^2,

the R^2 of L on the lag: 1 for a Toeplitz matrix, and for numbers without any structure about
(lags - 1) / (entries - 1), which is given as `chance`. A softmax does not see what is constant
along a row, so there is a second number, with a constant for each row fitted beside the lags:

    share of rows = 1 - min_(r, c) sum (L_ij - r_i - c_(i-j))^2 / min_r sum (L_ij - r_i)^2.

Least squares with both are solved for the constants of rows alone, n x n [golub2013 sec. 5.3].

*Terms.* The logits of an additive encoding are four terms, content and position, of query and key:

    (c_i + p_i) W_q . (c_j + p_j) W_k = cc + cp + pc + pp                               [gu2025]

cc_ij is content against content, cp content against position (of the key), and so on. The variance
of the sum is that of the terms and their covariances; the *part* of a term is its covariance with
the sum over the variance of the sum, so that parts add to 1, and a term that works against the rest
has a part below 0. The Toeplitz share of pp says how far positions alone see the lag: 1 for a
sinusoid with W_q = W_k orthogonal, and anything once W_q and W_k are learned.

*Vectors.* Eigenvalues of G = P P^T, P (n, d), are the squared singular values of P. Sums along its
diagonals are the autocorrelation of the columns of P, by FFT in O(d n log n), and sum G_ij^2 =
|P^T P|^2, so the share of G needs no n x n matrix [golub2013 sec. 4.8].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import svdvals

from gnomon.errors import SpectrumError
from gnomon.numeric.checks import plain_array, reals
from gnomon.results import Result

Floats = NDArray[np.float64]

NAMES = ("content-content", "content-position", "position-content", "position-position")

_ROUNDING = 1e-24
"""Sums of squares below this part of the largest are rounding: nothing varies."""

_LARGEST = 1e70
"""Fourth powers of numbers above it, summed over positions, leave what float64 can hold."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ToeplitzShare(Result):
    """Shares of matrices, one each, shaped as their leading axes; NaN where nothing varies."""

    share: Floats
    share_of_rows: Floats
    """Of what varies within rows, which is all that a softmax sees."""
    chance: float
    chance_of_rows: float
    profile: Floats
    """The mean logit at each of `lags`, (..., lags)."""
    lags: NDArray[np.int64]
    """Query less key: -(n-1) ... n-1, 0 ... n-1 where causal, those that a mask leaves."""
    causal: bool


def toeplitz_share(logits: Any, *, causal: bool = False, mask: Any = None) -> ToeplitzShare:
    """Return the Toeplitz share of logits (..., n, n); with `causal` of keys up to their query.

    `mask` (n, n) is True where a key is seen, such as that of a sliding window. What is masked in
    the logits (-inf) must be hidden by one of both. Cost O(n^2) for each matrix, and n^3 once.

    >>> found = toeplitz_share(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> float(found.share), found.profile.tolist()
    (1.0, [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    """
    values, seen = _read_logits(logits, causal=causal, mask=mask)
    n, lags, entries = values.shape[-1], len(seen.lags), float(seen.pairs.sum())
    inverse = _rows_given_lags(seen)
    found = [_shares(one, seen, inverse) for one in values.reshape(-1, n, n)]
    lead, rows = values.shape[:-2], int(seen.entries.any(axis=1).sum())
    return ToeplitzShare(
        share=np.array([one[0] for one in found]).reshape(lead),
        share_of_rows=np.array([one[1] for one in found]).reshape(lead),
        chance=(lags - 1) / max(entries - 1.0, 1.0),
        # The constant is a sum of rows and one of lags: it counts once.
        chance_of_rows=(lags - 1) / max(entries - rows, 1.0),
        profile=np.array([one[2] for one in found]).reshape(*lead, lags),
        lags=seen.lags,
        causal=causal,
    )


def lag_share(logits: Any, *, causal: bool = False) -> float:
    """Return the share of one matrix alone, O(n^2); NaN where nothing varies.

    >>> lag_share([[1.0, 0.0], [2.0, 1.0]])
    1.0
    """
    values, seen = _read_logits(logits, causal=causal)
    if values.ndim != 2:
        raise SpectrumError(f"The logits have shape {values.shape}; pass one matrix, (n, n).")
    return _plain(_less_mean(values, seen), seen)[0]


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
    c, p = _read_vectors(content, vectors)
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


@dataclass(frozen=True, kw_only=True, eq=False)
class GramSpectrum(Result):
    """Eigenvalues of P P^T, the largest first, its mean by lag, and its Toeplitz share."""

    eigenvalues: Floats
    profile: Floats
    """The mean of p_i.p_(i+t) for t = 0 ... n-1."""
    toeplitz_share: float
    """NaN where all products are equal."""


def gram_spectrum(vectors: Any) -> GramSpectrum:
    """Return the spectrum of the products of vectors (n, d).

    >>> gram_spectrum([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).profile.round(12) + 0.0
    array([ 1.,  0., -1.])
    """
    p = reals(vectors, "vectors")
    if p.ndim != 2 or not p.size or not np.isfinite(p).all():
        raise SpectrumError(
            f"The vectors have shape {p.shape}; pass finite numbers (positions, dimension)."
        )
    largest = float(np.abs(p).max())
    if largest > _LARGEST:
        raise SpectrumError(
            f"The vectors have numbers up to {largest:.3g}, whose products are not finite; scale "
            "them down."
        )
    n = len(p)
    length = int(fft.next_fast_len(2 * n - 1, real=True))
    power = np.abs(fft.rfft(p, length, axis=0)) ** 2
    sums = fft.irfft(power.sum(axis=1), length)[:n]
    pairs = np.arange(n, 0, -1, dtype=np.float64)
    profile = sums / pairs
    twice = np.where(np.arange(n) > 0, 2.0, 1.0) * pairs
    mean = float(twice @ profile) / n**2
    total = float(np.sum((p.T @ p) ** 2)) - n**2 * mean**2
    explained = float(twice @ (profile - mean) ** 2)
    varies = total > 1e-14 * max(n**2 * mean**2, np.finfo(np.float64).tiny)
    return GramSpectrum(
        eigenvalues=np.square(svdvals(p)),
        profile=profile,
        toeplitz_share=min(explained / total, 1.0) if varies else float("nan"),
    )


@dataclass(frozen=True, eq=False)
class _Seen:
    """Which entries count, the place of each among the lags, and how many each lag has."""

    entries: NDArray[np.bool_]
    place: NDArray[np.int64]
    pairs: Floats
    lags: NDArray[np.int64]


def _seen(entries: NDArray[np.bool_]) -> _Seen:
    steps = np.subtract.outer(np.arange(len(entries)), np.arange(len(entries)))
    lags, of_entry, pairs = np.unique(steps[entries], return_inverse=True, return_counts=True)
    place = np.full(entries.shape, len(lags))
    place[entries] = of_entry
    return _Seen(entries, place, pairs.astype(np.float64), lags)


def _less_mean(x: Floats, seen: _Seen) -> tuple[Floats, float, float]:
    """Return entries less their mean, the mean, and the sum of squares below which is rounding."""
    mean = float(x[seen.entries].mean())
    floor = _ROUNDING * float(np.sum(x[seen.entries] ** 2))
    return np.where(seen.entries, x - mean, 0.0), mean, floor


def _plain(centred: tuple[Floats, float, float], seen: _Seen) -> tuple[float, Floats, Floats]:
    """Return the share, what the lags leave of each entry, and the mean of each diagonal."""
    x, mean, floor = centred
    sums = np.bincount(seen.place.ravel(), x.ravel(), minlength=len(seen.pairs) + 1)
    means: Floats = np.asarray(sums[: len(seen.pairs)] / seen.pairs, dtype=np.float64)
    rest: Floats = np.where(seen.entries, x - np.append(means, 0.0)[seen.place], 0.0)
    total = float(np.sum(x**2))
    share = 1.0 - float(np.sum(rest**2)) / total if total > floor else float("nan")
    return share, rest, means + mean


def _shares(x: Floats, seen: _Seen, inverse: Floats) -> tuple[float, float, Floats]:
    """Return the share, that of rows, and the mean of each diagonal."""
    centred = _less_mean(np.where(seen.entries, x, 0.0), seen)
    share, rest, profile = _plain(centred, seen)
    whole, _, floor = centred
    level = whole.sum(axis=1) / np.maximum(seen.entries.sum(axis=1), 1)
    varies = float(np.sum(np.where(seen.entries, whole - level[:, None], 0.0) ** 2))
    sums = rest.sum(axis=1)
    left = max(float(np.sum(rest**2)) - float(sums @ inverse @ sums), 0.0)
    return share, 1.0 - left / varies if varies > floor else float("nan"), profile


def _rows_given_lags(seen: _Seen) -> Floats:
    """Return the inverse of the normal equations of rows after lags were fitted.

    A row holds each lag at most once, so they are diag(entries of rows) - B diag(1/pairs) B^T, with
    B_il = 1 where it does; constants, which lags hold already, have no inverse and get 0.
    """
    n = len(seen.entries)
    holds = np.zeros((n, len(seen.pairs)))
    rows, columns = np.nonzero(seen.entries)
    holds[rows, seen.place[rows, columns]] = 1.0
    normal = np.diag(seen.entries.sum(axis=1).astype(np.float64)) - (holds / seen.pairs) @ holds.T
    return np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True))


def _read_logits(logits: Any, *, causal: bool, mask: Any = None) -> tuple[Floats, _Seen]:
    if isinstance(logits, np.ndarray) and np.iscomplexobj(logits):
        raise SpectrumError("The logits are complex; pass real ones.")
    values = reals(logits, "logits")
    if values.ndim < 2 or values.shape[-1] != values.shape[-2] or values.shape[-1] < 2:
        raise SpectrumError(
            f"The logits have shape {values.shape}; pass (..., n, n) with n of at least 2, queries "
            "before keys."
        )
    entries = _entries(values.shape[-1], causal=causal, mask=mask)
    known = values[..., entries]
    if np.isnan(known).any():
        raise SpectrumError("Some logits are NaN; pass finite ones, -inf where a key is masked.")
    if not np.isfinite(known).all():
        raise SpectrumError(
            f"Some logits that count are not finite{' at keys before their query' * causal}; pass "
            "causal=True or a mask of what is seen, and cut padding off."
        )
    return values, _seen(entries)


def _entries(n: int, *, causal: bool, mask: Any) -> NDArray[np.bool_]:
    entries = np.ones((n, n), dtype=bool) if mask is None else plain_array(mask, "The mask holds")
    if entries.shape != (n, n) or entries.dtype != np.bool_:
        raise SpectrumError(
            f"The mask has shape {entries.shape} and type {entries.dtype}; pass booleans "
            f"({n}, {n}), True where a key is seen."
        )
    entries = np.tril(entries) if causal else entries
    if entries.sum() < 2:
        raise SpectrumError("Fewer than two logits are seen; pass a mask that leaves more.")
    return entries


def _read_vectors(content: Any, vectors: Any) -> tuple[Floats, Floats]:
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
