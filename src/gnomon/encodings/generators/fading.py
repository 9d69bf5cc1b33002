r"""Groups that fade: queries by exp(tX)^T, keys by exp(-sX), keys before their query.

    q~ = exp((t - r) X)^T q,   k~ = exp((r - s) X) k,   q~.k~ = q^T exp((t - s) X) k

X is not skew, so the same map for both sides would be wrong: the logit would depend on t + s, too.
No eigenvalue of X has a real part above 0: exp(tX) does not grow but as a power of t for t >= 0,
and grows without bound for t < 0, so keys after their query are masked.

The *reference* r cancels in the logit. Keys that stay in a cache need one r for all, and their
factors grow with s - r: `transform` refuses, in words, positions at which they leave the type of q
and k. `scores` chooses r for each block of queries and keys (`gnomon.groups.actions`): right at
every position. Sources: [sun2022 sec. 3.2] for a decay.

A factor fits a type when it and its inverse are normal numbers, with room for vectors whose entries
reach 16: exponents up to min(ln(largest / 16), -ln(smallest normal)), 85.9 in float32 and bfloat16,
8.3 in float16, 706.6 in float64. Where positions cannot be seen nothing is checked, and what
leaves the type is infinite, which the loss shows at once.

A subclass splits its group in an isometric part, which turns both sides and needs no reference, and
the rest, which is carried.

Jordan-RoPE: turns, decay and powers of the lag in one block of any order m.

    X = sum of blocks (-a_k + i w_k) I + g_k N of size m,  N the nilpotent shift, in real form
    kron(I_m, -a I + w J) + g kron(N, I_2),   q~.k~ = q^T exp((t - s) X) k,  s <= t,
    exp(tX) = e^(-at) kron(sum_(r < m) (g t)^r / r! N^r, Rot(w t))

so that a logit holds t^r e^(-at) cos(wt) and sin(wt) for r < m [zhang2026 sec. 3]. "jordan" counts
decay and gain per position; "jordan-scaled" has a = c / L and g = eta / L, with c and eta of the
order of 1 for any length L. A head of dimension d has d / 2m blocks, their coordinates side by side
as (order, 2), with frequencies base^(-2k/d) as in the authors' code (ybzhang-nxu/jordan_rope at
bc6fffa): the fast ones of rotary encoding.

What is learned cannot leave the stable region. Training moves w freely, a = a_0 + softplus(.) with
a_0 > 0, and g = b tanh(. / b): every real part is below 0, and
sup_(t >= 0) |exp(tX)| <= sum_r (g r / (e a))^r / r!, the hump of t^r e^(-at) at t = r / a.

Hyperbolic rotary encoding: Lorentz boosts of pairs, damped so that nothing grows.

    q~ = e^(-a t) B(b t) q,   k~ = e^(a s) B(-b s) k,   B(p) = [[cosh p, sinh p], [sinh p, cosh p]]
    q~.k~ = sum_k e^(-a (t-s)) q_k^T B(b_k (t-s)) k_k,   s <= t                       [dai2025]

A boost alone grows as e^(|b| t); with a damping a > |b| both of its rates, -a + b and -a - b, are
below 0. On the sum and the difference of a pair the boost is diagonal, so the encoding is a decay
of single coordinates there, and is computed so: cosh and sinh would overflow at p = 710 and cancel
long before. With imaginary b it would be rotary encoding.

b_k starts at rotary encoding's base^(-2k/d), times a `rate` of your own where 1 per position is too
much: a logit then fades within a few positions. Learned are b_k, freely, and what the damping
has beyond them: a = max_k |b_k| + least + softplus(.), one number for all pairs as published
(damping "common"), or a_k = |b_k| + least + softplus(.) for each pair ("own").
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import decay_distances, of_columns, of_head
from gnomon.encodings.rotary.rope import tables
from gnomon.encodings.scoring import scale_logits
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.groups import (
    Block,
    Generator,
    Side,
    block_logits,
    causal_logits,
    decay_factors,
    jordan_weights,
    light_cone,
    rotate_run,
    shear_run,
)
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    as_coordinates,
    beside_heads,
    check_dimension,
    check_lists,
    check_own_heads,
    common_namespace,
    concrete_or_none,
    float_array,
    key_positions,
    since,
)
from gnomon.numeric.elementwise import inside, inside_inverse, softplus, softplus_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


_ROOM = 16.0


@dataclass(frozen=True, kw_only=True, eq=False)
class DecayingGroup(Encoding):
    """Base of transforms whose factors depend on a reference, the logits of which do not."""

    on_grids: ClassVar[bool] = False
    fades: ClassVar[bool] = True
    reference: float = 0.0
    """The position at which nothing acts; it cancels in logits."""

    @property
    @abstractmethod
    def steepness(self) -> float:
        """Return the largest decay per position: it decides how far one reference serves."""

    @property
    def scales(self) -> bool:
        """Whether the part that is carried only scales coordinates: then nothing can cancel."""
        return False

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel alone: a vector carried along a decay has no length of its own."""
        return ("kernel",)

    @abstractmethod
    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return what the isometric part of the group does to x at its position."""

    @abstractmethod
    def carry(self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace) -> Array:
        """Return what the rest does at steps t (..., n, 1): exp(tX)^T x ("q"), exp(-tX) x ("k")."""

    @abstractmethod
    def weigh(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return all q^T exp(tX) k of that rest at ages t >= 0 (..., n, m)."""

    @abstractmethod
    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return a bound of ln |exp(tX)| for |t| up to `furthest`, from numbers that are seen."""

    @abstractmethod
    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors of another dimension or number of heads."""

    def finish(self, x: Array, *, xp: Namespace) -> Array:
        """Return carried vectors in the coordinates they came in; logits do not need it."""
        del xp
        return x

    def transform(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        reference: float | None = None,
    ) -> tuple[Array, Array]:
        """Return queries and keys as seen from a `reference`; as declared, unless given.

        Refused where a factor would leave the type of q or k: pass a reference near the positions,
        or ask for `scores`.
        """
        xp = common_namespace(q, k)
        origin = self.reference if reference is None else reference
        checks.real("reference", origin)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        made = []
        for values, positions, side in ((left, positions_q, "q"), (right, keys_at, "k")):
            at = as_coordinates(positions, 1, like=values)
            numbers = self.numbers_in(values, xp=xp)
            self.check_reach(values, at, numbers, origin, xp=xp)
            made.append(self.see_from(values, at, numbers, side=side, reference=origin, xp=xp))
        return made[0], made[1]

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries or keys as seen from the declared reference."""
        self.check_reach(x, coordinates, numbers, self.reference, xp=xp)
        return self.see_from(x, coordinates, numbers, side=side, reference=self.reference, xp=xp)

    def see_from(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float,
        xp: Namespace,
    ) -> Array:
        """Return queries or keys as seen from a reference; q.k of one reference is the logit.

        Factors that grow must fit the type of x. Those that vanish are 0, which is right where the
        other side does not grow: for a reference between keys and queries.
        """
        checks.one_of("side", side, ("q", "k"))
        self.check_side(x, side, numbers)
        beside = beside_heads(coordinates, x)
        steps = since(beside, reference, xp=xp)
        zero = xp.zeros_like(steps)
        growing = xp.minimum(steps, zero) if side == "q" else xp.maximum(steps, zero)
        self._check_steps(growing, numbers, x, xp=xp)
        return self.place(x, beside, steps, numbers, side=side, xp=xp)

    def place(
        self,
        x: Array,
        beside: Coordinates,
        steps: Array,
        numbers: Numbers,
        *,
        side: str,
        xp: Namespace,
    ) -> Array:
        """Return vectors after both parts of the group, in their own type."""
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        still = self.isometric(wide, beside, numbers, side=side, xp=xp)
        made = self.carry(still, steps, numbers, side=side, xp=xp)
        return xp.astype(self.finish(made, xp=xp), x.dtype)

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
        """Return the logits, -inf on keys after their query, without overflow at any position."""
        for x, name in ((q, "q"), (k, "k")):
            self.check_side(x, name, numbers)
        at_q = beside_heads(as_coordinates(positions_q, 1, like=q), q)
        at_k = beside_heads(as_coordinates(positions_k, 1, like=k), k)
        check_lists(at_q, at_k)
        at_q, at_k = self.centre(at_q, at_k)
        queries = self._side(q, at_q, numbers, name="q", xp=xp)
        keys = self._side(k, at_k, numbers, name="k", xp=xp)
        logits = causal_logits(
            queries,
            keys,
            carry=lambda x, t, side: self.carry(x, t, numbers, side=side, xp=xp),
            weigh=lambda x, y, ages: self.weigh(x, y, ages, numbers, xp=xp),
            steepness=self._slope(numbers) if self.scales else np.inf,
            xp=xp,
        )
        return xp.astype(scale_logits(logits, scale), xp.result_type(q.dtype, k.dtype))

    def _side(
        self, x: Array, beside: Coordinates, numbers: Numbers, *, name: str, xp: Namespace
    ) -> Side:
        """Return vectors in float32 or better after the isometric part, with where they stand."""
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        made = self.isometric(wide, beside, numbers, side=name, xp=xp)
        return Side(vectors=made, coordinates=beside, places=concrete_or_none(beside))

    def check_reach(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        reference: float,
        *,
        xp: Namespace,
    ) -> None:
        """Refuse positions too far from one reference for all: factors that vanish, too."""
        self._check_steps(since(coordinates, reference, xp=xp), numbers, x, xp=xp)

    def _slope(self, numbers: Numbers) -> float:
        """Return the largest decay of numbers that are seen, else infinity."""
        known = _known(numbers)
        return np.inf if known is None else self.exponent(1.0, known)

    def _check_steps(self, steps: Array, numbers: Numbers, x: Array, *, xp: Namespace) -> None:
        """Refuse positions at which the type of x does not hold the factors of a key."""
        where = concrete_or_none(steps)  # first: compiled code goes no further
        if where is None or where.size == 0:
            return
        known = _known(numbers)
        if known is None:
            return
        reached = self.exponent(float(np.max(np.abs(where))), known)
        most = _limit(x.dtype, xp=xp)
        if reached > most:
            raise EncodingError(
                f"The factors of {self.name!r} reach e^{reached:.4g} at these positions, and "
                f"{x.dtype} holds e^{most:.3g}; pass a reference near the positions, or use "
                "scores, which chooses one for each block."
            )


def _limit(dtype: Any, *, xp: Namespace) -> float:
    """Return the largest exponent whose factor, and its inverse, a type holds."""
    about = xp.finfo(dtype)
    return min(math.log(float(about.max) / _ROOM), -math.log(float(about.smallest_normal)))


def _known(numbers: Numbers) -> Numbers | None:
    """Return numbers as NumPy's, or None where one of them cannot be seen."""
    known = {
        name: concrete_or_none(getattr(held, "radians", held)) for name, held in numbers.items()
    }
    return None if any(held is None for held in known.values()) else known


def of_heads(values: Array, *, xp: Namespace) -> Array:
    """Return numbers (k,) as they are, those of heads (heads, k) with an axis for positions."""
    return values if values.ndim == 1 else xp.expand_dims(values, axis=-2)


def of_pairs(values: Array, place: int) -> Array:
    """Return number `place` of (k,), or of heads (heads, k) beside the pairs (n, m)."""
    return values[place] if values.ndim == 1 else values[:, place][:, None, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Carrying(DecayingGroup):
    """Base of fading groups that are no turns of plain pairs: a subclass has its formulas."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    heads: int | None = None
    """Heads with numbers of their own; None: one set serves all."""

    def __post_init__(self) -> None:
        checks.one_axis(self.name, self.axes)
        checks.real("reference", self.reference)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)

    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors that are not of this head dimension, or of another number of heads."""
        del numbers
        check_dimension(x, side, self.dimension, does="carries")
        check_own_heads(x, side, self.heads, has="numbers")


_PROOFS = proofs_of(
    ORACLE,
    (
        "scipy.linalg.expm of the whole generator",
        "encodings/test_encoding_jordan.py",
        "test_logits_are_those_of_the_exponential_of_the_generator",
    ),
    (
        "direct sums in float64 at 20,000 positions",
        "encodings/test_encoding_jordan.py",
        "test_scores_in_float32_equal_direct_sums_in_float64_at_20000_positions",
    ),
)


_READING = (
    "The exact representation, on the lag itself: the authors' stabilised variant, on "
    "d / (1 + d/L), is no group. Queries get the contragredient map. Frequencies are the first "
    "d / 2m of rotary encoding's, as in the authors' code."
)


@catalogued(
    Card(
        name="jordan",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(iX)^T q, k~ = exp(-jX) k, X = blocks (-a + i w) I + g N of order m",
        source="zhang2026",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        causal_only=True,
        extrapolation="no claim",
        reading=_READING,
        proofs=_PROOFS,
    ),
    examples=(
        {"dimension": 8, "decay": 0.02, "gain": 0.1},
        {"dimension": 12, "order": 3, "heads": 2, "decay": 0.05, "gain": -0.2, "base": 500.0},
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Jordan(Carrying):
    """Blocks of `order` m that decay by `decay` and shear by `gain` per position.

    >>> made = Jordan(dimension=8, decay=0.5, gain=0.25)
    >>> made.rates, made.shears
    (array([-0.5, -0.5]), array([0.25, 0.25]))
    """

    least: ClassVar[float] = 1e-6
    """The smallest decay that training can reach."""
    most: ClassVar[float] = 1.0
    """What the size of a gain stays below."""
    order: int = 2
    decay: float = 1e-3
    gain: float = 1e-2
    base: float = 10000.0
    frequencies: Any = field(default=None, repr=False)
    """Radians per position (blocks, 1), or (heads, blocks, 1); without them a ladder."""
    decays: Any = field(default=None, repr=False)
    """Learned numbers y with a = least + softplus(y), (blocks,) or (heads, blocks)."""
    gains: Any = field(default=None, repr=False)
    """Learned numbers y with g = most tanh(y / most), shaped as the decays."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("order", self.order, least=1)
        why = "a block takes twice the order"
        checks.whole("dimension", self.dimension, least=2, multiple_of=2 * self.order, why=why)
        checks.real("base", self.base, above=0.0)
        checks.real("decay", self.decay, above=self.least)
        checks.real("gain", self.gain)
        if abs(self.gain) >= self.most:
            raise EncodingError(
                f"gain is {self.gain!r}; pass a number between -{self.most:g} and {self.most:g}."
            )
        blocks = self.dimension // (2 * self.order)
        ladder = float(self.base) ** (-2.0 * np.arange(blocks) / self.dimension)
        starts = {
            "frequencies": (ladder[:, None], of_each_head(self.heads, blocks, 1)),
            "decays": (softplus_inverse(self.decay - self.least), of_each_head(self.heads, blocks)),
            "gains": (inside_inverse(self.gain, self.most), of_each_head(self.heads, blocks)),
        }
        for name, (start, shape) in starts.items():
            object.__setattr__(self, name, learned(name, getattr(self, name), start, shape))

    @property
    def unit(self) -> float:
        """Return the length in which decays and gains are counted, in positions."""
        return 1.0

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name frequencies, decays and, where blocks have an order, gains."""
        names = ("frequencies", "decays", "gains")
        return names if self.order > 1 else names[:2]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return the real part of every block per position, below 0."""
        return np.asarray(self._rates(self.numbers, self.decays, xp=np))

    @property
    def shears(self) -> NDArray[np.float64]:
        """Return the factor of the nilpotent part of every block, per position."""
        return np.asarray(inside(self.gains, self.most, xp=np) / self.unit)

    @property
    def steepness(self) -> float:
        """Return the largest decay per position."""
        return float(np.max(np.abs(self.rates)))

    def _rates(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        wide = xp.astype(numbers["decays"], like.dtype)
        return -(self.least + softplus(wide, xp=xp)) / self.unit

    def _weights(self, steps: Array, numbers: Numbers, *, block: Any, xp: Namespace) -> list[Array]:
        """Return the weights of all powers at steps; `block` takes the numbers of one, or all."""
        rates, gains = block(self._rates(numbers, steps, xp=xp)), 0.0
        if self.order > 1:
            wide = xp.astype(numbers["gains"], steps.dtype)
            gains = block(inside(wide, self.most, xp=xp) / self.unit)
        return jordan_weights(steps, rates, gains, self.order, xp=xp)

    @property
    def scales(self) -> bool:
        """Whether blocks have order 1, so that nothing can cancel."""
        return self.order == 1

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors whose pairs are turned by -w t: exp(tX)^T on queries, exp(-tX) on keys."""
        del side
        cosine, sine = tables(coordinates, numbers["frequencies"], xp=xp)
        return rotate_run(x, cosine, sine, order=self.order, back=True, xp=xp)

    def carry(self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace) -> Array:
        """Return the parts of every block, mixed by powers of the step."""
        signed = steps if side == "q" else -steps
        weights = self._weights(signed, numbers, block=lambda y: of_heads(y, xp=xp), xp=xp)
        return shear_run(x, weights, width=2, transposed=side == "q", xp=xp)

    def weigh(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over blocks and powers of a weight times the products it belongs to."""
        total: Any = 0.0
        size = 2 * self.order
        for block in range(self.dimension // size):
            weights = self._weights(
                ages, numbers, block=lambda y, place=block: of_pairs(y, place), xp=xp
            )
            part = slice(block * size, (block + 1) * size)
            total = total + block_logits(q[..., part], k[..., part], weights, width=2, xp=xp)
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return a t + (m - 1) ln(1 + g t) of the largest a and g."""
        steep = float(np.max(np.abs(self._rates(numbers, numbers["decays"], xp=np))))
        if self.order == 1:
            return steep * furthest
        shear = float(np.max(np.abs(inside(numbers["gains"], self.most, xp=np)))) / self.unit
        return steep * furthest + (self.order - 1) * float(np.log1p(shear * furthest))

    def generator(self, head: int = 0) -> Generator:
        """Return the blocks of a head."""
        turns = of_head(self.frequencies, head, 2)[:, 0]
        rates, gains = of_head(self.rates, head, 1), of_head(self.shears, head, 1)
        gains = gains if self.order > 1 else np.ones_like(gains)
        blocks: list[Block] = []
        signs = []
        for turn, rate, gain in zip(turns, rates, gains, strict=True):
            order = self.order if gain else 1  # without a shear a block falls apart
            part = [Block(decay=rate, frequency=abs(turn), order=order, gain=gain or 1.0)]
            blocks += part * (self.order // order)
            signs += [1.0, -1.0 if turn < 0.0 else 1.0] * self.order
        return of_columns(blocks, np.diag(signs))

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the trace: powers of the lag lie off the diagonal."""
        del lift, probe
        rates, turns = self.rates.reshape(-1), self.frequencies.reshape(-1)
        share = self.order / (1 if self.heads is None else self.heads)
        return decay_distances(rates, turns, np.full(len(rates), share))


@catalogued(
    Card(
        name="jordan-scaled",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(iX)^T q, k~ = exp(-jX) k, X = blocks (-c/L + i w) I + (eta/L) N",
        source="zhang2026",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        causal_only=True,
        extrapolation="no claim",
        reading=_READING,
        proofs=_PROOFS,
    ),
    examples=({"dimension": 8, "length": 64.0},),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class JordanScaled(Jordan):
    """The same with decay and gain counted in lengths of `length` positions.

    >>> made = JordanScaled(dimension=4, length=100)
    >>> made.rates, made.shears
    (array([-0.01]), array([0.01]))
    """

    least: ClassVar[float] = 1e-3
    most: ClassVar[float] = 8.0
    decay: float = 1.0
    gain: float = 1.0
    length: float = 1024.0

    def __post_init__(self) -> None:
        checks.real("length", self.length, above=0.0)
        super().__post_init__()

    @property
    def unit(self) -> float:
        """Return the length in which decays and gains are counted."""
        return float(self.length)


_DAMPINGS = ("common", "own")


@catalogued(
    Card(
        name="rope-hyperbolic",
        family="generator",
        kind=("transform",),
        formula="q~ = e^(-a i) B(b i) q, k~ = e^(a j) B(-b j) k, B a boost of pairs, a > |b|",
        source="dai2025",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        causal_only=True,
        extrapolation=(
            "the authors claim a lower perplexity than other encodings on sequences longer than "
            "trained on"
        ),
        reading=(
            "Of three encodings called HoPE, the hyperbolic one. Keys get the inverse of the map "
            "of queries, and the damping exceeds every rapidity, by construction: the logit then "
            "decays with the lag, as the authors want. One damping for all pairs, as published, "
            "fades slow ones "
            'at the pace of the fastest; damping "own" gives each pair one of its own.'
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "scipy.linalg.expm of the whole generator",
                "encodings/test_encoding_hyperbolic.py",
                "test_logits_are_those_of_the_exponential_of_the_generator",
            ),
            (
                "cosh and sinh as published",
                "encodings/test_encoding_hyperbolic.py",
                "test_transformed_vectors_are_those_of_the_published_formula",
            ),
        ),
    ),
    examples=(
        {"dimension": 4, "base": 100.0, "rate": 0.02, "excess": 0.005},
        {"dimension": 4, "heads": 2, "rate": 0.05, "damping": "own"},
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Hyperbolic(Carrying):
    """Boosts of the pairs (2k, 2k + 1), damped by `excess` more than the fastest of them needs.

    >>> made = Hyperbolic(dimension=4, base=100.0, excess=0.5)
    >>> made.rates.round(6)
    array([-0.5, -2.5, -1.4, -1.6])
    """

    least: ClassVar[float] = 1e-6
    """The smallest excess that training can reach."""
    base: float = 10000.0
    rate: float = 1.0
    """The largest boost per position at the start."""
    excess: float = 0.01
    damping: str = "common"
    rapidities: Any = field(default=None, repr=False)
    """Boosts per position (pairs,), or (heads, pairs); without them a ladder."""
    excesses: Any = field(default=None, repr=False)
    """Learned numbers y with an excess of least + softplus(y), one or one for each pair."""

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "they are boosted in pairs"
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why=why)
        checks.real("base", self.base, above=0.0)
        checks.real("rate", self.rate, above=0.0)
        checks.real("excess", self.excess, above=self.least)
        checks.one_of("damping", self.damping, _DAMPINGS)
        pairs = self.dimension // 2
        ladder = self.rate * float(self.base) ** (-np.arange(pairs) / pairs)
        count = 1 if self.damping == "common" else pairs
        start = softplus_inverse(self.excess - self.least)
        starts = {"rapidities": (ladder, pairs), "excesses": (start, count)}
        for name, (first, size) in starts.items():
            shape = of_each_head(self.heads, size)
            object.__setattr__(self, name, learned(name, getattr(self, name), first, shape))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rapidities and the excesses."""
        return ("rapidities", "excesses")

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return the rates of all sums and differences, below 0: (d,) or (heads, d)."""
        return np.asarray(self._rates(self.numbers, self.rapidities, xp=np))

    @property
    def steepness(self) -> float:
        """Return the largest decay per position."""
        return float(np.max(np.abs(self.rates)))

    def _rates(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return -a + b and -a - b side by side for every pair."""
        boosts = xp.astype(numbers["rapidities"], like.dtype)
        sizes = xp.abs(boosts)
        sizes = xp.max(sizes, axis=-1, keepdims=True) if self.damping == "common" else sizes
        excess = self.least + softplus(xp.astype(numbers["excesses"], like.dtype), xp=xp)
        # |b| - b is exact where b is the largest, so that the excess alone is left.
        both = xp.stack([-(sizes - boosts) - excess, -(sizes + boosts) - excess], axis=-1)
        return xp.reshape(both, (*boosts.shape[:-1], self.dimension))

    @property
    def scales(self) -> bool:
        """Whether nothing can cancel: sums and differences of pairs are only scaled."""
        return True

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return the sums and differences of pairs: the same at every position."""
        del coordinates, numbers, side
        return light_cone(x, xp=xp)

    def finish(self, x: Array, *, xp: Namespace) -> Array:
        """Return pairs of their sums and differences."""
        return light_cone(x, xp=xp)

    def carry(self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace) -> Array:
        """Return every coordinate times its decay; keys times the inverse."""
        rates = of_heads(self._rates(numbers, steps, xp=xp), xp=xp)
        factor = decay_factors(steps if side == "q" else -steps, rates, xp=xp)
        return x * xp.astype(factor, x.dtype)

    def weigh(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over coordinates of e^(rate * age) q k."""
        rates = self._rates(numbers, ages, xp=xp)
        total: Any = 0.0
        for place in range(self.dimension):
            weight = decay_factors(ages, of_pairs(rates, place), xp=xp)
            one = slice(place, place + 1)
            total = total + block_logits(q[..., one], k[..., one], [weight], width=1, xp=xp)
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return the largest rate times the distance."""
        rates = self._rates(numbers, numbers["rapidities"], xp=np)
        return float(np.max(np.abs(rates))) * furthest

    def generator(self, head: int = 0) -> Generator:
        """Return the decays of all sums and differences of a head."""
        columns = light_cone(np.eye(self.dimension), xp=np)
        return of_columns([Block(decay=rate) for rate in of_head(self.rates, head, 1)], columns)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the trace, the mean over heads where they differ."""
        del lift, probe
        rates = self.rates.reshape(-1)
        share = 0.5 / (1 if self.heads is None else self.heads)
        return decay_distances(rates, np.zeros(len(rates)), np.full(len(rates), share))
