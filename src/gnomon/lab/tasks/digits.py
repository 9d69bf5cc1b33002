"""Real pictures: which digit is it, by patches on a grid or in reading order?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import DIGITS, drawn_digits, mix, real_digits
from gnomon.errors import LabError
from gnomon.lab.tasks.base import Batch, Ints, Rng
from gnomon.lab.tasks.documents import Documents, Labelled, folds_of

SIDE, LEVELS = 8, 16
PATCHES = (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class Digits(Labelled):
    """Name the digit, given patches and where they stand on the grid.

    Digits by patches: which digit is this picture?

        picture   8 x 8 grey levels 0..16          patches of 2 x 2: 16 slots on a 4 x 4 grid
        tokens    the rounded mean level of a patch, 1..17
        values    its levels / 16, for models that read numbers
        positions row and column of the patch (`digits`), or none: slots in reading order
                  (`digits-raster`)

    The pictures are those of [alpaydin1998] that scikit-learn carries, 1,797 of them; where it is
    not installed the task is refused. `drawn = true` asks for drawn ones, as many: another task. A
    model without position sees a bag of patches.
    """

    name: ClassVar[str] = "digits"
    axes: ClassVar[int] = 2

    length: int = 16
    """Number of patches: 64, 16 or 4 (of 1, 4 or 16 points)."""
    drawn: bool = False
    """Whether pictures are drawn, where they are not those of people."""

    def __post_init__(self) -> None:
        """Check that the patches tile the picture."""
        super().__post_init__()
        if not isinstance(self.drawn, bool):
            raise LabError(f"task {self.name}: drawn is {self.drawn!r}; it is true or false.")
        if self.length not in [(SIDE // patch) ** 2 for patch in PATCHES]:
            raise LabError(
                f"task {self.name}: length is {self.length}; 8 x 8 points make 64, 16 or 4 patches."
            )

    @property
    def vocabulary(self) -> int:
        """Padding and grey levels."""
        return 2 + LEVELS

    @property
    def classes(self) -> int:
        """Ten digits."""
        return 10

    @property
    def side(self) -> int:
        """Patches in a row of the grid."""
        return int(np.sqrt(self.length))

    def documents(self) -> Documents:
        """Return all pictures as tokens."""
        pictures, labels, folds = _read(self.name, self.drawn)
        levels = patches(pictures, self.side).mean(axis=2)
        tokens = np.floor(levels + 0.5).astype(np.int64) + 1
        return Documents(tokens=tokens, labels=labels, folds=folds)

    def raw(self) -> tuple[NDArray[Any], ...]:
        """Return all pictures, point by point, and which digits they are."""
        return _read(self.name, self.drawn)[:2]

    def made(self, rng: Rng, documents: Documents, picked: Ints) -> Batch:  # noqa: ARG002 - nothing is drawn
        """Return tokens, values and places of the picked pictures."""
        pictures, labels, _ = _read(self.name, self.drawn)
        values = (patches(pictures[picked], self.side) / LEVELS).astype(np.float32)
        tokens = documents.tokens[picked]
        return Batch(
            tokens=tokens,
            targets=labels[picked],
            mask=np.ones(tokens.shape, np.bool_),
            positions=self.places(len(picked)),
            values=values,
        )

    def places(self, rows: int) -> NDArray[np.float64] | None:
        """Return row and column of every patch, (rows, n, 2)."""
        grid = np.stack(np.divmod(np.arange(self.length), self.side), axis=-1)
        return np.broadcast_to(grid.astype(np.float64), (rows, *grid.shape)).copy()


@dataclass(frozen=True, kw_only=True)
class DigitsRaster(Digits):
    """Name the digit, given patches in reading order."""

    name: ClassVar[str] = "digits-raster"
    axes: ClassVar[int] = 1

    def places(self, rows: int) -> None:  # noqa: ARG002 - of the shared signature
        """Positions are counted."""
        return


def patches(pictures: Ints, side: int) -> Ints:
    """Return the points of every patch, (rows, side^2, points), in reading order.

    >>> patches(np.arange(64).reshape(1, 8, 8), 4)[0, 1].tolist()
    [2, 3, 10, 11]
    """
    size = SIDE // side
    cut = pictures.reshape(-1, side, size, side, size).transpose(0, 1, 3, 2, 4)
    return cut.reshape(len(pictures), side * side, size * size)


@lru_cache(maxsize=4)
def _read(name: str, drawn: bool) -> tuple[Ints, Ints, NDArray[np.uint8]]:  # noqa: FBT001 - cached
    if drawn:
        pictures = drawn_digits(DIGITS, np.random.default_rng(0)).astype(np.int64)
        labels = np.arange(DIGITS) % 10
    else:
        pictures, labels = _real(name)
    flat = pictures.reshape(len(pictures), -1).astype(np.uint64)
    places = mix(np.arange(flat.shape[1], dtype=np.uint64))
    keys = mix(flat + places).sum(axis=1, dtype=np.uint64)
    return pictures, labels.astype(np.int64), folds_of(keys)


def _real(name: str) -> tuple[Ints, Ints]:
    found = real_digits()
    if found is None:
        raise LabError(
            f"task {name} reads the pictures that scikit-learn carries, and it is not installed; "
            "install scikit-learn, or say drawn = true for drawn ones."
        )
    from sklearn.datasets import load_digits

    return found.astype(np.int64), load_digits().target
