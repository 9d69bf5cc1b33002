"""A table of position vectors from a file or an array, such as a model has learned.

    p_i = row first_row + i of the table,  i = 0 ... rows - 1.

In many models the first rows are of no token's position: BERT's row 0 is that of [CLS], RoBERTa and
OPT begin at row 2. `first_row` says how many are left out, and `rows` counts those that remain.

Read from `.npy`, from a member of `.npz`, or from a tensor of `.safetensors`; never by pickle, so
that a file can hold numbers and nothing else. A table ends: positions past its end are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.additive.taking import or_nan, row_numbers, seen_whole, take
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import Card, in_words, proved
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="table",
    family="additive",
    kind=("vectors",),
    formula="p_i = row i of a table",
    source="devlin2019",
    level=in_words("L6"),
    relative=False,
    learnable=True,
    proofs=proved(
        (
            "the rows of the file",
            "encodings/test_encoding_table.py",
            "test_every_format_gives_the_same_rows",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table(Encoding):
    """The rows of `values`, found in `source` from its row `first_row` on.

    >>> Table(values=np.eye(2)).vectors([1])
    array([[0., 1.]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    on_grids: ClassVar[bool] = False
    whole_only: ClassVar[bool] = True
    values: NDArray[np.float64] = field(repr=False)
    source: str = "array"
    first_row: int = 0
    """Which row of the source is that of position 0."""

    def __post_init__(self) -> None:
        checked = checked_table(self.values, self.source)
        checked.flags.writeable = False
        object.__setattr__(self, "values", checked)

    @property
    def card(self) -> Card:
        """Return the card of a table."""
        return CARD

    @property
    def parameters(self) -> dict[str, Any]:
        """Return where the table came from and its shape."""
        rows, dimension = self.values.shape
        found = {"source": self.source, "rows": rows, "dimension": dimension}
        return found | {"first_row": self.first_row}

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of a row."""
        return int(self.values.shape[1])

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rows."""
        return {"values": self.values}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rows."""
        return ("values",)

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the rows at whole positions, shape (..., dimension)."""
        return table_rows(coordinates, numbers["values"], what=f"the table {self.source}", xp=xp)


def table_rows(coordinates: Coordinates, values: Array, *, what: str, xp: Namespace) -> Array:
    """Return the rows of a table at coordinates (..., 1); a position outside is refused, or NaN."""
    last = values.shape[0] - 1
    whole = seen_whole(coordinates, what=what)
    rows, there = row_numbers(coordinates, (last + 1,), xp=xp)
    if whole is None:
        return or_nan(take(values, rows, xp=xp), there, xp=xp)
    outside = (whole < 0) | (whole > last)
    if outside.any():
        raise EncodingError(
            f"Position {whole[outside].flat[0]} is not in {what}, which has rows 0 to {last}; ask "
            "for positions within it."
        )
    return take(values, rows, xp=xp)


def checked_table(values: Any, source: str) -> NDArray[np.float64]:
    """Return a copy in float64, or say why the array is no table of position vectors."""
    array = checks.array(source, values)
    if array.ndim != 2 or 0 in array.shape:
        raise EncodingError(
            f"{source} has shape {array.shape}; a table of positions has two axes, "
            "(positions, dimension), and at least one row."
        )
    if array.dtype.kind not in "iuf":
        raise EncodingError(f"{source} holds {array.dtype}; pass a table of real numbers.")
    table = array.astype(np.float64)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise EncodingError(
            f"{source} holds {table[row, column]} at row {row}, column {column}; "
            "pass a table of finite numbers."
        )
    return table
