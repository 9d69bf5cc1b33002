r"""What encodings do in a model: where they are placed, what they do in a layer, what they rotate.

A *placement* is an encoding together with the layers and heads it acts in. Several act together: a
rotary encoding and a sinusoid, a rotary encoding in the first layers only, a bias on some heads.
Nothing at all is attention without an encoding. This is how the couplings of content and position
that [gu2025] compares are written down.

An encoding that is causal only decays with the lag, and grows where keys come after their query. In
a model without a causal mask it is refused, unless `both_directions` asks for the group as it
stands, exp(lag X) at lags of either sign.

In one layer of attention

    out = softmax(scale q~.k~ + b + mask) v

Queries and keys are transformed by every transform of the layer, its biases are summed, and one
call of PyTorch's attention does the rest; a rule on content makes its logits itself
(`gnomon.torch.attention`). What depends on positions alone and is not learned is kept from one call
to the next as long as positions are counted. A transform that is more than tables of cosines and
sines, but linear, is multiplied as a matrix for each position: small heads gain most.

Vectors enter embeddings at a given root mean square, the same for all, so that no encoding is
louder than another [gu2025 added them at their own]. A learned table starts at that size; a fixed
one is multiplied.

*Rotary pairs* are found by what transforms do to a basis. A transform that is linear in queries is
a matrix M(p) for each head and position. What it does from position 0 on is M(0)^-1 M(p).
Coordinates a, b are a rotary pair where this maps them to themselves, and nothing else to them, by
a rotation,

    (y_a, y_b) = r (x_a cos t - x_b sin t, x_a sin t + x_b cos t),    t no multiple of pi,

whatever the layout, the share of a head that is rotated, or what stands before it. A decay or a
growth r is allowed. Blocks of more coordinates, boosts, and transforms that are not linear have no
pairs; neither have vectors and biases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gnomon.encodings import Encoding
from gnomon.errors import LabError
from gnomon.torch import Layer, Transform, attend, attention
from gnomon.torch import layer as module_of

Floats = NDArray[np.float64]
Pair = tuple[int, int]
Places = tuple[Any, Any]
"""Positions of queries and of keys; None where they are counted."""
PROBES = (3.0**0.5, 1400.0**0.5)
"""Positions at which transforms are looked at; irrational, as frequencies may be parts of pi."""
SMALL = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """An encoding in some layers and heads of a model; by default in all of them."""

    encoding: Encoding
    layers: tuple[int, ...] | None = None
    """The layers it acts in, from 0; vectors are added once, before the first layer."""
    heads: int | None = None
    """How many heads it acts on, the first ones."""
    multiplier: float = 1.0
    """What the learning rate of its learned numbers is multiplied by."""
    frozen: bool = False
    """Whether numbers that it could learn stay as they are: what is compared is then its form."""
    both_directions: bool = False
    """Whether one that is causal only acts on keys after their query, too."""

    @property
    def kind(self) -> str:
        """Return how it enters: vectors, transform, bias or content."""
        return self.encoding.kinds[0]

    def acts_in(self, layer: int) -> bool:
        """Whether a layer has it."""
        return self.kind != "vectors" and (self.layers is None or layer in self.layers)


def place_encodings(
    encoding: Any, *, layers: int, heads: int, causal: bool
) -> tuple[Placement, ...]:
    """Return the parts of a model, checked: an encoding, a part, several of them, or None."""
    if encoding is None:
        return ()
    several = encoding if isinstance(encoding, Iterable) else (encoding,)
    made = tuple(_as_placement(one) for one in several)
    for part in made:
        _check_placement(part, layers=layers, heads=heads, causal=causal)
    for layer in range(layers):
        acting = [part for part in made if part.acts_in(layer)]
        if len(acting) > 1 and any(part.kind == "content" for part in acting):
            names = ", ".join(repr(part.encoding.name) for part in acting)
            raise LabError(
                f"Layer {layer} has several encodings ({names}), and one of them makes logits by "
                "a rule on content, which leaves no room for others; give it layers of its own."
            )
    return made


def _as_placement(given: Any) -> Placement:
    if isinstance(given, Placement):
        return given
    if isinstance(given, Encoding):
        return Placement(encoding=given)
    raise LabError(
        f"The encoding of a model is of type {type(given).__name__}; pass what "
        "gnomon.encoding(...) returns, a Part, or several of these."
    )


def _check_placement(part: Placement, *, layers: int, heads: int, causal: bool) -> None:
    """Refuse a part that has no place in a model of this size."""
    name = part.encoding.name
    for layer in part.layers or ():
        if not isinstance(layer, int) or not 0 <= layer < layers:
            raise LabError(
                f"The encoding {name!r} is for layer {layer!r}, and the model has {layers}; pass "
                f"layers from 0 to {layers - 1}."
            )
    if part.heads is not None and not 1 <= part.heads <= heads:
        raise LabError(
            f"The encoding {name!r} is for {part.heads} heads, and the model has {heads}; pass 1 "
            f"to {heads} of them."
        )
    if part.kind in ("vectors", "content") and part.heads is not None:
        raise LabError(
            f"The encoding {name!r} gives {part.kind}, which all heads share; leave the number of "
            "heads out."
        )
    if part.kind == "vectors" and part.layers is not None:
        raise LabError(
            f"The encoding {name!r} gives vectors, which are added before the first layer; leave "
            "its layers out."
        )
    _check_trainable(part)
    only = part.encoding.card.causal_only
    if only and not causal and (part.kind != "transform" or not part.both_directions):
        remedy = "or choose another"
        if hasattr(part.encoding, "symmetric"):
            remedy = "or say symmetric = true"
        elif part.kind == "transform":
            remedy = "or say both_directions = true"
        raise LabError(
            f"The encoding {name!r} is causal only, and the model sees keys after their query; "
            f"make the task causal, {remedy}."
        )


def _check_trainable(part: Placement) -> None:
    """Refuse a rate of its own, or numbers that stay, for one that has no such numbers."""
    name, learns = part.encoding.name, bool(part.encoding.learnable)
    if part.frozen and not learns:
        raise LabError(f"The encoding {name!r} learns nothing; leave frozen out.")
    if part.multiplier != 1.0 and (part.frozen or not learns):
        why = "is frozen" if learns else "learns nothing"
        raise LabError(
            f"The encoding {name!r} {why}, and has a multiplier of its rate; leave multiplier out."
        )


class LayerEncodings(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """The encodings of one layer, as modules, and attention under them."""

    def __init__(
        self, parts: Sequence[Placement], *, heads: int, causal: bool, number: int = 0
    ) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        parts = [part for part in parts if not part.encoding.is_one_of("nope")]  # does nothing
        self.layers = nn.ModuleList([module_of(part.encoding.at_layer(number)) for part in parts])
        for one in [one for part, one in zip(parts, self.layers, strict=True) if part.frozen]:
            one.requires_grad_(False)
        self.spans = [part.heads or heads for part in parts]
        self._parts = tuple(parts)
        self._cache: dict[Any, Any] = {}
        self.pair_factors: Tensor | None = None
        """(heads, pairs): multiplies the rotary pairs of queries, in the heads that have them."""

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Follow `.to(...)`: what was kept has the old type."""
        self._cache.clear()
        return super()._apply(fn, *args, **kwargs)

    def of(self, part: Placement) -> nn.Module | None:
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
    ) -> Tensor:
        """Return attention of q (b, heads, n, d); `mask` (b, m) is True where there is a token.

        Positions are counted where they are not given.
        """
        places = positions_q, positions_k
        seen = None if mask is None else mask[:, None, None, :]
        if any(one.definition.kinds == ("content",) for one in self.layers):
            return self._by_rule(q, k, v, places, seen)
        q, k = self._transform_all(q, k, places)
        if self.pair_factors is not None:
            q = q * self._coordinates(self.pair_factors, q.shape[-1])
        bias = self._bias(places, q.shape[-2], k.shape[-2])
        scale = self._scale(q)
        if bias is None and seen is None:
            return attend(q, k, v, scale=scale, causal=self.causal)
        return attend(q, k, v, scale=scale, mask=self._join_masks(bias, seen, q, k))

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
        q, k = self._transform_all(q, k, places)
        bias = self._bias(places, n, m)
        return scale * (q @ k.mT) + (0.0 if bias is None else bias)

    def transform(
        self,
        q: Tensor,
        k: Tensor,
        *,
        positions_q: Tensor | None = None,
        positions_k: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys as all transforms of the layer make them."""
        return self._transform_all(q, k, (positions_q, positions_k))

    def rotary_pairs(self, width: int) -> RotaryPairs:
        """Return the pairs of coordinates that are turned in heads of a width."""
        if any(one.definition.learnable for one in self.layers):
            return find_rotary_pairs(self, width)
        key = ("pairs", width)
        if key not in self._cache:
            self._cache[key] = find_rotary_pairs(self, width)
        found: RotaryPairs = self._cache[key]
        return found

    def _transform_all(self, q: Tensor, k: Tensor, places: Places) -> tuple[Tensor, Tensor]:
        for number, one in enumerate(self.layers):
            if isinstance(one, Transform):
                q, k = self._transform_heads(number, q, k, places)
        return q, k

    def _transform_heads(
        self, number: int, q: Tensor, k: Tensor, places: Places
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys with the heads that one of the transforms is for turned."""
        one, span = self.layers[number], self.spans[number]
        if span < q.shape[1]:
            first = self._transform_heads(number, q[:, :span], k[:, :span], places)
            return (
                torch.cat([first[0], q[:, span:]], dim=1),
                torch.cat([first[1], k[:, span:]], dim=1),
            )
        counted = places[0] is None and places[1] is None and q.shape[-2] == k.shape[-2]
        if counted and not one.shares_tables and _pays_as_matrix(one, q):
            at_q, at_k = self._matrices(number, q)
            return _multiply(q, at_q), _multiply(k, at_k)
        if not counted or _is_trained(one) or not one.shares_tables:
            turned: tuple[Tensor, Tensor] = one(q, k, *places)
            return turned
        key = (number, q.shape[-2], q.dtype)
        if key not in self._cache:
            self._cache[key] = one.tables(torch.arange(q.shape[-2]), dtype=q.dtype)
        tables = self._cache[key]
        return one.turn(q, tables, side="q"), one.turn(k, tables, side="k")

    def _matrices(self, number: int, q: Tensor) -> tuple[Tensor, Tensor]:
        """Return the matrices (heads, n, d, d) of a linear transform: what it makes of a basis."""
        one, (heads, n, d) = self.layers[number], q.shape[1:]
        key = (number, heads, n, q.dtype)
        if key in self._cache:
            kept: tuple[Tensor, Tensor] = self._cache[key]
            return kept
        basis = torch.eye(d, dtype=q.dtype)[:, None, None, :].expand(d, heads, n, d)
        made = tuple(side.permute(1, 2, 0, 3) for side in one(basis, basis))
        if not _is_trained(one):
            self._cache[key] = made
        return made[0], made[1]

    def _bias(self, places: Places, n: int, m: int) -> Tensor | None:
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

    def _one_bias(self, number: int, places: Places, n: int, m: int) -> Tensor:
        one: Layer = self.layers[number]
        if places[0] is not None:
            bias: Tensor = one(*places)
            return bias
        key = (number, n, m)
        if _is_trained(one):
            made: Tensor = one(torch.arange(n), torch.arange(m))
            return made
        if key not in self._cache:
            self._cache[key] = one(torch.arange(n), torch.arange(m))
        kept: Tensor = self._cache[key]
        return kept

    def _join_masks(self, bias: Any, seen: Tensor | None, q: Tensor, k: Tensor) -> Tensor:
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
        self, q: Tensor, k: Tensor, v: Tensor, places: Places, seen: Tensor | None
    ) -> Tensor:
        given: dict[str, Any] = {"positions_q": places[0], "positions_k": places[1]}
        made: Tensor = attention(q, k, v, self.layers[0], causal=self.causal, mask=seen, **given)
        return made

    def _coordinates(self, pairs: Tensor, width: int) -> Tensor:
        """Return the factor of every coordinate, (heads, 1, d), from those of pairs."""
        found = self.rotary_pairs(width)
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


def _is_trained(one: Layer) -> bool:
    """Whether training changes what a layer does, so that nothing of it can be kept."""
    return any(number.requires_grad for number in one.parameters())


def _pays_as_matrix(one: Transform, q: Tensor) -> bool:
    """Whether a transform is linear, and a basis of it has fewer vectors than the batch."""
    strict = one.definition.card.level.startswith("L0")
    return bool(strict and q.shape[-1] <= q.shape[0])


def _multiply(x: Tensor, matrices: Tensor) -> Tensor:
    """Return x (b, heads, n, d) times the matrix of its head and position."""
    return torch.einsum("bhnd,hnde->bhne", x, matrices)


class AddedVectors(nn.Module):  # type: ignore[misc]
    """The vectors of an encoding at a given root mean square, as they are added to embeddings."""

    def __init__(
        self, encoding: Encoding, *, rms: float, length: int, frozen: bool = False
    ) -> None:
        super().__init__()
        louder = rms / _root_mean_square(encoding, length)
        if encoding.learnable:
            numbers = {name: louder * encoding.numbers[name] for name in encoding.learnable}
            encoding = encoding.with_numbers(**numbers)
        self.factor = rms / _root_mean_square(encoding, length)
        self.vectors = module_of(encoding)
        if frozen:
            self.vectors.requires_grad_(False)

    def forward(self, positions: Tensor) -> Tensor:
        """Return one vector for each position."""
        made: Tensor = self.factor * self.vectors(positions)
        return made


def _root_mean_square(encoding: Encoding, length: int) -> float:
    """Return the root mean square of the vectors of the first positions."""
    places = torch.arange(length, dtype=torch.float64)
    if encoding.axes > 1:
        side = math.ceil(length ** (1 / encoding.axes))
        axes = [torch.arange(side, dtype=torch.float64)] * encoding.axes
        places = torch.cartesian_prod(*axes)[:length]
    return float(encoding.vectors(places).square().mean().sqrt())


@dataclass(frozen=True, kw_only=True, eq=False)
class RotaryPairs:
    """The pairs of one layer, in the order of their first coordinates."""

    coordinates: tuple[Pair, ...]
    heads: NDArray[np.bool_]
    """(heads, pairs): which heads turn them."""


@torch.no_grad()
def find_rotary_pairs(coupled: Any, width: int) -> RotaryPairs:
    """Return the pairs that a layer (`LayerEncodings`) turns in heads of a width."""
    found: list[set[Pair]] = [set() for _ in range(coupled.heads)]
    turning = [one for one in coupled.layers if isinstance(one, Transform)]
    for head, matrices in enumerate(
        _matrices_from_origin(coupled, width, turning) if turning else ()
    ):
        found[head] = set(rotary_pairs_of(matrices))
    every = sorted(set().union(*found))
    heads = np.array([[pair in own for pair in every] for own in found], np.bool_)
    return RotaryPairs(coordinates=tuple(every), heads=heads.reshape(coupled.heads, len(every)))


def rotary_pairs_of(matrices: Floats) -> list[Pair]:
    """Return the pairs that matrices (positions, d, d) of one head turn; rows are vectors.

    >>> turn = np.array([[[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]])
    >>> rotary_pairs_of(turn)
    [(0, 1)]
    """
    used: NDArray[np.bool_] = np.asarray((np.abs(matrices) > SMALL).any(axis=0))
    joined = used | used.T | np.eye(len(used), dtype=np.bool_)
    pairs = []
    for first in range(len(used)):
        beside = np.flatnonzero(joined[first])
        if len(beside) == 2 and beside[0] == first:
            second = int(beside[1])
            alone = joined[second].sum() == 2
            if alone and _is_rotation(matrices[:, beside][:, :, beside]):
                pairs.append((first, second))
    return pairs


def _is_rotation(blocks: Floats) -> bool:
    """Whether blocks (positions, 2, 2) are rotations, but for their length, and not all trivial."""
    scale = SMALL * np.abs(blocks).max()
    straight = np.abs(blocks[:, 0, 0] - blocks[:, 1, 1]) <= scale
    crossed = np.abs(blocks[:, 0, 1] + blocks[:, 1, 0]) <= scale
    return bool((straight & crossed).all() and (np.abs(blocks[:, 0, 1]) > scale).any())


def _matrices_from_origin(coupled: Any, width: int, turning: list[Any]) -> Floats:
    """Return M(0)^-1 M(p) as (heads, probes, d, d); no heads where that is not to be had."""
    made = [_matrices_at(coupled, width, at, turning) for at in (0.0, *PROBES)]
    known = [one for one in made if one is not None]
    none = np.zeros((0, len(PROBES), width, width))
    if len(known) < len(made) or np.linalg.cond(known[0]).max() > 1.0 / SMALL:
        return none
    return np.stack([np.linalg.solve(known[0], one) for one in known[1:]], axis=1)


def _matrices_at(coupled: Any, width: int, at: float, turning: list[Any]) -> Floats | None:
    """Return M(p) by head, (heads, inputs, outputs); None: what turns is not linear."""
    axes = turning[0].definition.axes
    place = torch.full((1,), at, dtype=torch.float64)
    if axes > 1:  # another place on every axis, so that none cancels another
        place = at + torch.arange(axes, dtype=torch.float64)[None]
    some = torch.linspace(-1.0, 2.0, width, dtype=torch.float64).square()
    rows = torch.cat([torch.eye(width, dtype=torch.float64), some[None]])
    rows = rows[:, None, None, :].expand(width + 1, coupled.heads, 1, width)
    made = coupled.transform(rows, rows, positions_q=place, positions_k=place)[0]
    if made.shape != rows.shape:
        return None
    whole = made[:, :, 0].permute(1, 0, 2).double().numpy()
    basis, other = whole[:, :-1], whole[:, -1]
    expected = np.einsum("i,hio->ho", some.numpy(), basis)
    linear = np.allclose(other, expected, rtol=0.0, atol=SMALL * np.abs(whole).max())
    return basis if linear else None
