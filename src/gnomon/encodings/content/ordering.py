"""Which keys a rule reads in which order, where a buffer holds more than the text.

A rule that reads tokens in order takes the n queries for the last n of the keys. A buffer of keys
may be longer than the text: padding at its right, at its left or within, or keys written round and
round. So keys are put in order first:

* queries that stand where the last n keys stand leave the order as it is;
* else keys are sorted by their positions, and those after every query are no tokens yet;
* keys that a mask, or segments, hide from every query are no tokens either.

Keys that are no tokens go to the front, as zeros, where no path leads: between a key and its query
lie tokens alone, as in a trimmed buffer. Attention does not depend on the order of its keys
otherwise. Sorting is by the array standard [array-api], without looking at values, so it compiles;
where queries are found nowhere among the keys, they are refused, or NaN in compiled code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import array_api_compat
import numpy as np

from gnomon.encodings.border import lags_between
from gnomon.errors import EncodingError
from gnomon.numeric.limbs import Limbs
from gnomon.numeric.visible import seen

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace


class Arrangement(NamedTuple):
    """An order of keys (..., m), which of them are no tokens, in that order, and if queries fit."""

    order: Array
    absent: Array
    """May not be attended to."""
    empty: Array
    """Is read as zeros: absent, or hidden from every query."""
    fits: Array
    """(..., 1): whether the queries are the last of the tokens."""


def arranged(
    at_q: Coordinates, at_k: Coordinates, hidden: Array | None, *, counted: bool, xp: Namespace
) -> Arrangement:
    """Return the order in which queries at (..., n, 1) are the last of the keys at (..., m, 1).

    `hidden` (..., m) says which keys no query may see. Positions that were counted say nothing
    about a buffer whose last keys are hidden, so that is refused.
    """
    of_q, of_k = _parts(at_q), _parts(at_k)
    n, m = at_q.shape[-2], at_k.shape[-2]
    last = [part[..., m - n :] for part in of_k]
    aligned = xp.all(_same(of_q, last), axis=-1, keepdims=True)
    later = xp.all(lags_between(at_q, at_k, xp=xp)[..., 0] < 0, axis=-2)
    hidden = xp.zeros_like(later) if hidden is None else hidden
    later, hidden = later | (hidden & False), hidden | (later & False)  # with all axes of both
    index = xp.arange(m, device=_device(later, xp=xp)) + xp.astype(later & False, xp.int32)
    own = index >= m - n
    absent = xp.where(aligned, hidden & ~own, hidden | later)
    order = xp.where(aligned, index, _sorted(of_k, index, xp=xp))
    front = xp.astype(~xp.take_along_axis(absent, order, axis=-1), xp.int32)
    order = xp.take_along_axis(order, xp.argsort(front, axis=-1, stable=True), axis=-1)
    absent, empty = (xp.take_along_axis(x, order, axis=-1) for x in (absent, absent | hidden))
    moved = [_along(part, order, xp=xp)[..., m - n :] for part in of_k]
    found = xp.all(_same(of_q, moved) & ~absent[..., m - n :], axis=-1, keepdims=True)
    holes = xp.any(hidden & own & _between(~hidden, xp=xp), axis=-1, keepdims=True)
    if counted and n < m:
        holes = holes | hidden[..., m - 1 :]
    return Arrangement(order, absent, empty, xp.where(aligned, ~holes, found))


def refuse_unfit(fits: Array, name: str, *, counted: bool) -> None:
    """Refuse queries that are not the last of the tokens, where values can be seen."""
    known = seen(fits)
    if known is None or known.all():
        return
    if counted:
        raise EncodingError(
            f"The mask or the segments hide keys at the end of k, or between tokens, and {name!r} "
            "reads tokens in order; pass positions_q and positions_k, or a k without those keys."
        )
    raise EncodingError(
        f"The queries do not stand where the last tokens of k do, and {name!r} reads tokens in "
        "order; pass the keys of all tokens up to the last query, each at its own position, and no "
        "hidden ones among the queries."
    )


def check_rising(at_k: Coordinates, name: str) -> None:
    """Refuse positions that fall where nothing says that another document begins there."""
    known = seen(at_k)
    if known is not None and known.shape[-2] > 1 and (np.diff(known[..., 0], axis=-1) <= 0).any():
        raise EncodingError(
            f"The positions of k do not rise from token to token, and {name!r} reads tokens in "
            "order; pass them in order, or segments_q and segments_k where documents are packed."
        )


def reordered(x: Array, arrangement: Arrangement, *, clear: bool, xp: Namespace) -> Array:
    """Return keys, values or tokens (..., m, d) in order, zeros where there is no token."""
    moved = xp.take_along_axis(x, arrangement.order[..., None], axis=-2)
    if not clear:
        return moved
    return xp.where(arrangement.empty[..., None], xp.zeros_like(moved), moved)


def reordered_coordinates(
    at: Coordinates, arrangement: Arrangement, *, xp: Namespace
) -> Coordinates:
    """Return coordinates (..., m, 1) of keys in order, with the axes of the order."""
    order = arrangement.order
    if isinstance(at, Limbs):
        whole, fraction = (_along(x[..., 0], order, xp=xp) for x in (at.whole, at.fraction))
        return Limbs(whole=whole[..., None], fraction=fraction[..., None])
    return _along(at[..., 0], order, xp=xp)[..., None]


def _parts(at: Coordinates) -> list[Array]:
    """Return what positions are compared by, the first of them before the rest."""
    parts = (at.whole, at.fraction) if isinstance(at, Limbs) else (at,)
    return [part[..., 0] for part in parts]


def _same(first: list[Array], second: list[Array]) -> Array:
    found = first[0] == second[0]
    for a, b in zip(first[1:], second[1:], strict=True):
        found = found & (a == b)
    return found


def _sorted(parts: list[Array], index: Array, *, xp: Namespace) -> Array:
    """Return the order (..., m) in which positions rise, those that are equal as they are."""
    order = index
    for part in reversed(parts):
        here = _along(part, order, xp=xp)
        order = xp.take_along_axis(order, xp.argsort(here, axis=-1, stable=True), axis=-1)
    return order


def _along(values: Array, order: Array, *, xp: Namespace) -> Array:
    """Return values (m,) or (..., m) in an order (..., m)."""
    whole = values + xp.astype(xp.zeros_like(order), values.dtype)
    return xp.take_along_axis(whole, order, axis=-1)


def _between(there: Array, *, xp: Namespace) -> Array:
    """Return which keys (..., m) have one that is there before them, and one after them."""
    count = xp.cumulative_sum(xp.astype(there, xp.int32), axis=-1)
    return (count > 0) & (count[..., -1:] > count)


def _device(x: Array, *, xp: Namespace) -> Any:
    return array_api_compat.device(x) if array_api_compat.is_torch_namespace(xp) else None
