r"""FoPE: every pair turns by a series of all well-trained frequencies; the others do not turn.

    c_m(i) = sum_l C_lm cos(w_l i),   s_m(i) = sum_l S_lm sin(w_l i),   w_l >= 2 pi / length,
    (a, b) -> (a c_m - b s_m, a s_m + b c_m),

for pair m of each of the K frequencies of the ladder that complete a turn within the trained
length; a slower one is set to zero, so its pair passes unchanged [hua2025]. C and S, (heads, K, K),
start near the identity, where this is rotary encoding: each has normal noise added.

Two series in one product bring cos(w_l i) cos(w_n j) with l != n: logits depend on the positions
themselves, and not on the lag alone, as soon as C or S has an entry beside the diagonal. The size
of a vector changes with its position, too: sqrt(c_m^2 + s_m^2) is no constant.

Read beside it: the authors' code (TsinghuaC3I/Fourier-Position-Embedding, bd94b20), where C and S
are fixed unless asked for, and vLLM's (151a2c7), which loads learned ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.positions import beside_heads
from gnomon.encodings.rotary.rope import Rotating, tables, turn
from gnomon.encodings.starting import learned
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.base import LagDistances, Numbers
    from gnomon.encodings.positions import Array, Coordinates, Namespace

PURPOSE = 29
"""Keeps this stream apart from others of the same seed."""
CARD = Card(
    name="fope",
    family="rotary",
    kind=("transform",),
    formula="pair m: (a, b) -> (a c_m - b s_m, a s_m + b c_m), c_m = sum_l C_lm cos(w_l i), "
    "s_m = sum_l S_lm sin(w_l i), w_l >= 2 pi / length; other pairs pass",
    source="hua2025",
    level=in_words("L6"),
    relative=False,
    learnable=True,
    extrapolation="longer texts than trained on, by its authors",
    reading="a frequency set to zero has cosine 1 and sine 0, so its pair passes, as in vLLM; the "
    "authors' code fills both with 1, which doubles that part of the logit. As many pairs as "
    "frequencies have a series, as in vLLM; the authors' code has at most d/4",
    proofs=proved(
        ORACLE,
        (
            "rotary encoding, where C and S are the identity",
            "encodings/test_encoding_fope.py",
            "test_coefficients_of_the_identity_give_rotary_encoding",
        ),
        (
            "sums over frequencies, written out",
            "encodings/test_encoding_fope.py",
            "test_pairs_turn_by_the_series_written_out",
        ),
    ),
)


def starting_coefficients(
    count: int, heads: int, *, gain: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return C and S, (heads, count, count): the identity and noise, as the published code has it.

    Its spread is Xavier's, gain sqrt(2 / (inputs + outputs)), which PyTorch reads off the shape of
    a tensor with three axes as (count count, heads count).
    """
    fans = count * count + heads * count if heads > 1 else 2 * count
    stream = np.random.default_rng([seed, PURPOSE])
    noise = stream.normal(scale=gain * math.sqrt(2.0 / fans), size=(2, heads, count, count))
    cosines, sines = np.eye(count) + noise
    return cosines, sines


@dataclass(frozen=True, kw_only=True, eq=False)
class Fope(Rotating):
    """Rotary encoding by series; `length` is the trained one, one head's series may serve all.

    >>> Fope(dimension=8, length=128).frequencies
    array([[1. ],
           [0.1]])
    """

    on_grids: ClassVar[bool] = False
    length: int
    heads: int = 1
    base: float = 10000.0
    gain: float = 0.3
    seed: int = 0
    cosines: Any = field(default=None, repr=False)
    """Coefficients (heads, K, K), from frequency to pair; without them the starting ones."""
    sines: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("fope", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.whole("length", self.length, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.whole("seed", self.seed, least=0)
        checks.real("base", self.base, above=0.0)
        checks.real("gain", self.gain, least=0.0)
        count = len(self.frequencies)
        if count == 0:
            raise EncodingError(
                f"length is {self.length}, within which no frequency completes a turn; pass a "
                "length of 7 or more."
            )
        start = starting_coefficients(count, self.heads, gain=float(self.gain), seed=self.seed)
        for name, values in zip(("cosines", "sines"), start, strict=True):
            made = learned(name, getattr(self, name), values, values.shape)
            object.__setattr__(self, name, made)

    @property
    def card(self) -> Card:
        """Return the card of FoPE."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies that complete a turn within the length, shape (K, 1)."""
        every = geometric_frequencies(self.dimension, float(self.base))
        return every[every[:, 0] >= 2.0 * np.pi / self.length]

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name probe alone: there is no kernel that depends on the lag."""
        return ("probe",)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies, and copies of the coefficients of cosines and sines."""
        return {
            "frequencies": self.frequencies,
            "cosines": np.array(self.cosines),
            "sines": np.array(self.sines),
        }

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the coefficients."""
        return ("cosines", "sines")

    def tables(
        self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return the series of every pair (..., heads, n, d/2); without heads where all share."""
        made = []
        waves = tables(coordinates, numbers["frequencies"], xp=xp)
        for name, values, fill in zip(("cosines", "sines"), waves, (1.0, 0.0), strict=True):
            by = numbers[name][0] if self.heads == 1 else numbers[name]
            series = xp.matmul(values, xp.astype(by, values.dtype))
            missing = self.dimension // 2 - series.shape[-1]
            rest = xp.zeros_like(series[..., :1]) + fill
            rest = xp.broadcast_to(rest, (*series.shape[:-1], missing))
            made.append(xp.concat([series, rest], axis=-1))
        return made[0], made[1]

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., n, dimension), each turned by the series at its position."""
        self.check_vectors(x, side, numbers["frequencies"])
        if self.heads > 1 and (x.ndim < 3 or x.shape[-3] != self.heads):
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding has series for {self.heads} "
                f"heads; pass an array of shape (..., {self.heads}, positions, {self.dimension})."
            )
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        return turn(x, cosine, sine, layout=self.layout, xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return None: distances depend on the positions themselves."""
        del lift, probe
        return None
