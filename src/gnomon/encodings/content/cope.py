"""CoPE: a position counts the tokens between key and query that the query's own gates let count.

    logit(i, j) = scale q_i.(k_j + e(p_ij)),   p_ij = sum_(l=j..i) g_il,  at most rows - 1,
    g_il = sigmoid(scale q_i.x_l),   e(p) linear between rows floor(p) and floor(p) + 1 of a table

[golovneva2024 sec. 4]. Gates read keys; given tokens of the same width are read instead: other keys
or the values, both of which the authors try. Gates in (0, 1) may count words, or sentences. Each
row of a table costs one product with q_i, and a position between two rows mixes those products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import along, within
from gnomon.encodings.base import Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import ContentRule
from gnomon.encodings.scoring import later_in_order, scaled
from gnomon.encodings.starting import drawn
from gnomon.numeric import checks
from gnomon.numeric.activations import sigmoid
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

CARD = Card(
    name="cope",
    family="content",
    kind=("content",),
    formula="scale q.(k + e(p_ij)), p_ij = sum_(l=j..i) sigmoid(scale q_i.k_l)",
    source="golovneva2024",
    level=in_words("L7"),
    relative=True,
    learnable=True,
    causal_only=True,
    reading="scale divides gates and rows alike, as in the authors' code; x-transformers adds q.e "
    "unscaled, which is the table divided by scale. Rows are shared by all heads, and start from 0",
    proofs=proved(
        ORACLE,
        (
            "x-transformers",
            "agreement/test_content_peers.py",
            "test_counted_positions_equal_those_of_x_transformers",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cope(ContentRule):
    """Counted positions up to `rows` - 1; `table` (rows, dimension) is learned, from N(0, sigma^2).

    The published start is sigma = 0.
    """

    in_order: ClassVar[bool] = True
    rows: int = 64
    sigma: float = 0.0
    seed: int = 0
    table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("rows", self.rows, least=2)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        self.keep_learned()

    @property
    def card(self) -> Card:
        """Return the card of CoPE."""
        return CARD

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the table."""
        return {"table": (self.rows, self.dimension)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal rows times sigma."""
        del name
        return self.sigma * drawn(0, shape, self.seed)

    def content_scores(
        self,
        q: Array,
        k: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        scale: float,
        tokens: Array,
        xp: Namespace,
    ) -> Array:
        """Return scale q.(k + e(p)); tokens after their query do not count."""
        del queries
        self.check_content(q, tokens, self.dimension)
        counts = sigmoid(scaled(xp.matmul(q, xp.matrix_transpose(tokens)), scale), xp=xp)
        counts = xp.where(later_in_order(counts, xp=xp), xp.zeros_like(counts), counts)
        places = xp.flip(xp.cumulative_sum(xp.flip(counts, axis=-1), axis=-1), axis=-1)
        places = within(places, 0, self.rows - 1, xp=xp)
        by_row = xp.matmul(q, xp.matrix_transpose(xp.astype(numbers["table"], q.dtype)))
        logits = xp.matmul(q, xp.matrix_transpose(k)) + between_rows(
            by_row, places, whole=xp.int32 if isinstance(keys, Limbs) else xp.int64, xp=xp
        )
        return scaled(logits, scale)


def between_rows(by_row: Array, places: Array, *, whole: Any, xp: Namespace) -> Array:
    """Return the entries of by_row (..., n, rows) at places (..., n, m), linear between rows.

    Row numbers have the type `whole`: PyTorch takes int64 alone, JAX may have int32 alone.
    """
    below = within(xp.floor(places), 0, by_row.shape[-1] - 2, xp=xp)
    share = places - below
    index = xp.astype(below, whole)
    low = along(by_row, index, axis=-1, xp=xp)
    high = along(by_row, index + 1, axis=-1, xp=xp)
    return low + share * (high - low)
