"""FlexAttention: the bias of a lag looked up inside of the kernel, masks as blocks.

    score_mod(s, b, h, i, j) = s + profile[h, i - j + m - 1]  (+ float mask)

For CUDA, where the compiler fuses the look-up into the kernel. On a processor PyTorch 2.13 has no
backward for it, and it is slower than the other routes there, so it is never chosen; asked for by
name it gives the same values. Source: the technique of [dong2024].
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.kernel import padded
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import added, may_attend
from gnomon.torch.attending.profile import profile_of
from gnomon.torch.attending.tiles import has_profile
from gnomon.torch.attending.turned import turned_pair


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention by FlexAttention."""
    q, k, v = turned_pair(asked)
    wanted = v.shape[-1]
    width = max(wanted, q.shape[-1])
    out = _kernel(q.device.type)(
        padded(q, width),
        padded(k, width),
        padded(v, width),
        score_mod=_score_mod(asked, layout),
        block_mask=_block_mask(asked, layout),
        scale=asked.scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return out[..., :wanted]


def _score_mod(asked: Asked, layout: Layout) -> Any:
    """Return the function that adds the bias and a mask of floats to one logit, or None."""
    _, heads, n, m = asked.sizes
    profile = profile_of(asked, layout) if has_profile(asked, layout) else None
    extra = added(asked, (0, n), m)
    if profile is not None:
        profile = profile.expand(heads, -1)
    if extra is not None:
        extra = extra.expand(asked.q.shape[0], heads, n, m)
    if profile is None and extra is None:
        return None

    def changed(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = score if profile is None else score + profile[h, i - j + (m - 1)]
        return score if extra is None else score + extra[b, h, i, j]

    return changed


def _block_mask(asked: Asked, layout: Layout) -> Any:
    """Return which keys may be seen, in blocks, or None."""
    from torch.nn.attention.flex_attention import create_block_mask

    batch, heads, n, m = asked.sizes
    if not asked.causal and not asked.masked:
        return None
    device = asked.q.device
    if layout.ahead is not None and not asked.masked:
        ahead = layout.ahead

        def triangle(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            del b, h
            return j <= i + ahead

        return create_block_mask(triangle, None, None, n, m, device=device)
    keep = may_attend(asked, layout, (0, n), m)
    if keep is None:
        return None
    whole = keep.expand(batch, heads, n, m)
    return create_block_mask(
        lambda b, h, i, j: whole[b, h, i, j], batch, heads, n, m, device=device
    )


def _kernel(device: str) -> Any:
    """Return the function: fused on CUDA, plain elsewhere."""
    if device == "cuda":
        return _fused()

    def plain(*vectors: Tensor, **given: Any) -> Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        with warnings.catch_warnings():  # it says that it is not compiled: here that is meant
            warnings.simplefilter("ignore", UserWarning)
            out: Tensor = flex_attention(*vectors, **given)
        return out

    return plain


@functools.cache
def _fused() -> Any:
    """Return the compiled kernel; PyTorch keeps a version of it for each kind of call."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)
