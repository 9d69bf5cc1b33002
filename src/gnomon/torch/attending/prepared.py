"""Attention prepared for many calls at the same positions: every layer of a model, every step.

What depends on positions, masks and fixed numbers alone is made once: the checks, the route, the
profile of a bias, and the bias itself where the route writes it out. A call then costs its products
and little else, which matters where those take a millisecond. Learned numbers are read anew in each
call, so that training goes on. The routes and their memory are those of `attention` [press2021 for
the bias that gains most].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from torch import Tensor

from gnomon.errors import EncodingError
from gnomon.torch.attending import plain, toeplitz
from gnomon.torch.attending.asked import Asked, four_axes
from gnomon.torch.attending.kernel import attend
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.plan import Plan
from gnomon.torch.attending.profile import profile_of
from gnomon.torch.attending.tiles import has_profile


class Prepared:
    """Attention of queries, keys and values of one size, under one encoding, at fixed positions."""

    def __init__(
        self, asked: Asked, layout: Layout, run: Callable[[Asked, Layout], Tensor], plan: Plan
    ) -> None:
        self.plan = plan
        self._asked, self._layout, self._run = _made_ready(asked, layout, plan.route), layout, run
        # One call of the kernel is all: nothing is turned, and bias and mask are there already.
        self._direct = self._asked.whole is not None and plan.route != "tiles"
        self._direct = self._direct and asked.encoding.kinds == ("bias",)
        self._form = tuple(_form(x, asked.leading) for x in (asked.q, asked.k, asked.v))

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return attention of other queries, keys and values of the same size, type and device."""
        leading = self._asked.leading
        for x, name, form in zip((q, k, v), "qkv", self._form, strict=True):
            if (tuple(x.shape), x.dtype, x.device) != form:
                shape, dtype, device = form
                raise EncodingError(
                    f"{name} has shape {tuple(x.shape)} and {x.dtype} on {x.device}, and this "
                    f"attention was prepared for {shape} and {dtype} on {device}; prepare another."
                )
        asked, vectors = self._asked, [four_axes(x, leading) for x in (q, k, v)]
        if self._direct:
            given: dict[str, Any] = {"scale": asked.scale, "dropout": asked.dropout}
            out = attend(*vectors, mask=asked.whole, **given)
        else:
            with_vectors = dict(zip("qkv", vectors, strict=True))
            out = self._run(dataclasses.replace(asked, **with_vectors), self._layout)
        return out if len(leading) == 1 else out.reshape(*leading, *out.shape[-3:])

    def __repr__(self) -> str:
        return f"Prepared({self._asked.encoding.name!r}, route={self.plan.route!r})"


def _form(x: Tensor, leading: tuple[int, ...]) -> tuple[Any, ...]:
    return (*leading, *x.shape[-3:]), x.dtype, x.device


def _made_ready(asked: Asked, layout: Layout, route: str) -> Asked:
    """Return the call with all that no training changes made, and without its vectors."""
    made: dict[str, Any] = {}
    if asked.biased and not asked.encoding.learnable and not asked.empty:
        if has_profile(asked, layout):
            made["profile"] = profile_of(asked, layout)
        if _writes(asked, route):
            made["whole"] = (plain if route == "bias" else toeplitz).whole(asked, layout)
    # Sizes and types without memory: the next call brings vectors of its own.
    sizes = {n: getattr(asked, n).new_empty(()).expand(getattr(asked, n).shape) for n in "qkv"}
    return dataclasses.replace(asked, **sizes, **made)


def _writes(asked: Asked, route: str) -> bool:
    """Whether a route holds bias and mask of all pairs, and nothing of them is learned."""
    if asked.mask is not None and asked.mask.requires_grad:
        return False  # read anew in each call, as learned numbers are
    if route == "tiles":
        return not asked.masked and toeplitz.writes_out(asked)
    return route == "bias" or (route == "toeplitz" and (asked.masked or toeplitz.writes_out(asked)))
