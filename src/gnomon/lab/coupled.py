"""What encodings do in one layer of attention, and what they add to embeddings.

    out = softmax(scale q~.k~ + b + mask) v

Queries and keys are turned by every transform of the layer, its biases are summed, and one call of
PyTorch's attention does the rest; a rule on content makes its logits itself
(`gnomon.torch.attention`). What depends on positions alone and is not learned is kept from one call
to the next as long as positions are counted. A transform that is more than tables of cosines and
sines, but linear, is multiplied as a matrix for each position: small heads gain most.

Vectors enter embeddings at a given root mean square, the same for all, so that no encoding is
louder than another [gu2025 added them at their own]. A learned table starts at that size; a fixed
one is multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gnomon.encodings import Encoding
from gnomon.errors import LabError
from gnomon.lab.parts import Part
from gnomon.lab.turned import TurnedPairs, turned_pairs
from gnomon.torch import Layer, Transform, attend, attention, layer


class Coupled(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """The encodings of one layer, as modules, and attention under them."""

    def __init__(self, parts: Sequence[Part], *, heads: int, causal: bool, number: int = 0) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        parts = [part for part in parts if not part.encoding.is_one_of("nope")]  # does nothing
        self.layers = nn.ModuleList([layer(_at_layer(part.encoding, number)) for part in parts])
        for one in [one for part, one in zip(parts, self.layers, strict=True) if part.frozen]:
            one.requires_grad_(False)
        self.spans = [part.heads or heads for part in parts]
        self._parts = tuple(parts)
        self._kept: dict[Any, Any] = {}

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Follow `.to(...)`: what was kept has the old type."""
        self._kept.clear()
        return super()._apply(fn, *args, **kwargs)

    def of(self, part: Part) -> nn.Module | None:
        """Return the module of a part, where this layer has it."""
        found = (one for own, one in zip(self._parts, self.layers, strict=True) if own is part)
        return next(found, None)

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        positions_q: Tensor | None = None,
        positions_k: Tensor | None = None,
        mask: Tensor | None = None,
        pairs: Tensor | None = None,
    ) -> Tensor:
        """Return attention of q (b, heads, n, d); `mask` (b, m) is True where there is a token.

        Positions are counted where they are not given. `pairs` (heads, pairs) multiplies the pairs
        of queries that are turned (`turned_pairs`), in the heads that turn them.
        """
        places = positions_q, positions_k
        seen = None if mask is None else mask[:, None, None, :]
        if any(one.definition.kinds == ("content",) for one in self.layers):
            return self._by_rule(q, k, v, places, seen)
        q, k = self._all_turned(q, k, places)
        if pairs is not None:
            q = q * self._coordinates(pairs, q.shape[-1])
        bias = self._bias(places, q.shape[-2], k.shape[-2])
        scale = self._scale(q)
        if bias is None and seen is None:
            return attend(q, k, v, scale=scale, causal=self.causal)
        return attend(q, k, v, scale=scale, mask=self._whole(bias, seen, q, k))

    def _scale(self, q: Tensor) -> float:
        """Return the factor of q.k: that of an encoding that has one, else 1 / sqrt(d)."""
        own = [one.definition.softmax_scale for one in self.layers]
        known = [scale for scale in own if scale is not None]
        return float(known[0]) if known else float(q.shape[-1] ** -0.5)

    def logits(
        self,
        q: Tensor,
        k: Tensor,
        *,
        positions_q: Tensor | None = None,
        positions_k: Tensor | None = None,
    ) -> Tensor:
        """Return the logits (b, heads, n, m) that attention has, without its masks."""
        places, scale = (positions_q, positions_k), self._scale(q)
        n, m = q.shape[-2], k.shape[-2]
        if any(one.definition.kinds == ("content",) for one in self.layers):
            at_q = torch.arange(m - n, m) if positions_q is None else positions_q
            at_k = torch.arange(m) if positions_k is None else positions_k
            made: Tensor = self.layers[0].scores(q, k, at_q, at_k, scale=scale)
            return made
        q, k = self._all_turned(q, k, places)
        bias = self._bias(places, n, m)
        return scale * (q @ k.mT) + (0.0 if bias is None else bias)

    def turned(
        self,
        q: Tensor,
        k: Tensor,
        *,
        positions_q: Tensor | None = None,
        positions_k: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys as all transforms of the layer make them."""
        return self._all_turned(q, k, (positions_q, positions_k))

    def turned_pairs(self, width: int) -> TurnedPairs:
        """Return the pairs of coordinates that are turned in heads of a width."""
        if any(one.definition.learnable for one in self.layers):
            return turned_pairs(self, width)
        key = ("pairs", width)
        if key not in self._kept:
            self._kept[key] = turned_pairs(self, width)
        found: TurnedPairs = self._kept[key]
        return found

    def _all_turned(self, q: Tensor, k: Tensor, places: tuple[Any, Any]) -> tuple[Tensor, Tensor]:
        for number, one in enumerate(self.layers):
            if isinstance(one, Transform):
                q, k = self._turned(number, q, k, places)
        return q, k

    def _turned(
        self, number: int, q: Tensor, k: Tensor, places: tuple[Any, Any]
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys with the heads that one of the transforms is for turned."""
        one, span = self.layers[number], self.spans[number]
        if span < q.shape[1]:
            first = self._turned(number, q[:, :span], k[:, :span], places)
            return (
                torch.cat([first[0], q[:, span:]], dim=1),
                torch.cat([first[1], k[:, span:]], dim=1),
            )
        counted = places[0] is None and places[1] is None and q.shape[-2] == k.shape[-2]
        if counted and not one.shares_tables and _pays(one, q):
            at_q, at_k = self._matrices(number, q)
            return _multiplied(q, at_q), _multiplied(k, at_k)
        if not counted or _learns(one) or not one.shares_tables:
            turned: tuple[Tensor, Tensor] = one(q, k, *places)
            return turned
        key = (number, q.shape[-2], q.dtype)
        if key not in self._kept:
            self._kept[key] = one.tables(torch.arange(q.shape[-2]), dtype=q.dtype)
        tables = self._kept[key]
        return one.turn(q, tables, side="q"), one.turn(k, tables, side="k")

    def _matrices(self, number: int, q: Tensor) -> tuple[Tensor, Tensor]:
        """Return the matrices (heads, n, d, d) of a linear transform: what it makes of a basis."""
        one, (heads, n, d) = self.layers[number], q.shape[1:]
        key = (number, heads, n, q.dtype)
        if key in self._kept:
            kept: tuple[Tensor, Tensor] = self._kept[key]
            return kept
        basis = torch.eye(d, dtype=q.dtype)[:, None, None, :].expand(d, heads, n, d)
        made = tuple(side.permute(1, 2, 0, 3) for side in one(basis, basis))
        if not _learns(one):
            self._kept[key] = made
        return made[0], made[1]

    def _bias(self, places: tuple[Any, Any], n: int, m: int) -> Tensor | None:
        """Return the sum of all biases, (heads, n, m) or (b, heads, n, m), or None."""
        total: Tensor | None = None
        for number, (one, span) in enumerate(zip(self.layers, self.spans, strict=True)):
            if isinstance(one, Transform):
                continue
            made = self._one_bias(number, places, n, m)
            if span < self.heads:
                rest = made.new_zeros(*made.shape[:-3], self.heads - span, n, m)
                made = torch.cat([made, rest], dim=-3)
            total = made if total is None else total + made
        return total

    def _one_bias(self, number: int, places: tuple[Any, Any], n: int, m: int) -> Tensor:
        one: Layer = self.layers[number]
        if places[0] is not None:
            bias: Tensor = one(*places)
            return bias
        key = (number, n, m)
        if _learns(one):
            made: Tensor = one(torch.arange(n), torch.arange(m))
            return made
        if key not in self._kept:
            self._kept[key] = one(torch.arange(n), torch.arange(m))
        kept: Tensor = self._kept[key]
        return kept

    def _whole(self, bias: Any, seen: Tensor | None, q: Tensor, k: Tensor) -> Tensor:
        """Return bias and masks as one: booleans alone, or a sum with -inf, on four axes."""
        keep = seen
        if self.causal:
            earlier = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
            keep = earlier if keep is None else keep & earlier
        whole: Any = keep if bias is None else bias
        if keep is not None and bias is not None:
            whole = torch.where(keep, bias, -math.inf)
        return whole.reshape(*[1] * (4 - whole.ndim), *whole.shape)

    def _by_rule(
        self, q: Tensor, k: Tensor, v: Tensor, places: tuple[Any, Any], seen: Tensor | None
    ) -> Tensor:
        given: dict[str, Any] = {"positions_q": places[0], "positions_k": places[1]}
        made: Tensor = attention(q, k, v, self.layers[0], causal=self.causal, mask=seen, **given)
        return made

    def _coordinates(self, pairs: Tensor, width: int) -> Tensor:
        """Return the factor of every coordinate, (heads, 1, d), from those of pairs."""
        found = self.turned_pairs(width)
        count = len(found.coordinates)
        if pairs.shape[-1] < count:
            raise LabError(
                f"There are factors for {pairs.shape[-1]} pairs, and the layer turns {count}; pass "
                "one for each."
            )
        each = pairs.new_ones(self.heads, width)
        if count:
            factors = torch.where(torch.from_numpy(found.heads), pairs[:, :count], 1.0)
            each[:, torch.tensor(found.coordinates)] = factors[:, :, None]
        return each[:, None, :]


def _at_layer(encoding: Any, number: int) -> Encoding:
    """Return an encoding as it is in one layer, where layers differ."""
    made: Encoding = encoding.at_layer(number) if hasattr(encoding, "at_layer") else encoding
    return made


def _learns(one: Layer) -> bool:
    """Whether training changes what a layer does, so that nothing of it can be kept."""
    return any(number.requires_grad for number in one.parameters())


def _pays(one: Transform, q: Tensor) -> bool:
    """Whether a transform is linear, and a basis of it has fewer vectors than the batch."""
    strict = one.definition.card.level.startswith("L0")
    return bool(strict and q.shape[-1] <= q.shape[0])


def _multiplied(x: Tensor, matrices: Tensor) -> Tensor:
    """Return x (b, heads, n, d) times the matrix of its head and position."""
    return torch.einsum("bhnd,hnde->bhne", x, matrices)


class Added(nn.Module):  # type: ignore[misc]
    """The vectors of an encoding at a given root mean square, as they are added to embeddings."""

    def __init__(
        self, encoding: Encoding, *, rms: float, length: int, frozen: bool = False
    ) -> None:
        super().__init__()
        louder = rms / _loudness(encoding, length)
        if encoding.learnable:
            numbers = {name: louder * encoding.numbers[name] for name in encoding.learnable}
            encoding = encoding.with_numbers(**numbers)
        self.factor = rms / _loudness(encoding, length)
        self.vectors = layer(encoding)
        if frozen:
            self.vectors.requires_grad_(False)

    def forward(self, positions: Tensor) -> Tensor:
        """Return one vector for each position."""
        made: Tensor = self.factor * self.vectors(positions)
        return made


def _loudness(encoding: Encoding, length: int) -> float:
    """Return the root mean square of the vectors of the first positions."""
    places = torch.arange(length, dtype=torch.float64)
    if encoding.axes > 1:
        side = math.ceil(length ** (1 / encoding.axes))
        axes = [torch.arange(side, dtype=torch.float64)] * encoding.axes
        places = torch.cartesian_prod(*axes)[:length]
    return float(encoding.vectors(places).square().mean().sqrt())
