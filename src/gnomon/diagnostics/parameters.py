"""How many numbers an encoding of rank r takes, for n positions and dimension d.

factored   r (n + d)               U (n x r) times W (r x d), as published [cirrincione2026 rem. 8]
degrees    r (n + d - r)           degrees of freedom of an n x d matrix of rank r
geometry   r (n - 1) - r (r - 1)/2 numbers that fix the distances (up to motions)
free       n d                     a free table
saving     1 - factored / free     negative above the break-even rank n d / (n + d)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.errors import InputError
from gnomon.results import Result, to_dataframe

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterCount(Result):
    """The numbers that an encoding of one rank takes."""

    rank: int
    factored: int
    degrees: int
    geometry: int
    free: int
    saving: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterTable(Result):
    """One row per rank."""

    length: int
    dimension: int
    break_even: float
    rows: tuple[ParameterCount, ...]

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        return to_dataframe([row.to_dict() for row in self.rows])


def parameter_table(length: int, dimension: int, ranks: Iterable[int]) -> ParameterTable:
    """Return the counts for each rank.

    >>> [row.factored for row in parameter_table(32, 128, [3, 31]).rows]
    [480, 4960]
    """
    if length < 1 or dimension < 1:
        raise InputError(
            f"length is {length} and dimension {dimension}; pass whole numbers from 1 on."
        )
    return ParameterTable(
        length=length,
        dimension=dimension,
        break_even=length * dimension / (length + dimension),
        rows=tuple(_count(length, dimension, rank) for rank in ranks),
    )


def _count(length: int, dimension: int, rank: int) -> ParameterCount:
    if not 0 <= rank <= min(length, dimension):
        raise InputError(
            f"rank is {rank}; a table of {length} positions and dimension {dimension} has a rank "
            f"from 0 to {min(length, dimension)}."
        )
    factored, free = rank * (length + dimension), length * dimension
    spanned = min(rank, length - 1)
    return ParameterCount(
        rank=rank,
        factored=factored,
        degrees=rank * (length + dimension - rank),
        geometry=spanned * (length - 1) - spanned * (spanned - 1) // 2,
        free=free,
        saving=1.0 - factored / free,
    )
