"""The border between users' arrays and formulas: floats, numbers, and one library for a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from gnomon.encodings.positions import as_coordinates, has_float64, namespace_of
from gnomon.errors import EncodingError
from gnomon.numeric.limbs import Limbs, Turns, turns_of

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding, Numbers
    from gnomon.encodings.positions import Array, Coordinates, Namespace


def reconciled(first: Array, second: Array) -> Namespace:
    """Return the one library of two arrays; NumPy's and lists follow the other's."""
    spaces = {namespace_of(x) for x in (first, second) if array_api_compat.is_array_api_obj(x)}
    foreign = spaces - {np}
    if len(foreign) > 1 or (foreign and np in spaces):
        names = " and ".join(sorted(type(x).__module__.split(".")[0] for x in (first, second)))
        raise EncodingError(
            f"The two arrays of one call come from {names}; pass both from one library."
        )
    return (foreign or {np}).pop()


def float_array(x: Array, name: str, *, xp: Namespace) -> Array:
    """Return x as an array of real numbers; a list becomes float64 of NumPy."""
    x = x if array_api_compat.is_array_api_obj(x) else xp.asarray(x, dtype=xp.float64)
    if not xp.isdtype(x.dtype, "real floating"):
        raise EncodingError(f"{name} holds {x.dtype}; pass real numbers (floats).")
    return x


def numbers_in(encoding: Encoding, like: Array, *, xp: Namespace) -> dict[str, Any]:
    """Return the numbers of an encoding in the library and on the device of an array."""
    known = array_api_compat.is_array_api_obj(like)
    device = array_api_compat.device(like) if known and xp is not np else None
    return {
        name: constant(name, values, device, xp=xp) for name, values in encoding.numbers.items()
    }


def constant(name: str, values: Any, device: Any, *, xp: Namespace) -> Any:
    """Return one number of a formula: float64 where there is, else float32, frequencies in turns.

    Numbers that count, such as rows, keep their integers.
    """
    if xp is np:
        return values
    wide = has_float64(xp, device)
    if values.dtype.kind in "iu":
        kept = values.astype(np.int64 if wide else np.int32)
        return xp.asarray(kept, device=device)
    if wide:  # a copy: PyTorch would share the definition's own memory
        return xp.asarray(values.copy(), device=device)
    narrow = xp.asarray(values.astype(np.float32), device=device)
    if name != "frequencies":
        return narrow
    digits = tuple(xp.asarray(digit, device=device) for digit in turns_of(values))
    return Turns(radians=narrow, digits=digits)


def lags_between(queries: Coordinates, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return i - j for coordinates (..., n, axes) and (..., m, axes): (..., n, m, axes).

    Limbs are subtracted as whole numbers first, so that a small lag between large positions is
    exact without float64, too.
    """
    if not isinstance(queries, Limbs):
        return queries[..., :, None, :] - keys[..., None, :, :]
    whole = queries.whole[..., :, None, :] - keys.whole[..., None, :, :]
    fraction = queries.fraction[..., :, None, :] - keys.fraction[..., None, :, :]
    return xp.astype(whole, xp.float32) + fraction


def masked_scores(
    encoding: Encoding,
    logits: Array,
    positions_q: Array,
    positions_k: Array,
    *,
    numbers: Numbers | None = None,
    xp: Namespace,
) -> Array:
    """Add the bias of an encoding to logits, and mask keys after their query where it must."""
    queries = as_coordinates(positions_q, encoding.axes, like=logits)
    keys = as_coordinates(positions_k, encoding.axes, like=logits)
    if "bias" in encoding.kinds:
        held = numbers_in(encoding, logits, xp=xp) if numbers is None else numbers
        bias = encoding.bias_between(queries, keys, held, xp=xp)
        logits = logits + xp.astype(_of_heads(bias, logits), logits.dtype)
    if not encoding.card.causal_only:
        return logits
    later = lags_between(queries, keys, xp=xp)[..., 0] < 0
    later = later if later.ndim in (2, logits.ndim) else later[..., None, :, :]
    return xp.where(later, -xp.inf, logits)


def _of_heads(bias: Array, logits: Array) -> Array:
    """Return a bias (..., heads, n, m), or refuse it for logits of another number of heads."""
    heads = bias.shape[-3]
    if logits.ndim > 2 and 1 not in (heads, logits.shape[-3]) and heads != logits.shape[-3]:
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
    if x.shape[-1] != vectors.shape[-1]:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding adds vectors of dimension "
            f"{vectors.shape[-1]}; pass an array of shape (..., positions, {vectors.shape[-1]})."
        )
    return x + xp.astype(vectors, x.dtype)
