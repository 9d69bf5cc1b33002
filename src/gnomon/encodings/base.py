"""What every encoding offers: vectors, a transform, or a bias, at explicit positions.

An encoding is a frozen definition with its hyper-parameters. Its *kinds* say what it can do:

* vectors(i) is added to the embedding at position i;
* transform(q, k) acts on queries and keys, so that logits see positions;
* bias(i, j) is added to the logit of query i and key j;
* content: a rule makes the logits of queries and keys themselves, as `scores`.

One formula serves all frameworks. The public methods take arrays of any library, resolve its
namespace once, and call the formulas (`vectors_at`, `apply`, `bias_between`, `content_scores`)
with coordinates and with the encoding's *numbers* in that library. Modules of a framework hold the
numbers themselves, learnable ones as parameters, and call the same formulas. A formula takes its
namespace as a keyword, never branches on values and never changes its arguments.

How an encoding is given distances between positions is its *lift* (`gnomon.encodings.lifts`). An
encoding whose kernel depends on the lag alone says so by `lag_distances`: lifts are then O(n d).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.content.ordering import logits_in_order, order_of
from gnomon.encodings.scoring import (
    ContentCall,
    check_order,
    mask_scores,
    read_tokens,
    refuse_tokens,
    scale_logits,
    wide,
    with_vectors,
)
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    as_coordinates,
    beside_heads,
    centred,
    common_namespace,
    constant,
    device_beside,
    float_array,
    key_positions,
    namespace_of,
    partner_of,
)
from gnomon.results import html_fields, plain

if TYPE_CHECKING:
    from os import PathLike
    from typing import Self

    from gnomon.encodings.card import Card, Entry
    from gnomon.groups import Commuting, Generator
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

LagDistances = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From lags (..., axes) to distances (...,)."""
Numbers = Mapping[str, Any]
"""The numbers of a formula by name, in the library that the formula runs in."""
DRAWN = 512
"""Positions that a picture shows at most."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Encoding:
    """Base of all encodings; a subclass is a frozen dataclass whose fields are its parameters."""

    kinds: ClassVar[tuple[str, ...]] = ()
    on_grids: ClassVar[bool] = True
    """Whether it can be made for positions with several axes."""
    mixes_axes: ClassVar[bool] = False
    """Whether the sign of a lag matters on several axes: distances are no function of |lags|."""
    span: ClassVar[tuple[float, float] | None] = None
    """Where its coordinates lie when they are no counts, such as (-1, 1) across a picture."""
    whole_only: ClassVar[bool] = False
    """Whether it knows whole positions only, as a table does."""
    in_order: ClassVar[bool] = False
    """Whether the tokens between a key and its query decide, too: tokens are then the keys by their
    positions, and the n queries are the last n of them (`gnomon.encodings.content.ordering`)."""
    reads_tokens: ClassVar[bool] = False
    """Whether a rule on content reads tokens, the keys or what is given in their place."""
    mixes_heads: ClassVar[bool] = False
    """Whether the logits of one head are made of those of others, too."""
    on_values: ClassVar[tuple[str, ...]] = ()
    """Learnable numbers that act on values and not on logits (`value_terms`)."""
    softmax_scale: ClassVar[float | None] = None
    """What attention multiplies q.k by where this encoding says so; None: 1 / sqrt(dimension of a
    head). `scores` never takes it by itself."""
    wraps: ClassVar[bool] = False
    """Whether it has an encoding inside, which attention sees in its place."""
    turns_by_tables: ClassVar[bool] = False
    """Whether cosines and sines are all that its transform needs of positions (`Rotating`)."""
    turns_by_frequencies: ClassVar[bool] = False
    """Whether its phases are its frequencies times positions, the same for all heads."""
    bias_rank: ClassVar[int | None] = None
    """How many coordinates beside those of q and k give the bias (`bias_factors`), if any do."""
    clamps: ClassVar[bool] = False
    """Whether positions past its last row have that row."""
    differs_by_layer: ClassVar[bool] = False
    """Whether the layers of a model have encodings of their own (`at_layer`)."""
    fades: ClassVar[bool] = False
    """Whether its factors leave any type of numbers, so that it is seen from references."""
    reads_neighbours: ClassVar[bool] = False
    """Whether what it knows of a token depends on the tokens before it."""
    known_length: ClassVar[int | None] = None
    """The length up to which nothing depends on that of the sequence; None: any."""
    has_fixed_length: ClassVar[bool] = False
    """Whether the length that its frequencies follow is stated, so that keys can be kept."""
    own_card: ClassVar[Card]
    """The card as the class declares it, before parameters change it."""
    entry: ClassVar[Entry | None] = None
    """What the catalogue knows of it, where it has it (`gnomon.encodings.card.catalogued`)."""
    axes: int = 1

    @property
    def card(self) -> Card:
        """Say what this encoding is, who defined it and what it was verified against."""
        return self.own_card

    def is_one_of(self, *names: str) -> bool:
        """Whether its class, or one that it derives from, declares one of these entries."""
        entries = (kind.__dict__.get("entry") for kind in type(self).__mro__)
        return any(entry is not None and entry.card.name in names for entry in entries)

    @property
    def own_entry(self) -> Entry | None:
        """Return the entry of the catalogue that is declared by this very class, or None."""
        entry = self.entry
        return entry if entry is not None and entry.makes is type(self) else None

    @property
    def name(self) -> str:
        """Return the name under which the registry knows this encoding."""
        return self.card.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values."""
        shown = (field for field in dataclasses.fields(self) if field.repr)
        return {field.name: plain(getattr(self, field.name)) for field in shown}

    @property
    def inside(self) -> Encoding:
        """Return what a wrapper has inside; any other encoding is that itself."""
        return self

    @property
    def head_count(self) -> int | None:
        """Return how many heads it treats differently; None: it treats all alike."""
        return vars(self).get("heads")

    @property
    def query_width(self) -> int:
        """Return how many coordinates a query has; 8 where any number will do."""
        return int(vars(self).get("dimension", 8))

    @property
    def any_width(self) -> bool:
        """Whether queries of any width will do."""
        return "dimension" not in vars(self.inside)

    @property
    def read_width(self) -> int:
        """Return how many numbers of a token a rule on content reads."""
        return self.query_width

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """Return how many positions there are along each axis, where they have an end."""
        return None

    def at_layer(self, layer: int) -> Self:
        """Return the encoding of a layer, counted from 0; most are the same in all."""
        del layer
        return self

    def at_length(self, length: int) -> Self:
        """Return the encoding for a context of `length`; most do not follow it."""
        del length
        return self

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers that the formulas need, in float64, by name."""
        return {}

    def numbers_in(self, like: Array, *, xp: Namespace) -> dict[str, Any]:
        """Return the numbers in the library and on the device of an array."""
        if xp is np:
            return dict(self.numbers)
        known = array_api_compat.is_array_api_obj(like)
        device = device_beside(like, xp=xp) if known else None
        return {
            name: constant(name, values, device, xp=xp) for name, values in self.numbers.items()
        }

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the numbers that training may change; each is a field of the same name."""
        return ()

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same encoding with other values of its learnable numbers."""
        for name in numbers:
            if name not in self.learnable:
                raise EncodingError(
                    f"The encoding {self.name!r} cannot learn {name!r}; it learns: "
                    f"{', '.join(self.learnable) or 'nothing'}."
                )
        return dataclasses.replace(self, **numbers)

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name the ways in which this encoding can be given distances."""
        names = ["kernel"] if {"vectors", "bias"} & set(self.kinds) else []
        names += ["vectors"] if "vectors" in self.kinds else []
        names += ["probe"] if {"transform", "content"} & set(self.kinds) else []
        return tuple(names)

    def vectors(self, positions: Array) -> Array:
        """Return one vector per position, shape (..., dimension)."""
        if "vectors" not in self.kinds:
            raise self._lacks("vectors")
        coordinates = as_coordinates(positions, self.axes)
        xp = namespace_of(positions)
        return self.vectors_at(coordinates, self.numbers_in(positions, xp=xp), xp=xp)

    def transform(
        self, q: Array, k: Array, positions_q: Array, positions_k: Array | None = None
    ) -> tuple[Array, Array]:
        """Return queries and keys (..., n, dimension) as seen from their positions."""
        if "transform" not in self.kinds:
            raise self._lacks("transform of queries and keys")
        xp = common_namespace(q, k)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        turned = []
        for values, positions, side in ((left, positions_q, "q"), (right, keys_at, "k")):
            coordinates = beside_heads(as_coordinates(positions, self.axes, like=values), values)
            numbers = self.numbers_in(values, xp=xp)
            turned.append(self.apply(values, coordinates, numbers, side=side, xp=xp))
        return turned[0], turned[1]

    def bias(self, positions_q: Array, positions_k: Array | None = None) -> Array:
        """Return what is added to the logits, shape (..., heads, queries, keys)."""
        if "bias" not in self.kinds:
            raise self._lacks("bias")
        keys_at = positions_q if positions_k is None else positions_k
        like = partner_of(positions_q, keys_at)
        xp = namespace_of(like)
        queries, keys = (as_coordinates(at, self.axes, like=like) for at in (positions_q, keys_at))
        return self.bias_between(queries, keys, self.numbers_in(like, xp=xp), xp=xp)

    def scores(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        scale: float = 1.0,
        tokens: Array | None = None,
        numbers: Numbers | None = None,
    ) -> Array:
        """Return the logits as this encoding makes them: scale times q.k, and a bias: (..., n, m).

        Vectors are added to both sides, a transform acts on both, a bias is added, a rule on
        content does what it says. Under an encoding that is causal only, keys after their query get
        -inf. `tokens` (..., m, width) is what a rule on content reads of each token; by default it
        reads the keys. Keys may come in any order, and later than every query: a rule that reads
        tokens in order takes them by their positions. A layer that holds the numbers of the formula
        itself passes them.
        """
        xp = common_namespace(q, k)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        checks.partners(left, right)
        keys_at = key_positions(left, right, positions_q, positions_k)
        held = self.numbers_in(left, xp=xp) if numbers is None else numbers
        refuse_tokens(self, tokens)
        if "content" in self.kinds:
            check_order(self, left, right)
            read = read_tokens(tokens, right, xp=xp)
            at_q = beside_heads(as_coordinates(positions_q, self.axes, like=left), left)
            at_k = beside_heads(as_coordinates(keys_at, self.axes, like=right), right)
            kind = xp.result_type(left.dtype, right.dtype)
            q, k, read = wide(left, right, read, xp=xp)
            given: dict[str, Any] = {"scale": scale, "xp": xp}
            if self.in_order:
                made = order_of(self.name, q, k, at_q, at_k, xp=xp)
                return xp.astype(logits_in_order(self, q, k, read, at_k, held, made, **given), kind)
            where = {"queries": at_q, "keys": at_k, "numbers": held}
            call = ContentCall(q=q, k=k, tokens=read, **where, **given)
            logits = xp.astype(self.content_scores(call), kind)
            return mask_scores(self, logits, positions_q, keys_at, numbers=held, xp=xp)
        return self.logits(left, right, positions_q, keys_at, held, scale=scale, xp=xp)

    def logits(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array,
        numbers: Numbers,
        *,
        scale: float,
        xp: Namespace,
    ) -> Array:
        """Return the logits of checked queries and keys: the formula of `scores` without a rule."""
        at_q = beside_heads(as_coordinates(positions_q, self.axes, like=q), q)
        at_k = beside_heads(as_coordinates(positions_k, self.axes, like=k), k)
        at_q, at_k = self.centre(at_q, at_k)
        if "vectors" in self.kinds:
            q = with_vectors(self, q, at_q, numbers, name="q", xp=xp)
            k = with_vectors(self, k, at_k, numbers, name="k", xp=xp)
        if "transform" in self.kinds:
            q = self.apply(q, at_q, numbers, side="q", xp=xp)
            k = self.apply(k, at_k, numbers, side="k", xp=xp)
        made = scale_logits(xp.matmul(q, xp.matrix_transpose(k)), scale)
        return mask_scores(self, made, positions_q, positions_k, numbers=numbers, xp=xp)

    def centre(self, at_q: Coordinates, at_k: Coordinates) -> tuple[Coordinates, Coordinates]:
        """Return coordinates far from 0 counted from their middle, where only lags matter."""
        moved = centred(at_q, at_k) if self.kinds == ("transform",) and self.axes == 1 else None
        return moved if moved and self.card.level.startswith("L0") else (at_q, at_k)

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the vectors at coordinates (..., axes): the formula behind `vectors`."""
        del coordinates, numbers, xp
        raise self._lacks("vectors")

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries (side "q") or keys ("k") as seen from their positions."""
        del x, coordinates, numbers, side, xp
        raise self._lacks("transform of queries and keys")

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the bias (..., heads, n, m) between coordinates (..., n, axes), (..., m, axes)."""
        del queries, keys, numbers, xp
        raise self._lacks("bias")

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits (..., n, m) of a rule on content, unmasked: the formula of `scores`.

        They are rounded to the type of q and k afterwards.
        """
        del call
        raise self._lacks("rule on content")

    def value_terms(
        self,
        weights: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        xp: Namespace,
    ) -> Array | None:
        """Return what attention weights (..., n, m) add to their values (..., n, d), or None."""
        del weights, queries, keys, numbers, xp
        return None

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the closed form from lag to distance under a lift, or None where there is none."""
        del lift, probe
        return None

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return X of a head, with logit = q^T exp((t - s) X) k; one for each axis of several."""
        del head
        raise EncodingError(
            f"The encoding {self.name!r} is {self.card.level}, and has no generator that is known "
            "in blocks; gnomon.verify recovers one where there is any."
        )

    def save(self, path: str | PathLike[str], *, origin: Mapping[str, Any] | None = None) -> None:
        """Write the encoding to a `.safetensors` file, which `gnomon.encoding(path)` opens.

        `origin` is what the file says of where the encoding came from.
        """
        from gnomon.encodings.files import write_encoding

        write_encoding(self, path, origin=origin)

    def plot(self) -> Any:
        """Return the distances between its positions (the first 64 where it has no end) drawn."""
        from gnomon.encodings.lifts import lift

        return lift(self, self._drawn_positions(), lift=self.lifts[0]).plot()

    def _drawn_positions(self) -> NDArray[np.int64]:
        """Return the positions that a picture shows: all rows there are, or 64 of them."""
        shape = self.row_shape or ((64,) if self.axes == 1 else (8,) * self.axes)
        points = np.indices(shape).reshape(len(shape), -1).T
        return points[:DRAWN, 0] if self.axes == 1 else points[:DRAWN]

    def _repr_html_(self) -> str:
        """Show what this encoding is, with its hyper-parameters."""
        card = self.card
        about = {"formula": card.formula, "level": card.level, "source": card.source}
        return html_fields(card.name, {**about, **self.parameters})

    def _lacks(self, wanted: str) -> EncodingError:
        return EncodingError(
            f"The encoding {self.name!r} has no {wanted}; it offers {' and '.join(self.kinds)}."
        )
