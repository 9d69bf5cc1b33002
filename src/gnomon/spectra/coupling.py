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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svdvals

from gnomon.encodings import Encoding, heads_of
from gnomon.errors import EncodingError, SpectrumError
from gnomon.results import Result
from gnomon.spectra.bounds import Bound
from gnomon.spectra.checks import real, real_array
from gnomon.spectra.conditioning import Conditioning, conditioning
from gnomon.spectra.line import on_line
from gnomon.spectra.moduli import Sides, bounds_of
from gnomon.spectra.reading import as_encoding, check_head
from gnomon.spectra.share import lag_share

Floats = NDArray[np.float64]


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
    left, right = checked_sides(q, k)
    known = on_line(as_encoding(encoding), direction, len(left))
    check_head(known, head)
    times = left.shape[1] ** -0.5 if scale is None else real("scale", scale, "a finite number")
    at = _checked_positions(positions, len(left))
    sides = coupled_sides(known, left, right, at, head=head or 0, scale=times)
    bounds, reason = bounds_of(known, sides)
    return compared_sides(known, sides, bounds=bounds, bounds_reason=reason)


def coupled_sides(
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


def compared_sides(
    encoding: Encoding, sides: Sides, *, bounds: tuple[Bound, ...] = (), bounds_reason: str = ""
) -> Coupling:
    """Return the logits of both sides, before and after."""
    return compared(
        sides.before,
        sides.after,
        name=encoding.name,
        kind=kind_of(encoding),
        causal=not sides.seen.all(),
        even=_even(sides.at),
        bounds=bounds,
        bounds_reason=bounds_reason,
    )


def _even(at: Floats) -> bool:
    """Whether positions ascend in equal steps, so that the lag is the distance of indices."""
    steps = np.diff(at)
    return bool(steps[0] > 0.0 and np.abs(steps - steps[0]).max() <= 1e-9 * steps[0])


def compared(
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
    one, two = conditioning(first, n), conditioning(second, n)
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


def checked_sides(q: Any, k: Any) -> tuple[Floats, Floats]:
    """Return queries and keys (n, d) as float64, or say what they are."""
    what = "activations of one head, (positions, dimension)"
    left, right = (real_array(name, x, what) for name, x in (("q", q), ("k", k)))
    if left.ndim != 2 or left.shape != right.shape or len(left) < 2:
        raise SpectrumError(
            f"q has shape {left.shape} and k {right.shape}; pass one head of each, "
            "(positions, dimension), at the same positions."
        )
    return left, right


def _checked_positions(positions: Any, length: int) -> Floats:
    """Return the position of every row, by default 0 ... n-1."""
    if positions is None:
        return np.arange(length, dtype=np.float64)
    at = real_array("positions", positions, "one number for each row of q")
    if at.shape != (length,):
        raise SpectrumError(
            f"positions has shape {at.shape}, and q has {length} rows; pass one number for each."
        )
    return at


def _logits(
    encoding: Encoding, q: Floats, k: Floats, at: Floats, head: int, scale: float
) -> Floats:
    heads = heads_of(encoding)
    left, right = (np.broadcast_to(x, (heads, *x.shape)) for x in (q, k))
    try:
        made = np.asarray(encoding.scores(left, right, at, scale=scale), dtype=np.float64)
    except EncodingError as error:
        raise SpectrumError(
            f"The encoding {encoding.name!r} can not be coupled with q and k of dimension "
            f"{q.shape[1]} at {len(q)} positions ({error}) Pass those it is made for."
        ) from error
    return np.asarray(made.reshape(-1, *made.shape[-2:])[head])


def _ratio(after: float | None, before: float | None) -> float | None:
    return after / before if after is not None and before else None
