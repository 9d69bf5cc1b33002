"""A Transformer short enough to read, with the encoding as one argument.

    x = E[token] + p                                  p: vectors of encodings, at the same rms as E
    x = x + W_o [ attention_h(LN x) ]_h               h = 1 ... heads, encodings act here
    x = x + W_2 gelu(W_1 LN x)                        both for every layer
    y = W mean(LN x)     or     y_t = W (LN x)_t      one label, or one for each token

Normalisation comes first, so that depth needs no warm-up of its own [xiong2020]. Padding is never
attended to and never averaged. Every layer reads the one before it; nothing but the encoding tells
positions apart. `heads` and `scale_pairs` take heads and rotary pairs out while the model is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from gnomon.errors import LabError
from gnomon.lab.encode import AddedVectors, LayerEncodings, Placement, RotaryPairs, place_encodings
from gnomon.torch import AttentionHeads

POOLINGS = ("mean", "tokens")


class Attention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of one layer: queries, keys and values of all heads, and what encodings do."""

    def __init__(self, dimension: int, heads: int, coupled: LayerEncodings) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(dimension, 3 * dimension)
        self.out = nn.Linear(dimension, dimension)
        self.coupled = coupled

    def forward(self, x: Tensor, **given: Any) -> Tensor:
        """Return what tokens x (b, n, dimension) take from one another."""
        q, k, v = split_heads(self.project(x), 3, self.heads)
        return self.out(merge_heads(self.coupled(q, k, v, **given)))


class Block(nn.Module):  # type: ignore[misc]
    """One layer: attention, then the same network at every token, both added to what came in."""

    def __init__(self, dimension: int, inner: int, attention: nn.Module, dropout: float) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(dimension), nn.LayerNorm(dimension)
        self.attention = attention
        self.widen, self.narrow = nn.Linear(dimension, inner), nn.Linear(inner, dimension)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Tensor, **given: Any) -> Tensor:
        """Return tokens x (b, n, dimension) after this layer."""
        x = x + self.drop(self.attention(self.before(x), **given))
        return x + self.drop(self.narrow(gelu(self.widen(self.between(x)))))


class Transformer(nn.Module):  # type: ignore[misc]
    """A Transformer over tokens, both directions or causal.

    `encoding` is an encoding of the catalogue, a `Placement`, several of them that act together, or
    None. `classes` None is one real number. `length` is what vectors are scaled at, to `rms` or
    where another is wanted to `vectors_rms`.
    """

    reads_values: ClassVar[bool] = False
    """Whether it reads the values of patches and not their tokens."""
    reads_answers: ClassVar[bool] = False
    """Whether the answers before each token are given beside the tokens, as in training."""

    def __init__(
        self,
        *,
        vocabulary: int,
        classes: int | None,
        encoding: Any = None,
        dimension: int = 64,
        layers: int = 2,
        heads: int = 8,
        feedforward: int | None = None,
        causal: bool = False,
        pooling: str = "mean",
        length: int = 32,
        rms: float = 0.5,
        vectors_rms: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(dimension, layers, heads, pooling)
        self.causal, self.pooling, self.classes = causal, pooling, classes
        self.layers_count, self.heads_count = layers, heads
        self.parts = place_encodings(encoding, layers=layers, heads=heads, causal=causal)
        self.embed = self._embedding(vocabulary, dimension, rms)
        vectors = [part for part in self.parts if part.kind == "vectors"]
        loud = rms if vectors_rms is None else vectors_rms
        self.added = nn.ModuleList(
            [
                AddedVectors(one.encoding, rms=loud, length=length, frozen=one.frozen)
                for one in vectors
            ]
        )
        inner = 2 * dimension if feedforward is None else feedforward
        self.blocks = nn.ModuleList(
            [Block(dimension, inner, self._attention(dimension, i), dropout) for i in range(layers)]
        )
        self.norm = nn.LayerNorm(dimension)
        self.read = nn.Linear(dimension, 1 if classes is None else classes)
        self._head_width = dimension // heads

    def _embedding(self, vocabulary: int, dimension: int, rms: float) -> nn.Module:
        made = nn.Embedding(vocabulary, dimension)
        nn.init.normal_(made.weight, std=rms)
        return made

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        return Attention(dimension, self.heads_count, self._encodings_in(layer))

    def _encodings_in(self, layer: int) -> LayerEncodings:
        acting = [part for part in self.parts if part.acts_in(layer)]
        return LayerEncodings(acting, heads=self.heads_count, causal=self.causal, number=layer)

    @classmethod
    def query_width(cls, head: int) -> int:
        """Return the width of queries and keys, from that of a head."""
        return head

    def forward(
        self, tokens: Tensor, *, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Return (b, classes) for one label, (b, n, classes) for tokens; classes None: (b[, n]).

        `mask` (b, n) is True where there is a token; `positions` (b, n), or (b, n, axes), are
        counted from 0 where they are not given.
        """
        x = self.embed_tokens(tokens, positions)
        for block in self.blocks:
            x = block(x, mask=mask, positions_q=positions, positions_k=positions)
        return self.read_out(x, mask)

    def embed_tokens(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        """Return embeddings with the vectors of encodings added."""
        x = self.embed(tokens)
        places = torch.arange(x.shape[1], device=x.device) if positions is None else positions
        for added in self.added:
            x = x + added(places)
        return x

    def read_out(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the answer of the model: of the mean token, or of every token."""
        x = self.norm(x)
        if self.pooling == "mean":
            x = mean_token(x, mask)
        made = self.read(x)
        return made[..., 0] if self.classes is None else made

    def trainable_by_placement(self) -> list[tuple[list[nn.Parameter], float]]:
        """Return what every encoding learns in this model, with the multiplier of its rate."""
        found = []
        for part, modules in self.modules_by_placement():
            own = [one for module in modules for one in module.parameters() if one.requires_grad]
            found.append((own, part.multiplier))
        return found

    def modules_by_placement(self) -> list[tuple[Placement, list[nn.Module]]]:
        """Return every encoding with its modules, one for each layer it acts in."""
        vectors = iter(self.added)
        found: list[tuple[Placement, list[nn.Module]]] = []
        for part in self.parts:
            own = [one.of(part) for one in self.layer_encodings()]
            found.append((part, [one for one in own if one is not None]))
            if part.kind == "vectors":
                found[-1][1].append(next(vectors))
        return found

    def layer_encodings(self) -> list[LayerEncodings]:
        """Return what encodings do in each layer of attention."""
        return [block.attention.coupled for block in self.blocks]

    def heads(self) -> AttentionHeads:
        """Return the heads of all layers, which can be scaled, or taken out one by one."""
        mixers = [block.attention.out for block in self.blocks]
        return AttentionHeads(mixers, self.heads_count)

    def rotary_pairs(self) -> list[RotaryPairs]:
        """Return the pairs of coordinates that each layer of attention rotates."""
        width = self.query_width(self._head_width)
        return [one.rotary_pairs(width) for one in self.layer_encodings()]

    @contextmanager
    def scale_pairs(self, factors: Any) -> Iterator[None]:
        """Multiply rotary pairs of queries by factors (layers, heads, pairs)."""
        given = torch.as_tensor(factors, dtype=torch.float32)
        size = (self.layers_count, self.heads_count)
        if given.ndim != 3 or tuple(given.shape[:2]) != size:
            raise LabError(
                f"The factors have shape {tuple(given.shape)}; pass one for each of {size[0]} "
                f"layers and {size[1]} heads, and pairs."
            )
        layers = self.layer_encodings()
        try:
            for layer, own in zip(layers, given, strict=True):
                layer.pair_factors = own
            yield
        finally:
            for layer in layers:
                layer.pair_factors = None


def check_sizes(dimension: int, layers: int, heads: int, pooling: str) -> None:
    """Refuse a model that cannot be built."""
    if dimension % heads:
        raise LabError(
            f"The dimension {dimension} is no multiple of {heads} heads; pass one that is."
        )
    if layers < 1:
        raise LabError(f"The model has {layers} layers; pass 1 or more.")
    if pooling not in POOLINGS:
        raise LabError(f"The pooling is {pooling!r}; pass one of: {', '.join(POOLINGS)}.")


def split_heads(x: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Return x (b, n, parts heads d) as `parts` tensors (b, heads, n, d)."""
    made: tuple[Tensor, ...] = x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    return made


def merge_heads(x: Tensor) -> Tensor:
    """Return heads (b, heads, n, d) side by side, (b, n, heads d)."""
    return x.transpose(1, 2).flatten(-2)


def mean_token(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean of tokens x (b, n, d), padding left out."""
    if mask is None:
        return x.mean(dim=1)
    kept = mask[..., None].to(x.dtype)
    return (x * kept).sum(dim=1) / kept.sum(dim=1)
