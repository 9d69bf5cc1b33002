"""A Transformer short enough to read, with the encoding as one argument.

    x = E[token] + p                                  p: vectors of encodings, at the same rms as E
    x = x + W_o [ attention_h(LN x) ]_h               h = 1 ... heads, encodings act here
    x = x + W_2 gelu(W_1 LN x)                        both for every layer
    y = W mean(LN x)     or     y_t = W (LN x)_t      one label, or one for each token

Normalisation comes first, so that depth needs no warm-up of its own [xiong2020]. Padding is never
attended to and never averaged. Every layer reads the one before it; nothing but the encoding tells
positions apart. Heads can be scaled while the model is used (`heads_scaled`), which is how ablation
is done: weights are never written [michel2019].
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from gnomon.errors import LabError
from gnomon.lab.coupled import Added, Coupled
from gnomon.lab.parts import Part, parts_of
from gnomon.lab.turned import TurnedPairs

POOLINGS = ("mean", "tokens")


class Scales:
    """What multiplies heads and pairs at present, shared by all layers of a model."""

    def __init__(self) -> None:
        self.heads: Tensor | None = None
        self.means: Tensor | None = None
        self.pairs: Tensor | None = None
        self.seen: list[Tensor] | None = None
        """Where it is a list, every layer appends the outputs of its heads."""

    def applied(self, out: Tensor, layer: int) -> Tensor:
        """Return outputs of heads (b, heads, n, d), scaled, with means where heads are missing."""
        if self.seen is not None:
            self.seen.append(out.detach())
        if self.heads is None:
            return out
        factors = self.heads[layer][:, None, None]
        if self.means is None:
            return factors * out
        return factors * out + (1 - factors) * self.means[layer][:, None, :]

    def of_pairs(self, layer: int) -> Tensor | None:
        """Return the factors of pairs of one layer, (heads, pairs), or None."""
        return None if self.pairs is None else self.pairs[layer]


class Attention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of one layer: queries, keys and values of all heads, and what encodings do."""

    def __init__(self, dimension: int, heads: int, coupled: Coupled, *, layer: int) -> None:
        super().__init__()
        self.heads, self.layer = heads, layer
        self.project = nn.Linear(dimension, 3 * dimension)
        self.out = nn.Linear(dimension, dimension)
        self.coupled = coupled

    def forward(self, x: Tensor, scales: Scales, **given: Any) -> Tensor:
        """Return what tokens x (b, n, dimension) take from one another."""
        q, k, v = split(self.project(x), 3, self.heads)
        made = self.coupled(q, k, v, pairs=scales.of_pairs(self.layer), **given)
        return self.out(merged(scales.applied(made, self.layer)))


class Block(nn.Module):  # type: ignore[misc]
    """One layer: attention, then the same network at every token, both added to what came in."""

    def __init__(self, dimension: int, inner: int, attention: nn.Module, dropout: float) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(dimension), nn.LayerNorm(dimension)
        self.attention = attention
        self.widen, self.narrow = nn.Linear(dimension, inner), nn.Linear(inner, dimension)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Tensor, scales: Scales, **given: Any) -> Tensor:
        """Return tokens x (b, n, dimension) after this layer."""
        x = x + self.drop(self.attention(self.before(x), scales, **given))
        return x + self.drop(self.narrow(gelu(self.widen(self.between(x)))))


class Transformer(nn.Module):  # type: ignore[misc]
    """A Transformer over tokens, both directions or causal.

    `encoding` is an encoding of the catalogue, a `Part`, several of them that act together, or
    None. `classes` None is one real number. `length` is what vectors are scaled at, to `rms` or
    where another is wanted to `vectors_rms`.
    """

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
        self.parts = parts_of(encoding, layers=layers, heads=heads, causal=causal)
        self.scales = Scales()
        self.embed = self._embedding(vocabulary, dimension, rms)
        vectors = [part for part in self.parts if part.kind == "vectors"]
        loud = rms if vectors_rms is None else vectors_rms
        self.added = nn.ModuleList(
            [Added(one.encoding, rms=loud, length=length, frozen=one.frozen) for one in vectors]
        )
        inner = 2 * dimension if feedforward is None else feedforward
        self.blocks = nn.ModuleList(
            [Block(dimension, inner, self._attention(dimension, i), dropout) for i in range(layers)]
        )
        self.norm = nn.LayerNorm(dimension)
        self.read = nn.Linear(dimension, 1 if classes is None else classes)
        self.query_width = self._query_width(dimension // heads)

    def _embedding(self, vocabulary: int, dimension: int, rms: float) -> nn.Module:
        made = nn.Embedding(vocabulary, dimension)
        nn.init.normal_(made.weight, std=rms)
        return made

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        return Attention(dimension, self.heads_count, self._coupled(layer), layer=layer)

    def _query_width(self, head: int) -> int:
        return head

    def _coupled(self, layer: int) -> Coupled:
        acting = [part for part in self.parts if part.acts_in(layer)]
        return Coupled(acting, heads=self.heads_count, causal=self.causal, number=layer)

    def forward(
        self, tokens: Tensor, *, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Return (b, classes) for one label, (b, n, classes) for tokens; classes None: (b[, n]).

        `mask` (b, n) is True where there is a token; `positions` (b, n), or (b, n, axes), are
        counted from 0 where they are not given.
        """
        x = self.entered(tokens, positions)
        for block in self.blocks:
            x = block(x, self.scales, mask=mask, positions_q=positions, positions_k=positions)
        return self.read_out(x, mask)

    def entered(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
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

    def learned_parts(self) -> list[tuple[list[nn.Parameter], float]]:
        """Return what every part learns in this model, with the multiplier of its rate."""
        found = []
        for part, modules in self.modules_of_parts():
            held = [one for module in modules for one in module.parameters() if one.requires_grad]
            found.append((held, part.multiplier))
        return found

    def modules_of_parts(self) -> list[tuple[Part, list[nn.Module]]]:
        """Return every part with its modules, one for each layer it acts in."""
        vectors = iter(self.added)
        found: list[tuple[Part, list[nn.Module]]] = []
        for part in self.parts:
            own = [one.of(part) for one in self.coupled()]
            found.append((part, [one for one in own if one is not None]))
            if part.kind == "vectors":
                found[-1][1].append(next(vectors))
        return found

    def coupled(self) -> list[Coupled]:
        """Return what encodings do in each layer of attention."""
        return [block.attention.coupled for block in self.blocks]

    def turned_pairs(self) -> list[TurnedPairs]:
        """Return the pairs of coordinates that each layer of attention turns."""
        return [one.turned_pairs(self.query_width) for one in self.coupled()]

    @contextmanager
    def heads_scaled(self, factors: Any, means: Any = None) -> Iterator[None]:
        """Multiply outputs of heads by factors (layers, heads); the rest is filled from `means`."""
        with self._scaled(heads=self._factors(factors, 2), means=_tensor(means)):
            yield

    @contextmanager
    def pairs_scaled(self, factors: Any) -> Iterator[None]:
        """Multiply turned pairs of queries by factors (layers, heads, pairs)."""
        with self._scaled(pairs=self._factors(factors, 3)):
            yield

    @torch.no_grad()
    def head_means(self, tokens: Tensor, *, mask: Tensor | None = None, **beside: Any) -> Tensor:
        """Return the mean output of every head, (layers, heads, d), over sequences and tokens."""
        with self._scaled(seen=[]):
            self(tokens, mask=mask, **beside)
            outputs = self.scales.seen or []
        means = []
        for out in outputs:  # tokens of all sequences in one row, (1, b n, heads d)
            flat = merged(out).flatten(0, 1)[None]
            keep = None if mask is None else mask.flatten()[None]
            means.append(mean_token(flat, keep)[0])
        return torch.stack(means).unflatten(-1, (self.heads_count, -1))

    @contextmanager
    def _scaled(self, **asked: Any) -> Iterator[None]:
        before = {name: getattr(self.scales, name) for name in asked}
        vars(self.scales).update(asked)
        try:
            yield
        finally:
            vars(self.scales).update(before)

    def _factors(self, factors: Any, axes: int) -> Tensor:
        made = _tensor(factors)
        size = (self.layers_count, self.heads_count)
        if made is None or made.ndim != axes or tuple(made.shape[:2]) != size:
            shape = None if made is None else tuple(made.shape)
            rest = "" if axes == 2 else ", and pairs"
            raise LabError(
                f"The factors have shape {shape}; pass one for each of {size[0]} layers and "
                f"{size[1]} heads{rest}."
            )
        return made


def check_sizes(dimension: int, layers: int, heads: int, pooling: str) -> None:
    """Refuse a model that can not be built."""
    if dimension % heads:
        raise LabError(
            f"The dimension {dimension} is no multiple of {heads} heads; pass one that is."
        )
    if layers < 1:
        raise LabError(f"The model has {layers} layers; pass 1 or more.")
    if pooling not in POOLINGS:
        raise LabError(f"The pooling is {pooling!r}; pass one of: {', '.join(POOLINGS)}.")


def split(x: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Return x (b, n, parts heads d) as `parts` tensors (b, heads, n, d)."""
    made: tuple[Tensor, ...] = x.unflatten(-1, (parts, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    return made


def merged(x: Tensor) -> Tensor:
    """Return heads (b, heads, n, d) side by side, (b, n, heads d)."""
    return x.transpose(1, 2).flatten(-2)


def mean_token(x: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean of tokens x (b, n, d), padding left out."""
    if mask is None:
        return x.mean(dim=1)
    kept = mask[..., None].to(x.dtype)
    return (x * kept).sum(dim=1) / kept.sum(dim=1)


def _tensor(values: Any) -> Tensor | None:
    return None if values is None else torch.as_tensor(values, dtype=torch.float32)
