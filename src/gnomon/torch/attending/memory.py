"""How much memory a route holds beside queries, keys, values and the result, at its peak.

Counted from shapes, for a call without gradients on a processor, where the kernel itself holds
O(d) per thread. With gradients, what every tile or block made is kept until the backward pass.
"""

from __future__ import annotations

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.augmented import LIMBS, rank_of, slopes_of
from gnomon.torch.attending.blocks import block_length
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.plain import is_triangle
from gnomon.torch.attending.thresholds import KEYS, LEAST_BLOCK, MERGED_BLOCK
from gnomon.torch.attending.tiles import has_profile, tile_of
from gnomon.torch.attending.toeplitz import writes_out


def extra_bytes(route: str, asked: Asked, layout: Layout) -> int:
    """Return the bytes that a route holds."""
    return {
        "plain": _plain,
        "bias": _bias,
        "toeplitz": _toeplitz,
        "tiles": _tiles,
        "augmented": _augmented,
        "blocks": _blocks,
        "dense": _dense,
        "flex": _flex,
    }[route](asked, layout)


def _acting(asked: Asked) -> int:
    """Queries and keys once more, where the encoding acts on them."""
    acts = {"vectors", "transform"} & set(asked.encoding.kinds)
    return (asked.q.numel() + asked.k.numel()) * asked.q.itemsize if acts else 0


def _mask(asked: Asked, rows: int, keys: int) -> int:
    """A mask of some rows: booleans, and the floats that the kernel makes of them."""
    if not asked.causal and not asked.masked:
        return 0
    given = asked.mask is not None and asked.mask.shape[0] > 1
    packed = asked.segments_q is not None and asked.segments_q.shape[0] > 1
    batch = asked.q.shape[0] if given or packed else 1
    heads = 1 if asked.mask is None else asked.mask.shape[1]
    return batch * heads * rows * keys * (1 + asked.wide.itemsize)


def _biased(asked: Asked, rows: int, keys: int) -> int:
    """A bias of some rows in its wide type, with masks merged into it."""
    batch = asked.q.shape[0] if asked.masked or asked.at_q.ndim == 4 else 1
    return batch * asked.q.shape[1] * rows * keys * asked.wide.itemsize


def _plain(asked: Asked, layout: Layout) -> int:
    _, _, n, m = asked.sizes
    return _acting(asked) + (0 if is_triangle(asked, layout) else _mask(asked, n, m))


def _bias(asked: Asked, layout: Layout) -> int:
    del layout
    _, heads, n, m = asked.sizes
    float64 = heads * n * m * 8  # what the formula makes before it is rounded
    return _acting(asked) + _biased(asked, n, m) + float64


def _profile(asked: Asked) -> int:
    _, heads, n, m = asked.sizes
    return heads * (n + m - 1) * (8 + asked.wide.itemsize)


def _flips(asked: Asked) -> int:
    return (asked.k.numel() + asked.v.numel()) * asked.q.itemsize


def _toeplitz(asked: Asked, layout: Layout) -> int:
    del layout
    _, _, n, m = asked.sizes
    written = asked.masked or writes_out(asked)
    return _acting(asked) + _profile(asked) + (_biased(asked, n, m) if written else _flips(asked))


def _tiles(asked: Asked, layout: Layout) -> int:
    _, _, n, m = asked.sizes
    rows = min(n, tile_of(n))
    if has_profile(asked, layout) and not asked.masked:
        return _toeplitz(asked, layout)
    if not asked.biased:
        return _acting(asked) + _mask(asked, rows, m)
    return _acting(asked) + _profile(asked) + 2 * _biased(asked, rows, m)


def _augmented(asked: Asked, layout: Layout) -> int:
    batch, heads, n, m = asked.sizes
    rank = LIMBS.get(asked.q.dtype, 1) if slopes_of(asked) is not None else rank_of(asked) or 0
    width = -(-(asked.q.shape[-1] + rank) // 8) * 8
    vectors = batch * heads * (n + 2 * m) * width * asked.q.itemsize
    mask = 0 if is_triangle(asked, layout) else _mask(asked, n, m)
    return _acting(asked) + vectors + mask


def _blocks(asked: Asked, layout: Layout) -> int:
    del layout
    batch, heads, n, m = asked.sizes
    length = block_length(asked)
    rows = min(n, length if length >= LEAST_BLOCK else MERGED_BLOCK)
    vectors = 2 * batch * heads * m * asked.k.shape[-1] * asked.wide.itemsize
    logits = 0 if length >= LEAST_BLOCK else 3 * batch * heads * rows * min(m, KEYS)
    return vectors + _mask(asked, rows, m) + logits * asked.wide.itemsize


def _dense(asked: Asked, layout: Layout) -> int:
    del layout
    batch, heads, n, m = asked.sizes
    return _acting(asked) + 2 * batch * heads * n * m * asked.wide.itemsize


def _flex(asked: Asked, layout: Layout) -> int:
    del layout
    batch, heads, n, m = asked.sizes
    unfused = 2 * batch * heads * n * m * asked.wide.itemsize
    return _acting(asked) + _profile(asked) + (0 if asked.q.device.type == "cuda" else unfused)
