r"""Queries and keys of a model's own attention, layer by layer: the logits of real text.

Layers of attention ask transformers' registry for their function [wolf2020]. While text is read,
that function is one that keeps queries and keys and then calls the one the model had, so outputs
are the model's own, bit for bit. What is kept has seen the model's positions: rotary models turn
queries and keys before, tables of positions were added to the embeddings. `unturned` turns back,
q = R_i^-1 q~, for rotary encodings, so that content can be coupled with another encoding.

Kept are whole matrices of one text after the other: O(layers heads n d) numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

from gnomon.encodings.base import Encoding
from gnomon.errors import SpectrumError
from gnomon.hf.finding import attention_modules
from gnomon.results import Result
from gnomon.spectra.share import ToeplitzShare, toeplitz_share

Floats = NDArray[np.float64]
IMPLEMENTATION = "gnomon-collecting"


@dataclass(frozen=True, kw_only=True, eq=False)
class Heads(Result):
    """Queries and keys of one layer, (batch, heads, n, d), as its attention meets them."""

    layer: int
    q: Floats
    k: Floats
    scale: float
    causal: bool

    def logits(self) -> Floats:
        """Return scale q.k (batch, heads, n, n), before any mask."""
        return np.asarray(self.scale * (self.q @ np.swapaxes(self.k, -1, -2)))

    def share(self) -> ToeplitzShare:
        """Return the Toeplitz share of every text and head, of keys that the mask leaves."""
        return toeplitz_share(self.logits(), causal=self.causal)

    def unturned(self, encoding: Encoding, positions: Any = None) -> tuple[Floats, Floats]:
        """Return queries and keys as they were before a rotary encoding turned them."""
        at = np.arange(self.q.shape[-2]) if positions is None else np.asarray(positions)
        if encoding.kinds != ("transform",) or encoding.card.causal_only:
            raise SpectrumError(
                f"The encoding {encoding.name!r} does not turn queries and keys, so they can not "
                "be turned back; pass the rotary encoding of the model."
            )
        back = encoding.transform(self.q, self.k, -at)
        return np.asarray(back[0]), np.asarray(back[1])


def collect(model: Any, input_ids: Any, **inputs: Any) -> tuple[Heads, ...]:
    """Return queries and keys of every layer that attends to its own tokens, in their order.

    `input_ids` (batch, n) hold no padding: lags of a padded text are not those of its tokens.
    """
    tokens = torch.as_tensor(input_ids)
    tokens = tokens[None] if tokens.ndim == 1 else tokens
    _check(model, inputs)
    kept: list[tuple[Any, Tensor, Tensor, float | None]] = []
    with torch.no_grad(), _kept(model, kept):
        model(input_ids=tokens.to(next(model.parameters()).device), use_cache=False, **inputs)
    found = [one for one in kept if one[1].shape[-2] == one[2].shape[-2] == tokens.shape[-1]]
    if not found:
        raise SpectrumError(
            f"No layer of {type(model).__name__} asked transformers for its attention while this "
            "text was read; take a model whose attention can be chosen (attn_implementation)."
        )
    return tuple(_heads(place, *one) for place, one in enumerate(found))


def _heads(place: int, module: Any, q: Tensor, k: Tensor, scaling: float | None) -> Heads:
    groups = q.shape[1] // k.shape[1]  # heads that share a key
    return Heads(
        layer=place,
        q=q.double().cpu().numpy(),
        k=k.repeat_interleave(groups, dim=1).double().cpu().numpy(),
        scale=float(q.shape[-1] ** -0.5 if scaling is None else scaling),
        causal=bool(module.is_causal),
    )


@contextmanager
def _kept(model: Any, kept: list[Any]) -> Iterator[None]:
    """Let the model's attention pass through a function that keeps what it is given."""
    before = model.config._attn_implementation  # noqa: SLF001 - it has no public name

    def forward(module: Any, query: Tensor, key: Tensor, *rest: Any, **more: Any) -> Any:
        kept.append((module, query.detach(), key.detach(), more.get("scaling")))
        return _own(module, before)(module, query, key, *rest, **more)

    AttentionInterface.register(IMPLEMENTATION, forward)
    AttentionMaskInterface.register(IMPLEMENTATION, ALL_MASK_ATTENTION_FUNCTIONS[before])
    try:
        model.set_attn_implementation(IMPLEMENTATION)
        yield
    finally:
        model.set_attn_implementation(before)


def _own(module: Any, implementation: str) -> Any:
    """Return the function that a layer had: one of the registry, or the eager one of its file."""
    if implementation in ALL_ATTENTION_FUNCTIONS:
        return ALL_ATTENTION_FUNCTIONS[implementation]
    return sys.modules[type(module).__module__].eager_attention_forward


def _check(model: Any, inputs: dict[str, Any]) -> None:
    if not hasattr(model, "config") or not attention_modules(model):
        raise SpectrumError(
            f"A {type(model).__name__} has no layers of attention that could be asked; pass a "
            "model of transformers."
        )
    mask = inputs.get("attention_mask")
    if mask is not None and not bool(torch.as_tensor(mask).all()):
        raise SpectrumError(
            "The attention_mask hides some tokens, and lags of a padded text are not those of its "
            "tokens; pass texts of one length, without padding."
        )
