"""What a task is: batches of tokens and targets, drawn by a random stream, and a ceiling.

Token 0 is padding in every task: it stands where the mask is False and nowhere else. A task has a
`length`; a drawn one with `shortest` draws the length of every row uniformly from shortest..length,
whatever its target. A batch of another length may be asked for, to test what a model does beyond
the lengths it was trained on; classes and vocabulary stay.

Targets of drawn tasks are independent of the length of a row. What the bag of tokens tells is in
the ceiling, which says

    value      what an observer of tokens, order and positions can reach
    prior      what the best order-blind observer reaches: one who is given the bag of tokens, the
               length and, where an answer is read at a token, that token
    constant   what the best constant answer reaches

An encoding is worth something on a task only between `prior` and `value`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from inspect import cleandoc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.results import Result

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rng = np.random.Generator
PADDING = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows of one task; b rows of n slots."""

    tokens: Ints
    """(b, n); 0 where there is no token."""
    targets: NDArray[Any]
    """(b,) or (b, n): int64 classes, or float32 numbers of a regression."""
    mask: Bools
    """(b, n): True where there is a token."""
    positions: NDArray[np.float64] | None = None
    """(b, n) real times or (b, n, axes); None: 0, 1, 2, ..."""
    weights: NDArray[np.float32] | None = None
    """(b, n): where an answer per token counts; None: wherever there is a token."""
    values: NDArray[np.float32] | None = None
    """(b, n, f): contents of patches beside their tokens, for models that read numbers."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.tokens)

    def rows(self, chosen: Any) -> Batch:
        """Return some of the rows: a slice, or indices."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{k: v[chosen] for k, v in named.items() if v is not None})


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Base of all tasks: a definition, batches of it, and its ceiling."""

    name: ClassVar[str]
    output: ClassVar[str] = "label"
    """"label", one answer per row, or "tokens", one per token."""
    causal: ClassVar[bool] = False
    """Whether the answer at a token is a function of the tokens up to it."""
    axes: ClassVar[int] = 1
    """How many coordinates a position has."""

    edition: ClassVar[int] = 1
    """Raised where rows of the same name and parameters change: old records are of other cells."""
    tells_ahead: ClassVar[bool] = False
    """Whether the answer is a token that is yet to come, which a model must not see."""
    tells_on: ClassVar[bool] = False
    """Whether an answer gives away the next one, so that none may be shown before the next."""

    length: int = 32

    @classmethod
    def describe(cls) -> str:
        """Return what a row looks like and what is asked of it, as the docstring says after its
        first line; where it says nothing more, as that of a base does.
        """
        for kind in cls.__mro__:
            told = cleandoc(kind.__doc__ or "").partition("\n\n")[2].partition(">>>")[0].strip()
            if told:
                return told
        return ""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many token ids there are, padding included."""

    @property
    @abstractmethod
    def classes(self) -> int | None:
        """How many answers there are; None: a number is asked for."""

    @property
    def regression(self) -> bool:
        """Whether a number is asked for."""
        return self.classes is None

    @abstractmethod
    def ceiling(self) -> Ceiling:
        """Return the best that can be reached at the task's own length."""

    @abstractmethod
    def batch(self, rng: Rng, size: int, length: int | None = None) -> Batch:
        """Return `size` rows, of the task's lengths or of another one."""

    def held_out(self, phase: str = "report") -> Task:  # noqa: ARG002 - for tasks that read
        """Return the task on documents that are not trained on; drawn tasks are always fresh.

        What is chosen in the phase "selection" and what is shown in "report" is scored on
        different documents.
        """
        return self

    def data_read(self) -> dict[str, Any]:
        """Return what a task that reads documents has read: their digest, how many each part has,
        and whether a document has one answer; nothing of drawn tasks.
        """
        return {}


@dataclass(frozen=True, kw_only=True)
class Drawn(Task):
    """Base of tasks that are drawn: subclasses fill rows of given lengths."""

    least: ClassVar[Mapping[str, int]] = {}
    """Parameters that are whole numbers, with the smallest that each may be."""
    positive: ClassVar[tuple[str, ...]] = ()
    """Parameters that are real numbers above 0."""

    shortest: int | None = None
    """With it the length of every row is uniform on shortest..length."""

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be, and lengths that the definition cannot fill."""
        for parameter, least in self.least.items():
            check_int(self.name, parameter, getattr(self, parameter), least=least)
        for parameter in self.positive:
            check_positive(self.name, parameter, getattr(self, parameter))
        self._check_length(self.length)
        if self.shortest is not None:
            self._check_length(self.shortest)
            if self.shortest > self.length:
                raise LabError(
                    f"task {self.name}: shortest is {self.shortest}, above the length "
                    f"{self.length}; make it smaller."
                )

    @property
    def least_length(self) -> int:
        """The shortest row that the definition allows."""
        return 1

    @abstractmethod
    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw one row per row of the mask; tokens outside it do not matter."""

    def batch(self, rng: Rng, size: int, length: int | None = None) -> Batch:
        """Draw `size` rows, of the task's lengths or all of one other length."""
        check_int(self.name, "size", size, least=1)
        lengths = self._lengths(rng, size, length)
        mask = np.arange(lengths.max()) < lengths[:, None]
        drawn = self.draw(rng, mask)
        weights = drawn.weights
        if weights is not None:
            weights = np.where(mask, weights, np.float32(0.0)).astype(np.float32)
        return replace(drawn, tokens=np.where(mask, drawn.tokens, PADDING), weights=weights)

    def _lengths(self, rng: Rng, size: int, length: int | None) -> Ints:
        if length is not None:
            self._check_length(length)
            return np.full(size, length, np.int64)
        if self.shortest is None:
            return np.full(size, self.length, np.int64)
        return rng.integers(self.shortest, self.length + 1, size)

    def _check_length(self, length: int) -> None:
        check_int(self.name, "a length", length, least=self.least_length)


def check_int(name: str, parameter: str, value: Any, *, least: int) -> None:
    """Refuse what is no whole number, or too small a one."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise LabError(
            f"task {name}: {parameter} is {value!r}; it must be a whole number of {least} or more."
        )


def check_positive(name: str, parameter: str, value: Any) -> None:
    """Refuse what is no positive number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < np.inf:
        raise LabError(f"task {name}: {parameter} is {value!r}; it must be a positive number.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Ceiling(Result):
    """The best on a task, with and without order; `measure` is "accuracy" or "r2"."""

    measure: str
    value: float
    prior: float
    constant: float
    how: str = "exact"
    """"exact" or "estimated"; an estimate has an interval, and `note` says of what."""
    interval: tuple[float, float] | None = None
    note: str = ""

    def share(self, score: float) -> float:
        """Return where a score lies between the constant answer (0) and the ceiling (1)."""
        return (score - self.constant) / (self.value - self.constant)


def shuffle_slots(rng: Rng, mask: Bools) -> Ints:
    """Return for every row its slots in random order, those outside the mask last.

    >>> shuffle_slots(np.random.default_rng(0), np.array([[True, True, False]])).tolist()[0][2]
    2
    """
    keys = np.where(mask, rng.random(mask.shape), 2.0)
    return np.argsort(keys, axis=1, kind="stable")


def put_tokens(tokens: Ints, slots: Ints, values: Ints) -> Ints:
    """Return tokens with `values` at `slots`, both (rows, k)."""
    changed = tokens.copy()
    np.put_along_axis(changed, slots, values, axis=1)
    return changed
