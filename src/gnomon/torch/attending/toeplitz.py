"""Biases of the lag in one call: a strided view of their profile, or the profile written out.

The view (`gnomon.torch.attending.profile`) needs the keys turned around, O(m d) per sequence and
head; a bias that is written out needs O(n m) per head. For short sequences in large batches the
second is less.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.kernel import attend
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import whole_mask
from gnomon.torch.attending.profile import profile_of, turned_around, written
from gnomon.torch.attending.thresholds import WRITTEN_BYTES
from gnomon.torch.attending.turned import turned_pair


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention with a bias of the lag."""
    q, k, v = turned_pair(asked)
    given: dict[str, Any] = {"scale": asked.scale, "dropout": asked.dropout}
    if asked.masked or writes_out(asked):
        return attend(q, k, v, mask=whole(asked, layout), **given)
    _, _, n, m = asked.sizes
    view = turned_around(profile_of(asked, layout), m, (0, n), m)
    return attend(q, k.flip(-2), v.flip(-2), mask=view, **given)


def whole(asked: Asked, layout: Layout) -> Tensor | None:
    """Return bias and mask of all queries and keys, written out."""
    if asked.whole is not None:
        return asked.whole
    _, _, n, m = asked.sizes
    bias = written(profile_of(asked, layout), m, (0, n), m)
    return whole_mask(asked, layout, (0, n), m, bias) if asked.masked else bias


def writes_out(asked: Asked) -> bool:
    """Whether writing the bias out is less than turning keys and values around."""
    batch, heads, n, m = asked.sizes
    flips = 2 * batch * asked.k.shape[1] * asked.k.shape[-1]
    return heads * n <= flips and heads * n * m * asked.wide.itemsize <= WRITTEN_BYTES
