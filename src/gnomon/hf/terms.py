r"""The four terms of a trained model's first layer: content and position, of query and of key.

A model with a table of positions adds p_i to the embedding c_i of its token; one normalisation
stands between the sum and the queries and keys of the first layer. Normalisation is not linear, but
it is once the deviation of the sum is known [ba2016]:

    LN(c + p) = [gamma (c - mean c) / sigma + beta] + [gamma (p - mean p) / sigma],   sigma of c + p

Queries are affine in that, so the layer itself is asked for them: with the content part alone, with
the position part alone, and with nothing, which is its constant and counts as content. The four
terms add up to the model's own logits; that is checked, and refused where it is not so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnomon.errors import SpectrumError
from gnomon.hf.finding import attention_modules, tables
from gnomon.hf.logits import Heads, collect
from gnomon.spectra import Terms, terms_of

CLOSE = 1e-4
"""Part of the largest logit by which the terms may miss the model's own, in float32."""


def first_layer_terms(model: Any, input_ids: Any) -> tuple[Terms, ...]:
    """Return the terms of every head of the first layer for one text (n tokens)."""
    tokens = torch.as_tensor(input_ids).reshape(-1)
    found = tables(model)
    if len(found) != 1:
        raise SpectrumError(
            f"{type(model).__name__} has {len(found)} tables of positions; pass a model that adds "
            "one table to its embeddings, such as GPT-2 or BERT."
        )
    first, own = _watched(model, tokens, found[0].module)
    x, position = first["entered"], _position_part(first, model)
    asked = [_asked(model, tokens, own, part) for part in (x - position, position, 0.0 * x)]
    whole = collect(model, tokens)[0]
    made = tuple(_terms(asked, whole, head) for head in range(whole.q.shape[1]))
    wanted = whole.logits()[0]
    rest = max(np.abs(one.matrices.sum(axis=0) - logit).max()
               for one, logit in zip(made, wanted, strict=True))  # fmt: skip
    if not rest <= CLOSE * np.abs(wanted).max():
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


def _watched(model: Any, tokens: Tensor, table: nn.Embedding) -> tuple[dict[str, Any], nn.Module]:
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


def _asked(model: Any, tokens: Tensor, own: nn.Module, part: Tensor) -> Heads:
    """Return what the first layer makes of hidden states that are given to it."""
    with _given(own, part):
        return collect(model, tokens)[0]


@contextmanager
def _given(module: nn.Module, hidden: Tensor) -> Iterator[None]:
    def replaced(_: Any, args: Any, kwargs: Any) -> Any:
        if "hidden_states" in kwargs:
            return args, {**kwargs, "hidden_states": hidden}
        return (hidden, *args[1:]), kwargs

    hook = module.register_forward_pre_hook(replaced, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _hidden(args: Any, kwargs: Any) -> Tensor:
    found: Tensor = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
    return found
