"""What rules on content share: heads with learned weights that read tokens.

A rule makes logits itself (`content_scores`). Where it reads tokens, token l is key l in the order
given, and of m tokens the last n are the queries: what precedes them is a cache. Sums over tokens
are made in float64 where there is, since their errors grow with the length; only then are they
rounded to the type of queries and keys [array-api].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.base import Encoding
from gnomon.encodings.starting import freeze_given, lock
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.encodings.scoring import ContentCall
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

    Floats = NDArray[np.float64]
_SMALL = 1e-6
"""Keeps the length of a vector away from 0."""


def check_heads(x: Array, heads: int, dimension: int, name: str) -> None:
    """Refuse vectors of another dimension, or of another number of heads, than there are numbers.

    Shapes alone are looked at, so that a compiler can follow.
    """
    shape = f"pass arrays of shape (..., {heads}, positions, {dimension})"
    if x.ndim == 0 or x.shape[-1] != dimension:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has numbers for vectors of "
            f"dimension {dimension}; {shape}."
        )
    if (x.shape[-3] if x.ndim > 2 else 1) != heads:
        raise EncodingError(
            f"{name} has shape {tuple(x.shape)}, but this encoding has numbers for {heads} heads; "
            f"{shape}."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedRule(Encoding):
    """Base of rules on content with learned numbers: fields that are None until training."""

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False

    @property
    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of all that is learned, by the names of its fields."""

    @abstractmethod
    def started(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return what the learning of one of them starts from."""

    @cached_property
    def learned(self) -> dict[str, Floats]:
        """Return what was learned, or what learning starts from."""
        given = {name: getattr(self, name) for name in self.shapes}
        return {
            name: lock(self.started(name, self.shapes[name])) if own is None else own
            for name, own in given.items()
        }

    @property
    def numbers(self) -> dict[str, Floats]:
        """Return what is learned; a rule may need more."""
        return dict(self.learned)

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what is learned."""
        return tuple(self.shapes)

    def keep_learned(self) -> None:
        """Keep learned numbers that were given, or refuse those that nothing would use."""
        for field in fields(self):
            if field.name in self.shapes:
                freeze_given(self, field.name, self.shapes[field.name])
            elif not field.repr and getattr(self, field.name) is not None:
                raise EncodingError(
                    f"{field.name} is given, and {self.name!r} with these parameters learns "
                    f"{', '.join(self.shapes)} alone; leave it out."
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class ContentRule(LearnedRule):
    """Base of rules on content for `heads` heads of `dimension` coordinates."""

    reads_tokens: ClassVar[bool] = True
    heads: int
    dimension: int

    def __post_init__(self) -> None:
        checks.one_axis(self.name, self.axes)
        checks.whole("heads", self.heads, least=1)
        checks.whole("dimension", self.dimension, least=1)

    def check_content(self, call: ContentCall, width: int) -> None:
        """Refuse queries, keys and tokens of another shape than the rule has numbers for."""
        q, tokens = call.q, call.tokens
        check_heads(q, self.heads, self.dimension, "q")
        heads = q.shape[-3] if q.ndim > 2 else 1
        apart = tokens.ndim > 2 and not checks.serves(tokens.shape[-3], heads)
        if tokens.shape[-1] != width or apart:
            raise EncodingError(
                f"Tokens have shape {tuple(tokens.shape)}, but this encoding reads {width} numbers "
                f"of each; pass tokens of shape (..., m, {width}), or token_width="
                f"{tokens.shape[-1]} where the encoding is made."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenRule(ContentRule):
    """Base of rules whose learned weights read `token_width` numbers of each token.

    Without `token_width` they read keys: as many numbers as a key has.
    """

    in_order: ClassVar[bool] = True
    token_width: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token_width is not None:
            checks.whole("token_width", self.token_width, least=1)
        checks.whole("seed", self.seed, least=0)

    @property
    def read_width(self) -> int:
        """Return how many numbers of a token are read."""
        return self.dimension if self.token_width is None else self.token_width


def sum_type(coordinates: Coordinates, *, xp: Namespace) -> Any:
    """Return the type in which tokens are summed: float64 where coordinates have it."""
    return xp.float32 if isinstance(coordinates, Limbs) else xp.float64


def read(tokens: Array, weights: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Return weights times tokens (..., heads or 1, m, width): (..., heads, m, outputs).

    Weights are (heads, outputs, width), or (heads, width) for one output: (..., heads, m).
    """
    wide, held = xp.astype(tokens, dtype), xp.astype(weights, dtype)
    if held.ndim == 2:
        return xp.matmul(wide, held[..., None])[..., 0]
    return xp.matmul(wide, xp.matrix_transpose(held))


def last(x: Array, count: Any, *, axis: int) -> Array:
    """Return the last `count` entries along axis -1 or -2: those of the queries among the keys."""
    first = x.shape[axis] - count
    return x[..., first:] if axis == -1 else x[..., first:, :]


def unit(x: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Return vectors divided by sqrt(|x|^2 + 10^-6): of length 1, and 0 where they are 0.

    The number under the root is that of flash-linear-attention, on which such rules are trained.
    """
    wide = xp.astype(x, dtype)
    return wide / xp.sqrt(xp.sum(wide * wide, axis=-1, keepdims=True) + _SMALL)
