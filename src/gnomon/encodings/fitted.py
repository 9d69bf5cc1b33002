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

From the points that a fit found to an encoding: filled, stretched, scaled and rotated.

A *unit* is what was counted by itself: a position, a cell of a grid, or a bin of several positions.
Units without coordinates have status `FILLED`; a rule gives them a row. In this order:

1. Every position of a bin gets the row of its bin; masked positions follow their rule. On a
   sequence, with T the positions that can be trusted, *continue* takes the row of the nearest
   earlier position of T, before the first that one; *interpolate* the line between the two
   neighbours in T, outside T its nearest end; *refuse* no row (NaN), and asking for it is refused.
   On a grid *continue* is the nearest cell of T, and *interpolate* is linear over the triangles of
   T, with the nearest cell outside their hull. A status goes with every row: measured, projected,
   filled.
2. Past the end: with *interpolate* n positions are stretched to `reach` rows, now and not later.
3. Scale: *corpus* keeps the distances of the corpus; *match* makes the root mean square of all
   entries that of a token embedding, so that neither drowns the other when they are added;
   *learned* leaves the last word to a trainable factor that starts at 1.
4. W, with orthonormal rows, carries r coordinates into d dimensions: W = Q^T, Z = Q R, Z (d, r)
   with independent normal entries and diag R > 0. With the signs of R fixed, Q is uniform (Haar)
   among the d x r matrices with orthonormal columns [mezzadri2007]. Without a seed W = [I 0]: the
   fitted directions are the first r coordinates, and a model that treats coordinates unlike each
   other sees position in those alone.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import METHODS, double_centred, scale, spectrum
from gnomon.encodings.base import DRAWN, Encoding, Numbers
from gnomon.encodings.card import DECLARED, Card, catalogued, in_words, proofs_of
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    Array,
    Coordinates,
    Namespace,
    or_nan,
    row_numbers,
    seen_whole,
    take,
)
from gnomon.results import Result, plain

FAMILIES = ("mds", "mds-low-rank", "smacof")
"""The entries that are made of a geometry."""
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
    FILLED: ClassVar[int] = 0
    """The status of a row that was made by the rule for masked positions."""
    PROJECTED: ClassVar[int] = 1
    MEASURED: ClassVar[int] = 2
    """The status of a row from its own counts."""
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
    def clamps(self) -> bool:  # type: ignore[override]
        """Whether positions past the last row have that row; otherwise they are refused."""
        return self.beyond == "clamp"

    @property
    def past(self) -> str:
        """Return what happens past the last row: clamp or refuse."""
        return "clamp" if self.clamps else "refuse"

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
        rows = self.left if self.right is None else self.left @ self.right
        factor = _match_factor(self.gain * rows, match, self.dimension)
        scale = self.scale if self.scale == "learned" else "match"
        return replace(self, left=self.left * factor, factor=self.factor * factor, scale=scale)

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
        refused = self.status == Fitted.FILLED if self.masked_rule == "refuse" else []
        return Rules(
            name=self.name,
            shape=self.shape,
            past=self.past,
            refused=tuple(np.flatnonzero(refused).tolist()),
        )

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Return how many positions there are along each axis."""
        return self.shape

    def _drawn_positions(self) -> NDArray[np.int64]:
        """Return the positions that a picture shows: those whose rows are not refused."""
        known = np.flatnonzero(np.isfinite(self.left).all(axis=1))[:DRAWN]
        points = np.stack(np.unravel_index(known, self.shape), axis=-1)
        return points[:, 0] if self.axes == 1 else points

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values: what it is, how it was made, what it rests on."""
        card = self.card
        about = {"name": card.name, "formula": card.formula, "source": card.source}
        return about | {key: plain(getattr(self, key)) for key in _CARD_KEYS.split()}

    @staticmethod
    def open(source: Any, match: Any = None) -> Fitted:
        """Return a fitted encoding: itself, out of its file, or out of a folder it was saved to.

        With `match` it gets the scale of a token embedding (`Fitted.matched`).
        """
        if isinstance(source, Fitted):
            found = source
        elif isinstance(source, str | os.PathLike):
            folder = os.path.isdir(source)  # noqa: PTH112 - a name that is too long is no error
            found = Fitted.from_pretrained(source) if folder else Fitted.load(source)
        else:
            raise EncodingError(
                f"A fitted encoding cannot be made of {type(source).__name__}; pass what "
                "gnomon.fit returns, the path of its .safetensors file, or the folder it was saved "
                "to."
            )
        return found if match is None else found.matched(match)

    def factors(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return both factors as they are shipped, in float32; the identity beside a table."""
        right = np.eye(self.dimension) if self.right is None else self.right
        return self.left.astype(np.float32), right.astype(np.float32)

    def retrain(self, now: LayerNumbers, fresh: LayerNumbers) -> Fitted:
        """Return the encoding with the present numbers of a layer; itself where none has changed.

        Both hold `weight`, or `left` and `right`, and `gain` where it is learned: as they are now,
        and as the layer would hold them fresh. The card then says `trained`.
        """
        now = {name: np.asarray(part, dtype=np.float32) for name, part in now.items()}
        if all(_equal(part, fresh[name]) for name, part in now.items()):
            return self
        apart = "left" in now
        left = now["left" if apart else "weight"].astype(np.float64)
        return replace(
            self,
            left=left,
            right=now["right"].astype(np.float64) if apart else None,
            rank=left.shape[1],
            factored=apart,
            gain=float(now.get("gain", self.gain)),
            origin={**self.origin, "trained": True},
        )

    def save(self, path: str | PathLike[str], *, origin: Mapping[str, Any] | None = None) -> None:
        """Write the encoding to a `.safetensors` file with its card in the header."""
        from gnomon.encodings.files import write_fitted

        known = self if origin is None else replace(self, origin={**self.origin, **origin})
        write_fitted(known, path)

    def to_bytes(self) -> bytes:
        """Return the contents of its `.safetensors` file, the same for the same encoding."""
        from gnomon.encodings.files import fitted_bytes

        return fitted_bytes(self)

    @staticmethod
    def load(path: str | PathLike[str]) -> Fitted:
        """Read an encoding that `save`, `gnomon fit` or a survey wrote."""
        from gnomon.encodings.files import read_fitted

        return read_fitted(path)

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Write `encoding.safetensors` and its card, `config.json`, to a folder."""
        from gnomon.encodings.files import save_pretrained

        save_pretrained(self, folder)

    @staticmethod
    def from_pretrained(name: str | PathLike[str]) -> Fitted:
        """Read what `save_pretrained` wrote: from a folder, or by its name on the hub."""
        from gnomon.encodings.files import from_pretrained

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
    points = Points.of_distances(geometry, method=method, dimension=dimension, rank=rank)
    return points.finish(Finish(dimension=dimension), factored=rank is not None)


@catalogued(
    Card(
        name="mds",
        family="fitted",
        kind=("vectors",),
        formula="P = V_d Lambda_d^(1/2), B = V Lambda V^T",
        source="torgerson1952",
        level=in_words("L6"),
        relative=False,
        proofs=proofs_of(
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
        proofs=proofs_of(
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
        proofs=proofs_of(
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


def _equal(left: Any, right: Any) -> bool:
    """Whether two arrays hold the same numbers; refused rows hold NaN in both."""
    return np.shape(left) == np.shape(right) and bool(np.array_equal(left, right, equal_nan=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Points(Result):
    """Coordinates of units, in order of their positions."""

    GIVEN: ClassVar[str] = "given"
    """The estimator of distances that came as an array."""

    coordinates: NDArray[np.float64]
    """(units, rank); zero where the status is FILLED."""
    status: NDArray[np.uint8]
    shape: tuple[int, ...]
    """Sizes of the axes; their product is the number of positions."""
    widths: NDArray[np.int64] | None = None
    """Positions in each unit; None: one."""
    method: str
    estimator: str
    minimises: str
    warnings: tuple[str, ...] = ()
    origin: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_distances(
        cls,
        geometry: Any,
        *,
        method: str = "classical",
        dimension: int,
        rank: int | None = None,
        places: Places | None = None,
    ) -> Points:
        """Return points whose distances fit those of a geometry, or of a square array.

        Without a rank, as many directions as there are, up to the dimension.
        """
        checks.one_of("method", method, METHODS)
        checks.whole("dimension", dimension, least=1)
        where = Places.of(geometry) if places is None else places
        most = max(len(where.units) - 1, 1)  # a centred Gram matrix has no more directions
        kept = min(dimension, most) if rank is None else rank
        what = f"{len(where.units)} positions span {most} directions"
        Finish.check_rank(kept, dimension=dimension, most=most, what=what)
        found = scale(geometry, method, dimension=kept)
        coordinates, status = where.all_units(np.asarray(found.vectors, dtype=np.float64))
        return cls(
            coordinates=coordinates,
            status=status,
            shape=where.shape,
            widths=where.widths,
            method=method,
            estimator=str(getattr(geometry, "estimator", cls.GIVEN)),
            minimises=str(found.minimises),
            origin={"metric": getattr(geometry, "metric", None)},
        )

    def finish(self, how: Finish, *, factored: bool | None = None) -> Fitted:
        """Return the encoding of points; `factored` None: where that takes fewer numbers."""
        _check_size(self, how)
        rows, status = _every_position(self, how.masked)
        shape, length = self.shape, len(rows)
        origin = {**self.origin, "masked": runs(status == Fitted.FILLED)}
        origin["projected"] = runs(status == Fitted.PROJECTED)
        if how.reach is not None:
            rows, status = _stretch_to(rows, status, shape, how.reach)
            shape = (how.reach,)
        rank = rows.shape[1]
        factor = _factor(rows, how)
        if factored is None:
            factored = rank * (len(rows) + how.dimension) < len(rows) * how.dimension
        low = factored and self.method == "classical"
        return Fitted(
            axes=len(shape),
            family="mds-low-rank" if low else {"classical": "mds"}.get(self.method, self.method),
            method=self.method,
            estimator=self.estimator,
            minimises=self.minimises,
            dimension=how.dimension,
            rank=rank,
            factored=factored,
            left=rows * factor,
            right=orthonormal_rows(rank, how.dimension, how.rotation),
            shape=shape,
            status=status,
            masked_rule=how.masked,
            beyond=how.beyond,
            length=length,
            scale=how.chosen_scale,
            factor=factor,
            rotation=how.rotation,
            warnings=self.warnings,
            origin=origin,
        )

    @staticmethod
    def count_directions(geometry: Any) -> int:
        """Return how many directions the distances of a geometry, or of an array, span."""
        gram = getattr(geometry, "gram", None)
        gram = double_centred(np.square(geometry)) if gram is None else gram
        return int(spectrum(gram).rank_numerical)

    @staticmethod
    def fill(rows: Floats, status: Status, shape: tuple[int, ...], rule: str) -> Floats:
        """Return rows of which those of status `FILLED` are made by the rule.

        >>> rows, status = np.array([[0.0], [1.0], [9.0], [3.0]]), np.uint8([2, 2, 0, 1])
        >>> Points.fill(rows, status, (4,), "interpolate").ravel().tolist()
        [0.0, 1.0, 2.0, 3.0]
        """
        missing = status == Fitted.FILLED
        made = rows.copy()
        if not missing.any():
            return made
        if rule == "refuse":
            made[missing] = np.nan
        elif rule == "continue":
            made = rows[_nearest(missing, shape) if len(shape) > 1 else _earlier(missing)]
        elif len(shape) > 1:
            made[missing] = _over_triangles(rows, missing, shape)
        else:
            at = np.arange(len(rows))
            for column in made.T:
                column[missing] = np.interp(at[missing], at[~missing], column[~missing])
        return made


@dataclass(frozen=True, kw_only=True, eq=False)
class Places(Result):
    """Where measured rows lie among all units."""

    units: NDArray[np.int64]
    """Unit of each row."""
    count: int
    shape: tuple[int, ...]
    widths: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, geometry: Any) -> Places:
        """Return where the rows of a geometry, or of an array of distances, lie.

        A geometry of bins knows where each begins and not where the last one ends: it is taken to
        hold one position.
        """
        if not hasattr(geometry, "distances"):
            shape = np.shape(geometry)
            if len(shape) != 2 or shape[0] != shape[1]:
                raise EncodingError(
                    f"The distances have shape {shape}; pass a square array or a geometry."
                )
            return cls(units=np.arange(shape[0]), count=shape[0], shape=(shape[0],))
        units, axes = np.asarray(geometry.positions), geometry.axes
        count = len(units) + len(geometry.masked)
        first = np.asarray(geometry.coordinates)
        if axes is not None and len(axes) > 1:
            return cls(units=units, count=count, shape=tuple(int(size) for size in axes))
        if np.array_equal(first[:, 0], units):
            return cls(units=units, count=count, shape=(count,))
        starts = first[:, 0]
        units = np.arange(len(starts))  # masked bins are between these, or not known at all
        widths = np.diff([*starts, starts[-1] + 1])
        widths[0] += starts[0]
        return cls(
            units=units,
            count=len(units),
            shape=(int(widths.sum()),),
            widths=widths.astype(np.int64),
        )

    def all_units(
        self, rows: NDArray[np.float64], status: int | NDArray[np.uint8] = Fitted.MEASURED
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return rows and their status for every unit: zeros, `FILLED`, where there are none."""
        coordinates = np.zeros((self.count, rows.shape[1]))
        every = np.full(self.count, Fitted.FILLED, dtype=np.uint8)
        coordinates[self.units], every[self.units] = rows, status
        return coordinates, every


Floats = NDArray[np.float64]
_MOST_NUMBERS = 2**29
"""Of both factors together: 4 GB while they are made."""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """How points become an encoding; the words are those of the command line."""

    dimension: int
    masked: str = "refuse"
    beyond: str = "refuse"
    reach: int | None = None
    scale: str | None = None
    """None: match where there is something to match, else corpus."""
    match: Any = None
    """A token embedding, or the root mean square of its entries."""
    rotation: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no points could satisfy."""
        checks.whole("dimension", self.dimension, least=1)
        checks.one_of("masked", self.masked, MASKED_RULES)
        checks.one_of("beyond", self.beyond, BEYOND)
        if self.rotation is not None:
            checks.whole("rotation", self.rotation, least=0)
        if self.scale is not None:
            checks.one_of("scale", self.scale, SCALES)
        self._check_match()
        if (self.beyond == "interpolate") != (self.reach is not None):
            raise EncodingError(
                f"beyond is {self.beyond!r} and reach is {self.reach}; interpolation needs how "
                "many positions to reach (--beyond interpolate --reach N), and nothing else does."
            )

    def _check_match(self) -> None:
        if self.scale == "match" and self.match is None:
            raise EncodingError(
                "scale is 'match', and there is nothing to match; pass the token embedding, or "
                "the root mean square of its entries, as match (--match FILE[:TENSOR] or 0.02)."
            )
        if self.scale == "corpus" and self.match is not None:
            raise EncodingError(
                "scale is 'corpus', which matches nothing, and match is given; leave one of them "
                "out."
            )

    @property
    def chosen_scale(self) -> str:
        """Return corpus, match or learned."""
        return self.scale or ("corpus" if self.match is None else "match")

    @staticmethod
    def check_rank(rank: int, *, dimension: int, most: int, what: str) -> None:
        """Refuse a rank that the dimension cannot hold or the geometry does not have."""
        checks.whole("rank", rank, least=1)
        if rank > dimension:
            raise EncodingError(f"rank is {rank} and dimension {dimension}; pass a rank up to it.")
        if rank > most:
            raise EncodingError(f"rank is {rank}, and {what}; pass a rank up to {most}.")


def _check_size(points: Points, how: Finish) -> None:
    """Refuse what no model has and no memory holds, before it is asked for."""
    rank, rows = points.coordinates.shape[1], how.reach or prod(points.shape)
    if rank * (rows + how.dimension) > _MOST_NUMBERS:
        raise EncodingError(
            f"{rows:,} positions and dimension {how.dimension:,} at rank {rank} are more than "
            f"{_MOST_NUMBERS:,} numbers; pass a smaller dimension, rank or reach (--dimension, "
            "--rank, --reach)."
        )


def _every_position(points: Points, rule: str) -> tuple[Floats, NDArray[np.uint8]]:
    rows, status = points.coordinates, points.status
    if points.widths is not None:
        rows = np.repeat(rows, points.widths, axis=0)
        status = np.repeat(status, points.widths)
    return Points.fill(rows, status, points.shape, rule), status


def _stretch_to(
    rows: Floats, status: NDArray[np.uint8], shape: tuple[int, ...], reach: int
) -> tuple[Floats, NDArray[np.uint8]]:
    if len(shape) > 1:
        raise EncodingError(
            f"beyond is 'interpolate', and a grid of {' x '.join(map(str, shape))} has no single "
            "length to stretch; pass refuse or clamp (--beyond)."
        )
    checks.whole("reach", reach, least=len(rows))
    return stretched(rows, status, reach)


def _factor(rows: Floats, how: Finish) -> float:
    """Return what the coordinates are multiplied by; the rows of W have unit length."""
    return 1.0 if how.match is None else _match_factor(rows, how.match, how.dimension)


def _match_factor(rows: Floats, match: Any, dimension: int) -> float:
    """Return the factor that gives d entries a row the wanted root mean square."""
    wanted = root_mean_square(match)
    measured = rows[np.isfinite(rows).all(axis=1)]
    found = float(np.sqrt(np.square(measured).sum() / (len(measured) * dimension)))
    if found == 0.0:
        raise EncodingError(
            "All fitted vectors are 0, so no factor gives them the scale of a token embedding; "
            "leave out match (--match)."
        )
    kind = np.finfo(np.float32)
    largest = np.sqrt(len(measured) * dimension)  # an entry may be, where all others are 0
    if not float(kind.tiny) < wanted < float(kind.max) / largest:
        raise EncodingError(
            f"match is {wanted:g}, which float32 cannot hold; pass the root mean square of a "
            "token embedding (--match)."
        )
    return wanted / found


def root_mean_square(match: Any) -> float:
    """Return a number as it is; of an array, the root mean square of its entries.

    >>> root_mean_square([[1.0, -7.0], [-7.0, 1.0]])
    5.0
    """
    own = getattr(match, "weight", match)  # of a layer
    if hasattr(own, "detach"):  # a parameter that is in training, perhaps in bfloat16 elsewhere
        own = own.detach().cpu().double().numpy()
    values = np.asarray(own)
    if values.dtype.kind not in "iuf" or not values.size:
        raise EncodingError(
            f"match holds {values.size} values of type {values.dtype}; pass the numbers of a token "
            "embedding, or the root mean square of its entries."
        )
    wide = values.astype(np.float64)
    found = float(wide) if wide.ndim == 0 else float(np.sqrt(np.mean(np.square(wide))))
    if not 0.0 < found < np.inf:
        raise EncodingError(
            f"match has the root mean square {found:g}; pass one that is finite and above 0."
        )
    return found


Status = NDArray[np.uint8]


def _earlier(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for every position the nearest trusted one that is not later; else the first."""
    at = np.arange(len(missing))
    last = np.maximum.accumulate(np.where(missing, -1, at))
    return np.where(last < 0, at[~missing][0], last)


def _nearest(missing: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for every cell the nearest trusted one, in row-major order."""
    from scipy.ndimage import distance_transform_edt

    where = distance_transform_edt(
        missing.reshape(shape), return_distances=False, return_indices=True
    )
    return np.asarray(np.ravel_multi_index(tuple(where), shape)).ravel().astype(np.int64)


def _over_triangles(rows: Floats, missing: NDArray[np.bool_], shape: tuple[int, ...]) -> Floats:
    from scipy.interpolate import LinearNDInterpolator
    from scipy.spatial import QhullError

    cells = np.stack(np.unravel_index(np.arange(len(rows)), shape), axis=1).astype(np.float64)
    nearest: Floats = rows[_nearest(missing, shape)][missing]
    try:
        linear = LinearNDInterpolator(cells[~missing], rows[~missing])(cells[missing])
    except (QhullError, ValueError):  # too few cells, or all of them on one line: no triangles
        return nearest
    return np.where(np.isnan(linear), nearest, linear)


def stretched(rows: Floats, status: Status, reach: int) -> tuple[Floats, Status]:
    """Return `reach` rows by linear interpolation at i (n - 1) / (reach - 1).

    A row between two others has the lower of their statuses. Where a position of the original is
    met exactly it is kept exactly: places are whole numbers and remainders, not rounded quotients.

    >>> stretched(np.array([[0.0], [2.0]]), np.array([2, 1], np.uint8), 3)[0].ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    steps = reach - 1
    low, rest = np.divmod(np.arange(reach, dtype=np.int64) * (len(rows) - 1), steps)
    high = np.minimum(low + (rest > 0), len(rows) - 1)
    part = (rest / steps)[:, None]
    made = np.where(rest[:, None] > 0, (1.0 - part) * rows[low] + part * rows[high], rows[low])
    return made, np.minimum(status[low], status[high])


def runs(chosen: NDArray[np.bool_]) -> list[list[int]]:
    """Return first and last index of every run of true values.

    >>> runs(np.array([True, True, False, True]))
    [[0, 1], [3, 3]]
    """
    found = np.flatnonzero(chosen)
    if not found.size:
        return []
    breaks = np.flatnonzero(np.diff(found) > 1) + 1
    bounds = [0, *breaks.tolist(), found.size]
    return [[int(found[a]), int(found[b - 1])] for a, b in pairwise(bounds)]


_PURPOSE = 11
"""Keeps this stream apart from others of the same seed."""


def orthonormal_rows(rank: int, dimension: int, seed: int | None) -> NDArray[np.float64]:
    """Return W of shape (rank, dimension) with W W^T = I; [I 0] without a seed.

    >>> orthonormal_rows(1, 3, None)
    array([[1., 0., 0.]])
    """
    if seed is None:
        return np.eye(rank, dimension)
    normal = np.random.default_rng([seed, _PURPOSE]).normal(size=(dimension, rank))
    axes, triangle = np.linalg.qr(normal)
    signs = np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
    rows: NDArray[np.float64] = np.ascontiguousarray((axes * signs).T)
    return rows
