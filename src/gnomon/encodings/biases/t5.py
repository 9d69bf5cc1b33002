"""T5's bias: one learned number per head for each bucket of lags; buckets widen with the lag.

    bias_h(i, j) = table[bucket(i - j), h]

With c buckets (half of all for each direction, where both are seen) the first e = c // 2 lags have
one each; lag n from there on has bucket

    e + floor( (c - e) ln(n / e) / ln(L / e) ),  at most c - 1,

so that all lags from L = `largest_lag` on share the last [raffel2020 sec. 2.1]. Keys after their
query have the second half of the buckets; in one direction, they have bucket 0 and are masked.

The floor is found without a logarithm: bucket e + b begins at the least whole n with
n^(c-e) e^b >= L^b e^(c-e), an inequality of whole numbers. No rounding can move a bound, as it can
where ln(n / e) is computed in float32 and the quotient should be whole. A lag that is no whole
number belongs to the bucket of the whole lag below it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import lags_between, moved_axis, or_nan, take
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proved
from gnomon.encodings.starting import normal_rows
from gnomon.encodings.tables import given_table
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import hidden

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace


def bucket_bounds(buckets: int, largest_lag: int) -> tuple[int, ...]:
    """Return the least lag of every bucket of one direction.

    >>> bucket_bounds(8, 32)
    (0, 1, 2, 3, 4, 7, 12, 20)
    """
    exact = buckets // 2
    wide = buckets - exact
    bounds = (_bound(step, exact, wide, largest_lag) for step in range(1, wide))
    return (*range(exact + 1), *bounds)


def _bound(step: int, exact: int, wide: int, largest_lag: int) -> int:
    """Return the least whole n with (n / e)^w >= (L / e)^b, by bisection in whole numbers."""
    low, high = exact, largest_lag
    while low < high:
        middle = (low + high) // 2
        if middle**wide * exact**step >= largest_lag**step * exact**wide:
            high = middle
        else:
            low = middle + 1
    return low


def _lag_buckets(lags: Array, bounds: Array, *, exact: int, after: int, xp: Namespace) -> Array:
    """Return the bucket of every lag i - j, from the bounds of those that hold several lags.

    Keys after their query have the buckets from `after` on; with `after` 0 there is one direction,
    and such keys count as lag 0. Bounds are compared one by one, which every exporter knows.
    """
    sizes = xp.abs(lags) if after else xp.where(lags > 0, lags, xp.zeros_like(lags))
    kind = xp.int64 if lags.dtype == xp.float64 else xp.int32
    found = xp.astype(xp.floor(xp.clip(sizes, 0, exact)), kind)
    for place in range(bounds.shape[0]):
        found = found + xp.astype(sizes >= bounds[place], kind)
    return found + after * xp.astype(lags < 0, kind) if after else found


@catalogued(
    Card(
        name="t5",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = table[bucket(i - j), h], buckets widen geometrically with the lag",
        source="raffel2020",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation="all lags from largest_lag on share one bucket; the authors claim no more",
        proofs=proved(
            ORACLE,
            (
                "transformers, T5 and MPNet",
                "agreement/test_transformers_biases.py",
                "test_buckets_equal_those_of_transformers_for_every_lag",
            ),
            (
                "x-transformers",
                "agreement/test_transformers_biases.py",
                "test_t5_bias_equals_that_of_x_transformers",
            ),
        ),
    ),
    examples=(
        {"heads": 2},
        {"heads": 3, "buckets": 8, "largest_lag": 20, "bidirectional": False, "seed": 1},
    ),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class T5(Encoding):
    """Biases by bucket for `heads` heads; `table` (buckets, heads) is what was learned.

    Without a table it starts from N(0, sigma^2); sigma is that of the smallest published model,
    512^(-1/2), as transformers starts it.
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int
    buckets: int = 32
    largest_lag: int = 128
    bidirectional: bool = True
    sigma: float = 512**-0.5
    seed: int = 0
    table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("t5", self.axes)
        checks.whole("heads", self.heads, least=1)
        sides = 2 if self.bidirectional else 1
        why = "half for each direction" if self.bidirectional else ""
        checks.whole("buckets", self.buckets, least=2 * sides, multiple_of=sides, why=why)
        checks.whole("largest_lag", self.largest_lag, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        if self.largest_lag <= self.buckets // sides // 2:
            raise EncodingError(
                f"largest_lag is {self.largest_lag}, but the first {self.buckets // sides // 2} "
                "lags have a bucket each; pass a larger largest_lag, or fewer buckets."
            )
        if self.table is not None:
            shape = (self.buckets, self.heads)
            object.__setattr__(self, "table", given_table(self.table, shape, "table"))

    @property
    def card(self) -> Card:
        """Return the card; in one direction keys after their query must be masked."""
        return (
            self.own_card
            if self.bidirectional
            else dataclasses.replace(self.own_card, causal_only=True)
        )

    @property
    def bounds(self) -> tuple[int, ...]:
        """Return the least lags of the buckets of one direction: 0, 1, 2, ..."""
        return bucket_bounds(self.buckets // (2 if self.bidirectional else 1), self.largest_lag)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        if self.table is not None:
            return np.asarray(self.table)
        rows = np.arange(self.buckets)[:, None]
        table = self.sigma * normal_rows(rows, self.heads, int(self.seed) % 2**64)
        table.flags.writeable = False  # it is kept, and is the definition
        return table

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the table (buckets, heads), and the bounds past the buckets of one lag each."""
        bounds = self.bounds
        wide = np.asarray(bounds[len(bounds) // 2 + 1 :], dtype=np.float64)
        return {"table": self._table, "bounds": wide}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the table."""
        return ("table",)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = lags_between(queries, keys, xp=xp)[..., 0]
        after = self.buckets // 2 if self.bidirectional else 0
        exact = (after or self.buckets) // 2
        found = _lag_buckets(lags, numbers["bounds"], exact=exact, after=after, xp=xp)
        entries = take(numbers["table"], found, xp=xp)
        if not isinstance(lags, np.ndarray) and hidden(lags):  # NaN would have a bucket
            entries = or_nan(entries, lags == lags, xp=xp)  # noqa: PLR0124 - false for NaN alone
        return moved_axis(entries, -1, -3, xp=xp)
