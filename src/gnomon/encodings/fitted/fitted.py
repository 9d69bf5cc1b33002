"""Encodings fitted to a geometry: vectors whose distances are those of the corpus.

*classical*: P = V_d Lambda_d^(1/2) from the centred Gram matrix, which minimises strain
||B - P P^T||_F [torgerson1952]; exact when d reaches the rank of B. *smacof*: minimises raw stress
itself from that start [deleeuw1977]. With a rank r < d the vectors are kept factored, P = U W, U of
shape (n, r) and W of shape (r, d) with orthonormal rows: r (n + d) numbers instead of n d, and the
distances of U [cirrincione2026 rem. 8].

A fitted encoding has a row for every position 0 ... n - 1, by rule where none could be measured,
and says of each how it came to be. Past its end it clamps or refuses, as was declared.

Rows are in row-major order: the position (c_1, ..., c_k) on axes of sizes (n_1, ..., n_k) has row
(...(c_1 n_2 + c_2) n_3 + ...) + c_k. *Clamps* brings every coordinate to the nearest one there is.
The rules are the same in NumPy, PyTorch and JAX, and say the same sentences.

Frameworks take the table that NumPy made (`Fitted.table`), so all of them hold the same float32
numbers. After training the card is what it was, with a note that the numbers were trained.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.arrays import (
    Array,
    Coordinates,
    Namespace,
    or_nan,
    row_numbers,
    seen_whole,
    take,
)
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import DECLARED, Card, catalogued, in_words, proved
from gnomon.errors import EncodingError
from gnomon.results import plain

FAMILIES = ("mds", "mds-low-rank", "smacof")
"""The entries that are made of a geometry."""
FILLED, PROJECTED, MEASURED = 0, 1, 2
"""How a row came to be: by the rule for masked positions, by projection, from its own counts."""
MASKED_RULES = ("continue", "interpolate", "refuse")
BEYOND = ("refuse", "clamp", "interpolate")
SCALES = ("corpus", "match", "learned")
_CARD_KEYS = (
    "method estimator minimises dimension rank factored stored shape length reach masked_rule "
    "beyond past scale factor gain rotation warnings origin"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted(Encoding):
    """Vectors U W at every position of a sequence or a grid."""

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    whole_only: ClassVar[bool] = True
    family: str
    """Name of the card: mds, mds-low-rank or smacof."""
    method: str
    """classical or smacof."""
    estimator: str
    """Of the distances: debiased, plugin, ...; given, where they came as an array."""
    minimises: str
    dimension: int
    rank: int
    factored: bool
    """Whether U and W are stored, r (n + d) numbers, or their product, n d."""
    left: NDArray[np.float64] = field(repr=False)
    """U: (rows, rank); of a file that holds the product, that product."""
    right: NDArray[np.float64] | None = field(repr=False)
    """W: (rank, dimension) with orthonormal rows; of such a file, None."""
    shape: tuple[int, ...]
    """Sizes of the axes; rows = their product, in row-major order."""
    status: NDArray[np.uint8] = field(repr=False)
    """Of every row: 2 measured (core), 1 projected, 0 masked and filled by the rule."""
    masked_rule: str = "refuse"
    beyond: str = "refuse"
    """What was declared for positions past the end: refuse, clamp, or interpolate, which was done
    when fitting: n positions were stretched to more rows, and past those there is nothing."""
    length: int
    """Positions n that were fitted, before they were stretched."""
    scale: str = "corpus"
    factor: float = 1.0
    """What the coordinates were multiplied by; it is in `left` already."""
    gain: float = 1.0
    """Where the scale is learned: what a trainable factor over everything starts from."""
    rotation: int | None = None
    """Seed of W; None: W = [I 0]."""
    warnings: tuple[str, ...] = ()
    origin: dict[str, Any] = field(default_factory=dict, repr=False)
    """Where it came from: corpus, digest, metric, masked and projected positions, verdict."""

    def __post_init__(self) -> None:
        """Refuse parts that do not belong together, and make the arrays read-only."""
        rows, inner = np.shape(self.left)
        factor = (inner, inner) if self.right is None else np.shape(self.right)
        whole = prod(self.shape) == rows == len(self.status) and len(self.shape) == self.axes
        whole = whole and not (self.factored and self.right is None)
        if not whole or factor != (inner, self.dimension):
            raise EncodingError(
                f"{rows} rows of {inner} numbers, a factor of shape {factor} and "
                f"axes {self.shape} are no encoding of dimension {self.dimension}; pass parts "
                "that belong together."
            )
        for name in ("left", "right", "status"):
            if getattr(self, name) is not None:
                view = np.asarray(getattr(self, name)).view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @property
    def card(self) -> Card:
        """Return the card of this way of fitting."""
        return DECLARED[self.family].card

    @property
    def parameters(self) -> dict[str, Any]:
        """Return dimension, rank, what was minimised, and how many numbers are stored."""
        return {
            "dimension": self.dimension,
            "rank": self.rank,
            "minimises": self.minimises,
            "positions": len(self.left),
            "stored": self.stored,
        }

    @property
    def stored(self) -> int:
        """Return how many numbers this encoding takes: r (n + d) factored, n d otherwise."""
        rows = len(self.left)
        return self.rank * (rows + self.dimension) if self.factored else rows * self.dimension

    @property
    def past(self) -> str:
        """Return what happens past the last row: clamp or refuse."""
        return "clamp" if self.beyond == "clamp" else "refuse"

    @property
    def reach(self) -> int:
        """Return how many rows there are: n, or what n positions were stretched to."""
        return len(self.left)

    def table(self) -> NDArray[np.float32]:
        """Return all rows as they are shipped, (rows, dimension): the same in every framework.

        Of factored vectors, the product of the factors rounded to float32, in float64, rounded. A
        learned scale is not in it: that is `gain`.
        """
        left, right = self.left, self.right
        if right is None:
            return left.astype(np.float32)
        if self.factored:
            left, right = (m.astype(np.float32).astype(np.float64) for m in (left, right))
        try:
            return (left @ right).astype(np.float32)
        except MemoryError as error:
            raise EncodingError(
                f"A table of {len(left):,} x {self.dimension:,} numbers does not fit into memory; "
                "keep the factors apart (factored=True), or ask for the vectors of some positions."
            ) from error

    def matched(self, match: Any) -> Fitted:
        """Return it with the scale of a token embedding, so that neither drowns the other.

        `match` is the embedding (an array, a tensor or a layer) or the root mean square of its
        entries; that of the encoding's own entries becomes the same.
        """
        from gnomon.encodings.fitted.finishing import matched

        return matched(self, match)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return U, W where they are apart, and the gain."""
        parts = {"left": self.left, "gain": np.asarray(self.gain, dtype=np.float64)}
        return parts if self.right is None else {**parts, "right": self.right}

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the fitted vectors, shape (..., dimension), with the gain in them.

        Rows are taken first, so that a masked row of NaN reaches no other one.
        """
        whole = seen_whole(coordinates, what="a fitted encoding")
        if whole is not None:
            self.rules.rows(whole if self.axes > 1 else whole[..., 0])
        rows, there = row_numbers(coordinates, self.shape, clamp=self.past == "clamp", xp=xp)
        made = take(numbers["left"], rows, xp=xp)
        made = xp.matmul(made, numbers["right"]) if "right" in numbers else made
        made = numbers["gain"] * made
        return made if whole is not None else or_nan(made, there, xp=xp)

    @cached_property
    def rules(self) -> Rules:
        """Return which positions have a row, and what happens to others."""
        refused = self.status == FILLED if self.masked_rule == "refuse" else []
        return Rules(
            name=self.name,
            shape=self.shape,
            past=self.past,
            refused=tuple(np.flatnonzero(refused).tolist()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values: what it is, how it was made, what it rests on."""
        card = self.card
        about = {"name": card.name, "formula": card.formula, "source": card.source}
        return about | {key: plain(getattr(self, key)) for key in _CARD_KEYS.split()}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the encoding to a `.safetensors` file with its card in the header."""
        from gnomon.encodings.fitted.files import write_fitted

        write_fitted(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Fitted:
        """Read an encoding that `save`, `gnomon fit` or a survey wrote."""
        from gnomon.encodings.fitted.files import read_fitted

        return read_fitted(path)

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Write `encoding.safetensors` and its card, `config.json`, to a folder."""
        from gnomon.encodings.fitted.files import save_pretrained

        save_pretrained(self, folder)

    @staticmethod
    def from_pretrained(name: str | PathLike[str]) -> Fitted:
        """Read what `save_pretrained` wrote: from a folder, or by its name on the hub."""
        from gnomon.encodings.fitted.files import from_pretrained

        return from_pretrained(name)

    def _repr_html_(self) -> str:
        """Show the card in a notebook."""
        lines = {k: v for k, v in self.to_dict().items() if k not in ("origin", "warnings")}
        lines |= {"warning": " ".join(self.warnings)} if self.warnings else {}
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td>{html.escape(str(value))}</td></tr>"
            for key, value in lines.items()
        )
        return f"<table><caption>{html.escape(self.name)}</caption>{rows}</table>"


def fit(
    geometry: Any, *, method: str = "classical", dimension: int, rank: int | None = None
) -> Fitted:
    """Return the encoding of `dimension` coordinates whose distances fit those of a geometry.

    `geometry` is a result of the geometry room, or a square array of distances, taken as it is:
    nothing is rotated, scaled or filled. With `rank`, the vectors span only that many directions
    and are stored factored. `gnomon.fit` does more.
    """
    from gnomon.encodings.fitted.finishing import Finish, finish, points_of_distances

    points = points_of_distances(geometry, method=method, dimension=dimension, rank=rank)
    return finish(points, Finish(dimension=dimension), factored=rank is not None)


@catalogued(
    Card(
        name="mds",
        family="fitted",
        kind=("vectors",),
        formula="P = V_d Lambda_d^(1/2), B = V Lambda V^T",
        source="torgerson1952",
        level=in_words("L6"),
        relative=False,
        proofs=proved(
            (
                "scikit-learn ClassicalMDS",
                "distances/test_classical_scaling.py",
                "test_classical_mds_equals_scikit_learn_up_to_signs",
            ),
            (
                "scikit-bio pcoa",
                "distances/test_classical_scaling.py",
                "test_classical_mds_equals_scikit_bio_pcoa",
            ),
        ),
    ),
)
def mds(geometry: Any, *, dimension: int) -> Encoding:
    """Return classical MDS of a geometry."""
    return fit(geometry, dimension=dimension)


@catalogued(
    Card(
        name="mds-low-rank",
        family="fitted",
        kind=("vectors",),
        formula="P = U W, U = V_r Lambda_r^(1/2), W W^T = I",
        source="cirrincione2026",
        level=in_words("L6"),
        relative=False,
        proofs=proved(
            (
                "classical MDS of the same rank",
                "encodings/test_encoding_fitted.py",
                "test_low_rank_is_classical_mds_of_that_rank_in_a_larger_space",
            ),
        ),
    ),
)
def low_rank(geometry: Any, *, dimension: int, rank: int) -> Encoding:
    """Return classical MDS of a geometry, kept factored at a rank."""
    return fit(geometry, dimension=dimension, rank=rank)


@catalogued(
    Card(
        name="smacof",
        family="fitted",
        kind=("vectors",),
        formula="P minimises sum (|p_i - p_j| - h_ij)^2, from classical MDS",
        source="deleeuw1977",
        level=in_words("L6"),
        relative=False,
        proofs=proved(
            (
                "scikit-learn MDS",
                "distances/test_smacof_scaling.py",
                "test_stress_matches_scikit_learn_from_the_same_start",
            ),
        ),
    ),
)
def smacof(geometry: Any, *, dimension: int) -> Encoding:
    """Return the encoding of least raw stress that SMACOF finds."""
    return fit(geometry, method="smacof", dimension=dimension)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a table does with positions; it can be compared and hashed, so compilers may key on it.

    >>> Rules(name="mds", shape=(2, 3), past="clamp").rows([[1, 2], [5, 0]]).tolist()
    [5, 3]
    """

    name: str
    shape: tuple[int, ...]
    past: str
    """"clamp" or "refuse"."""
    refused: tuple[int, ...] = ()
    """Rows that nothing was measured for and that may not be asked for."""
    flat: bool = False
    """Whether positions of a grid are given as row numbers rather than (..., axes)."""

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return prod(self.shape)

    @property
    def limits(self) -> tuple[int, ...]:
        """Return the sizes of the axes that positions are given on."""
        return (self.size,) if self.flat else self.shape

    def coordinates(self, positions: Any) -> Any:
        """Return positions of any array library as (..., axes)."""
        axes = len(self.limits)
        if axes == 1:
            return positions[..., None]
        if positions.ndim == 0 or positions.shape[-1] != axes:
            raise EncodingError(
                f"The positions have shape {tuple(positions.shape)}, but this encoding has {axes} "
                f"axes; pass positions of shape (..., {axes}), or row numbers with flat=True."
            )
        return positions

    def rows(self, positions: Any) -> NDArray[np.int64]:
        """Return the rows of whole positions, or say which one has none."""
        coordinates = self.coordinates(np.asarray(positions).astype(np.int64))
        last = np.array(self.limits) - 1
        outside = coordinates < 0
        if self.past == "refuse":
            outside = outside | (coordinates > last)
        if outside.any():
            raise self._ends(coordinates[outside.any(axis=-1)][0])
        inside = np.minimum(coordinates, last)
        rows = np.ravel_multi_index(tuple(np.moveaxis(inside, -1, 0)), self.limits)
        found: NDArray[np.int64] = np.asarray(rows, dtype=np.int64)
        if self.refused:
            self._check_measured(found)
        return found

    def _ends(self, position: NDArray[Any]) -> EncodingError:
        last = _where(np.array(self.limits) - 1)
        if (position < 0).any():
            return EncodingError(
                f"Position {_where(position)} is negative; this encoding has positions "
                f"{_where(np.zeros_like(position))} to {last}: ask for those."
            )
        advice = "" if len(self.shape) > 1 else " or --beyond interpolate"
        return EncodingError(
            f"Position {_where(position)} is past the end of this encoding, whose last position is "
            f"{last}; ask for positions within it, or fit again with --beyond clamp{advice}."
        )

    def _check_measured(self, rows: NDArray[np.int64]) -> None:
        missing = rows[np.isin(rows, self.refused)]
        if missing.size:
            position = np.array(np.unravel_index(missing.flat[0], self.limits))
            raise EncodingError(
                f"Position {_where(position)} was masked, and this encoding refuses those; ask for "
                "others, or fit again with --masked continue or --masked interpolate."
            )


def _where(position: NDArray[Any]) -> str:
    return ", ".join(map(str, position.tolist()))


LayerNumbers = dict[str, Any]
"""Arrays by the names they have in a layer."""


def opened(source: Any, match: Any = None) -> Fitted:
    """Return a fitted encoding: itself, out of its file, or out of a folder it was saved to.

    With `match` it gets the scale of a token embedding (`Fitted.matched`).
    """
    found = _found(source)
    return found if match is None else found.matched(match)


def _found(source: Any) -> Fitted:
    if isinstance(source, Fitted):
        return source
    if not isinstance(source, str | os.PathLike):
        raise EncodingError(
            f"A fitted encoding can not be made of {type(source).__name__}; pass what gnomon.fit "
            "returns, the path of its .safetensors file, or the folder it was saved to."
        )
    folder = os.path.isdir(source)  # noqa: PTH112 - a name that is too long is none, not an error
    return Fitted.from_pretrained(source) if folder else Fitted.load(source)


def rules_of(fitted: Fitted, *, flat: bool = False) -> Rules:
    """Return what the table of a fitted encoding does with positions, or with row numbers."""
    return replace(fitted.rules, flat=flat)


def factors(fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return both factors as they are shipped, in float32; of a whole table one is the identity."""
    left, right = fitted.left, fitted.right
    right = np.eye(fitted.dimension) if right is None else right
    return left.astype(np.float32), right.astype(np.float32)


def retrained(fitted: Fitted, now: LayerNumbers, fresh: LayerNumbers) -> Fitted:
    """Return the encoding with the present numbers of a layer; itself where none has changed.

    Both hold `weight`, or `left` and `right`, and `gain` where it is learned: as they are now, and
    as the layer would hold them fresh. The card then says `trained`.
    """
    now = {name: np.asarray(part, dtype=np.float32) for name, part in now.items()}
    if all(_equal(part, fresh[name]) for name, part in now.items()):
        return fitted
    apart = "left" in now
    left = now["left" if apart else "weight"].astype(np.float64)
    return replace(
        fitted,
        left=left,
        right=now["right"].astype(np.float64) if apart else None,
        rank=left.shape[1],
        factored=apart,
        gain=float(now.get("gain", fitted.gain)),
        origin={**fitted.origin, "trained": True},
    )


def _equal(left: Any, right: Any) -> bool:
    """Whether two arrays hold the same numbers; refused rows hold NaN in both."""
    return np.shape(left) == np.shape(right) and bool(np.array_equal(left, right, equal_nan=True))
