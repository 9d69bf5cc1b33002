"""A layer that acts on queries and keys, and tables that all layers of a model share.

Frequencies and phases are float64 (`arithmetic="exact"`), or float32 in the order of operations of
transformers (`arithmetic="float32"`), which reproduces its models to the last bit: phases, cosines
and sines in float32, tables cast to the type of the vectors, vectors turned in that type.

Cosines and sines depend on positions alone. A model makes them once with `tables` and turns every
layer's queries and keys with `turn`; `forward` does both at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from gnomon.encodings import Encoding, Rotating, beside_heads, check_serves, key_positions
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.torch.base import XP, Layer
from gnomon.torch.constants import Constants
from gnomon.torch.float32 import check_frequencies, float32_numbers
from gnomon.torch.places import (
    Offset,
    check_count,
    check_tensor,
    coordinates_of,
    counted,
    device_of,
    is_real,
    is_tracing,
    narrow,
    without_autocast,
)
from gnomon.torch.turning import Tables, aligned, turn_as_stored, turn_exact, turn_into

ARITHMETICS = ("exact", "float32")


class Places(NamedTuple):
    """Coordinates, for a transform that has no tables to share."""

    coordinates: Any


class Transform(Layer):
    """The transform of an encoding, as a module."""

    keeps_float32 = True  # learned frequencies in half precision would err by radians

    def __init__(
        self,
        encoding: Encoding,
        *,
        arithmetic: str = "exact",
        learn: bool = True,
        compiled: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        checks.one_of("arithmetic", arithmetic, ARITHMETICS)
        super().__init__(encoding, learn=learn, dtype=dtype)
        self.arithmetic = arithmetic
        self.shares_tables = _shares_tables(encoding)
        self.per_head = isinstance(encoding, Rotating) and encoding.frequencies.ndim == 3
        if arithmetic == "float32":
            self._check_float32()
            self.constants = Constants(float32_numbers(encoding, self.constants.numbers))
        self.compiled = compiled
        self._fast: Any = None

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        positions_q: Any = None,
        positions_k: Any = None,
        *,
        offset: Offset = 0,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys (..., n, dimension) as seen from their positions.

        Without positions they are counted from `offset` on: what a cache holds already, as a number
        or a tensor with one for each sequence of the batch.
        """
        check_tensor(q, "q")
        check_tensor(k, "k")
        if positions_q is not None and (isinstance(offset, Tensor) or offset != 0):
            raise EncodingError(
                "offset says where counting begins, and positions_q is given, so nothing is "
                "counted; pass one of the two."
            )
        if positions_q is None and positions_k is None and q.shape[-2] != k.shape[-2]:
            raise EncodingError(
                f"q has {q.shape[-2]} vectors and k {k.shape[-2]}, so positions can not be counted "
                "for both; pass positions_q and positions_k."
            )
        at_q = self._ready(q, "q", positions_q, offset)
        shared = positions_k is None and k.ndim == q.ndim and k.dtype == q.dtype
        keys = key_positions(q, k, positions_q, positions_k)
        at_k = at_q if shared else self._ready(k, "k", keys, offset)
        return self.turn(q, at_q, side="q"), self.turn(k, at_k, side="k")

    def tables(
        self,
        positions: Any,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> Tables | Places:
        """Return what `turn` needs at positions (n,) or (..., n), for vectors of type `dtype`.

        Positions of several sequences are given without the axis of heads.
        """
        own = positions.device if isinstance(positions, Tensor) else self._place
        place = own if device is None else torch.device(device)
        coordinates = coordinates_of(positions, self.definition.axes, place)
        if self.per_head and coordinates.ndim > 2:
            coordinates = coordinates[..., None, :, :]
        return self._tables(coordinates, dtype)

    def turn(
        self, x: Tensor, tables: Tables | Places, *, side: str, out: Tensor | None = None
    ) -> Tensor:
        """Return queries (side "q") or keys ("k"), turned by tables of their positions.

        `out` is memory for the result, such as x itself, for use without gradients.
        """
        check_tensor(x, side)
        if not is_real(x):
            raise EncodingError(
                f"{side} holds {x.dtype}; pass real numbers (floats) of 16, 32 or 64 bits."
            )
        if isinstance(tables, Places):
            numbers = self.numbers_on(x.device)
            turned = self.definition.turned(x, tables.coordinates, numbers, side=side, xp=XP)
            return turned if out is None else _written(turned, out)
        if not isinstance(tables, Tables):
            raise EncodingError(
                f"The tables are of type {type(tables).__name__}; pass what the method tables of "
                "this layer returns for the positions."
            )
        self._check(x, tables, side)
        tables = tables if self.per_head else aligned(tables, x)
        layout, first = self.definition.layout, self.definition.first
        if out is None:
            return self._route()(x, tables, layout, first)
        free = not (torch.is_grad_enabled() and (x.requires_grad or tables.sine.requires_grad))
        if free and turn_into(x, tables, first, out):
            return out
        return _written(self._route()(x, tables, layout, first), out)

    @property
    def inv_freq(self) -> Tensor:
        """Return the frequencies in float32, as other libraries keep them: (pairs,) on one axis."""
        numbers = self.numbers_on(self._place)
        if "frequencies" not in numbers:
            raise EncodingError(
                f"The encoding {self.definition.name!r} has no frequencies to read."
            )
        kept = getattr(numbers["frequencies"], "radians", numbers["frequencies"])
        kept = kept.detach().to(torch.float32)
        return kept[:, 0] if kept.ndim == 2 and kept.shape[1] == 1 else kept

    def __dir__(self) -> list[str]:
        """Leave `inv_freq` out where there is none: `torch.jit.trace` reads all that is listed."""
        there = "frequencies" in self.definition.numbers
        return [name for name in super().__dir__() if there or name != "inv_freq"]

    def _check_float32(self) -> None:
        """Refuse arithmetic of transformers for a transform that it does not have in that form."""
        if not self.shares_tables and self.definition.numbers:
            raise EncodingError(
                f"The encoding {self.definition.name!r} does more than turn by tables, so "
                'arithmetic="float32" can not repeat transformers; leave it out, or make the layer '
                "of a rotary encoding."
            )

    def _ready(self, x: Tensor, name: str, positions: Any, offset: Offset) -> Tables | Places:
        """Return the tables for one of queries and keys, broadcast beside its heads."""
        axes = self.definition.axes
        if positions is None:
            coordinates = counted(x.shape[-2], offset, axes, x.device)
        else:
            coordinates = coordinates_of(positions, axes, x.device)
        if x.ndim > 1:
            check_count(coordinates, x, name)
        if self.shares_tables:
            coordinates = beside_heads(coordinates, x)
        return self._tables(coordinates, x.dtype if is_real(x) else torch.float32)

    def _tables(self, coordinates: Any, dtype: torch.dtype) -> Tables | Places:
        """Return cosines and sines in the type in which vectors of `dtype` are turned."""
        exact = self.arithmetic == "exact"
        coordinates = coordinates if exact else narrow(coordinates)
        if not self.shares_tables:
            return Places(coordinates)
        numbers = self.numbers_on(device_of(coordinates))
        with without_autocast(device_of(coordinates)):
            cosine, sine = self.definition.tables(coordinates, numbers, xp=XP)
        kept = torch.promote_types(dtype, torch.float32) if exact else dtype
        cosine, sine = cosine.to(kept), sine.to(kept)
        pays = exact and self.definition.layout == "interleaved" and not is_tracing()
        return Tables(cosine, sine, torch.complex(cosine, sine) if pays else None)

    def _check(self, x: Tensor, tables: Tables, side: str) -> None:
        """Refuse vectors of another dimension or number of heads, and tables of other lengths."""
        self.definition.check_vectors(x, side, self.numbers_on(x.device)["frequencies"])
        check_count(tables.cosine, x, side)
        if self.per_head:
            check_serves(tables.cosine, x)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Take an `inv_freq` of an old state dict for what it is: a number to check."""
        given = state.pop(f"{prefix}inv_freq", None)
        if given is not None:
            check_frequencies(given, self.inv_freq, f"{prefix}inv_freq")
        super()._load_from_state_dict(state, prefix, *rest)

    def _route(self) -> Any:
        """Return the function that turns vectors, compiled when it is first needed."""
        by = turn_as_stored if self.arithmetic == "float32" else turn_exact
        if not self.compiled or is_tracing():
            return by
        if self._fast is None:
            self._fast = torch.compile(by)
        return self._fast

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled code behind: it is made anew where the layer is opened."""
        return {**self.__dict__, "_fast": None}


def _written(turned: Tensor, out: Tensor) -> Tensor:
    """Return vectors in the memory that was given for them."""
    if turned.requires_grad:
        raise EncodingError(
            "out is given while gradients are recorded; leave it out, or use torch.no_grad()."
        )
    if out.shape != turned.shape or out.dtype != turned.dtype:
        raise EncodingError(
            f"out has shape {tuple(out.shape)} and {out.dtype}, and the vectors "
            f"{tuple(turned.shape)} and {turned.dtype}; pass memory of the same shape and type."
        )
    return out.copy_(turned)


def _shares_tables(encoding: Encoding) -> bool:
    """Whether tables of cosines and sines are all that the transform needs of positions."""
    return isinstance(encoding, Rotating) and type(encoding).turned is Rotating.turned
