"""Which keys a rule reads in which order, and its logits put back as the keys were given.

A rule that reads tokens in order takes the n queries for the last n of the keys. Keys may come
otherwise: shuffled, written round and round, or in a buffer with padding at its right, at its left
or within. So they are put in order first:

* queries that stand where the last n keys stand leave the order as it is, where positions rise, or
  where one occurs twice: then documents are packed, and each begins anew;
* else queries and keys are sorted by their positions, and keys after every query are no tokens yet;
* keys of other segments than those of all queries are no tokens either;
* without segments, keys that a mask hides from every query are no tokens where they have the
  position of another key, or where it makes no difference: before the first key that is seen, and
  after the last. Between them a hidden key may be padding, or a token out of sight of these queries
  (a window with a sink, a sparse mask), and only a token tells in what is summed along the path:
  that is refused. Segments say which keys are tokens; beside them a mask says what is seen.

Keys that are no tokens go to the front, as zeros, where no path leads: between a key and its query
lie tokens alone, as in a trimmed buffer. The logits are then put back. Sorting is by the array
standard [array-api], without looking at values, so it compiles; where queries are found nowhere
among the keys, they are refused, or NaN in compiled code.

Short convolutions over tokens stop where a document begins, too:

    y_l = sum_(s=0..K-1) t_(K-1-s) x_(l-s)

for the taps t of each channel, the last of them that of the token itself, as convolutions are laid
out in the code of those who use them [yang2025path, movahedi2026]. A tap reaches back only while
positions rise from token to token: where they do not, another document begins, and what lies before
is not read. So packed and padded documents give what each gives alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import array_api_compat
import numpy as np

from gnomon.encodings.scoring import ContentCall, later_in_order
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import along, concrete_or_none, lags_between
from gnomon.numeric.limbs import Limbs, whole_difference

if TYPE_CHECKING:
    from gnomon.encodings.base import Numbers
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


class Arrangement(NamedTuple):
    """Orders of queries and keys, which keys are no tokens, in that order, and if queries fit."""

    rows: Array
    """The order (..., n) of queries."""
    order: Array
    """The order (..., m) of keys."""
    absent: Array
    """May not be attended to."""
    empty: Array
    """Is read as zeros: absent, or hidden from every query."""
    fits: Array
    """(..., 1): whether the queries are the last of the tokens."""


def plainly(at_q: Coordinates, at_k: Coordinates) -> bool:
    """Whether queries are seen to be the last of keys that need not be sorted."""
    keys = concrete_or_none(at_k)
    queries = keys if at_q is at_k else concrete_or_none(at_q)
    if queries is None or keys is None:
        return False
    keys, queries = keys[..., 0], queries[..., 0]
    if not np.all(queries == keys[..., keys.shape[-1] - queries.shape[-1] :]):
        return False
    falls = (np.diff(keys, axis=-1) <= 0).any(axis=-1)
    return not falls.any() or bool((~falls | (np.diff(np.sort(keys)) == 0).any(axis=-1)).all())


def arrange(
    at_q: Coordinates,
    at_k: Coordinates,
    hidden: Array | None,
    *,
    counted: bool = False,
    packed: bool = False,
    neighbours: bool = False,
    xp: Namespace,
) -> Arrangement:
    """Return the order in which queries at (..., n, 1) are the last of the keys at (..., m, 1).

    `hidden` (..., m) says which keys are of no query's segment or, where none are given, which no
    query may see; `neighbours` that tokens before the first key that is seen tell, too. Positions
    that were counted say nothing about a buffer whose last keys are hidden, so that is refused.
    Keys that are known to be packed stay as they are where sorting them would not make the queries
    the last ones.
    """
    lags = lags_between(at_q, at_k, xp=xp)[..., 0]
    later, asked = xp.all(lags < 0, axis=-2), xp.any(lags == 0, axis=-2)
    hidden = xp.zeros_like(later) if hidden is None else hidden
    later, hidden = later | (hidden & ~hidden), hidden | (later & ~later)  # with all axes of both
    n, m = at_q.shape[-2], at_k.shape[-2]
    index = xp.arange(m, device=_device(later, xp=xp)) + xp.zeros_like(later, dtype=xp.int32)
    of_q, of_k = _parts(at_q), _parts(at_k)
    ordered = _sort(of_k, index, xp=xp)
    distinct = _all(_rises(_coordinates(of_k, ordered, xp=xp), xp=xp)[..., 1:], xp=xp)
    rises = _all(_rises(at_k, xp=xp)[..., 1:], xp=xp)
    aligned = _all(_same(of_q, [part[..., m - n :] for part in of_k]), xp=xp)
    given = _made(of_q, of_k, index, hidden & (index < m - n), hidden, sort=False, xp=xp)
    moved = _made(of_q, of_k, ordered, later | (hidden & ~asked), hidden, sort=True, xp=xp)
    if not packed:
        own = (hidden & ~later, asked if neighbours else asked | ~asked)
        given, moved = (
            each._replace(fits=each.fits & ~_unclear(of_k, by, *own, xp=xp))
            for each, by in ((given, index), (moved, ordered))
        )
    keep = rises | ~distinct
    keep = aligned & (keep | ~moved.fits if packed else keep)
    rows, order = (xp.where(keep, a, b) for a, b in zip(given[:2], moved[:2], strict=True))
    # ONNX Runtime chooses no booleans by others
    absent, empty, fits = (
        (keep & a) | (~keep & b) for a, b in zip(given[2:], moved[2:], strict=True)
    )
    if counted and n < m:
        fits = fits & ~hidden[..., m - 1 :]
    return Arrangement(rows, order, absent, empty, fits)


def _made(
    of_q: list[Array],
    of_k: list[Array],
    order: Array,
    absent: Array,
    hidden: Array,
    *,
    sort: bool,
    xp: Namespace,
) -> Arrangement:
    """Return an order of keys with those that are absent at the front."""
    n, m = of_q[0].shape[-1], order.shape[-1]
    place = xp.arange(m, device=_device(order, xp=xp))
    place = xp.where(along(absent, order, axis=-1, xp=xp), place - m, place)
    order = along(order, _rank(place, stable=False, xp=xp), axis=-1, xp=xp)
    rows = xp.arange(n, device=_device(order, xp=xp)) + xp.zeros_like(order[..., :1])
    rows = _sort(of_q, rows, xp=xp) if sort else rows
    absent, hidden = (along(x, order, axis=-1, xp=xp) for x in (absent, hidden))
    ends = [_along(part, order, xp=xp)[..., m - n :] for part in of_k]
    found = _same([_along(part, rows, xp=xp) for part in of_q], ends) & ~absent[..., m - n :]
    fits = found & ~(hidden & _between(~hidden, xp=xp))[..., m - n :]
    fits = _all(fits, xp=xp)
    if sort:  # of two tokens at one position none is the earlier one
        rises = _rises(_coordinates(of_k, order, xp=xp), xp=xp)
        fits = fits & _all(rises | absent | _first(absent, xp=xp), xp=xp)
    return Arrangement(rows, order, absent, absent | hidden, fits)


def _unclear(
    of_k: list[Array], order: Array, hidden: Array, safe: Array, *, xp: Namespace
) -> Array:
    """Say whether (..., 1) hidden keys lie where it makes a difference if they are tokens.

    That is between keys that are seen and, where it is not safe, before them, too.
    """
    hidden, safe = (along(x, order, axis=-1, xp=xp) for x in (hidden, safe & ~(hidden & ~hidden)))
    same = _same(*([_along(part, order, xp=xp)[..., cut] for part in of_k] for cut in _STEPS))
    none = xp.zeros_like(hidden[..., :1])
    twice = xp.concat([same, none], axis=-1) | xp.concat([none, same], axis=-1)
    count = xp.cumulative_sum(xp.astype(~hidden, xp.int32), axis=-1)
    tells = (count[..., -1:] > count) & ((count > 0) | ~safe)
    return xp.any(hidden & tells & ~twice, axis=-1, keepdims=True)


_STEPS = (slice(1, None), slice(None, -1))
"""Each key but the first, and the one before it."""


def order_of(
    name: str, q: Array, k: Array, at_q: Coordinates, at_k: Coordinates, *, xp: Namespace
) -> Arrangement | None:
    """Return the order of queries and keys without a mask, or None where it is the given one."""
    n, m = (x.shape[-2] if x.ndim > 1 else 1 for x in (q, k))
    placed = at_q.ndim > 1 and at_k.ndim > 1 and at_k.shape[-2] == m
    if not placed or plainly(at_q, at_k):
        return None  # one position for all keys says nothing of their order
    at_q = at_q if at_q.shape[-2] == n else at_q[..., [0] * n, :]
    made = arrange(at_q, at_k, None, xp=xp)
    refuse_unfit(made.fits, name)
    return made


def refuse_unfit(fits: Array, name: str, *, counted: bool = False) -> None:
    """Refuse queries that are not the last of the tokens, where values can be seen."""
    known = concrete_or_none(fits)
    if known is None or known.all():
        return
    if counted:
        raise EncodingError(
            f"A mask hides keys at the end of k, or between others, from every query, and {name!r} "
            "reads tokens in order; pass segments_q and segments_k, which say which keys are "
            "tokens, and positions where the last keys are none."
        )
    raise EncodingError(
        f"The queries do not stand where the last tokens of k do, and {name!r} reads tokens in "
        "order, or a mask hides keys between others; pass the keys of all tokens up to the last "
        "query, each at its own position, and segments_q and segments_k to say which are tokens."
    )


def check_rising(at_k: Coordinates, name: str) -> None:
    """Refuse positions that fall where nothing says that another document begins there."""
    known = concrete_or_none(at_k)
    if known is not None and known.shape[-2] > 1 and (np.diff(known[..., 0], axis=-1) <= 0).any():
        raise EncodingError(
            f"The positions of k do not rise from token to token, and {name!r} reads tokens in "
            "order; pass them in order, or segments_q and segments_k where documents are packed."
        )


def logits_in_order(
    encoding: Any,
    q: Array,
    k: Array,
    tokens: Array,
    at_k: Coordinates,
    numbers: Numbers,
    made: Arrangement | None,
    *,
    scale: float,
    segments: Array | None = None,
    xp: Namespace,
) -> Array:
    """Return the logits (..., n, m) of a rule, -inf on later keys, for keys as they are given.

    Without an arrangement the n queries are the last of the keys. `segments` (..., m), with the
    axes of k before it, say where another document begins.
    """
    own = tokens is k
    if made is not None:
        q = _reorder(q, made.rows, xp=xp)
        k = _clear(k, made, xp=xp)
        tokens = k if own else _clear(tokens, made, xp=xp)
        at_k = _coordinates(_parts(at_k), made.order, xp=xp)
        segments = None if segments is None else _along(segments, made.order, xp=xp)
    if segments is not None and encoding.reads_neighbours:
        at_k = _by_document(at_k, segments, xp=xp)
    first = k.shape[-2] - q.shape[-2]
    at_q = at_k[..., first:, :]
    where = {"queries": at_q, "keys": at_k, "numbers": numbers}
    call = ContentCall(q=q, k=k, tokens=tokens, **where, scale=scale, xp=xp)
    logits = encoding.content_scores(call)
    logits = xp.where(later_in_order(logits, xp=xp), -xp.inf, logits)
    if made is None:
        return logits
    logits = xp.where(made.absent[..., None, :], -xp.inf, logits)
    logits = xp.where(made.fits[..., None], logits, xp.nan)
    back, rows = (_rank(x, stable=False, xp=xp) for x in (made.order, made.rows))
    logits = along(logits, _with_axes(back[..., None, :], logits), axis=-1, xp=xp)
    return along(logits, _with_axes(rows[..., :, None], logits), axis=-2, xp=xp)


def _reorder(x: Array, order: Array, *, xp: Namespace) -> Array:
    """Return vectors (..., m, d) in an order (..., m)."""
    missing = order.ndim + 1 - x.ndim
    x = x if missing <= 0 else x[(None,) * missing + (...,)]
    return along(x, _with_axes(order[..., None], x), axis=-2, xp=xp)


def _clear(x: Array, made: Arrangement, *, xp: Namespace) -> Array:
    """Return keys or tokens (..., m, d) in order, zeros where there is no token."""
    moved = _reorder(x, made.order, xp=xp)
    return xp.where(made.empty[..., None], xp.zeros_like(moved), moved)


def _with_axes(index: Array, like: Array) -> Array:
    """Return an index with as many axes as an array has."""
    return index[(None,) * (like.ndim - index.ndim) + (...,)]


def _parts(at: Coordinates) -> list[Array]:
    """Return what positions are compared by, the first of them before the rest."""
    parts = (at.whole, at.fraction) if isinstance(at, Limbs) else (at,)
    return [part[..., 0] for part in parts]


def _coordinates(parts: list[Array], order: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates (..., m, 1) of keys in an order, with its axes."""
    moved = [_along(part, order, xp=xp)[..., None] for part in parts]
    return moved[0] if len(moved) == 1 else Limbs(whole=moved[0], fraction=moved[1])


def _all(x: Array, *, xp: Namespace) -> Array:
    return xp.all(x, axis=-1, keepdims=True)


def _same(first: list[Array], second: list[Array]) -> Array:
    found = first[0] == second[0]
    for a, b in zip(first[1:], second[1:], strict=True):
        found = found & (a == b)
    return found


def _sort(parts: list[Array], index: Array, *, xp: Namespace) -> Array:
    """Return the order (..., m) in which positions rise."""
    order = index
    for part in reversed(parts):
        here = _along(part, order, xp=xp)
        order = along(order, _rank(here, stable=len(parts) > 1, xp=xp), axis=-1, xp=xp)
    return order


def _rank(x: Array, *, stable: bool, xp: Namespace) -> Array:
    """Return the order in which values rise; that of equal ones only where it is asked for.

    ONNX knows no stable order of PyTorch.
    """
    return xp.argsort(x, axis=-1, stable=True) if stable else x.argsort(-1)


def _along(values: Array, order: Array, *, xp: Namespace) -> Array:
    """Return values (m,) or (..., m) in an order (..., m)."""
    whole = values + xp.astype(xp.zeros_like(order), values.dtype)
    order = order + xp.astype(xp.zeros_like(whole), order.dtype)
    return along(whole, order, axis=-1, xp=xp)


def _first(absent: Array, *, xp: Namespace) -> Array:
    """Return which key (..., m) is the first token; keys that are absent lie before it."""
    before = xp.concat([xp.ones_like(absent[..., :1]), absent[..., :-1]], axis=-1)
    return before & ~absent


def _between(there: Array, *, xp: Namespace) -> Array:
    """Return which keys (..., m) have one that is there before them, and one after them."""
    count = xp.cumulative_sum(xp.astype(there, xp.int32), axis=-1)
    return (count > 0) & (count[..., -1:] > count)


def _device(x: Array, *, xp: Namespace) -> Any:
    return array_api_compat.device(x) if array_api_compat.is_torch_namespace(xp) else None


def convolve(x: Array, taps: Array, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return channels (..., heads, m, channels) convolved with taps (heads, channels, K)."""
    size = taps.shape[-1]
    held = xp.astype(taps, x.dtype)
    total = x * held[:, None, :, size - 1]
    if size == 1:
        return total
    document = xp.cumulative_sum(xp.astype(~_rises(keys, xp=xp), x.dtype), axis=-1)
    for back in range(1, size):
        moved = _shift(x, back, axis=-2, xp=xp)
        same = (document - _shift(document, back, axis=-1, xp=xp)) == 0
        reach = xp.where(same[..., None], moved, xp.zeros_like(moved))
        total = total + reach * held[:, None, :, size - 1 - back]
    return total


def _by_document(keys: Coordinates, segments: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates (..., m, 1) that fall where another segment (..., m) begins, too.

    They rise by 1 within a document and fall by 1 to the next: all that taps look at.
    """
    same = xp.concat(
        [segments[..., :1] != segments[..., :1], segments[..., 1:] == segments[..., :-1]], axis=-1
    )
    falls = xp.astype(~(_rises(keys, xp=xp) & same), xp.int32)
    places = xp.cumulative_sum(xp.ones_like(falls) - 2 * falls, axis=-1)[..., None]
    if isinstance(keys, Limbs):
        places = xp.astype(places, xp.int32)
        return Limbs(whole=places, fraction=xp.zeros_like(places, dtype=xp.float32))
    return xp.astype(places, keys.dtype)


def _rises(keys: Coordinates, *, xp: Namespace) -> Array:
    """Return where (..., m) the position is above that of the token before; never at the first."""
    if isinstance(keys, Limbs):
        whole = whole_difference(keys.whole[..., 1:, 0], keys.whole[..., :-1, 0], xp=xp)
        steps = whole + (keys.fraction[..., 1:, 0] - keys.fraction[..., :-1, 0])
        first = xp.zeros_like(keys.fraction[..., :1, 0])
    else:
        steps = keys[..., 1:, 0] - keys[..., :-1, 0]
        first = xp.zeros_like(keys[..., :1, 0])
    return xp.concat([first, steps], axis=-1) > 0


def _shift(x: Array, back: int, *, axis: int, xp: Namespace) -> Array:
    """Return x moved on by `back` tokens along axis -1 or -2, with 0 in front."""
    count = x.shape[axis]
    none = xp.zeros_like(x)
    if back >= count:
        return none
    joined = xp.concat([none, x], axis=axis)
    first = count - back
    if axis == -1:
        return joined[..., first : first + count]
    return joined[..., first : first + count, :]
