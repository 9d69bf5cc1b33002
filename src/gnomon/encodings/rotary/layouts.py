"""Layouts of a rotated head: which two coordinates make a pair, and the way from one to the other.

Layout *interleaved* pairs (2k, 2k+1), layout *half* pairs (k, k + r/2) of r rotated coordinates.
They differ by a fixed permutation of coordinates, applied alike to queries and keys, so logits do
not change when both are permuted; mixing layouts breaks relativity and nothing says so. Interleaved
is the layout of [su2021] and of GPT-J, half that of GPT-NeoX and of Llama as transformers keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from gnomon.encodings.positions import namespace_of
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import device_beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array

LAYOUTS = ("interleaved", "half")


def half_from_interleaved(rotated: int) -> NDArray[np.int64]:
    """Return the permutation p for which x[..., p] has in layout *half* what x has interleaved.

    >>> half_from_interleaved(4)
    array([0, 2, 1, 3])
    """
    return np.concatenate([np.arange(0, rotated, 2), np.arange(1, rotated, 2)])


def reordering(dimension: int, *, to: str, rotated: int | None = None, first: int = 0) -> Any:
    """Return the permutation of a head's coordinates that brings the other layout into `to`.

    The `rotated` coordinates from `first` on are moved; the rest stays where it is.

    >>> reordering(6, to="interleaved", rotated=4)
    array([0, 2, 1, 3, 4, 5])
    """
    checks.one_of("to", to, LAYOUTS)
    count = dimension - first if rotated is None else rotated
    checks.whole("rotated", count, least=0, multiple_of=2, why="they turn in pairs")
    if first + count > dimension:
        raise EncodingError(
            f"A head of dimension {dimension} has no {count} coordinates from {first} on; "
            "pass rotated and first that fit."
        )
    order = half_from_interleaved(count)
    order = order if to == "half" else np.argsort(order)
    whole = np.arange(dimension)
    whole[first : first + count] = first + order
    return whole


def convert_vectors(x: Array, *, to: str, rotated: int | None = None, first: int = 0) -> Array:
    """Return queries or keys (..., dimension) of the other layout in layout `to`.

    >>> convert_vectors(np.array([10, 11, 20, 21]), to="half")
    array([10, 20, 11, 21])
    """
    x = _array(x, "The vectors")
    xp = namespace_of(x)
    order = reordering(x.shape[-1], to=to, rotated=rotated, first=first)
    return xp.take(x, xp.asarray(order, device=device_beside(x, xp=xp)), axis=-1)


def convert_weights(
    weight: Array, *, heads: int, to: str, rotated: int | None = None, first: int = 0
) -> Array:
    """Return the weight (heads * dimension, ...) or bias of a q or k projection in layout `to`.

    Rows are the outputs of the projection, as in `nn.Linear.weight`. `heads` is the number of heads
    of that projection: the key heads where there are fewer. Where only a part of a head turns
    (partial rotary encoding, MLA), pass `rotated` and `first` of the encoding: all of it is moved
    otherwise.
    """
    checks.whole("heads", heads, least=1)
    weight = _array(weight, "The weight")
    rows = weight.shape[0]
    if rows % heads:
        raise EncodingError(
            f"A weight with {rows} rows has no {heads} heads of equal size; pass the number of "
            "heads of this projection (of the keys, where they have fewer)."
        )
    dimension = rows // heads
    order = reordering(dimension, to=to, rotated=rotated, first=first)
    every = (np.arange(heads)[:, None] * dimension + order).reshape(-1)
    xp = namespace_of(weight)
    return xp.take(weight, xp.asarray(every, device=device_beside(weight, xp=xp)), axis=0)


def _array(x: Array, what: str) -> Array:
    """Return an array as it is, and a list as NumPy's; refuse what has no axis to permute."""
    values = x if array_api_compat.is_array_api_obj(x) else np.asarray(x)
    if values.ndim == 0 or (isinstance(values, np.ndarray) and values.dtype.kind in "OSU"):
        raise EncodingError(
            f"{what} can not be converted: this is {type(x).__name__}; pass an array of numbers "
            "with at least one axis, such as the weight of a projection."
        )
    return values
