r"""From an encoding to its kernel: the positional part of its logit, by the lag from key to query.

* transform, q^T A(t) k: c(t) = tr A(t) / d, the mean logit of one vector at both places over all
  directions of that vector, per unit of its length: 1 at lag 0, if nothing is scaled. A turn gives
  cos bt, a coordinate that is not turned 1, a damped block e^(at) cos bt. Powers of the lag in a
  Jordan block stand off the diagonal, so the trace has none of them.
* bias: the bias itself.
* vectors: p_i.p_j, where that depends on the lag alone, as for the sinusoid.
* a rule on content that sees lags: the logit of one vector x at all places, which decides it.

One head may be named; otherwise it is the mean over heads. The matrix of a kernel is symmetric: of
an encoding that is causal only the half of keys before their query is mirrored, of others c(t) and
c(-t) are averaged, and `asymmetry` = |c(t) - c(-t)| / (2 |c|), norms over all lags t = -(n-1) ...
n-1, says what that leaves out: 0 of an even kernel, 1 of an odd one. Logits that do not depend on
the lag alone have no kernel; which encodings these are, their cards say (levels L3, L4, L6, L7
[puranik2026]). Vectors that are added may have one all the same, and if not, a matrix
(`gnomon.spectra.share`).

*In closed form* kernels are sums of modes (`gnomon.spectra.modes`):

    turns (rotary, in any basis)        (2/d) m^2 sum_k cos b_k t + (rest/d) m^2 or 1
    damped turns (xPos, RetNet, Jordan) (2/d) sum_k e^(a_k t) cos b_k t
    boosts in their light cone          (1/d) sum_k e^(a_k t)
    blocks of any generator             (1/d) sum_k m_k e^(a_k t) cos b_k t, m_k = order (or twice)
    RoPE++                              the mean of cos over real heads, of sin over imaginary ones
    linear biases (ALiBi, half-lives)   -m |t|, and -(m + m')/2 |t| of two slopes
    Sandwich                            g sum_k cos b_k t
    sinusoid                            sum_k cos b_k t
    Transformer-XL                      s ((x + u).x + sum_k B_k cos b_k t + A_k sin b_k t)
    PoPE                                s sum_c softplus(x_c)^2 cos(b_c t - s_c)

d is the dimension of a head, m what multiplies queries and keys while they turn. For heads with
numbers of their own the mean over heads is taken, which is a sum of modes again; (A, B) =
W^T (x + v), s = d^(-1/2). Sines, and the difference of two slopes, are the odd part, which
eigenvalues leave out. By blocks: [puranik2026]; [press2021 sec. 3] for the slopes, [chi2023] for
Sandwich, [dai2019 sec. 3.3], [gopalakrishnan2025 sec. 3].

*Otherwise* logits are asked for: of one query at position n-1 (keys before it, lags n-1 ... 0) and
of one at position 0 (keys after it), n each. The trace of a transform takes d such rows, one for
each unit vector; a rule on content takes one, with a vector x drawn from N(0, 1/2) by the seed 0.

*Of several axes* the kernel is that along a line from 0, x(t) = t u, where a lag is one number:

    W_k -> <W_k, u>,    X -> sum_a u_a X_a,    |x(t) - x(s)| = |u| |t - s|.

It is that of a group with one parameter, exp(t sum_a u_a X_a). Where the X_a do not commute that is
so for lines through 0 alone [hall2015 sec. 2.4]: other rows of a picture have no kernel. By default
u is a step on the first axis; where coordinates lie in a span, as across a picture, it takes n
positions from end to end. The matrix of all places is that of `gnomon.spectra.lattice`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import (
    Card,
    Encoding,
    Moving,
    Nope,
    Rotating,
    in_words,
)
from gnomon.errors import EncodingError, SpectrumError
from gnomon.groups import Commuting, Generator
from gnomon.numeric.checks import reals
from gnomon.numeric.elementwise import softplus
from gnomon.results import Result
from gnomon.spectra.checks import check_array, check_int
from gnomon.spectra.modes import Modes, add_modes, modes

Floats = NDArray[np.float64]

LagValues = Callable[[int], tuple[Floats, Floats]]
"""From n to the values at lags 0 ... n-1, and at lags 0 ... -(n-1)."""

_ROUNDING = 1e-12
"""An odd part below this is none: logits were computed in float64."""

LEVELS = ("L0", "L1", "L2", "L5")
_DENSE = ("liere", "comrope")
"""Encodings whose generators are matrices."""
"""Levels whose logits see the lag alone."""

NOTES = {
    "transform": "tr A(t) / d: the mean logit of a unit vector at both places, over directions",
    "bias": "the bias as it is added",
    "vectors": "p_i.p_j of the vectors that are added",
    "content": "the logit of one vector at all places, drawn by seed 0: another has another kernel",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel(Result):
    """The positional part of a logit by lag: modes in closed form, or a function of the length."""

    name: str
    kind: str
    """transform, bias, vectors or content."""
    head: int | None
    """The head it belongs to; None: all of them, their mean."""
    modes: Modes | None
    """Its symmetric part in closed form."""
    lag_values: LagValues
    causal: bool
    """Whether only keys before their query count, and their half is mirrored."""
    note: str
    grows: bool | None = None
    """Whether it is known to grow without bound; None where nothing is known."""
    odd: Callable[[Floats], Floats] | None = None
    """Beside modes: its odd part by lag; None where there is none."""

    def column(self, length: int) -> Floats:
        """Return the symmetric part at lags 0 ... n-1: the first column of the matrix."""
        if self.modes is not None:
            return self.modes.at(np.arange(length, dtype=np.float64))
        before, after = self.lag_values(length)
        return before if self.causal else 0.5 * (before + after)

    def asymmetry(self, length: int) -> float:
        """Return |c(t) - c(-t)| / (2 |c|) over lags -(n-1) ... n-1: 0 ... 1; 0 where rounding is.

        Causal kernels are mirrored, so they have none.
        """
        if self.causal or (self.modes is not None and self.odd is None):
            return 0.0
        even, odd = self._parts(length)
        rest = 2.0 * float(np.sum(odd**2))  # it is 0 at lag 0
        whole = float(even[0] ** 2 + 2.0 * np.sum(even[1:] ** 2)) + rest
        share = float(np.sqrt(rest / whole)) if whole > 0.0 else 0.0
        return share if share > _ROUNDING else 0.0

    def _parts(self, length: int) -> tuple[Floats, Floats]:
        """Return the even and the odd part at lags 0 ... n-1."""
        if self.modes is not None and self.odd is not None:
            lags = np.arange(length, dtype=np.float64)
            return self.modes.at(lags), self.odd(lags)
        before, after = self.lag_values(length)
        return 0.5 * (before + after), 0.5 * (before - after)


def kernel_of(encoding: Encoding, *, head: int | None = None, direction: Any = None) -> Kernel:
    """Return the kernel of an encoding, that of one head or the mean over heads.

    With several axes it is the kernel along a line.

    >>> from gnomon.encodings import Rope
    >>> kernel_of(Rope(dimension=2)).column(3).round(4)
    array([ 1.    ,  0.5403, -0.4161])
    """
    known = on_line(active_encoding(encoding), direction)
    check_head(known, head)
    sees_lags = known.card.level[:2] in LEVELS
    found = _exact_form(known, head) if sees_lags or "vectors" in known.kinds else None
    if found is None and not sees_lags:
        raise SpectrumError(
            f"The logits of {known.name!r} do not depend on the lag alone ({known.card.level}), so "
            "it has no kernel; choose an encoding of level L0, L1 or L5."
        )
    kind = kernel_kind(known)
    return Kernel(
        name=encoding.name,
        kind=kind,
        head=head,
        modes=None if found is None else found.even,
        odd=None if found is None else found.odd,
        lag_values=_ask(known, kind, head),
        causal=known.card.causal_only,
        note=NOTES[kind] + _which(known, head),
        grows=bool(found.even.growing.any()) if found is not None else _grows(known),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Line(Moving):
    """The encoding `inner` of several axes at positions t `direction`; the rest is that of `inner`.

    >>> from gnomon.encodings import Rope
    >>> made = Line(inner=Rope(dimension=4, axes=2), direction=(0.0, 2.0))
    >>> made.frequencies.tolist()
    [[0.0], [2.0]]
    """

    direction: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("kinds", "mixes_heads", "on_values", "reads_tokens"):
            object.__setattr__(self, name, getattr(self.inner, name))

    def __getattr__(self, name: str) -> Any:
        """Return what the encoding has beside its positions: heads, slopes, dimension."""
        if name == "inner":  # not yet there while an instance is copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def card(self) -> Card:
        """Return the card of the encoding; any matrices are a group on a line through 0."""
        card: Card = self.inner.card
        level = in_words("L0") if self.inner.is_one_of(*_DENSE) else card.level
        return dataclasses.replace(card, level=level)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return those of the encoding, and the direction."""
        return {**self.inner.parameters, "direction": list(self.direction)}

    @property
    def numbers(self) -> dict[str, Floats]:
        """Return the numbers of the encoding."""
        return dict(self.inner.numbers)

    @property
    def step(self) -> float:
        """Return |u|."""
        return float(np.linalg.norm(self.direction))

    @property
    def frequencies(self) -> Floats | None:
        """Return turns along the line, (..., pairs, 1)."""
        known = getattr(self.inner, "frequencies", None)
        if known is not None:
            return np.asarray(known @ np.array(self.direction))[..., None]
        if not self.inner.is_one_of(*_DENSE):
            return None
        turns = np.linalg.eigvalsh(1j * self._skew())[..., ::-1][..., : self.inner.block // 2]
        return np.asarray(turns.reshape(*turns.shape[:-2], -1, 1))

    def _skew(self) -> Floats:
        """Return sum_a u_a X_a of matrices, (..., blocks, b, b)."""
        u = np.array(self.direction)[:, None, None, None]
        return np.asarray((self.inner.matrices * u).sum(axis=-4))

    def generator(self, head: int = 0) -> Generator:
        """Return sum_a u_a X_a of a head in blocks."""
        from scipy.linalg import block_diag

        from gnomon.groups import classify

        if self.inner.is_one_of(*_DENSE):
            skew = self._skew()
            return classify(block_diag(*(skew if skew.ndim == 3 else skew[head]))).generator()
        known = self.inner.generator(head)
        if not isinstance(known, Commuting):
            raise EncodingError(f"The encoding {self.name!r} has no generator for each axis.")
        return classify(np.tensordot(self.direction, np.stack(known.matrices), axes=1)).generator()

    def move(self, coordinates: Any, numbers: Any, *, xp: Any) -> Any:
        """Return t u of coordinates (..., 1)."""
        del numbers
        return coordinates * xp.asarray(self.direction)


def on_line(encoding: Encoding, direction: Any = None, length: int | None = None) -> Encoding:
    """Return an encoding of several axes along a direction; one of a single axis as it is."""
    if encoding.axes == 1:
        if direction is not None:
            raise SpectrumError(
                f"direction is {direction!r}, and the encoding {encoding.name!r} has one axis; "
                "leave direction out."
            )
        return encoding
    return Line(inner=encoding, direction=_check_direction(encoding, direction, length))


@dataclass(frozen=True)
class _Closed:
    """A kernel in closed form: modes for its even part, and its odd part by lag if it has one."""

    even: Modes
    odd: Callable[[Floats], Floats] | None = None


def _exact_form(encoding: Encoding, head: int | None) -> _Closed | None:
    """Return the closed form of a kernel, or None where there is none."""
    if encoding.is_one_of("nope"):
        return _Closed(modes(np.ones(1)))
    inside = encoding.inner if isinstance(encoding, Line) else encoding
    for kind, read in _READERS:
        if isinstance(inside, Rotating) if kind is Rotating else inside.is_one_of(*kind):
            found = read(encoding, head)
            return _Closed(found) if isinstance(found, Modes) else found
    return None


def as_encoding(encoding: Any) -> Encoding:
    """Return an encoding, or the one of that name or file."""
    from gnomon.encodings import shown

    known = shown(encoding) if isinstance(encoding, str) else encoding
    if not isinstance(known, Encoding):
        raise SpectrumError(
            f"A {type(known).__name__} has no spectrum; pass an encoding, or the name of one."
        )
    return known


def check_head(encoding: Encoding, head: int | None) -> None:
    """Refuse a head that is not there."""
    heads = encoding.head_count or 1
    if head is None:
        return
    try:
        check_int("head", head, least=0, most=heads - 1)
    except SpectrumError:
        known = "no heads" if heads == 1 else f"{heads}"
        advice = "0 or none" if heads == 1 else f"a whole number from 0 to {heads - 1}"
        rest = "" if heads == 1 else ", or none for their mean"
        raise SpectrumError(
            f"head is {head!r}, and the encoding {encoding.name!r} tells {known} apart; pass "
            f"{advice}{rest}."
        ) from None


def active_encoding(encoding: Any) -> Any:
    """Return what acts in this layer of a schedule, along its line."""
    if isinstance(encoding, Line) and active_encoding(encoding.inner) is not encoding.inner:
        return dataclasses.replace(encoding, inner=active_encoding(encoding.inner))
    if not encoding.is_one_of("rope-nope-layers") or encoding.temperature:
        return encoding
    return encoding.inside if encoding.encoded else Nope(axes=encoding.axes)


def kernel_kind(encoding: Encoding) -> str:
    """Return which part of an encoding its kernel is read from."""
    if encoding.card.level.startswith("L2"):
        return "content"  # a map that is not linear has no trace
    order = ("content", "vectors", "transform", "bias")
    return next(kind for kind in order if kind in encoding.kinds)


def values_at(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    """Return the positional part of the logits of one query (1, axes) with keys (n, axes)."""
    return _ASK[kernel_kind(encoding)](encoding, query, keys, head)


def rotation_waves(encoding: Any, head: int | None) -> tuple[Floats, Floats]:
    """Return frequencies (modes, axes) and weights of an encoding that turns pairs of coordinates.

    Every pair weighs 2/d; what stands still is one mode more, of weight 1/d for each coordinate.
    """
    waves = _chosen(encoding.frequencies, head, 3)
    d, heads = encoding.dimension, len(waves)
    factor = float(getattr(encoding, "attention_factor", 1.0)) ** 2
    still = d - 2 * waves.shape[1]
    flat = waves.reshape(-1, waves.shape[-1])
    weights = np.full(len(flat), 2.0 * factor / (d * heads))
    if not still:
        return flat, weights
    return np.vstack([flat, np.zeros((1, flat.shape[1]))]), np.append(weights, still / d)


def _drawn_vector(dimension: int) -> Floats:
    """Return the one vector that decides the kernel of a rule on content: N(0, 1/2), seed 0."""
    return np.random.default_rng(0).normal(scale=np.sqrt(0.5), size=dimension)


def _which(encoding: Encoding, head: int | None) -> str:
    """Return the words for one head of several or their mean, and for a line in several axes."""
    steps = ", ".join(f"{step:.4g}" for step in getattr(encoding, "direction", ()))
    line = f", from 0 along steps of ({steps})" if steps else ""
    if (encoding.head_count or 1) == 1:
        return line
    return (", the mean over heads" if head is None else f", head {head}") + line


def _grows(encoding: Encoding) -> bool | None:
    return True if encoding.is_one_of("kerple-log", "kerple-power") else None


def _ask(encoding: Encoding, kind: str, head: int | None) -> LagValues:
    """Return the function that asks for the kernel at all lags of a length."""
    ask = _ASK[kind]

    def values(length: int) -> tuple[Floats, Floats]:
        keys = np.arange(length, dtype=np.float64)
        try:
            before = ask(encoding, keys[-1:], keys, head)[::-1]
            after = before if encoding.card.causal_only else ask(encoding, keys[:1], keys, head)
        except EncodingError as error:
            raise SpectrumError(
                f"The encoding {encoding.name!r} has no kernel of length {length} ({error}) Pass a "
                "shorter length."
            ) from error
        return np.ascontiguousarray(before), after

    return values


def _of_head(values: Any, head: int | None) -> Floats:
    """Return rows (heads, 1, n) of one head, or their mean."""
    rows = reals(values, "values")
    rows = rows.reshape(-1, rows.shape[-1])
    return np.asarray(rows.mean(axis=0) if head is None else rows[head % len(rows)])


def _trace(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    dimension, total = encoding.query_width, np.zeros(len(keys))
    for unit in np.eye(dimension):
        total += _logits(encoding, unit, query, keys, head, 1.0 / dimension)
    return total


def _content(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    dimension = encoding.query_width
    return _logits(encoding, _drawn_vector(dimension), query, keys, head, dimension**-0.5)


def _logits(
    encoding: Encoding, vector: Floats, query: Floats, keys: Floats, head: int | None, scale: float
) -> Floats:
    heads, size = (encoding.head_count or 1), len(vector)
    q = np.broadcast_to(vector, (heads, 1, size))
    k = np.broadcast_to(vector, (heads, len(keys), size))
    return _of_head(encoding.scores(q, k, query, keys, scale=scale), head)


def _bias(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    return _of_head(encoding.bias(query, keys), head)


def _products(encoding: Encoding, query: Floats, keys: Floats, head: int | None) -> Floats:
    del head
    left, right = (np.asarray(encoding.vectors(at), dtype=np.float64) for at in (query, keys))
    return np.asarray(left[0] @ right.T)


_ASK = {"transform": _trace, "bias": _bias, "vectors": _products, "content": _content}


def _chosen(values: Any, head: int | None, ndim: int) -> Floats:
    """Return numbers (heads, ...) of one head, or of all, with heads first."""
    array = reals(values, "values")
    array = array[None] if array.ndim < ndim else array
    return array if head is None else array[head % len(array)][None]


def _of_rotations(encoding: Any, head: int | None) -> Modes:
    waves, weights = rotation_waves(encoding, head)
    return modes(weights, waves[:, 0])


def _of_damped(encoding: Any, head: int | None) -> Modes:
    rates = _chosen(encoding.rates, head, 2)
    waves = _chosen(np.asarray(encoding.frequencies)[..., 0], head, 2)
    order = getattr(encoding, "order", 1)
    heads = max(len(rates), len(waves))
    weight = 2.0 * order / (encoding.dimension * heads)
    weights, waves, rates = np.broadcast_arrays(np.full((heads, 1), weight), waves, rates)
    return modes(weights, waves, rates)


def _of_boosts(encoding: Any, head: int | None) -> Modes:
    rates = _chosen(encoding.rates, head, 2)
    return modes(np.full(rates.shape, 1.0 / rates.size), 0.0, rates)


def _blocks(encoding: Any, head: int | None) -> Modes:
    """Return the trace of exp(tX) / d, which has the same value in every basis."""
    del head
    blocks = encoding.blocks
    weights = np.array([block.dimension for block in blocks]) / encoding.dimension
    waves, rates = ([getattr(b, name) for b in blocks] for name in ("frequency", "decay"))
    return modes(weights, np.array(waves), np.array(rates))


def _imaginary(encoding: Any, head: int | None) -> _Closed:
    """Return cosines of real heads and sines of imaginary ones, by their share of heads."""
    share = float(_chosen(encoding.imaginary, head, 1).mean())
    waves, d = encoding.frequencies[:, 0], encoding.dimension
    size = 2.0 * float(encoding.attention_factor) ** 2 / d
    turned = modes(np.full(len(waves), (1.0 - share) * size), waves)
    still = modes(np.full(1, 1.0 - 2.0 * len(waves) / d))
    odd = _sines(np.full(len(waves), share * size), waves)
    return _Closed(add_modes(turned, still), odd if share else None)


def _linear(encoding: Any, head: int | None) -> _Closed:
    step = encoding.step if isinstance(encoding, Line) else 1.0
    before = step * float(_chosen(encoding.slopes, head, 1).mean())
    given = getattr(encoding, "slopes_after", None)
    after = before if given is None else float(_chosen(given, head, 1).mean())
    even = modes(np.array([-0.5 * (before + after)]), powers=1)
    return _Closed(even, None if after == before else lambda t: -0.5 * (before - after) * t)


def _lag_sinusoid(encoding: Any, head: int | None) -> _Closed:
    """Return the logits of one vector x at all places in Transformer-XL."""
    x, numbers = _drawn_vector(encoding.dimension), encoding.numbers
    u, v, w = (
        _chosen(numbers[name], head, ndim)
        for name, ndim in zip(encoding.learnable, (2, 2, 3), strict=True)
    )
    seen = np.einsum("hd,hdp->hp", x + v, w).mean(axis=0) * len(x) ** -0.5
    met = float((x + u).mean(axis=0) @ x) * len(x) ** -0.5
    waves = numbers["frequencies"][:, 0]
    sines, cosines = seen[: len(waves)], seen[len(waves) :]
    return _Closed(add_modes(modes(cosines, waves), modes(np.array([met]))), _sines(sines, waves))


def _polar(encoding: Any, head: int | None) -> _Closed:
    """Return the logits of one vector at all places in PoPE."""
    x = _drawn_vector(encoding.dimension)
    sizes = softplus(x, xp=np) ** 2 * len(x) ** -0.5
    shifts = np.clip(_chosen(encoding.numbers["shifts"], head, 2), -2.0 * np.pi, 0.0)
    waves = encoding.frequencies[:, 0]
    even = modes(sizes * np.cos(shifts).mean(axis=0), waves)
    sines = sizes * np.sin(shifts).mean(axis=0)
    return _Closed(even, _sines(sines, waves) if sines.any() else None)


def _sines(weights: Floats, waves: Floats) -> Callable[[Floats], Floats]:
    """Return sum_k w_k sin(b_k t) as a function of lags."""

    def at(lags: Floats) -> Floats:
        return sum(
            (w * np.sin(b * lags) for w, b in zip(weights, waves, strict=True)),
            start=np.zeros(len(lags)),
        )

    return at


def _sandwich(encoding: Any, head: int | None) -> Modes:
    gain = float(_chosen(encoding.gains, head, 1).mean())
    waves = encoding.frequencies[:, 0]
    return modes(np.full(len(waves), gain), waves)


def _sinusoid(encoding: Any, head: int | None) -> Modes:
    del head
    waves = encoding.frequencies[:, 0]
    return modes(np.ones(len(waves)), waves)


_READERS: tuple[tuple[Any, Any], ...] = (
    (("rope-plus-plus",), _imaginary),
    (("pope",), _polar),
    (("transformer-xl",), _lag_sinusoid),
    (("generator",), _blocks),
    (("jordan",), _of_damped),
    (("rope-hyperbolic",), _of_boosts),
    (("xpos", "retnet"), _of_damped),
    (Rotating, _of_rotations),
    (_DENSE, _of_rotations),
    (("alibi",), _linear),
    (("decay-time",), _linear),
    (("sandwich",), _sandwich),
    (("sinusoidal",), _sinusoid),
)
"""Encodings by the names of their entries, or the base of those that turn, in order."""


def _check_direction(encoding: Encoding, direction: Any, length: int | None) -> tuple[float, ...]:
    """Return a step on every axis that is not 0 everywhere."""
    what = f"{encoding.axes} numbers, the step on every axis"
    if direction is None and (encoding.span is None or length is not None):
        low, high = encoding.span or (0.0, 1.0)
        step = (high - low) / (max(length or 2, 2) - 1) if encoding.span else 1.0
        return (step, *(0.0,) * (encoding.axes - 1))
    if direction is None:
        raise SpectrumError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes whose coordinates lie in "
            f"{encoding.span}; pass direction, {what}."
        )
    u = check_array("direction", direction, what)
    if u.shape != (encoding.axes,) or not u.any():
        raise SpectrumError(
            f"direction is {np.asarray(direction).tolist()!r}, and the encoding {encoding.name!r} "
            f"has {encoding.axes} axes; pass {what}, not all 0."
        )
    return tuple(u.tolist())
