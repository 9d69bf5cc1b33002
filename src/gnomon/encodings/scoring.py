"""From queries and keys to logits: vectors added, biases added, later keys masked.

    scores = scale (q + p_i)^T (k + p_j) + bias(i, j),  -inf where j > i and it is causal only

for whichever of them an encoding has; heads may have positions of their own. The formulas behind
p and bias, and their sources, are those of the encoding, in array form [array-api].

A rule on content reads tokens: by default the keys of each head, or what it is given beside them.
Where the tokens between a key and its query count, they are the keys in their order, and queries
are the last of them: what precedes the first query is a cache, and packed or padded documents
never reach into one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import EncodingError
from gnomon.numeric.arrays import (
    as_coordinates,
    check_dimension,
    device_beside,
    lags_between,
    namespace_of,
)
from gnomon.numeric.checks import serves

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding, Numbers
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class ContentCall:
    """What a rule on content is asked: queries, keys and tokens, in float32 or better."""

    q: Array
    """(..., n, dimension)."""
    k: Array
    """(..., m, dimension)."""
    tokens: Array
    """What is read of the token of each key, (..., heads or 1, m, width)."""
    queries: Coordinates
    """Where queries stand; coordinates broadcast to vectors."""
    keys: Coordinates
    """Where keys stand."""
    numbers: Numbers
    scale: float
    """What attention multiplies q.k by."""
    xp: Namespace

    def products(self) -> Array:
        """Return q.k, (..., n, m)."""
        return self.xp.matmul(self.q, self.xp.matrix_transpose(self.k))

    def scaled_products(self) -> Array:
        """Return scale q.k, (..., n, m)."""
        return scale_logits(self.products(), self.scale)


def mask_scores(
    encoding: Encoding,
    logits: Array,
    positions_q: Array,
    positions_k: Array,
    *,
    numbers: Numbers | None = None,
    xp: Namespace,
) -> Array:
    """Add the bias of an encoding to logits, and mask keys after their query where it must."""
    queries, keys = (
        as_coordinates(at, encoding.axes, like=logits) for at in (positions_q, positions_k)
    )
    by_head = logits.ndim > 2 and logits.ndim in (queries.ndim, keys.ndim)
    if by_head:  # one of them has a place for each head, so both get the axis
        queries, keys = (_with_heads(at, logits) for at in (queries, keys))
    if "bias" in encoding.kinds:
        held = encoding.numbers_in(logits, xp=xp) if numbers is None else numbers
        bias = encoding.bias_between(queries, keys, held, xp=xp)
        bias = of_own_places(bias, xp=xp) if by_head else bias
        logits = logits + xp.astype(_of_heads(bias, logits), logits.dtype)
    if not encoding.card.causal_only:
        return logits
    if encoding.in_order:
        return xp.where(later_in_order(logits, xp=xp), -xp.inf, logits)
    later = lags_between(queries, keys, xp=xp)[..., 0] < 0
    later = later if later.ndim in (2, logits.ndim) else later[..., None, :, :]
    return xp.where(later, -xp.inf, logits)


def later_in_order(logits: Array, *, xp: Namespace) -> Array:
    """Return where (n, m) a key comes after its query, the queries being the last of the keys."""
    n, m = logits.shape[-2:]
    device = device_beside(logits, xp=xp)
    rows, columns = xp.arange(n, device=device), xp.arange(m, device=device)
    return columns[None, :] > rows[:, None] + (m - n)


def _with_heads(coordinates: Coordinates, logits: Array) -> Coordinates:
    """Return coordinates (..., n, axes) with an axis of heads, where they have a batch."""
    batch = coordinates.ndim == logits.ndim - 1 and coordinates.ndim > 2
    return coordinates[..., None, :, :] if batch else coordinates


def of_own_places(bias: Array, *, xp: Namespace) -> Array:
    """Return the bias (..., heads, n, m) of each head at its own places, from that of all at all.

    The bias has shape (..., places of heads, heads, n, m); either may be one for all.
    """
    places, heads = bias.shape[-4], bias.shape[-3]
    if places == 1:
        return bias[..., 0, :, :, :]
    if heads == 1:
        return bias[..., 0, :, :]
    if places != heads:
        raise EncodingError(
            f"The positions are those of {places} heads, but this encoding has biases for {heads} "
            "heads; pass positions without the axis of heads, or for as many."
        )
    return xp.stack([bias[..., head, head, :, :] for head in range(heads)], axis=-3)


def _of_heads(bias: Array, logits: Array) -> Array:
    """Return a bias (..., heads, n, m), or refuse it for logits of another number of heads."""
    heads = bias.shape[-3]
    own = logits.shape[-3] if logits.ndim > 2 else heads
    if not serves(heads, own) and not serves(own, heads):
        raise EncodingError(
            f"The logits have shape {tuple(logits.shape)}, but this encoding has biases for "
            f"{heads} heads; pass q and k of shape (..., {heads}, positions, dimension)."
        )
    return bias


def with_vectors(
    encoding: Encoding,
    x: Array,
    coordinates: Coordinates,
    numbers: Numbers,
    *,
    name: str,
    xp: Namespace,
) -> Array:
    """Return queries or keys with the vectors of an encoding added."""
    vectors = encoding.vectors_at(coordinates, numbers, xp=xp)
    check_dimension(x, name, vectors.shape[-1], does="adds")
    return x + xp.astype(vectors, x.dtype)


def scale_logits(logits: Array, scale: float) -> Array:
    """Return logits times a scale; times 1 they are the same, not a copy."""
    return logits if isinstance(scale, float) and scale == 1.0 else logits * scale


def read_tokens(tokens: Array | None, k: Array, *, xp: Namespace) -> Array:
    """Return what a rule reads of each token, with an axis of heads: the keys where not given."""
    if tokens is None:
        return k
    if namespace_of(tokens) is not xp:
        raise EncodingError("tokens come from another library than k; pass both from one.")
    beside = tokens[..., None, :, :] if tokens.ndim == k.ndim - 1 and k.ndim > 2 else tokens
    if beside.ndim != k.ndim or beside.shape[-2] != k.shape[-2]:
        raise EncodingError(
            f"tokens has shape {tuple(tokens.shape)} and k {tuple(k.shape)}; pass one vector for "
            "each key, (..., m, width), without the axis of heads."
        )
    return beside


def wide(*arrays: Array, xp: Namespace) -> list[Array]:
    """Return arrays in float32 or better."""
    return [xp.astype(x, xp.result_type(x.dtype, xp.float32)) for x in arrays]


def refuse_tokens(encoding: Encoding, tokens: Array | None) -> None:
    """Refuse tokens that no rule would read."""
    if tokens is not None and not encoding.reads_tokens:
        raise EncodingError(
            f"tokens is given, and the encoding {encoding.name!r} reads no tokens; leave it out."
        )


def check_order(encoding: Encoding, q: Array, k: Array) -> None:
    """Refuse more queries than keys where queries are the last of the keys."""
    if encoding.in_order and q.ndim > 1 and q.shape[-2] > k.shape[-2]:
        raise EncodingError(
            f"q has {q.shape[-2]} vectors and k {k.shape[-2]}, and under {encoding.name!r} queries "
            "are the last of the keys; pass the keys of all tokens up to the last query."
        )
