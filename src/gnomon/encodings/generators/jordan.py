r"""Jordan-RoPE: turns, decay and powers of the lag in one block of any order m.

    X = sum of blocks (-a_k + i w_k) I + g_k N of size m,  N the nilpotent shift, in real form
    kron(I_m, -a I + w J) + g kron(N, I_2),   q~.k~ = q^T exp((t - s) X) k,  s <= t,
    exp(tX) = e^(-at) kron(sum_(r < m) (g t)^r / r! N^r, Rot(w t))

so that a logit holds t^r e^(-at) cos(wt) and sin(wt) for r < m [zhang2026 sec. 3]. "jordan" counts
decay and gain per position; "jordan-scaled" has a = c / L and g = eta / L, with c and eta of the
order of 1 for any length L. A head of dimension d has d / 2m blocks, their coordinates side by side
as (order, 2), with frequencies base^(-2k/d) as in the authors' code (ybzhang-nxu/jordan_rope at
bc6fffa): the fast ones of rotary encoding.

What is learned can not leave the stable region. Training moves w freely, a = a_0 + softplus(.) with
a_0 > 0, and g = b tanh(. / b): every real part is below 0, and
sup_(t >= 0) |exp(tX)| <= sum_r (g r / (e a))^r / r!, the hump of t^r e^(-at) at t = r / a.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import fading_distances
from gnomon.encodings.generated import of_columns, of_head
from gnomon.encodings.referred import Carrying, of_heads, of_pairs
from gnomon.encodings.rotary.rope import tables
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.groups import Block, Generator, block_logits, jordan_weights, rotate_run, shear_run
from gnomon.numeric import checks
from gnomon.numeric.elementwise import inside, inside_inverse, softplus, softplus_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

_PROOFS = proved(
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
CARD = Card(
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
    reading="The exact representation, on the lag itself: the authors' stabilised variant, on "
    "d / (1 + d/L), is no group. Queries get the contragredient map. Frequencies are the first "
    "d / 2m of rotary encoding's, as in the authors' code.",
    proofs=_PROOFS,
)
SCALED = Card(
    **{
        **vars(CARD),
        "name": "jordan-scaled",
        "formula": "q~ = exp(iX)^T q, k~ = exp(-jX) k, X = blocks (-c/L + i w) I + (eta/L) N",
    }
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
    def card(self) -> Card:
        """Return the card of exact Jordan-RoPE."""
        return CARD

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

    def carried(
        self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return the parts of every block, mixed by powers of the step."""
        signed = steps if side == "q" else -steps
        weights = self._weights(signed, numbers, block=lambda y: of_heads(y, xp=xp), xp=xp)
        return shear_run(x, weights, width=2, transposed=side == "q", xp=xp)

    def weighed(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
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
        return fading_distances(rates, turns, np.full(len(rates), share))


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
    def card(self) -> Card:
        """Return the card of scaled Jordan-RoPE."""
        return SCALED

    @property
    def unit(self) -> float:
        """Return the length in which decays and gains are counted."""
        return float(self.length)
