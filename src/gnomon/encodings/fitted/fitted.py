"""Encodings fitted to a geometry: vectors whose distances are those of the corpus.

*classical*: P = V_d Lambda_d^(1/2) from the centred Gram matrix, which minimises strain
||B - P P^T||_F [torgerson1952]; exact when d reaches the rank of B. *smacof*: minimises raw stress
itself from that start [deleeuw1977]. With a rank r < d the vectors are kept factored, P = U W, U of
shape (n, r) and W of shape (r, d) with orthonormal rows: r (n + d) numbers instead of n d, and the
distances of U [cirrincione2026 rem. 8].

A fitted encoding has a row for every position 0 ... n - 1, by rule where none could be measured,
and says of each how it came to be. Past its end it clamps or refuses, as was declared.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
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
from gnomon.encodings.card import Card, in_words, proved
from gnomon.encodings.fitted.filling import FILLED
from gnomon.encodings.fitted.rows import Rules
from gnomon.errors import EncodingError
from gnomon.results import plain


def _card(name: str, formula: str, source: str, verified: tuple[tuple[str, str, str], ...]) -> Card:
    return Card(
        name=name,
        family="fitted",
        kind=("vectors",),
        formula=formula,
        source=source,
        level=in_words("L6"),
        relative=False,
        proofs=proved(*verified),
    )


CARDS = {
    "mds": _card(
        "mds",
        "P = V_d Lambda_d^(1/2), B = V Lambda V^T",
        "torgerson1952",
        (
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
    "mds-low-rank": _card(
        "mds-low-rank",
        "P = U W, U = V_r Lambda_r^(1/2), W W^T = I",
        "cirrincione2026",
        (
            (
                "classical MDS of the same rank",
                "encodings/test_encoding_fitted.py",
                "test_low_rank_is_classical_mds_of_that_rank_in_a_larger_space",
            ),
        ),
    ),
    "smacof": _card(
        "smacof",
        "P minimises sum (|p_i - p_j| - h_ij)^2, from classical MDS",
        "deleeuw1977",
        (
            (
                "scikit-learn MDS",
                "distances/test_smacof_scaling.py",
                "test_stress_matches_scikit_learn_from_the_same_start",
            ),
        ),
    ),
}
BEYOND = ("refuse", "clamp", "interpolate")
SCALES = ("corpus", "match", "learned")
CARD_KEYS = (
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
        return CARDS[self.family]

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
        return about | {key: plain(getattr(self, key)) for key in CARD_KEYS.split()}

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
        from gnomon.encodings.fitted.pretrained import save_pretrained

        save_pretrained(self, folder)

    @staticmethod
    def from_pretrained(name: str | PathLike[str]) -> Fitted:
        """Read what `save_pretrained` wrote: from a folder, or by its name on the hub."""
        from gnomon.encodings.fitted.pretrained import from_pretrained

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
    from gnomon.encodings.fitted.finishing import Finish, finish
    from gnomon.encodings.fitted.points import points_of_distances

    points = points_of_distances(geometry, method=method, dimension=dimension, rank=rank)
    return finish(points, Finish(dimension=dimension), factored=rank is not None)


def mds(geometry: Any, *, dimension: int) -> Encoding:
    """Return classical MDS of a geometry."""
    return fit(geometry, dimension=dimension)


def low_rank(geometry: Any, *, dimension: int, rank: int) -> Encoding:
    """Return classical MDS of a geometry, kept factored at a rank."""
    return fit(geometry, dimension=dimension, rank=rank)


def smacof(geometry: Any, *, dimension: int) -> Encoding:
    """Return the encoding of least raw stress that SMACOF finds."""
    return fit(geometry, method="smacof", dimension=dimension)
