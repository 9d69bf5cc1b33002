r"""Queries and keys of a model's own attention, and the terms of content and position in them.

Layers of attention ask transformers' registry for their function [wolf2020]. While text is read,
that function is one that keeps queries and keys and then calls the one the model had, so outputs
are the model's own, bit for bit. What is kept has seen the model's positions: rotary models turn
queries and keys before, tables of positions were added to the embeddings, and biases such as T5's
are kept beside. The logits are those that the softmax of the model meets,

    cap tanh(scale q.k / cap) + bias         at the keys that its masks leave; without a cap, plain

`unturned` turns back, q = R_i^-1 q~, for rotary encodings, so that content can be coupled with
another encoding. Kept are whole matrices of one text after the other: O(layers heads n d) numbers.

*Four terms of the first layer.* A model with a table of positions adds p_i to the embedding c_i of
its token; one normalisation stands between the sum and the queries and keys of the first layer. It
is linear once the deviation of the sum is known [ba2016]:

    LN(c + p) = [gamma (c - mean c) / sigma + beta] + [gamma (p - mean p) / sigma],   sigma of c + p

Queries are affine in that, so the layer itself is asked for them: with the content part alone, with
the position part alone, and with nothing, which is its constant and counts as content. The four
terms add up to the model's own logits; that is checked, and refused where it is not so.
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
from torch import Tensor, nn
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, AttentionInterface

from gnomon.encodings import Encoding
from gnomon.errors import SpectrumError
from gnomon.hf.attention import seen_in
from gnomon.hf.places import attention_modules, position_tables
from gnomon.results import Result
from gnomon.spectra import Terms, ToeplitzShare, terms_of, toeplitz_share

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
    seen: NDArray[np.bool_]
    """(n, n): keys that the model's masks leave to each query, a sliding window among them."""
    bias: Floats | None = None
    """What the model itself adds to logits, (batch or 1, heads, n, n)."""
    cap: float | None = None
    """What the model caps logits at, before the bias."""

    def logits(self) -> Floats:
        """Return the logits (batch, heads, n, n), before any mask."""
        made = np.asarray(self.scale * (self.q @ np.swapaxes(self.k, -1, -2)))
        if self.cap is not None:
            made = self.cap * np.tanh(made / self.cap)
        return made if self.bias is None else made + self.bias

    def share(self) -> ToeplitzShare:
        """Return the Toeplitz share of every text and head, of keys that the masks leave."""
        return toeplitz_share(self.logits(), causal=self.causal, mask=self.seen)

    def unturned(self, encoding: Encoding, positions: Any = None) -> tuple[Floats, Floats]:
        """Return queries and keys as they were before a rotary encoding turned them."""
        at = np.arange(self.q.shape[-2]) if positions is None else np.asarray(positions)
        if encoding.kinds != ("transform",) or encoding.card.causal_only:
            raise SpectrumError(
                f"The encoding {encoding.name!r} does not turn queries and keys, so they cannot "
                "be turned back; pass the rotary encoding of the model."
            )
        basis = np.eye(self.q.shape[-1])
        # Some scale what they turn: turning back scales once more.
        gains = np.diagonal(encoding.transform(basis, basis, np.zeros(len(basis)))[0])
        q, k = (np.asarray(x) / gains**2 for x in encoding.transform(self.q, self.k, -at))
        there = encoding.transform(q, k, at)
        if not (
            np.allclose(there[0], self.q, atol=1e-6) and np.allclose(there[1], self.k, atol=1e-6)
        ):
            raise SpectrumError(
                f"Turning by {encoding.name!r} cannot be undone by turning back; pass a rotary "
                "encoding whose turns are a group."
            )
        return q, k


def collect(model: Any, input_ids: Any, **inputs: Any) -> tuple[Heads, ...]:
    """Return queries and keys of every layer that attends to its own tokens, in their order.

    `input_ids` (batch, n) hold no padding: lags of a padded text are not those of its tokens.
    """
    tokens = torch.as_tensor(input_ids)
    tokens = tokens[None] if tokens.ndim == 1 else tokens
    _check(model, inputs)
    kept: list[dict[str, Any]] = []
    try:
        with torch.no_grad(), _kept(model, kept):
            model(input_ids=tokens.to(next(model.parameters()).device), use_cache=False, **inputs)
    except IndexError as error:
        raise SpectrumError(
            f"{type(model).__name__} cannot read these {tokens.shape[-1]} tokens ({error}); pass "
            "ids of its vocabulary, no more than it has positions."
        ) from error
    size = tokens.shape[-1]
    found = [one for one in kept if one["q"].shape[-2] == one["k"].shape[-2] == size]
    if not found:
        raise SpectrumError(
            f"No layer of {type(model).__name__} asked transformers for its attention while this "
            "text was read; take a model whose attention can be chosen (attn_implementation)."
        )
    return tuple(_heads(place, **one) for place, one in enumerate(found))


def _heads(
    place: int, *, module: Any, q: Tensor, k: Tensor, mask: Tensor | None, more: dict[str, Any]
) -> Heads:
    groups = q.shape[1] // k.shape[1]  # heads that share a key
    scaling, window = more.get("scaling"), more.get("sliding_window")
    causal, n = bool(module.is_causal), q.shape[-2]
    seen = np.ones((n, n), dtype=bool)
    if mask is None and window:
        seen &= np.subtract.outer(np.arange(n), np.arange(n)) < window
    seen &= True if mask is None else _seen(mask)
    biases = [one for one in (more.get("position_bias"), _mask_bias(mask)) if one is not None]
    return Heads(
        layer=place,
        q=_floats(q),
        k=_floats(k.repeat_interleave(groups, dim=1)),
        scale=float(q.shape[-1] ** -0.5 if scaling is None else scaling),
        causal=causal,
        seen=np.tril(seen) if causal else seen,
        bias=_floats(sum(biases)) if biases else None,
        cap=more.get("softcap"),
    )


def _floats(x: Tensor) -> Floats:
    return np.asarray(x.detach().double().cpu().numpy())


def _seen(mask: Tensor) -> NDArray[np.bool_]:
    """Return what a mask of the model leaves; without padding all texts and heads have the same."""
    return np.asarray(seen_in(mask)[0, 0].cpu().numpy())


def _mask_bias(mask: Tensor | None) -> Tensor | None:
    """Return what a mask of numbers adds at keys that it leaves; None where that is nothing."""
    if mask is None or mask.dtype == torch.bool:
        return None
    left = torch.where(seen_in(mask), mask, 0.0)
    return left if bool(left.any()) else None


@contextmanager
def _kept(model: Any, kept: list[Any]) -> Iterator[None]:
    """Let the model's attention pass through a function that keeps what it is given."""
    before = model.config._attn_implementation  # noqa: SLF001 - it has no public name

    def forward(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, **more: Any
    ) -> Any:
        mask = more.pop("attention_mask", mask)
        kept.append({"module": module, "q": query, "k": key, "mask": mask, "more": more})
        return _own(module, before)(module, query, key, value, mask, **more)

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
            f"A {type(model).__name__} has no layers of attention that ask transformers for their "
            "function; take a model whose attention can be chosen (attn_implementation)."
        )
    mask = inputs.get("attention_mask")
    if mask is not None and not bool(torch.as_tensor(mask).all()):
        raise SpectrumError(
            "The attention_mask hides some tokens, and lags of a padded text are not those of its "
            "tokens; pass texts of one length, without padding."
        )


_CLOSE = 1e-4
"""Part of the largest logit by which the terms may miss the model's own, in float32."""


def first_layer_terms(model: Any, input_ids: Any) -> tuple[Terms, ...]:
    """Return the terms of every head of the first layer for one text (n tokens)."""
    tokens = torch.as_tensor(input_ids).reshape(-1)
    found = position_tables(model)
    if len(found) != 1:
        raise SpectrumError(
            f"{type(model).__name__} has {len(found)} tables of positions; pass a model that adds "
            "one table to its embeddings, such as GPT-2 or BERT."
        )
    first, own = _watch(model, tokens, found[0].module)
    x, position = first["entered"], _position_part(first, model)
    asked = [_ask(model, tokens, own, part) for part in (x - position, position, 0.0 * x)]
    whole = collect(model, tokens)[0]
    made = tuple(_terms(asked, whole, head) for head in range(whole.q.shape[1]))
    wanted = whole.logits()[0]
    rest = max(np.abs(one.matrices.sum(axis=0) - logit).max()
               for one, logit in zip(made, wanted, strict=True))  # fmt: skip
    if not rest <= _CLOSE * np.abs(wanted).max():
        raise SpectrumError(
            f"The terms miss the logits of {type(model).__name__} by {rest:.1g}: more than one "
            "normalisation stands between its embeddings and its first layer; pass another model."
        )
    return made


def _terms(asked: list[Heads], whole: Heads, head: int) -> Terms:
    content, position, nothing = asked
    pairs = [
        (getattr(content, side)[0, head],
         getattr(position, side)[0, head] - getattr(nothing, side)[0, head])
        for side in ("q", "k")
    ]  # fmt: skip
    return terms_of(*pairs, scale=whole.scale, causal=whole.causal)


def _watch(model: Any, tokens: Tensor, table: nn.Embedding) -> tuple[dict[str, Any], nn.Module]:
    """Return what the first layer of attention was given, and what came before it."""
    seen: dict[str, Any] = {}
    own: list[nn.Module] = []

    def of_table(_: Any, __: Any, out: Tensor) -> None:
        seen.setdefault("position", out.detach())

    def of_norm(module: Any, inputs: Any, out: Tensor) -> None:
        if not own:
            seen.update(norm=module, summed=inputs[0].detach(), normed=out.detach())

    def of_attention(module: Any, args: Any, kwargs: Any) -> None:
        if not own:
            own.append(module)
            seen["entered"] = _hidden(args, kwargs).detach()

    hooks = [table.register_forward_hook(of_table)]
    hooks += [m.register_forward_hook(of_norm) for m in model.modules()
              if isinstance(m, nn.LayerNorm)]  # fmt: skip
    hooks += [m.register_forward_pre_hook(of_attention, with_kwargs=True)
              for m in attention_modules(model)]  # fmt: skip
    try:
        collect(model, tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return seen, own[0]


def _position_part(seen: dict[str, Any], model: Any) -> Tensor:
    """Return gamma (p - mean p) / sigma, from what the last normalisation was given."""
    norm = seen.get("norm")
    if norm is None or "position" not in seen or not torch.equal(seen["normed"], seen["entered"]):
        raise SpectrumError(
            f"The first layer of {type(model).__name__} does not read the normalised sum of tokens "
            "and positions; pass a model such as GPT-2 or BERT."
        )
    p = seen["position"].reshape(-1, *seen["summed"].shape[-2:])
    sigma = (seen["summed"].var(dim=-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    made: Tensor = norm.weight * (p - p.mean(dim=-1, keepdim=True)) / sigma
    return made.detach()


def _ask(model: Any, tokens: Tensor, own: nn.Module, part: Tensor) -> Heads:
    """Return what the first layer makes of hidden states that are given to it."""
    with _given(own, part):
        return collect(model, tokens)[0]


@contextmanager
def _given(module: nn.Module, hidden: Tensor) -> Iterator[None]:
    def replace(_: Any, args: Any, kwargs: Any) -> Any:
        if "hidden_states" in kwargs:
            return args, {**kwargs, "hidden_states": hidden}
        return (hidden, *args[1:]), kwargs

    hook = module.register_forward_pre_hook(replace, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _hidden(args: Any, kwargs: Any) -> Tensor:
    found: Tensor = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
    return found
