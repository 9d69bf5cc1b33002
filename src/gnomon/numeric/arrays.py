"""What the array standard lacks: values that may be looked at, devices, sums by row, differences.

*Values.* A compiler traces formulas without any. What only a value can tell (a position out of
range, a factor that leaves its type) is checked where it can be seen, and left to the result where
it can not.

*Devices* on which a formula makes constants beside an array. PyTorch must be told, for it joins no
arrays of two devices. JAX must not: it puts a constant where it is needed, and an array made on a
device that was named is committed to it, as is all that is computed with it, so that it can not go
to another device any more [array-api].

*Sums by row*, sums[..., r] = sum over j with rows[..., j] = r of values[..., j]. The array standard
has no addition at repeated places [array-api]; libraries have, and gradients flow through theirs.

*Differences of positions* are exact for small ones between large ones, without float64, too: limbs
are subtracted as whole numbers first (`gnomon.numeric.limbs`).
"""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.limbs import Limbs, whole_difference

Array = Any

Namespace = Any

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
    lost. Limbs have exact products anyway. None: they are near, or can not be seen.
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
