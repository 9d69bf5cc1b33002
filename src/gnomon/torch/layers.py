r"""Every encoding of the catalogue as a PyTorch module: transforms, vectors, biases, rules on
content.

A layer calls the formulas of its encoding (`apply`, `vectors_at`, `bias_between`,
`content_scores`) with numbers of its own: learnable ones are parameters, all others constants.
Phases, lags and slopes are computed from float64 coordinates and cast last, so a layer may be moved
to half precision.

*Transform.* Frequencies and phases are float64 (`arithmetic="exact"`), or float32 in the order of
operations of transformers (`arithmetic="float32"`), which reproduces its models to the last bit:
phases, cosines and sines in float32, tables cast to the type of the vectors, vectors rotated in
that type. Cosines and sines depend on positions alone: a model makes them once with `tables` and
rotates every layer's queries and keys with `turn`; `forward` does both at once.

*Bias.* Lags are differences of float64 coordinates, so they are exact at any position. Learned
numbers stay in float32 in half precision: an exponent rounded to bfloat16 errs by 3 % at lag 4096,
and what a network adds up and cancels by more. Entries of a table are the bias themselves, and
follow the layer.

*Content.* A rule may read the tokens between a key and its query, or act on logits that are there
already, so there is nothing smaller to share than logits.

Constants are never buffers: a buffer that is in no checkpoint stays empty where a model is made
without storage and then filled from a file, and is rounded by `.to(torch.bfloat16)`.

How vectors are rotated by ready tables, and the frequencies of transformers in float32.

    (a + ib) (cos p + i sin p) = (a cos p - b sin p) + i (a sin p + b cos p)

so pairs that lie side by side, layout *interleaved*, can be read as complex numbers without a copy:
one pass over the memory instead of six. Complex numbers do not export and do not fuse, so compiled
and exported code takes the real formula of the encodings, and so do vectors whose pairs are not
aligned in memory. Both ways round alike up to fused multiplication: they agree within one unit in
the last place of the pair's length.

`float32_numbers` has the frequencies of `Rotating.frequencies_in`, computed in PyTorch in float32
in the order of operations of transformers, so that they are its bits; `check_frequencies` compares
those that old state dicts hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gnomon.encodings import TURN, Encoding, Rotating, as_encoding
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import beside_heads, check_serves, constant, key_positions
from gnomon.torch.coordinates import (
    XP,
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

_ARITHMETICS = ("exact", "float32")
_CPU = torch.device("cpu")


def layer(
    encoding: Encoding | str | PathLike[str],
    *,
    kind: str | None = None,
    arithmetic: str = "exact",
    learn: bool = True,
    compiled: bool = False,
    dtype: torch.dtype | None = None,
) -> Any:
    """Return an encoding, or the one in a file, as a module of its kind.

    `Transform`, `Vectors`, `Bias` or `Content`;
    `kind` chooses where an encoding has several; by default it is the first it names. Learnable
    numbers are parameters of type `dtype`, frozen where `learn` is False; `dtype` is also the type
    of vectors and biases, and follows `.to(...)`. For transforms, `arithmetic="float32"` repeats
    the operations of transformers bit for bit, and `compiled` turns vectors by a compiled function.
    """
    encoding = as_encoding(encoding)
    chosen = encoding.kinds[0] if kind is None else kind
    if chosen not in encoding.kinds:
        raise EncodingError(
            f"The encoding {encoding.name!r} has no kind {chosen!r}; pass one of: "
            f"{', '.join(encoding.kinds)}."
        )
    if chosen == "transform":
        return Transform(
            encoding, arithmetic=arithmetic, learn=learn, compiled=compiled, dtype=dtype
        )
    if arithmetic != "exact" or compiled:
        raise EncodingError(
            f"The encoding {encoding.name!r} gives {chosen}; arithmetic and compiled are for "
            "transforms of queries and keys: leave them out."
        )
    return _KINDS[chosen](encoding, learn=learn, dtype=dtype)


class Layer(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """An encoding in PyTorch; a subclass has the `forward` of its kind."""

    keeps_float32 = False
    """Whether learned numbers stay in float32 when the layer is moved to half precision."""

    def __init__(
        self, encoding: Encoding, *, learn: bool = True, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self.definition: Any = encoding
        self._learned = encoding.learnable
        self.constants = _Constants(self._constant_numbers())
        self._place = torch.device("cpu")
        self._dtype = torch.get_default_dtype() if dtype is None else dtype
        _check_dtype(self._dtype)
        kept = torch.float32 if self.keeps_float32 and self._dtype in HALVES else self._dtype
        for name, numbers in self._learnable_numbers().items():
            self.register_parameter(name, nn.Parameter(numbers.to(kept), learn))

    @property
    def encoding(self) -> Encoding:
        """Return the definition with the numbers as they are learned at present.

        Numbers that are those of the definition, rounded to the precision of the layer, are those.
        """
        made = self._learnable_numbers()
        now = {name: getattr(self, name).detach() for name in made}
        if any(numbers.device.type == "meta" for numbers in now.values()):
            raise EncodingError(
                "The layer has no storage yet, so its learned numbers are not known; load weights, "
                "or call to_empty and reset_parameters first."
            )
        if all(torch.equal(now[name].cpu(), made[name].to(now[name].dtype)) for name in made):
            return self.definition
        return self.definition.with_numbers(**{name: _numpy(now[name]) for name in made})

    def numbers_on(self, device: torch.device) -> dict[str, Any]:
        """Return every number of the formula on a device, learned ones as they are at present."""
        learned = {name: getattr(self, name) for name in self._learned}
        return {**self.constants.on(device), **learned}

    def scores(
        self,
        q: Tensor,
        k: Tensor,
        positions_q: Any,
        positions_k: Any = None,
        *,
        scale: float = 1.0,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the logits, scale times q.k with all that the encoding does, in exact phases.

        Under an encoding that is causal only, keys after their query get -inf. A rule on content
        reads `tokens` (..., m, width), or the keys where they are not given.
        """
        check_tensor(q, "q")
        check_tensor(k, "k")
        exact = getattr(self, "arithmetic", "exact") == "exact" or self.definition.learnable
        held = self.numbers_on(q.device) if exact else None
        given = {"scale": scale, "tokens": tokens, "numbers": held}
        return self.definition.scores(q, k, positions_q, positions_k, **given)

    def reset_parameters(self) -> None:
        """Put the numbers of the definition back, as after `to_empty`."""
        with torch.no_grad():
            for name, numbers in self._learnable_numbers().items():
                getattr(self, name).copy_(numbers)

    def extra_repr(self) -> str:
        """Say which encoding it is, with its parameters."""
        given = ", ".join(f"{k}={v!r}" for k, v in self.definition.parameters.items())
        return f"{self.definition.name}: {given}"

    def _constant_numbers(self) -> dict[str, Any]:
        """Return the numbers that training never changes."""
        learnable = self.definition.learnable
        return {k: v for k, v in self.definition.numbers.items() if k not in learnable}

    def _learnable_numbers(self) -> dict[str, Tensor]:
        """Return the learnable numbers as they are defined, in float64."""
        numbers = self.definition.numbers if self.definition.learnable else {}
        return {
            name: torch.from_numpy(np.array(numbers[name])) for name in self.definition.learnable
        }

    def _coordinates(self, positions: Any) -> Any:
        """Return the coordinates of positions, on their own device where they have one."""
        device = positions.device if isinstance(positions, Tensor) else self._place
        return coordinates_of(positions, self.definition.axes, device)

    def _apply(self, fn: Callable[[Tensor], Tensor], *args: Any, **kwargs: Any) -> Any:
        """Follow `.to(...)`, though there may be no parameter that shows where the layer went."""
        probe = fn(torch.empty(0, dtype=self._dtype, device=self._place))
        self._dtype = probe.dtype
        if probe.device.type != "meta":
            self._place = probe.device
        if self.keeps_float32:
            return super()._apply(lambda tensor: _kept(tensor, fn(tensor)), *args, **kwargs)
        return super()._apply(fn, *args, **kwargs)


def _kept(before: Tensor, after: Tensor) -> Tensor:
    """Return a tensor after a move that may round it to half precision, without that rounding."""
    narrowed = after.dtype in HALVES and before.dtype not in HALVES
    return before.to(after.device) if narrowed else after


def _check_dtype(dtype: torch.dtype) -> None:
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise EncodingError(
            f"dtype is {dtype!r}; pass a type of real numbers, such as torch.float32."
        )


def _numpy(parameter: Tensor) -> Any:
    return parameter.detach().to("cpu", torch.float64).numpy()


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
        checks.one_of("arithmetic", arithmetic, _ARITHMETICS)
        super().__init__(encoding, learn=learn, dtype=dtype)
        self.arithmetic = arithmetic
        self.shares_tables = encoding.turns_by_tables
        self.per_head = isinstance(encoding, Rotating) and encoding.frequencies.ndim == 3
        if arithmetic == "float32":
            self._check_float32()
            self.constants = _Constants(float32_numbers(encoding, self.constants.numbers))
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
                f"q has {q.shape[-2]} vectors and k {k.shape[-2]}, so positions cannot be counted "
                "for both; pass positions_q and positions_k."
            )
        at_q = self._ready(q, "q", positions_q, offset)
        shared = positions_k is None and k.ndim == q.ndim and k.dtype == q.dtype
        if positions_q is not None:
            positions_k = key_positions(q, k, positions_q, positions_k)
        at_k = at_q if shared else self._ready(k, "k", positions_k, offset)
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
            turned = self.definition.apply(x, tables.coordinates, numbers, side=side, xp=XP)
            return turned if out is None else _written(turned, out)
        if not isinstance(tables, Tables):
            raise EncodingError(
                f"The tables are of type {type(tables).__name__}; pass what the method tables of "
                "this layer returns for the positions."
            )
        self._check(x, tables, side)
        plain = self.per_head or tables.cosine.ndim < 3  # these serve all of x as they are
        tables = tables if plain else align(tables, x)
        layout, first = self.definition.layout, self.definition.first
        if out is None:
            return self._route()(x, tables, layout, first)
        free = not (torch.is_grad_enabled() and (x.requires_grad or tables.sine.requires_grad))
        if free and rotate_into(x, tables, first, out):
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
                'arithmetic="float32" cannot repeat transformers; leave it out, or make the layer '
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
        if self.shares_tables and coordinates.ndim > 2:
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
        by = rotate_as_stored if self.arithmetic == "float32" else rotate_exact
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


class Vectors(Layer):
    """Vectors of an encoding, as a module."""

    def forward(self, positions: Any) -> Tensor:
        """Return one vector for each position, shape (..., dimension), in the type of the layer."""
        coordinates = self._coordinates(positions)
        numbers = self.numbers_on(device_of(coordinates))
        return self.definition.vectors_at(coordinates, numbers, xp=XP).to(self._dtype)


class Bias(Layer):
    """The bias of an encoding, as a module."""

    def __init__(
        self, encoding: Encoding, *, learn: bool = True, dtype: torch.dtype | None = None
    ) -> None:
        self.keeps_float32 = "table" not in encoding.learnable
        super().__init__(encoding, learn=learn, dtype=dtype)

    def forward(self, positions_q: Any, positions_k: Any = None) -> Tensor:
        """Return what is added to the logits, shape (..., heads, queries, keys).

        Under an encoding that is causal only, keys after their query are left to the caller's mask.
        """
        queries = self._coordinates(positions_q)
        keys = queries
        if positions_k is not None:
            keys = coordinates_of(positions_k, self.definition.axes, device_of(queries))
        numbers = self.numbers_on(device_of(queries))
        return self.definition.bias_between(queries, keys, numbers, xp=XP).to(self._dtype)


class Content(Layer):
    """The rule of an encoding on content, as a module."""

    keeps_float32 = True  # gates and clocks are summed over tokens, and errors with them

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        positions_q: Any,
        positions_k: Any = None,
        *,
        scale: float = 1.0,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the logits (..., n, m), -inf on keys that the encoding masks."""
        return self.scores(q, k, positions_q, positions_k, scale=scale, tokens=tokens)


class _Constants:
    """The numbers of a formula by name, on every device that asked for them."""

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        self.numbers = dict(numbers)
        self.made: dict[torch.device, dict[str, Any]] = {_CPU: self._make(_CPU)}

    def on(self, device: torch.device) -> dict[str, Any]:
        """Return the numbers on a device; compiled code moves them, other code keeps them there."""
        if device in self.made:
            return self.made[device]
        if is_tracing() and device.type != "mps":
            return {name: value.to(device) for name, value in self.made[_CPU].items()}
        self.made[device] = self._make(device)
        return self.made[device]

    def _make(self, device: torch.device) -> dict[str, Any]:
        return {name: _tensors(name, values, device) for name, values in self.numbers.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"numbers": self.numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["numbers"])  # type: ignore[misc]  # made anew, on no device but this


def _tensors(name: str, values: Any, device: torch.device) -> Any:
    """Return one number as it is kept on a device, in memory of its own."""
    if isinstance(values, torch.Tensor):
        return values.to(device)
    return constant(name, np.array(values), device, xp=XP)


_KINDS: dict[str, type[Layer]] = {
    "transform": Transform,
    "vectors": Vectors,
    "bias": Bias,
    "content": Content,
}


HALVES = (torch.float16, torch.bfloat16)
_ULPS = 8
"""Rounding that frequencies of two computations may differ by, in units of their own type."""


class Tables(NamedTuple):
    """Cosines and sines (..., n, pairs), and the same as complex numbers where that pays."""

    cosine: Tensor
    sine: Tensor
    turns: Tensor | None = None


def rotate_exact(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Rotate x in float32 or better, and cast last."""
    wide = torch.promote_types(x.dtype, torch.float32)
    cosine, sine, turns = tables
    if cosine.dtype != wide:
        raise _other_type(cosine, x)
    whole = first == 0 and 2 * cosine.shape[-1] == x.shape[-1]
    part = (x if whole else _part(x, cosine, first)).to(wide)
    if turns is not None and not is_tracing() and is_complex_in_memory(part):
        turned = _multiply(part, turns).to(x.dtype)
    else:
        turned = TURN[layout](part, cosine, sine, dtype=x.dtype, xp=XP)
    return turned if whole else _join(x, turned, first)


def rotate_into(x: Tensor, tables: Tables, first: int, out: Tensor) -> bool:
    """Write x, rotated, into memory that is there, which may be x itself; False: no such route.

    New memory may cost more than the turning: the system clears every page before it is written.
    """
    cosine, _, turns = tables
    part, target = _part(x, cosine, first), _part(out, cosine, first)
    if turns is None or is_tracing() or {x.dtype, out.dtype} != {cosine.dtype}:
        return False
    if out.shape != x.shape or not (is_complex_in_memory(part) and is_complex_in_memory(target)):
        return False
    if _share_memory(x, out) and (x.data_ptr(), x.stride()) != (out.data_ptr(), out.stride()):
        return False  # what is written would be read again
    pairs, turned = (torch.view_as_complex(y.unflatten(-1, (-1, 2))) for y in (part, target))
    torch.mul(pairs, turns, out=turned)
    if part.shape != x.shape and out.data_ptr() != x.data_ptr():
        last = first + part.shape[-1]
        out[..., :first].copy_(x[..., :first])
        out[..., last:].copy_(x[..., last:])
    return True


def _share_memory(x: Tensor, out: Tensor) -> bool:
    return bool(x.untyped_storage().data_ptr() == out.untyped_storage().data_ptr())


def rotate_as_stored(x: Tensor, tables: Tables, layout: str, first: int) -> Tensor:
    """Rotate x in its own type by tables of that type, as transformers does."""
    least = x.dtype if x.dtype in HALVES else torch.float32
    if torch.promote_types(tables.cosine.dtype, least) != tables.cosine.dtype:
        raise _other_type(tables.cosine, x)
    cosine, sine = tables.cosine.to(x.dtype), tables.sine.to(x.dtype)
    part = _part(x, cosine, first)
    return _join(x, TURN[layout](part, cosine, sine, dtype=x.dtype, xp=XP), first)


def align(tables: Tables, x: Tensor) -> Tables:
    """Return tables that broadcast against vectors x (..., heads, n, d)."""
    cosine, sine, turns = tables
    turns = None if turns is None else beside_heads(turns, x)
    return Tables(beside_heads(cosine, x), beside_heads(sine, x), turns)


def is_complex_in_memory(x: Tensor) -> bool:
    """Whether neighbours in the last axis lie in memory as complex numbers do."""
    *others, last = x.stride()
    even = all(stride % 2 == 0 for stride in others)
    return bool(last == 1 and even and x.storage_offset() % 2 == 0)


def _multiply(x: Tensor, turns: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2)


def _other_type(cosine: Tensor, x: Tensor) -> EncodingError:
    return EncodingError(
        f"The tables are of {cosine.dtype} and the vectors of {x.dtype}; make tables with "
        f"dtype={x.dtype}."
    )


def _part(x: Tensor, cosine: Tensor, first: int) -> Tensor:
    last = first + 2 * cosine.shape[-1]
    return x if first == 0 and last == x.shape[-1] else x[..., first:last]


def _join(x: Tensor, turned: Tensor, first: int) -> Tensor:
    """Return x with the coordinates from `first` on replaced by those that were turned."""
    last = first + turned.shape[-1]
    if turned.shape[-1] == x.shape[-1]:
        return turned
    return torch.cat([x[..., :first], turned, x[..., last:]], dim=-1)


def float32_numbers(encoding: Encoding, numbers: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the constants of an encoding in float32, frequencies as transformers makes them."""
    made = {name: _narrow(values) for name, values in numbers.items()}
    if "frequencies" in made and isinstance(encoding, Rotating):
        with torch.device("cpu"):  # a model may be made without storage, but not its constants
            made["frequencies"] = encoding.frequencies_in(xp=XP, dtype=torch.float32)
    return made


def _narrow(values: Any) -> Tensor:
    kept = torch.from_numpy(np.array(values))
    return kept.to(torch.float32) if kept.is_floating_point() else kept


def check_frequencies(given: Tensor, own: Tensor, key: str) -> None:
    """Refuse frequencies of a state dict that are not those of the definition."""
    if given.numel() != own.numel():
        raise EncodingError(
            f"The state dict has {given.numel()} frequencies in {key!r} and this encoding "
            f"{own.numel()}; make the layer with the dimension that the model was trained with."
        )
    wide, wanted = given.detach().cpu().double().reshape(-1), own.cpu().double().reshape(-1)
    kind = torch.finfo(given.dtype if given.is_floating_point() else torch.float32)
    allowed = _ULPS * max(kind.eps, torch.finfo(torch.float32).eps) * wanted.abs() + kind.tiny
    wrong = ~((wide - wanted).abs() <= allowed)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0, 0])
        raise EncodingError(
            f"Frequency {at} in {key!r} of the state dict is {wide[at]:.6g} and this encoding's is "
            f"{wanted[at]:.6g}; make the layer with the base and scaling of that model, or leave "
            "the key out."
        )
