"""DAPE: a small network looks at the logits of all heads, and at a bias, and adds to both.

    logits = A + B + f(A, B),   A = scale q.k,  B a bias by position,
    f = W_2 leaky(W_1 [A; B] + b_1) + b_2 over the heads of one pair,  leaky(x) = max(x, x/100)

[zheng2024 sec. 3]. The bias thus adapts to what is said. f takes 2 H numbers to `units` and back to
H, apart for every pair of query and key, so a cut-out of queries and keys has the same logits.
Weights and biases of f start uniform within 1/sqrt(inputs), as the authors leave them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.content.base import LearnedRule
from gnomon.encodings.scoring import of_own_places
from gnomon.encodings.starting import spread
from gnomon.encodings.wrappers import inner_encoding, inner_parameters
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import moved_axis

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.encodings.scoring import ContentCall
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

_OWN = ("mixer_in", "mixer_in_bias", "mixer_out", "mixer_out_bias")
_SLOPE = 0.01
"""Of what is below 0, this share passes."""


@catalogued(
    Card(
        name="dape",
        family="content",
        kind=("content",),
        formula="A + B + f(A, B), A = scale q.k, B the bias inside, f two layers over heads",
        source="zheng2024",
        level=in_words("L7"),
        relative=True,
        learnable=True,
        extrapolation="made for lengths past the trained ones, by its authors",
        reading=(
            "the first version, f apart for each query and key; the second convolves over keys. "
            "The bias inside is as its own card says: where that sees both directions, so does "
            "this"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "torch.nn.Linear and LeakyReLU",
                "agreement/test_content_peers.py",
                "test_mixed_heads_equal_layers_of_torch",
            ),
        ),
    ),
    examples=(
        {"inner": {"name": "kerple-log", "heads": 2}, "units": 4},
        {"inner": {"name": "t5", "heads": 2, "sigma": 1.0}, "units": 4, "seed": 1},
    ),
    shown={"inner": {"name": "alibi", "heads": 8}},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Dape(LearnedRule):
    """The bias `inner`, an encoding or {"name": ..., parameters}, mixed with logits by f."""

    mixes_heads: ClassVar[bool] = True
    """Whether a logit depends on those of other heads."""
    inner: Any
    units: int = 32
    seed: int = 0
    mixer_in: Any = field(default=None, repr=False)
    mixer_in_bias: Any = field(default=None, repr=False)
    mixer_out: Any = field(default=None, repr=False)
    mixer_out_bias: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("dape", self.axes)
        object.__setattr__(self, "inner", inner_encoding(self.inner))
        if self.inner.kinds != ("bias",):
            raise EncodingError(
                f"inner is {self.inner.name!r}, which offers {' and '.join(self.inner.kinds)}; "
                "pass an encoding that is a bias, such as alibi."
            )
        checks.one_axis(self.inner.name, self.inner.axes)
        checks.whole("units", self.units, least=1)
        checks.whole("seed", self.seed, least=0)
        self.keep_learned()

    @property
    def inside(self) -> Encoding:
        """Return the bias inside."""
        return self.inner

    @property
    def head_count(self) -> int | None:
        """Return how many heads the bias inside treats differently."""
        return self.inner.head_count

    @cached_property
    def heads(self) -> int:
        """Return the heads of the bias inside."""
        return int(self.inner.bias(np.arange(1)).shape[-3])

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the weights and biases of f."""
        heads, units = self.heads, self.units
        shapes = ((units, 2 * heads), (units,), (heads, units), (heads,))
        return dict(zip(_OWN, shapes, strict=True))

    @property
    def card(self) -> Card:
        """Return the card, with what the bias inside decides."""
        inner = self.inner.card
        return dataclasses.replace(
            self.own_card,
            formula=f"A + B + f(A, B), f over heads; B: {inner.formula}",
            level=self.own_card.level if inner.relative else inner.level,
            relative=inner.relative,
            causal_only=inner.causal_only,
            cacheable=inner.cacheable,
        )

    @property
    def softmax_scale(self) -> float | None:  # type: ignore[override]
        """Return the scale of the bias inside."""
        own: float | None = self.inner.softmax_scale
        return own

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, those of the bias by its name."""
        return {**super().parameters, "inner": inner_parameters(self.inner)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return numbers that are uniform in (-1, 1) / sqrt(inputs), as torch.nn.Linear starts."""
        inputs = self.units if name.startswith("mixer_out") else 2 * self.heads
        return spread(_OWN.index(name), shape, self.seed) * inputs**-0.5

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the bias inside, and those of f."""
        return {**self.inner.numbers, **self.learned}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what the bias inside learns, and f."""
        return (*self.inner.learnable, *_OWN)

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same rule with other learned numbers, of the bias inside or of f."""
        own = {name: values for name, values in numbers.items() if name in _OWN}
        rest = {name: values for name, values in numbers.items() if name not in _OWN}
        inner = self.inner.with_numbers(**rest) if rest else self.inner
        return dataclasses.replace(self, inner=inner, **own)

    def content_scores(self, call: ContentCall) -> Array:
        """Return A + B + f(A, B)."""
        q, k, numbers, xp = call.q, call.k, call.numbers, call.xp
        heads = numbers["mixer_out"].shape[0]
        logits = call.scaled_products()
        if (logits.shape[-3] if logits.ndim > 2 else 1) != heads:
            raise EncodingError(
                f"q has shape {tuple(q.shape)} and k {tuple(k.shape)}, but this encoding mixes "
                f"{heads} heads; pass arrays of shape (..., {heads}, positions, dimension)."
            )
        bias = _bias_of_heads(self.inner, call.queries, call.keys, numbers, xp=xp)
        bias = xp.astype(bias, logits.dtype)
        both = logits + bias
        none = xp.zeros_like(both)  # gives the two all axes of their sum
        return both + _mix(logits + none, bias + none, numbers, xp=xp)


def _bias_of_heads(
    inner: Encoding, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
) -> Array:
    """Return the bias (..., heads, n, m) between coordinates that have an axis of heads or none."""
    by_head = max(queries.ndim, keys.ndim) > 2
    at_q, at_k = (x[None, :, :] if by_head and x.ndim == 2 else x for x in (queries, keys))
    bias = inner.bias_between(at_q, at_k, numbers, xp=xp)
    return of_own_places(bias, xp=xp) if by_head else bias


def _mix(logits: Array, bias: Array, numbers: Numbers, *, xp: Namespace) -> Array:
    """Return f of logits and bias (..., heads, n, m), over their heads."""
    held = {name: xp.astype(numbers[name], logits.dtype) for name in _OWN}
    heads_last = moved_axis(xp.concat([logits, bias], axis=-3), -3, -1, xp=xp)
    inside = xp.matmul(heads_last, xp.matrix_transpose(held["mixer_in"])) + held["mixer_in_bias"]
    inside = xp.where(inside < 0, _SLOPE * inside, inside)
    out = xp.matmul(inside, xp.matrix_transpose(held["mixer_out"])) + held["mixer_out_bias"]
    return moved_axis(out, -1, -3, xp=xp)
