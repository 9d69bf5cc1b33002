"""Sandwich: the inner product of two sinusoidal vectors, kept as a bias and nothing else of them.

    bias_h(i, j) = p_i.p_j / c_h = (1/c_h) sum_k cos((i - j) w_k),   w_k = base^(-2k/D),

k = 0 ... D/2 - 1, c_h = 8 (h + 1) / H for head h = 0 ... H - 1. Of (q + p_i).(k + p_j) it is the
one term that depends on the lag alone. It falls off roughly with the logarithm of the lag, as
learned biases do, and has nothing to learn [chi2023].

It has rank D: the vectors themselves, divided by c_h on one side, appended to queries and keys give
it without any n x n array (`bias_factors`). It is computed that way: O(n D) sines in place of
O(n^2 D), and phases that are right at every position, in limbs too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.additive.sinusoidal import sinusoidal_vectors
from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.border import check_lists
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import circular_distances, geometric_frequencies
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

TESTS = "encodings/test_encoding_sandwich.py"
CARD = Card(
    name="sandwich",
    family="bias",
    kind=("bias",),
    formula="bias_h(i, j) = (H / 8(h+1)) sum_k cos((i - j) w_k), w_k = base^(-2k/D)",
    source="chi2023",
    level=in_words("L1"),
    relative=True,
    extrapolation="the authors claim that it uses texts longer than those trained on",
    reading=(
        "the ladder starts at w_0 = 1, as that of the sinusoid does. NVIDIA NeMo's copy, which has "
        "the same c_h, starts at k = 1 and subtracts D/2 from the sum, a constant that softmax "
        "does not see. Added as it is, not scaled with q.k; both sides of the query alike"
    ),
    proofs=proved(
        ORACLE,
        ("inner products of the sinusoid", TESTS, "test_a_head_is_the_gram_matrix_of_the_sinusoid"),
        ("the sum of cosines at every lag", TESTS, "test_a_head_is_the_sum_of_cosines_over_its_c"),
        ("its rank", TESTS, "test_factors_of_the_stated_rank_give_the_bias"),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sandwich(Encoding):
    """Biases of `heads` heads from a sinusoid of `vector_dimension` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int
    vector_dimension: int = 128
    base: float = 10000.0

    def __post_init__(self) -> None:
        checks.one_axis("sandwich", self.axes)
        checks.whole("heads", self.heads, least=1)
        checks.whole(
            "vector_dimension", self.vector_dimension, least=2, multiple_of=2, why="two per pair"
        )
        checks.real("base", self.base, above=0.0)

    @property
    def card(self) -> Card:
        """Return the card of Sandwich."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1)."""
        return geometric_frequencies(self.vector_dimension, float(self.base))

    @property
    def gains(self) -> NDArray[np.float64]:
        """Return 1/c_h for every head: the first has the largest.

        >>> Sandwich(heads=4).gains
        array([0.5       , 0.25      , 0.16666667, 0.125     ])
        """
        return self.heads / (8.0 * np.arange(1, self.heads + 1))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies, and what the sum is multiplied by in each head."""
        return {"frequencies": self.frequencies, "gains": self.gains}

    @property
    def bias_rank(self) -> int:
        """Return how many coordinates beside those of q and k give the bias."""
        return self.vector_dimension

    def bias_factors(
        self,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float = 0.0,
        xp: Namespace,
    ) -> Array:
        """Return coordinates (..., heads, n, rank) to append to q or k, whose product is the bias.

        No reference is needed: sines do not grow.
        """
        del reference
        checks.one_of("side", side, ("q", "k"))
        vectors = sinusoidal_vectors(coordinates, numbers["frequencies"], xp=xp)
        gains = numbers["gains"][:, None, None]
        return xp.expand_dims(vectors, axis=-3) * (gains if side == "q" else xp.ones_like(gains))

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys): one product serves all heads."""
        check_lists(queries, keys)
        left = sinusoidal_vectors(queries, numbers["frequencies"], xp=xp)
        right = sinusoidal_vectors(keys, numbers["frequencies"], xp=xp)
        products = xp.matmul(left, xp.matrix_transpose(right))
        return numbers["gains"][:, None, None] * xp.expand_dims(products, axis=-3)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the sinusoid's distances times the root of the mean gain."""
        del lift, probe
        energies = np.full(self.vector_dimension // 2, self.gains.mean())
        return circular_distances(self.frequencies, energies)
