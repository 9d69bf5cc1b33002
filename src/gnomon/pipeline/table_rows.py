"""Which rows of a table stand for the positions of a corpus, and which of them stand apart.

Position p of a corpus is compared with row first_row + p. Tables of trained models often begin with
rows of no word: of [CLS], of padding. Such a row is far from all others, and a corpus whose first
position is far from all others is then near to the table for no other reason.

Rows stand apart where they are farther from every other row than twice the median distance between
those, and the step to the next of these is more than twice as long as the steps that follow:
rows that settle down begin far from the others too, but step by step. Up to four rows at the
beginning are looked at together, since they may be near each other; elsewhere one at a time. A row
of zeros is one that nobody trained, where no other row is near zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Table
from gnomon.results import Result

Floats = NDArray[np.float64]
MOST_LEADING = 4
APART = 2.0
JUMP = 2.0
_STEPS = 4
"""Steps that a jump is compared with."""
_NEAR_ZERO = 0.25
"""Part of the median norm below which a row is near zero."""
_LEAST_ROWS = 6
"""With fewer rows nobody can say what is usual."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRows(Result):
    """The rows of a table that were compared with a corpus, by their numbers in the file."""

    source: str
    first: int
    """The row of position 0."""
    last: int
    """The row of the last position compared."""
    of: int
    """How many rows the table has."""
    apart: tuple[int, ...]
    """Rows far from all others."""
    zero: tuple[int, ...]
    """Rows of zeros among others."""

    @property
    def warning(self) -> str | None:
        """Say which rows no conclusion should rest on; None where none stands apart."""
        parts = []
        if self.apart:
            parts.append(
                f"{_named(self.apart, self.source)} far from all others, as those of special "
                "tokens are"
            )
        if self.zero:
            parts.append(f"{_named(self.zero, self.source)} all zeros")
        if not parts:
            return None
        said = "; ".join(parts)
        begin = self._begin
        advice = (
            "no conclusion should rest on that"
            if begin == self.first
            else f"if position 0 of the corpus belongs to row {begin}, as after a special token, "
            f"pass --first-row {begin}"
        )
        return f"{said[0].upper()}{said[1:]}: {advice}."

    @property
    def _begin(self) -> int:
        """Return the first row behind those at the beginning that stand apart."""
        odd, begin = {*self.apart, *self.zero}, self.first
        while begin in odd:
            begin += 1
        return begin


def rows_of(encoding: Any, distances: Floats, positions: NDArray[np.int64]) -> TableRows | None:
    """Return the rows that an encoding is read from; None where it is no table.

    `distances` are those between its vectors at `positions`.
    """
    if not isinstance(encoding, Table):
        return None
    first = encoding.first_row
    apart = _apart(distances)
    zero = _untrained(np.linalg.norm(encoding.values[positions], axis=1))
    rows = positions + first
    return TableRows(
        source=encoding.source,
        first=first,
        last=int(rows.max()),
        of=len(encoding.values) + first,
        apart=tuple(rows[apart].tolist()),
        zero=tuple(rows[zero].tolist()),
    )


def _untrained(norms: Floats) -> NDArray[np.int64]:
    """Return the rows of zeros, where all others are clearly none."""
    others = norms[norms > 0.0]
    if not others.size or others.min() < _NEAR_ZERO * np.median(others):
        return np.array([], np.int64)
    return np.flatnonzero(norms == 0.0)


def _apart(distances: Floats) -> list[int]:
    """Return the rows that stand apart: the first few together, then single ones."""
    size = len(distances)
    order = np.arange(size)
    most = min(MOST_LEADING, size - _LEAST_ROWS)
    leading = max(
        (k for k in range(1, most + 1) if _stands_apart(distances, order[:k], order[k:])), default=0
    )
    return [
        *range(leading),
        *(
            row
            for row in range(leading, size)
            if size - leading > _LEAST_ROWS
            and _stands_apart(distances, order[row : row + 1], np.delete(order, row)[leading:])
        ),
    ]


def _stands_apart(distances: Floats, named: NDArray[np.int64], rest: NDArray[np.int64]) -> bool:
    """Say whether rows are far from the rest, and by a jump."""
    away = distances[np.ix_(named, rest)]
    usual = np.median(distances[np.ix_(rest, rest)][np.triu_indices(len(rest), 1)])
    if not away.min() > APART * usual > 0.0:
        return False
    at = int(np.searchsorted(rest, named[0]))
    near = rest[max(at - _STEPS, 0) : at + _STEPS + 1]
    steps = distances[near[:-1], near[1:]]
    return bool(away.min() > JUMP * steps.max())


def _named(rows: tuple[int, ...], source: str) -> str:
    """Return rows as the subject of a sentence, with the verb.

    >>> _named((0,), "a.npy"), _named((0, 1, 511), "a.npy")
    ('row 0 of a.npy is', 'rows 0, 1 and 511 of a.npy are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} of {source} is"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]} of {source} are"
