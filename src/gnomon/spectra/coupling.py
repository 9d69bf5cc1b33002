r"""Content and position in one logit: spectra of logits without and with an encoding.

    additive         L = A + B          A = s q k^T of content, B the bias; or (q + p)(k + p)^T
    multiplicative   L = Re sum_k A_k o T_k,   A_k = s z_k w_k^*,  T_k = e^(i b_k (i - j))

with o the product entry by entry, z_k and w_k the pairs of q and k as complex numbers [gu2025]. The
ratios after / before of the spectral norm, of the condition number on the range, and of the
effective rank say what coupling did; below 1 a norm is *contracted*. Logits are not symmetric, so
these are singular values. Where coupling changes the rank, the two condition numbers are those of
different ranges, and there is no ratio of them. Of an encoding that is causal only, keys after
their query count as 0 on both sides. Nothing here speaks of training: how logits are conditioned is
not how a loss is.

`contraction` couples drawn content, over several draws, with and without a mean that all positions
share:

    q_i = mu m + x_i,   k_i = mu m' + y_i,   x, y, m, m' ~ N(0, 1) in every coordinate,

*tied* with k = q, so that A = q q^T is the Gram matrix of the theorems. Turned queries and keys
have the same singular values as before only pair by pair. Of the whole logit matrix a ratio of
norms of about 1 is what independent pairs give (mu = 0): there is nothing to contract on average.
What turns damp is the rank-one part mu^2 m m'^T that all positions have in common. With means drawn
apart m.m' may be small by cancellation between pairs, which turns undo: norms then grow as often as
they fall. The mean and the range over draws are given, and no verdict.

The dimension d of content is that of the encoding; a bias takes any, and its ratios depend on it,
since the norm of content logits is about sqrt d (1 + sqrt(n/d))^2 without a shared mean, and
mu^2 n sqrt d with one of size mu: encodings are compared at one d, by default `DIMENSION`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svdvals

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError, SpectrumError
from gnomon.numeric.checks import MOST_DIMENSION, MOST_SEED
from gnomon.results import Result
from gnomon.spectra.bounds import Bound, Sides, bounds_of
from gnomon.spectra.checks import check_array, check_float, check_int
from gnomon.spectra.eigenvalues import Conditioning, check_length, rank_and_condition
from gnomon.spectra.kernel import as_encoding, check_head, on_line
from gnomon.spectra.share import lag_share

Floats = NDArray[np.float64]

MEANS = (0.0, 0.5, 1.0, 2.0, 4.0)

DRAWS = 8

DIMENSION = 64
"""Of content, where an encoding takes any."""

LONGEST = 256
"""Positions that are coupled at most: the ratios do not need more, and cost n^3."""

_LARGEST_MEAN = 1e6
"""The largest shared mean: a logit is its square, and float64 has 16 digits."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coupling(Result):
    """Logits before and after an encoding, by their singular values."""

    name: str
    kind: str
    """additive, multiplicative, or rule (on content)."""
    length: int
    singular_before: Floats
    singular_after: Floats
    before: Conditioning
    after: Conditioning
    norm: float | None
    """Spectral norm after / before; None where there was nothing before."""
    condition: float | None
    """Condition numbers on the range, after / before; None where the ranks differ."""
    condition_reason: str
    """Why there is none, or nothing."""
    effective_rank: float | None
    toeplitz_share_before: float
    toeplitz_share: float
    """NaN where nothing varies, and where positions do not ascend in equal steps."""
    bounds: tuple[Bound, ...]
    bounds_reason: str
    """Why there are no more bounds, or nothing."""


def couple(
    q: Any,
    k: Any,
    encoding: Encoding | str,
    *,
    positions: Any = None,
    head: int | None = None,
    direction: Any = None,
    scale: float | None = None,
) -> Coupling:
    """Return the spectra of the logits of q and k (n, d), without and with an encoding.

    `head` is that of the encoding (default the first), `scale` what multiplies q.k, by default
    d^(-1/2). With several axes positions go along `direction`. Activations of a model are passed
    head by head, before any position was added.

    >>> from gnomon.encodings import Rope
    >>> q = np.ones((64, 16))
    >>> round(couple(q, q, Rope(dimension=16)).norm, 2)
    0.58
    """
    left, right = _read_sides(q, k)
    known = on_line(as_encoding(encoding), direction, len(left))
    check_head(known, head)
    times = (
        left.shape[1] ** -0.5 if scale is None else check_float("scale", scale, "a finite number")
    )
    at = _read_positions(positions, len(left))
    sides = _sides_by_coupling(known, left, right, at, head=head or 0, scale=times)
    bounds, reason = bounds_of(known, sides)
    return _sides_before_after(known, sides, bounds=bounds, bounds_reason=reason)


@dataclass(frozen=True, kw_only=True, eq=False)
class Contraction(Result):
    """Ratios after / before for each shared mean, averaged over draws."""

    kind: str
    head: int | None
    """The head of the encoding that content met; None where it tells none apart."""
    length: int
    dimension: int
    """Of queries and keys."""
    draws: int
    tied: bool
    means: Floats
    norm: Floats
    norm_range: Floats
    """The smallest and the largest of the draws, (means, 2)."""
    rank_before: Floats
    rank_after: Floats
    """The mean number of singular values that can be told from 0."""
    condition: Floats
    """NaN where there is no condition number, or the ranks of a draw differ."""
    condition_reason: str
    """Why there is none for some mean, or nothing."""
    effective_rank: Floats
    toeplitz_share: Floats
    example: Coupling
    """The first draw with the first mean, whole."""

    def at(self, mean: float) -> dict[str, Any]:
        """Return the ratios for one of the means as plain values."""
        k = int(np.flatnonzero(self.means == mean)[0])
        names = ("norm", "rank_before", "rank_after", "condition", "effective_rank")
        rows = {name: float(getattr(self, name)[k]) for name in (*names, "toeplitz_share")}
        known = {name: value if np.isfinite(value) else None for name, value in rows.items()}
        return {"mean": float(mean), **known, "norm_range": self.norm_range[k].tolist()}


def contraction(
    encoding: Encoding | str,
    length: int,
    *,
    means: tuple[float, ...] = MEANS,
    draws: int = DRAWS,
    tied: bool = True,
    head: int | None = None,
    direction: Any = None,
    dimension: int | None = None,
    seed: int = 0,
) -> Contraction:
    """Return the ratios of drawn content; the same content for every encoding of a dimension.

    `dimension` is that of queries and keys where an encoding takes any, as a bias does.
    """
    n = min(check_length(length), LONGEST)
    known = on_line(as_encoding(encoding), direction, n)
    draws = check_int("draws", draws, least=1)
    check_head(known, head)
    drawn = check_drawing(known, means=means, dimension=dimension, seed=seed)
    sizes, d, seed = drawn["means"], drawn["dimension"], drawn["seed"]

    def content(mean: float, draw: int) -> tuple[Floats, Floats]:
        return drawn_content(n, d, mean=mean, tied=tied, rng=np.random.default_rng([seed, draw]))

    rows = [
        [_compare(known, *content(mean, draw), head) for draw in range(draws)] for mean in sizes
    ]
    norms = np.array([[_number(one.norm) for one in row] for row in rows])
    reasons = [one.condition_reason for row in rows for one in row if one.condition_reason]
    return Contraction(
        kind=kind_of(known),
        head=(head or 0) if (known.head_count or 1) > 1 else None,
        length=n,
        dimension=d,
        draws=draws,
        tied=tied,
        means=np.array(sizes, dtype=np.float64),
        norm=norms.mean(axis=1),
        norm_range=np.stack([norms.min(axis=1), norms.max(axis=1)], axis=1),
        rank_before=_mean(rows, lambda one: one.before.rank),
        rank_after=_mean(rows, lambda one: one.after.rank),
        # Condition numbers are spread over decades: their geometric mean is the typical one.
        condition=np.exp(_mean(rows, lambda one: np.log(_number(one.condition)))),
        condition_reason=reasons[0] if reasons else "",
        effective_rank=_mean(rows, lambda one: _number(one.effective_rank)),
        toeplitz_share=_mean(rows, lambda one: one.toeplitz_share),
        example=couple(*content(sizes[0], 0), known, head=head),
    )


def drawn_content(
    length: int,
    dimension: int,
    *,
    mean: float = 0.0,
    tied: bool = True,
    rng: np.random.Generator | None = None,
) -> tuple[Floats, Floats]:
    """Return q and k (n, d).

    >>> q, k = drawn_content(4, 2)
    >>> q.shape, bool((q == k).all())
    ((4, 2), True)
    """
    length, dimension = (
        check_int(name, value, least=1)
        for name, value in (("length", length), ("dimension", dimension))
    )
    mean = _check_mean(mean)
    stream = np.random.default_rng(0) if rng is None else rng
    shared = stream.standard_normal((2, 1, dimension))
    spread = stream.standard_normal((2, length, dimension))
    q, k = mean * shared + spread
    return (q, q.copy()) if tied else (q, k)


def _sides_by_coupling(
    encoding: Encoding, q: Floats, k: Floats, at: Floats, *, head: int, scale: float
) -> Sides:
    """Return logits without and with an encoding, 0 where it masks."""
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves float64 is refused below
        after, plain = _logits(encoding, q, k, at, head, scale), scale * (q @ k.T)
    masked = np.isneginf(after) | (np.isposinf(after) & (scale < 0.0))  # scale times -inf
    before = np.where(masked, 0.0, plain)
    after = np.where(masked, 0.0, after)
    if not np.isfinite(before).all() or not np.isfinite(after).all():
        raise SpectrumError("The logits of q and k leave float64; pass smaller numbers.")
    return Sides(q, k, at, before, after, ~masked, scale, head)


def _sides_before_after(
    encoding: Encoding, sides: Sides, *, bounds: tuple[Bound, ...] = (), bounds_reason: str = ""
) -> Coupling:
    """Return the logits of both sides, before and after."""
    return compare(
        sides.before,
        sides.after,
        name=encoding.name,
        kind=kind_of(encoding),
        causal=not sides.seen.all(),
        even=_even(sides.at),
        bounds=bounds,
        bounds_reason=bounds_reason,
    )


def compare(
    before: Any,
    after: Any,
    *,
    name: str,
    kind: str,
    causal: bool = False,
    even: bool = True,
    bounds: tuple[Bound, ...] = (),
    bounds_reason: str = "",
) -> Coupling:
    """Return two matrices of logits side by side; complex ones by their singular values alone.

    `even`: positions ascend in equal steps, so that there is a share of the lag.
    """
    first, second = (svdvals(np.asarray(one)) for one in (before, after))
    n = len(first)
    one, two = rank_and_condition(first, n), rank_and_condition(second, n)
    shown = even and not np.iscomplexobj(before) and not np.iscomplexobj(after)
    shares = [lag_share(x, causal=causal) if shown else float("nan") for x in (before, after)]
    same = one.rank == two.rank
    reason = f"the rank goes from {one.rank} to {two.rank}: another range" if not same else ""
    return Coupling(
        name=name,
        kind=kind,
        length=n,
        singular_before=first,
        singular_after=second,
        before=one,
        after=two,
        norm=two.norm / one.norm if one.norm > 0.0 else None,
        condition=_ratio(two.condition_on_range, one.condition_on_range) if same else None,
        condition_reason=reason,
        effective_rank=_ratio(two.effective_rank, one.effective_rank),
        toeplitz_share_before=shares[0],
        toeplitz_share=shares[1],
        bounds=bounds,
        bounds_reason=bounds_reason,
    )


def hadamard(contents: Any, kernels: Any) -> NDArray[Any]:
    """Return sum_k A_k o T_k of contents and kernels (pairs, n, n), which may be complex.

    >>> hadamard([[[1.0, 2.0], [2.0, 1.0]]], [[[1.0, 0.5], [0.5, 1.0]]])
    array([[1., 1.],
           [1., 1.]])
    """
    a, t = np.asarray(contents), np.asarray(kernels)
    if a.ndim != 3 or a.shape != t.shape or a.shape[1] != a.shape[2]:
        raise SpectrumError(
            f"The contents have shape {a.shape} and the kernels {t.shape}; pass both as "
            "(pairs, n, n)."
        )
    return np.asarray(np.sum(a * t, axis=0))


def kind_of(encoding: Encoding) -> str:
    """Return how an encoding meets content: additive, multiplicative, or a rule of its own."""
    if "content" in encoding.kinds:
        return "rule"
    return "multiplicative" if "transform" in encoding.kinds else "additive"


def _read_sides(q: Any, k: Any) -> tuple[Floats, Floats]:
    """Return queries and keys (n, d) as float64, or say what they are."""
    what = "activations of one head, (positions, dimension)"
    left, right = (check_array(name, x, what) for name, x in (("q", q), ("k", k)))
    if left.ndim != 2 or left.shape != right.shape or len(left) < 2:
        raise SpectrumError(
            f"q has shape {left.shape} and k {right.shape}; pass one head of each, "
            "(positions, dimension), at the same positions."
        )
    return left, right


def check_drawing(
    encoding: Encoding, *, means: Any, dimension: int | None, seed: int
) -> dict[str, Any]:
    """Return what content is drawn with, or say what is wrong before anything is computed."""
    try:
        sizes = () if isinstance(means, (str, bytes)) else tuple(means)
    except TypeError:
        sizes = ()
    if not sizes:
        raise SpectrumError(
            f"means is {means!r}; pass at least one size of the shared mean in a tuple, such as "
            "(0.0, 1.0)."
        )
    return {
        "means": tuple(_check_mean(mean) for mean in sizes),
        "dimension": _content_dimension(encoding, dimension),
        "seed": check_int("seed", seed, least=0, most=MOST_SEED),
    }


def _check_mean(mean: Any) -> float:
    """Return the size of a shared mean."""
    size = check_float("mean", mean, "0 or more: its size against the spread", least=0.0)
    if size > _LARGEST_MEAN:
        raise SpectrumError(
            f"mean is {mean!r}; pass {_LARGEST_MEAN:g} at most: beyond, rounding leaves nothing of "
            "the spread in a logit."
        )
    return size


def _even(at: Floats) -> bool:
    """Whether positions ascend in equal steps, so that the lag is the distance of indices."""
    steps = np.diff(at)
    return bool(steps[0] > 0.0 and np.abs(steps - steps[0]).max() <= 1e-9 * steps[0])


def _read_positions(positions: Any, length: int) -> Floats:
    """Return the position of every row, by default 0 ... n-1."""
    if positions is None:
        return np.arange(length, dtype=np.float64)
    at = check_array("positions", positions, "one number for each row of q")
    if at.shape != (length,):
        raise SpectrumError(
            f"positions has shape {at.shape}, and q has {length} rows; pass one number for each."
        )
    return at


def _logits(
    encoding: Encoding, q: Floats, k: Floats, at: Floats, head: int, scale: float
) -> Floats:
    heads = encoding.head_count or 1
    left, right = (np.broadcast_to(x, (heads, *x.shape)) for x in (q, k))
    try:
        made = np.asarray(encoding.scores(left, right, at, scale=scale), dtype=np.float64)
    except EncodingError as error:
        raise SpectrumError(
            f"The encoding {encoding.name!r} cannot be coupled with q and k of dimension "
            f"{q.shape[1]} at {len(q)} positions ({error}) Pass those it is made for."
        ) from error
    return np.asarray(made.reshape(-1, *made.shape[-2:])[head])


def _ratio(after: float | None, before: float | None) -> float | None:
    return after / before if after is not None and before else None


def _content_dimension(encoding: Encoding, dimension: int | None) -> int:
    """Return the dimension of queries and keys: that of the encoding, or any."""
    width = getattr(encoding, "width", None)
    own = getattr(encoding, "dimension", None) if width is None else width
    if dimension is None:
        return int(own or DIMENSION)
    asked = check_int("dimension", dimension, least=1, most=MOST_DIMENSION)
    if own and asked != own:
        raise SpectrumError(
            f"dimension is {asked}, and the encoding {encoding.name!r} is made for {own}; pass "
            "that, or make it with another dimension."
        )
    return asked


def _compare(encoding: Encoding, q: Floats, k: Floats, head: int | None) -> Coupling:
    """Return a coupling without its bounds, which cost as much as the rest."""
    at, scale = np.arange(len(q), dtype=np.float64), q.shape[1] ** -0.5
    return _sides_before_after(
        encoding, _sides_by_coupling(encoding, q, k, at, head=head or 0, scale=scale)
    )


def _mean(rows: list[list[Coupling]], read: Any) -> Floats:
    return np.array([np.mean([read(one) for one in row]) for row in rows])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
