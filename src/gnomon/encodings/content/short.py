"""Short convolutions over tokens, which stop where a document begins.

    y_l = sum_(s=0..K-1) t_(K-1-s) x_(l-s)

for the taps t of each channel, the last of them that of the token itself, as convolutions are laid
out in the code of those who use them [yang2025path, movahedi2026]. A tap reaches back only while
positions rise from token to token: where they do not, another document begins, and what lies before
is not read. So packed and padded documents give what each gives alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.numeric.limbs import Limbs, whole_difference

if TYPE_CHECKING:
    from gnomon.encodings.arrays import Array, Coordinates, Namespace


def convolved(x: Array, taps: Array, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return channels (..., heads, m, channels) convolved with taps (heads, channels, K)."""
    size = taps.shape[-1]
    held = xp.astype(taps, x.dtype)
    total = x * held[:, None, :, size - 1]
    if size == 1:
        return total
    document = xp.cumulative_sum(xp.astype(~rising(keys, xp=xp), x.dtype), axis=-1)
    for back in range(1, size):
        moved = shifted(x, back, axis=-2, xp=xp)
        same = (document - shifted(document, back, axis=-1, xp=xp)) == 0
        reach = xp.where(same[..., None], moved, xp.zeros_like(moved))
        total = total + reach * held[:, None, :, size - 1 - back]
    return total


def reads_neighbours(encoding: Any) -> bool:
    """Whether what an encoding knows of a token depends on the tokens before it."""
    return bool(encoding.in_order and getattr(encoding, "kernel", 1) > 1)


def by_document(keys: Coordinates, segments: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates (..., m, 1) that fall where another segment (..., m) begins, too.

    They rise by 1 within a document and fall by 1 to the next: all that taps look at.
    """
    same = xp.concat(
        [segments[..., :1] != segments[..., :1], segments[..., 1:] == segments[..., :-1]], axis=-1
    )
    falls = xp.astype(~(rising(keys, xp=xp) & same), xp.int32)
    places = xp.cumulative_sum(xp.ones_like(falls) - 2 * falls, axis=-1)[..., None]
    if isinstance(keys, Limbs):
        places = xp.astype(places, xp.int32)
        return Limbs(whole=places, fraction=xp.zeros_like(places, dtype=xp.float32))
    return xp.astype(places, keys.dtype)


def rising(keys: Coordinates, *, xp: Namespace) -> Array:
    """Return where (..., m) the position is above that of the token before; never at the first."""
    if isinstance(keys, Limbs):
        whole = whole_difference(keys.whole[..., 1:, 0], keys.whole[..., :-1, 0], xp=xp)
        steps = whole + (keys.fraction[..., 1:, 0] - keys.fraction[..., :-1, 0])
        first = xp.zeros_like(keys.fraction[..., :1, 0])
    else:
        steps = keys[..., 1:, 0] - keys[..., :-1, 0]
        first = xp.zeros_like(keys[..., :1, 0])
    return xp.concat([first, steps], axis=-1) > 0


def shifted(x: Array, back: int, *, axis: int, xp: Namespace) -> Array:
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
