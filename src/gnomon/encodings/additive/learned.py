"""Learned vectors: a table with one row per position, trained with the model.

    p_i = row i of a table,  i = 0 ... rows - 1;  it starts from N(0, sigma^2).

BERT starts from sigma = 0.02 [devlin2019 app. A]. The start is that of the encoding `random` with
the same seed, so it is the same on every machine and in every library. A table ends: nothing was
learned past it, so positions there are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.additive.random import normal_rows
from gnomon.encodings.additive.table import checked_table, table_rows
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="learned",
    family="additive",
    kind=("vectors",),
    formula="p_i = row i of a learned table, which starts from N(0, sigma^2)",
    source="devlin2019",
    level=in_words("L6"),
    relative=False,
    learnable=True,
    extrapolation="none: positions past the table are refused",
    proofs=proved(
        ORACLE,
        (
            "torch.nn.Embedding",
            "agreement/test_additive_peers.py",
            "test_learned_rows_and_their_gradients_equal_those_of_an_embedding_of_torch",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned(Encoding):
    """A table of `rows` vectors; `values` are what was learned, if anything was.

    >>> Learned(rows=2, dimension=2, values=np.eye(2)).vectors([1])
    array([[0., 1.]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    on_grids: ClassVar[bool] = False
    whole_only: ClassVar[bool] = True
    rows: int
    dimension: int
    sigma: float = 0.02
    seed: int = 0
    values: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("learned", self.axes)
        checks.whole("rows", self.rows, least=1)
        checks.whole("dimension", self.dimension, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        if self.values is not None:
            object.__setattr__(self, "values", given(self.values, (self.rows, self.dimension)))

    @property
    def card(self) -> Card:
        """Return the card of learned vectors."""
        return CARD

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many positions there are."""
        return (self.rows,)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Return the rows: those that were learned, or those that training starts from."""
        if self.values is not None:
            return np.asarray(self.values)
        positions = np.arange(self.rows)[:, None]
        rows = self.sigma * normal_rows(positions, self.dimension, int(self.seed) % 2**64)
        rows.flags.writeable = False  # it is kept, and is the definition
        return rows

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows."""
        return {"values": self.table}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rows."""
        return ("values",)

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the rows at whole positions, shape (..., dimension)."""
        return table_rows(coordinates, numbers["values"], what="the learned table", xp=xp)


def given(values: Any, shape: tuple[int, ...], name: str = "values") -> NDArray[np.float64]:
    """Return learned numbers, read-only, or say why they do not fit."""
    table = checked_table(values, name)
    if table.shape != shape:
        raise EncodingError(
            f"{name} has shape {table.shape} and this encoding has {shape}; pass numbers of that "
            "shape."
        )
    table.flags.writeable = False
    return table
