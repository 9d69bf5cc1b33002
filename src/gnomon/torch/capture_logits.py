r"""PyTorch modules as subjects of certificates: maps of vectors, and whole modules of
self-attention.

A module is a map (vectors (n, d), positions (n,)) -> vectors, in the type of its parameters, or in
float64 where it has none; or it takes queries, keys and both positions, and gives logits. Rounding
limits what such a certificate can see (`gnomon.groups.logit_function`, [goldberg1991]).

A module of self-attention calls softmax or `scaled_dot_product_attention` somewhere inside, and
what it hands over are its logits, or the queries and keys that they are products of; a
`TorchFunctionMode` catches them. It is given hidden states of keys first, then of queries, with
their positions, and the block of late queries and early keys is read, which no causal mask hides.

A head of size r sees a hidden state h as W_q h and W_k h only, so that its logits have rank r:

    B(t) = W_q^T A(t) W_k = U S V^T  at lag 0       q = U x, k = V y,  x and y of size r

In these coordinates A(t) is seen up to a basis, and a group is one [puranik2026]. Biases of linear
maps are set to 0 in a copy first: the group acts on what they are added to.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from gnomon.errors import EncodingError
from gnomon.groups import LogitFunction, of_maps


def subject_of_module(
    module: nn.Module,
    keys: nn.Module | None,
    *,
    dimension: int,
    logits: bool = False,
    **about: Any,
) -> LogitFunction:
    """Return a module as a subject: a map, one for queries and one for keys, or one of logits."""

    def call_module(one: nn.Module) -> Any:
        dtype = _type_of(one)

        def call(*given: Floats) -> torch.Tensor:
            half = len(given) // 2
            vectors = [torch.as_tensor(np.array(x), dtype=dtype) for x in given[:half]]
            places = [torch.as_tensor(np.array(at)) for at in given[half:]]
            with torch.no_grad():
                made: torch.Tensor = one(*vectors, *places)
            return made

        return call

    name = type(module).__name__
    rounding = max(float(torch.finfo(_type_of(one)).eps) for one in (module, keys or module))
    if logits:
        return LogitFunction(
            name=name, dimension=dimension, logits=call_module(module), rounding=rounding, **about
        )
    if keys is None and _attends(module, dimension, _type_of(module)):
        return _subject_of_attention(module, dimension=dimension, dtype=_type_of(module), **about)
    other = None if keys is None else call_module(keys)
    about["rounding"] = rounding
    return of_maps(call_module(module), other, dimension=dimension, name=name, **about)


def _type_of(module: nn.Module) -> torch.dtype:
    """Return the type that a module computes in: that of its floating numbers, or float64."""
    held = [*module.parameters(), *module.buffers()]
    types = {x.dtype for x in held if x.dtype.is_floating_point}
    narrow = sorted(types, key=lambda dtype: torch.finfo(dtype).bits)
    return narrow[0] if narrow else torch.float64


Floats = NDArray[np.float64]
_Call = Callable[[torch.Tensor, torch.Tensor], Any]
_HEADS = 4
"""Heads that are looked at: each needs a pass of its own."""
_RANK, _ROUNDINGS = 1e-4, 1024.0
"""Share of the largest singular value of B(0) below which there is nothing, at most; where the
type is finer, so many of its roundings: weights that nearly lack a direction still have it."""
_SOFTMAX = (torch.softmax, functional.softmax, torch.Tensor.softmax)


class _Watching(TorchFunctionMode):  # type: ignore[misc]  # torch gives it no type
    """Catches the logits (..., n, n) of the first attention that is computed."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.logits: torch.Tensor | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at what attention is computed of, and let it be computed."""
        given = kwargs or {}
        if self.logits is None and func is functional.scaled_dot_product_attention:
            self._keep(_products(*args, **given))
        elif self.logits is None and func in _SOFTMAX:
            self._keep(args[0] if args else given["input"])
        return func(*args, **given)

    def _keep(self, found: torch.Tensor) -> None:
        if found.shape[-2:] == (self.count, self.count):
            self.logits = found.detach().double()


def _products(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    *_: Any,
    scale: float | None = None,
    **__: Any,
) -> torch.Tensor:
    """Return the logits of `scaled_dot_product_attention`, a causal mask left out."""
    del value
    query, key = query.double(), key.double()
    if query.ndim > 2 and key.shape[-3] != query.shape[-3]:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    made = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is None:
        return made
    if attn_mask.dtype == torch.bool:
        return made.masked_fill(~attn_mask, -torch.inf)
    return made + attn_mask


def _attends(module: nn.Module, dimension: int, dtype: torch.dtype) -> bool:
    """Whether a module that is called as a map computes attention inside, or cannot be called.

    What is no map is to be asked as a module of attention.
    """
    count = _count(dimension)
    x, at = torch.zeros(count, dimension, dtype=dtype), torch.arange(count, dtype=torch.float64)
    watching = _Watching(count)
    try:
        with torch.no_grad(), watching:
            module(x, at)
    except Exception:  # noqa: BLE001 - whatever a user's module raises, another way is looked for
        return not _is_map(module)
    return watching.logits is not None


def _parameters(module: nn.Module) -> list[inspect.Parameter]:
    """Return what a module's forward takes; nothing is known of one that was compiled."""
    try:
        return list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return []


def _is_map(module: nn.Module) -> bool:
    """Whether a module says that it takes two arguments: its own error is then of interest."""
    needed = [one for one in _parameters(module) if one.default is one.empty]
    plain = all(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in needed)
    return len(needed) == 2 and plain


def _subject_of_attention(
    module: nn.Module, *, dimension: int, dtype: torch.dtype, **about: Any
) -> LogitFunction:
    """Return a module of self-attention, hidden states of this dimension, as a subject."""
    plain = _without_biases(module)
    call, whole = _way(plain, dimension, dtype)

    def logits_of(hidden: Floats, at: Floats) -> Floats:
        watching = _Watching(len(hidden))
        with torch.no_grad(), watching:
            call(torch.as_tensor(hidden, dtype=dtype), torch.as_tensor(np.array(at)))
        if watching.logits is None:
            raise EncodingError(_refusal(module, "it computes no attention at these positions"))
        return np.asarray(watching.logits.reshape(-1, len(hidden), len(hidden)).cpu().numpy())

    bases = _bases(logits_of, dimension, min(_RANK, _ROUNDINGS * torch.finfo(dtype).eps))
    looked = bases[:_HEADS]

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        at = np.concatenate([s, t])
        made = []
        for head, (left, right) in enumerate(looked):
            hidden = np.concatenate([k @ right.T, q @ left.T])
            made.append(logits_of(hidden, at)[head, len(k) :, : len(k)])
        return np.stack(made)

    said = [f"{_HEADS} of {len(bases)} heads were looked at."] * (len(bases) > _HEADS)
    if module.training and any(isinstance(x, nn.Dropout) and x.p > 0.0 for x in module.modules()):
        said.append("the module is in training mode; dropout was switched off to certify it.")
    return LogitFunction(
        name=f"the logits of {type(module).__name__}",
        dimension=looked[0][0].shape[1],
        logits=logits,
        rounding=float(torch.finfo(dtype).eps),
        warnings=tuple(said),
        **{**about, "whole": whole or about.get("whole", False)},
    )


def _count(dimension: int) -> int:
    """Return how many tokens a trial has: unlike the dimension, so that shapes tell them apart."""
    return 7 if dimension != 7 else 5


def _without_biases(module: nn.Module) -> nn.Module:
    made = copy.deepcopy(module).eval()
    for one in made.modules():
        if isinstance(one, nn.Linear) and one.bias is not None:
            nn.init.zeros_(one.bias)
    return made


def _way(module: nn.Module, dimension: int, dtype: torch.dtype) -> tuple[_Call, bool]:
    """Return how a module is called, and whether with whole positions only, or refuse it."""
    count = _count(dimension)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(count, dimension, generator=generator).to(dtype)
    reason = "it takes no argument of positions"
    for call in _ways(module):
        for kind in (torch.float64, torch.long):
            watching = _Watching(count)
            try:
                with torch.no_grad(), watching:
                    call(x, torch.arange(count, dtype=kind))
            except Exception as error:  # noqa: BLE001 - as above: the next way is tried
                reason = " ".join(str(error).split()) or type(error).__name__
                continue
            if watching.logits is not None:
                return _in(call, kind), kind == torch.long
            reason = "no softmax of logits is seen in it"
    raise EncodingError(_refusal(module, reason))


def _in(call: _Call, kind: torch.dtype) -> _Call:
    return lambda x, at: call(x, at.to(kind))


def _ways(module: nn.Module) -> list[_Call]:
    """Return ways to call a module by hidden states and positions, plain ones first."""
    names = [one.name for one in _parameters(module)[1:]]
    name = next((one for one in names if "pos" in one and "emb" not in one), None)
    if name is None:
        return []
    return [
        lambda x, at: module(x, **{name: at}),
        lambda x, at: module(x[None], **{name: at}),
        lambda x, at: module(x[None], **{name: at[None]}),
    ]


def _refusal(module: nn.Module, reason: str) -> str:
    return (
        f"{type(module).__name__} cannot be asked for logits at positions ({reason.rstrip('.')}); "
        "pass the map (vectors, positions) -> vectors that turns its queries and keys, or a "
        "function (q, k, positions_q, positions_k) with logits=True."
    )


def _bases(
    logits_of: Callable[[Floats, Floats], Floats], dimension: int, least: float
) -> list[tuple[Floats, Floats]]:
    """Return for each head the hidden states that its queries and keys see, U and V of B(0).

    Singular values below `least` of the largest are taken for 0.
    """
    eye = np.concatenate([np.eye(dimension), np.zeros((1, dimension))])
    size = dimension + 1
    found = logits_of(np.concatenate([eye, eye]), np.zeros(2 * size))[:, size:, :size]
    of_q, of_k = found[:, :-1, -1:], found[:, -1:, :-1]
    products = found[:, :-1, :-1] - of_q - of_k + found[:, -1:, -1:]
    left, sizes, right = np.linalg.svd(products)
    rank = max(1, int((sizes > least * sizes[:, :1]).sum(axis=-1).min()))
    return [(u[:, :rank], v[:rank].T) for u, v in zip(left, right, strict=True)]
