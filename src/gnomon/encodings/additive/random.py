"""Random vectors: independent normal coordinates, as learned tables start from.

    p_i[k] ~ N(0, sigma^2), a function of (seed, i, k) alone.

Row i is the same whatever other rows are asked for: coordinate k of position i is the k-th draw of
a SplitMix64 stream [steele2014] that starts at a hash of (seed, i), made normal by Box and Muller
[box1958]. In high dimension all distances tend to sigma sqrt(2 d), the regular simplex. Raw
stress of a random table is a statement about sigma, so sigma stands in its parameters:
BERT starts from 0.02 [devlin2019], the published comparison from 1 [cirrincione2026].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.additive.taking import or_nan, seen_whole, whole_parts
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.numeric import checks, uint64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="random",
    family="additive",
    kind=("vectors",),
    formula="p_i[k] ~ N(0, sigma^2), a function of (seed, i, k) alone",
    source="devlin2019",
    level=in_words("L6"),
    relative=False,
    proofs=proved(
        ORACLE,
        (
            "the normal law (Kolmogorov-Smirnov)",
            "encodings/test_encoding_random.py",
            "test_coordinates_are_normal_with_the_stated_sigma",
        ),
    ),
)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the SplitMix64 finaliser of 64-bit words: a bijection that spreads every bit."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return mixed


def stream(seed: int, count: int) -> NDArray[np.uint64]:
    """Return the first words of the SplitMix64 stream that starts at the hash of a seed."""
    start = mix(np.full(1, seed, dtype=np.uint64) + _GOLDEN)
    return mix(start + np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN)


def normal_rows(coordinates: NDArray[np.int64], dimension: int, seed: int) -> NDArray[np.float64]:
    """Return standard normal rows (..., dimension) for whole coordinates (..., axes)."""
    flat = coordinates.reshape(-1, coordinates.shape[-1]).astype(np.uint64)
    starts = mix(np.full(len(flat), seed, dtype=np.uint64) + _GOLDEN)
    for axis in range(flat.shape[1]):
        starts = mix((starts ^ flat[:, axis]) + _GOLDEN)
    pairs = (dimension + 1) // 2
    steps = np.arange(1, 2 * pairs + 1, dtype=np.uint64) * _GOLDEN
    bits = mix(starts[:, None] + steps) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 0.5) * 2.0**-53  # in (0, 1): the logarithm is finite
    radius = np.sqrt(-2.0 * np.log(uniform[:, :pairs]))
    angle = 2.0 * np.pi * uniform[:, pairs:]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return normal[:, :dimension].reshape(*coordinates.shape[:-1], dimension)


@dataclass(frozen=True, kw_only=True, eq=False)
class Random(Encoding):
    """Normal vectors of `dimension` coordinates with standard deviation `sigma`."""

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    whole_only: ClassVar[bool] = True
    dimension: int
    sigma: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole("dimension", self.dimension, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)

    @property
    def card(self) -> Card:
        """Return the card of random vectors."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return where the stream of the seed starts and its steps, in 16-bit digits (4, ...)."""
        steps = np.arange(1, 2 * ((self.dimension + 1) // 2) + 1, dtype=np.uint64) * _GOLDEN
        start = mix(np.full(1, self.seed % 2**64, dtype=np.uint64) + _GOLDEN)
        digits: dict[str, Any] = {
            "start": uint64.digits_of(start),
            "steps": uint64.digits_of(steps),
        }
        return digits

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return one vector per whole position, shape (..., dimension)."""
        whole = seen_whole(coordinates, what="a random table")
        if xp is np and whole is not None:  # NumPy has 64-bit words of its own
            return self.sigma * normal_rows(whole, self.dimension, int(self.seed) % 2**64)
        places, fits = whole_parts(coordinates, xp=xp)
        made = self.sigma * drawn_rows(places, numbers, xp=xp)[..., : self.dimension]
        return made if whole is not None else or_nan(made, xp.all(fits, axis=-1), xp=xp)


def drawn_rows(whole: Array, numbers: Numbers, *, xp: Namespace) -> Array:
    """Return what `normal_rows` returns, in a library without 64-bit uint64."""
    narrow = whole.dtype == xp.int32
    word = uint64.as_word(numbers["start"][:, 0], xp=xp)
    golden = uint64.as_word(numbers["steps"][:, 0], xp=xp)
    for axis in range(whole.shape[-1]):
        here = uint64.word_of_whole(whole[..., axis], xp=xp)
        word = uint64.mixed(uint64.add(uint64.xor(word, here), golden))
    steps = uint64.as_word(numbers["steps"], xp=xp)
    word = uint64.mixed(uint64.add([digit[..., None] for digit in word], steps))
    dtype = xp.float32 if narrow else xp.float64
    uniform, rest = uint64.unit_interval(word, xp=xp, dtype=dtype)
    pairs = uniform.shape[-1] // 2
    near_one = xp.log1p(-rest[..., :pairs])  # the logarithm of u, without 1 - u being lost
    logarithm = xp.where(uniform[..., :pairs] > 0.5, near_one, xp.log(uniform[..., :pairs]))
    radius, angle = xp.sqrt(-2.0 * logarithm), (2.0 * np.pi) * uniform[..., pairs:]
    return xp.concat([radius * xp.cos(angle), radius * xp.sin(angle)], axis=-1)
