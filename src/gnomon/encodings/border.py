"""The border between users' arrays and formulas: floats, numbers, and one library for a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from gnomon.encodings.positions import has_float64, namespace_of
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import between, device_beside, traced
from gnomon.numeric.checks import refuse_complex, refuse_masked
from gnomon.numeric.limbs import Limbs, Turns, turns_of

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.positions import Array, Coordinates, Namespace


def reconciled(first: Array, second: Array) -> Namespace:
    """Return the one library of two arrays; a list, or positions in limbs, follow the other."""
    spaces = {namespace_of(x) for x in (first, second) if array_api_compat.is_array_api_obj(x)}
    foreign = spaces - {np}
    if len(foreign) > 1 or (foreign and np in spaces):
        names = " and ".join(sorted(type(x).__module__.split(".")[0] for x in (first, second)))
        raise EncodingError(
            f"The two arrays of one call come from {names}; pass both from one library."
        )
    return (foreign or {np}).pop()


def partner_of(first: Array, second: Array) -> Array:
    """Return the array, of two positions, whose library and device decide for both."""
    first, second = (x.whole if isinstance(x, Limbs) else x for x in (first, second))
    reconciled(first, second)
    return first if array_api_compat.is_array_api_obj(first) else second


def float_array(x: Array, name: str, *, xp: Namespace) -> Array:
    """Return x as an array of real numbers; a list becomes float64 where there is."""
    refuse_masked(x, f"{name} holds", kind=EncodingError)
    if not array_api_compat.is_array_api_obj(x):
        x = xp.asarray(
            refuse_complex(x, f"{name} holds", kind=EncodingError),
            dtype=xp.float64 if has_float64(xp) else xp.float32,
        )
    if not xp.isdtype(x.dtype, "real floating") or x.dtype.itemsize < 2:  # float8 has no products
        raise EncodingError(
            f"{name} holds {x.dtype}; pass real numbers (floats) of 16, 32 or 64 bits."
        )
    return x


def key_positions(q: Array, k: Array, positions_q: Array, positions_k: Array | None) -> Array:
    """Return where keys stand: where they are said to, or where as many queries do."""
    if positions_k is not None:
        return positions_k
    if q.ndim > 1 and k.ndim > 1 and q.shape[-2] != k.shape[-2]:
        raise EncodingError(
            f"q has {q.shape[-2]} vectors and k {k.shape[-2]}, so they do not stand at the same "
            "positions; pass positions_k, too."
        )
    return positions_q


def numbers_in(encoding: Encoding, like: Array, *, xp: Namespace) -> dict[str, Any]:
    """Return the numbers of an encoding in the library and on the device of an array."""
    known = array_api_compat.is_array_api_obj(like)
    device = device_beside(like, xp=xp) if known else None
    return {
        name: constant(name, values, device, xp=xp) for name, values in encoding.numbers.items()
    }


def constant(name: str, values: Any, device: Any, *, xp: Namespace) -> Any:
    """Return one number of a formula: float64 where there is, else float32, frequencies in turns.

    Numbers that count, such as rows, keep their integers.
    """
    if xp is np:
        return values
    made = stored(name, values, wide=has_float64(xp, device))
    if not isinstance(made, Turns):
        return xp.asarray(made, device=device)
    digits = tuple(xp.asarray(digit, device=device) for digit in made.digits)
    return Turns(radians=xp.asarray(made.radians, device=device), digits=digits)


def stored(name: str, values: Any, *, wide: bool) -> Any:
    """Return one number of a formula in NumPy, in the types that a library will hold it in.

    It is a copy: PyTorch would share the definition's own memory.
    """
    if values.dtype.kind in "iu":
        return values.astype(np.int64 if wide else np.int32)
    if wide:
        return values.copy()
    narrow = values.astype(np.float32)
    return narrow if name != "frequencies" else Turns(radians=narrow, digits=turns_of(values))


def check_lists(queries: Coordinates, keys: Coordinates) -> None:
    """Refuse a single position where a bias needs lists of them."""
    if queries.ndim < 2 or keys.ndim < 2:
        raise EncodingError(
            "A bias is between lists of positions, and a single position was given; pass positions "
            "of shape (n,), such as [3]."
        )


def lags_between(queries: Coordinates, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return i - j for coordinates (..., n, axes) and (..., m, axes): (..., n, m, axes)."""
    check_lists(queries, keys)
    return between(queries, keys, xp=xp)


def along(x: Array, index: Array, *, axis: int, xp: Namespace) -> Array:
    """Return x at an index along axis -1 or -2; other axes of both, as many, may be one for all.

    PyTorch's own function fixes the sizes of a graph whose length is left open, but not those of a
    trace (`torch.jit.trace`), where sizes are tensors that nothing here may be decided by.
    """
    if not array_api_compat.is_torch_namespace(xp):
        return xp.take_along_axis(x, index, axis=axis)
    if traced():
        return x.take_along_dim(index, dim=axis)
    pairs = list(zip(x.shape, index.shape, strict=True))
    own, size = list(x.shape), list(index.shape)
    for i, (a, b) in enumerate(pairs):
        if i == len(pairs) + axis:
            continue
        if isinstance(a, int) and a == 1:
            own[i] = b
        elif isinstance(b, int) and b == 1:
            size[i] = a
    return x.expand(own).gather(axis, index.expand(size))


def within(x: Array, low: float, high: float, *, xp: Namespace) -> Array:
    """Return x, no smaller than low and no larger than high.

    The standard's clip fixes sizes in a PyTorch graph whose length is left open; clamp does not.
    """
    return x.clamp(low, high) if array_api_compat.is_torch_namespace(xp) else xp.clip(x, low, high)


def moved_axis(x: Array, axis: int, to: int, *, xp: Namespace) -> Array:
    """Return x with one axis moved to another place, and the order of all others kept.

    The standard has moveaxis as well, for which `torch.func.vmap` has no rule.
    """
    order = list(range(x.ndim))
    order.insert(to % x.ndim, order.pop(axis % x.ndim))
    return xp.permute_dims(x, tuple(order))
