"""What the array standard lacks, and arrays at the border of formulas.

*Values.* A compiler traces formulas without any. What only a value can tell (a position out of
range, a factor that leaves its type) is checked where it can be seen, and left to the result where
it cannot.

*Devices* on which a formula makes constants beside an array. PyTorch must be told, for it joins no
arrays of two devices. JAX must not: it puts a constant where it is needed, and an array made on a
device that was named is committed to it, as is all that is computed with it, so that it cannot go
to another device any more [array-api].

*Sums by row*, sums[..., r] = sum over j with rows[..., j] = r of values[..., j]. The array standard
has no addition at repeated places [array-api]; libraries have, and gradients flow through theirs.

*Differences of positions* are exact for small ones between large ones, without float64, too: limbs
are subtracted as whole numbers first (`gnomon.numeric.limbs`).

*At the border* any array or list comes in, and floats, coordinates and numbers of one library
go on.

A position has one or several *axes*. With one axis positions have shape (...,); with several, the
last axis of the array runs over them: (..., axes). Formulas see coordinates of shape (..., axes),
in float64 where the library and the device have it, else in two limbs (`gnomon.numeric.limbs`);
they never resolve a namespace themselves [array-api].

Positions and vectors meet by their number of axes, never by a guess from sizes: against vectors x
of shape (..., heads, n, d), positions of shape (n,) serve all; with one axis less than x, (..., n)
has a place for each; with two less, (..., n) leaves the heads out and serves every head.

Rows of a table stand at whole positions: (c_1, ..., c_k) on axes of sizes (n_1, ..., n_k) has row
(...(c_1 n_2 + c_2) n_3 + ...) + c_k. Where positions can be seen, the encodings themselves refuse
those without a row, in words. Where they cannot, in code that is being compiled, such a position
gives a vector of NaN: a plain gather would count a negative position from the end, or clamp it, and
nothing would say so.
"""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError
from gnomon.numeric.checks import refuse_complex, refuse_masked, serves
from gnomon.numeric.limbs import Limbs, Turns, limbs_of, split, turns_of, whole_difference

Array = Any
"""An array of any library that keeps the array API standard."""
Namespace = Any
"""The module whose functions act on such arrays."""

FAR = 2.0**20
"""Positions up to which products are left as they are."""


def concrete_or_none(values: Array | Limbs) -> NDArray[np.float64] | None:
    """Return values as NumPy's where they can be looked at, else None."""
    if isinstance(values, Limbs):
        whole, fraction = concrete_or_none(values.whole), concrete_or_none(values.fraction)
        return None if whole is None or fraction is None else whole + fraction
    if isinstance(values, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    if hidden(values):
        return None
    with reading():
        return np.asarray(values, dtype=np.float64)


def hidden(values: Array) -> bool:
    """Whether looking at values would fail, or break a graph that is being recorded."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return True
        return wrapped(values) or bool(values.device.type != "cpu" or values.requires_grad)
    return not hasattr(values, "__array__") or "Tracer" in type(values).__name__


def reading() -> AbstractContextManager[Any]:
    """Return a context in which values that are not hidden can be read, also within `torch.func`.

    There every result is wrapped, and so would be the copy that NumPy asks for.
    """
    torch: Any = sys.modules.get("torch")
    return nullcontext() if torch is None else torch._C._DisableFuncTorch()  # noqa: SLF001


def traced() -> bool:
    """Whether `torch.jit.trace` records, to which sizes are tensors and branches are invisible."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and bool(torch.jit.is_tracing())


def wrapped(values: Any) -> bool:
    """Whether a transform of `torch.func` carries a tensor, so that it has no values of its own."""
    torch: Any = sys.modules["torch"]
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(values))  # noqa: SLF001 - no other way to ask


def device_beside(x: Any, *, xp: Any) -> Any:
    """Return the device on which to make constants beside an array, or None to name none."""
    named = xp is not np and not array_api_compat.is_jax_namespace(xp)
    return array_api_compat.device(x) if named else None


def sums_by_row(values: Array, rows: Array, count: int, *, xp: Namespace) -> Array:
    """Return the sums (..., count) of values (..., m) whose rows, whole numbers below count, agree.

    >>> sums_by_row(np.array([[1.0, 2.0, 4.0]]), np.array([[2, 0, 2]]), 3, xp=np)
    array([[2., 0., 5.]])
    """
    rows = xp.broadcast_to(rows, values.shape)
    if array_api_compat.is_torch_namespace(xp):
        none = values.new_zeros((*values.shape[:-1], count))
        return none.scatter_add(-1, xp.astype(rows, xp.int64), values)
    leading = xp.meshgrid(*(xp.arange(size) for size in values.shape[:-1]), indexing="ij")
    places = (*(index[..., None] for index in leading), rows)
    if array_api_compat.is_jax_namespace(xp):
        return xp.zeros((*values.shape[:-1], count), dtype=values.dtype).at[places].add(values)
    sums = np.zeros((*values.shape[:-1], count), dtype=values.dtype)
    np.add.at(sums, places, values)
    return sums


def since(coordinates: Array | Limbs, reference: float, *, xp: Namespace) -> Array:
    """Return x - r, for coordinates (..., n, axes)."""
    if not isinstance(coordinates, Limbs):
        return coordinates - reference
    whole = math.floor(reference)
    steps = whole_difference(coordinates.whole, whole, xp=xp)
    return steps + (coordinates.fraction - (reference - whole))


def between(queries: Array | Limbs, keys: Array | Limbs, *, xp: Namespace) -> Array:
    """Return i - j for coordinates (..., n, axes) and (..., m, axes): (..., n, m, axes)."""
    if not isinstance(queries, Limbs):
        return queries[..., :, None, :] - keys[..., None, :, :]
    first, second = queries[..., :, None, :], keys[..., None, :, :]
    whole = whole_difference(first.whole, second.whole, xp=xp)
    return whole + (first.fraction - second.fraction)


def centred(queries: Array | Limbs, keys: Array | Limbs) -> tuple[Array, Array] | None:
    """Return coordinates counted from the middle of both, where they are seen to lie far away.

    A product x w errs by an ulp of it: at 1.7e9 seconds and a period of two, 5e-7 radians. What
    depends on lags alone may be counted from anywhere, and from a whole number near both nothing is
    lost. Limbs have exact products anyway. None: they are near, or cannot be seen.
    """
    if isinstance(queries, Limbs) or isinstance(keys, Limbs):
        return None
    known = [concrete_or_none(at) for at in (queries, keys)]
    ends = [float(at.flat[0]) for at in known if at is not None and at.size]
    if len(ends) < 2 or max(map(abs, ends)) <= FAR:  # one look is enough for what is near
        return None
    both = np.concatenate([at.reshape(-1) for at in known if at is not None])
    origin = math.floor(0.5 * (both.min() + both.max()))
    return queries - origin, keys - origin


Coordinates = Any
"""A float64 array (..., axes), or `Limbs` where there is no float64."""
_OF_NUMPY = (np.ndarray, np.generic)  # a tuple, which compilers of PyTorch follow


def namespace_of(value: Array) -> Namespace:
    """Return the namespace of an array; lists and numbers belong to NumPy.

    NumPy keeps the standard by itself; the compatible copy of it would cost a tenth of a second.
    """
    value = value.whole if isinstance(value, Limbs) else value
    if isinstance(value, _OF_NUMPY):
        return np
    if array_api_compat.is_array_api_obj(value):
        return array_api_compat.array_namespace(value)
    return np


def has_float64(xp: Namespace, device: Any = None) -> bool:
    """Say whether a library has float64 on a device: JAX without x64 and Apple's GPU have none."""
    if array_api_compat.is_jax_namespace(xp):
        return bool(xp.zeros(()).dtype == xp.float64)
    return getattr(device, "type", None) != "mps"


def as_coordinates(positions: Array, axes: int, *, like: Array | None = None) -> Coordinates:
    """Return positions as coordinates (..., axes), on the library and device of `like`."""
    partner = positions if like is None else like
    partner = partner.whole if isinstance(partner, Limbs) else partner
    xp = namespace_of(partner)
    if isinstance(positions, Limbs):
        return _given_limbs(positions, axes, partner, xp=xp)
    foreign = not isinstance(positions, _OF_NUMPY) and array_api_compat.is_array_api_obj(positions)
    if foreign and namespace_of(positions) is xp:
        device = array_api_compat.device(partner) if like is not None else None
        return _own_coordinates(positions, axes, device, xp=xp)
    values = _as_numpy(positions)
    _check_visible(values, xp=np)
    if xp is np:
        return with_axes(values.astype(np.float64), axes)
    return foreign_coordinates(with_axes(values, axes), device_beside(partner, xp=xp), xp=xp)


def _own_coordinates(values: Array, axes: int, device: Any, *, xp: Namespace) -> Coordinates:
    """Return coordinates of positions that already belong to the library."""
    if not xp.isdtype(values.dtype, ("integral", "real floating")):
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers or real numbers."
        )
    _check_visible(values, xp=xp)
    if device is not None and array_api_compat.is_torch_namespace(xp):
        values = array_api_compat.to_device(values, device)
    values = with_axes(values, axes)
    if has_float64(xp, array_api_compat.device(values)):
        return xp.astype(values, xp.float64)
    if not hidden(values):
        _check_range(np.asarray(values))
    return limbs_of(values, xp=xp)


def foreign_coordinates(values: Any, device: Any, *, xp: Namespace) -> Coordinates:
    """Return coordinates of another library made of NumPy's, without losing what float64 holds."""
    if has_float64(xp, device):
        return xp.asarray(values.astype(np.float64), device=device)
    _check_range(values)
    whole, fraction = (xp.asarray(part, device=device) for part in split(values))
    return Limbs(whole=whole, fraction=fraction)


def _given_limbs(limbs: Limbs, axes: int, partner: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates that were split before, joined again where the library has float64."""
    if limbs.shape[-1] != axes:
        raise EncodingError(
            f"The positions were split on {limbs.shape[-1]} axes, but this encoding has {axes}; "
            f"split them with axes={axes}."
        )
    known = array_api_compat.is_array_api_obj(partner)
    if known and not has_float64(xp, array_api_compat.device(partner)):
        return limbs
    return xp.astype(limbs.whole, xp.float64) + xp.astype(limbs.fraction, xp.float64)


def _check_range(values: np.ndarray[Any, Any]) -> None:
    """Refuse positions that the whole numbers of limbs do not hold."""
    if values.size and (values.min() < -(2**31) or values.max() >= 2**31):
        farthest = max(values.min(), values.max(), key=abs)
        raise EncodingError(
            f"The positions reach {farthest:g}, and without float64 they must lie within "
            "-2^31 to 2^31 - 1; subtract an origin first."
        )


def with_axes(values: Array, axes: int) -> Array:
    """Return positions with their axes last."""
    if axes == 1:
        return values[..., None]
    if values.ndim == 0 or values.shape[-1] != axes:
        raise EncodingError(
            f"The positions have shape {tuple(values.shape)}, but this encoding has {axes} axes; "
            f"pass positions of shape (..., {axes})."
        )
    return values


def beside_heads(coordinates: Coordinates, x: Array) -> Coordinates:
    """Return coordinates (..., n, axes) that broadcast to vectors x (..., n, d).

    Positions of shape (n,) serve all of x; shape x.shape[:-1] serves each; with the axis of heads
    left out, (..., n) against x (..., heads, n, d), every head is served alike. One position serves
    all vectors.
    """
    missing = x.ndim - coordinates.ndim
    beside = coordinates[..., None, :, :] if missing == 1 and coordinates.ndim > 2 else coordinates
    if beside.ndim in (x.ndim, 1, 2):
        check_serves(beside, x)
        return beside
    raise _unfit(coordinates, x)


def check_serves(beside: Coordinates, x: Array) -> None:
    """Refuse places (..., n, axes) that do not broadcast to vectors x (..., n, d).

    Sizes that a compiler does not know yet are trusted.
    """
    vectors = x.shape[:-1] if x.ndim > 1 else beside.shape[:-1]  # one vector goes everywhere
    places = beside.shape[:-1]
    if len(places) > len(vectors):
        raise _unfit(beside, x)
    for place, vector in zip(places[::-1], vectors[::-1], strict=False):
        known = isinstance(place, int) and isinstance(vector, int)
        if known and not serves(place, vector):
            raise _unfit(beside, x)


def _unfit(coordinates: Coordinates, x: Array) -> EncodingError:
    return EncodingError(
        f"The positions have shape {tuple(coordinates.shape[:-1])} and the vectors "
        f"{tuple(x.shape)}; pass positions of shape (n,), (..., n) with a place for each vector, "
        "or (..., n) without the axis of heads."
    )


def _as_numpy(positions: Array) -> np.ndarray[Any, Any]:
    refuse_masked(positions, "The positions hold", kind=EncodingError)
    try:
        return np.asarray(positions)
    except (ValueError, TypeError, RuntimeError) as error:
        if array_api_compat.is_array_api_obj(positions):
            raise EncodingError(
                f"The positions are a {type(positions).__module__} array that NumPy cannot read "
                f"({error}); pass positions of the library and device of q."
            ) from error
        raise EncodingError(
            "The positions are a ragged list; pass numbers in one array of shape (...,)."
        ) from error


def _check_visible(values: Array, *, xp: Namespace) -> None:
    """Refuse positions that are no places, where values can be seen: not while code is compiled."""
    real = xp.isdtype(values.dtype, "real floating")
    if isinstance(values, np.ndarray):
        seen = values
    elif real and not hidden(values):
        with reading():
            seen = np.asarray(xp.astype(values, xp.float32))
    else:
        return
    check_numbers(seen)
    farthest = float(np.max(np.abs(seen), initial=0.0)) if real else 0.0
    if farthest and farthest > 2.0 / float(xp.finfo(values.dtype).eps):
        raise _unfit_type(farthest, values.dtype, 2.0 / float(xp.finfo(values.dtype).eps))


def check_numbers(values: np.ndarray[Any, Any]) -> None:
    """Refuse positions that are no finite real numbers."""
    if values.dtype.kind not in "iuf":
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers or real numbers."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        raise EncodingError(
            f"The position at index {at} is {values[tuple(at)]}; pass finite positions."
        )


def _unfit_type(farthest: float, dtype: Any, most: float) -> EncodingError:
    """Return the refusal of positions in a type that rounds neighbours of them to one number."""
    return EncodingError(
        f"The positions reach {farthest:.6g} as {dtype}, which tells whole numbers apart up to "
        f"{most:.0f}; pass them as float64 or as whole numbers, or subtract an origin."
    )


def common_namespace(first: Array, second: Array) -> Namespace:
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
    common_namespace(first, second)
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
    if queries.ndim < 2 or keys.ndim < 2:
        check_lists(queries, keys)
    return between(queries, keys, xp=xp)


def check_dimension(x: Array, name: str, dimension: int, *, does: str, axes: int = 1) -> None:
    """Refuse vectors of another dimension than an encoding turns, carries, adds or has.

    Shapes alone are looked at, here and below, so that a compiler that follows finds no NumPy.
    """
    if x.ndim < axes or x.shape[-1] != dimension:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding {does} vectors of dimension "
            f"{dimension}; pass an array of shape (..., positions, {dimension})."
        )


def check_own_heads(
    x: Array, name: str, heads: int | None, *, has: str, one_for_all: bool = False
) -> None:
    """Refuse vectors of another number of heads than there are numbers for; None: one set for all.

    With `one_for_all` vectors of a single head may meet the numbers of every head.
    """
    if heads is None:
        return
    if x.ndim < 3 or not (serves(x.shape[-3], heads) if one_for_all else x.shape[-3] == heads):
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has {has} for {heads} heads; "
            f"pass an array of shape (..., {heads}, positions, {x.shape[-1]})."
        )


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


def seen_whole(coordinates: Coordinates, *, what: str) -> NDArray[np.int64] | None:
    """Return whole coordinates as NumPy's where they can be seen; a fraction is refused."""
    values = concrete_or_none(coordinates)
    if values is None:
        return None
    rounded = np.rint(values)
    if not np.array_equal(values, rounded):
        first = float(values[values != rounded].flat[0])
        raise EncodingError(
            f"Position {first} is not a whole number, and {what} knows whole positions only; round "
            "the positions, or use an encoding with a formula in the position."
        )
    return rounded.astype(np.int64)


def whole_parts(coordinates: Coordinates, *, xp: Namespace) -> tuple[Array, Array]:
    """Return coordinates as integers, and where nothing was left over."""
    if isinstance(coordinates, Limbs):
        return coordinates.whole, coordinates.fraction == 0
    rounded = xp.round(coordinates)
    return xp.astype(rounded, xp.int64), rounded == coordinates


def row_numbers(
    coordinates: Coordinates, shape: tuple[int, ...], *, clamp: bool = False, xp: Namespace
) -> tuple[Array, Array]:
    """Return the row of every position, and whether there is one; others get a row that exists.

    With `clamp`, positions past the end of an axis have its last row.
    """
    whole, fits = whole_parts(coordinates, xp=xp)
    rows, there = 0, xp.all(fits, axis=-1)  # no `True & ...`: torch.jit.trace has no such product
    for axis, size in enumerate(shape):
        here = whole[..., axis]
        there = there & (here >= 0)
        there = there if clamp else there & (here < size)
        rows = rows * size + xp.clip(here, 0, size - 1)
    return rows, there


def take(values: Array, rows: Array, *, xp: Namespace) -> Array:
    """Return the rows (..., dimension) of values for row numbers of any shape."""
    flat = xp.take(values, xp.reshape(rows, (-1,)), axis=0)
    return xp.reshape(flat, (*rows.shape, *values.shape[1:]))


def or_nan(vectors: Array, there: Any, *, xp: Namespace) -> Array:
    """Return vectors (..., dimension) with NaN where there is none."""
    return xp.where(there[..., None], vectors, xp.nan)
