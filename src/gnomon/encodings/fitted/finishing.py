"""From points to an encoding: filled, stretched, scaled, rotated, in this order.

1. Every position of a bin gets the row of its bin; masked positions follow their rule.
2. Past the end: with *interpolate* n positions are stretched to `reach` rows, now and not later.
3. Scale: *corpus* keeps the distances of the corpus; *match* makes the root mean square of all
   entries that of a token embedding, so that neither drowns the other when they are added;
   *learned* leaves the last word to a trainable factor that starts at 1.
4. W, with orthonormal rows, carries r coordinates into d dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.fitted.filling import FILLED, MASKED_RULES, PROJECTED, filled, runs, stretched
from gnomon.encodings.fitted.fitted import BEYOND, SCALES, Fitted
from gnomon.encodings.fitted.points import Points
from gnomon.encodings.fitted.rotation import orthonormal_rows
from gnomon.errors import EncodingError
from gnomon.numeric import checks

Floats = NDArray[np.float64]
MOST_NUMBERS = 2**29
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


def finish(points: Points, how: Finish, *, factored: bool | None = None) -> Fitted:
    """Return the encoding of points; `factored` None: where that takes fewer numbers."""
    _check_size(points, how)
    rows, status = _every_position(points, how.masked)
    shape, length = points.shape, len(rows)
    origin = {**points.origin, "masked": runs(status == FILLED)}
    origin["projected"] = runs(status == PROJECTED)
    if how.reach is not None:
        rows, status = _reaching(rows, status, shape, how.reach)
        shape = (how.reach,)
    rank = rows.shape[1]
    factor = _factor(rows, how)
    if factored is None:
        factored = rank * (len(rows) + how.dimension) < len(rows) * how.dimension
    low = factored and points.method == "classical"
    return Fitted(
        axes=len(shape),
        family="mds-low-rank" if low else {"classical": "mds"}.get(points.method, points.method),
        method=points.method,
        estimator=points.estimator,
        minimises=points.minimises,
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
        warnings=points.warnings,
        origin=origin,
    )


def _check_size(points: Points, how: Finish) -> None:
    """Refuse what no model has and no memory holds, before it is asked for."""
    rank, rows = points.coordinates.shape[1], how.reach or prod(points.shape)
    if rank * (rows + how.dimension) > MOST_NUMBERS:
        raise EncodingError(
            f"{rows:,} positions and dimension {how.dimension:,} at rank {rank} are more than "
            f"{MOST_NUMBERS:,} numbers; pass a smaller dimension, rank or reach (--dimension, "
            "--rank, --reach)."
        )


def _every_position(points: Points, rule: str) -> tuple[Floats, NDArray[np.uint8]]:
    rows, status = points.coordinates, points.status
    if points.widths is not None:
        rows = np.repeat(rows, points.widths, axis=0)
        status = np.repeat(status, points.widths)
    return filled(rows, status, points.shape, rule), status


def _reaching(
    rows: Floats, status: NDArray[np.uint8], shape: tuple[int, ...], reach: int
) -> tuple[Floats, NDArray[np.uint8]]:
    if len(shape) > 1:
        raise EncodingError(
            f"beyond is 'interpolate', and a grid of {' x '.join(map(str, shape))} has no single "
            "length to stretch; pass refuse or clamp (--beyond)."
        )
    checks.whole("reach", reach, least=len(rows))
    return stretched(rows, status, reach)


def matched(fitted: Fitted, match: Any) -> Fitted:
    """Return the encoding with the root mean square of a token embedding; see `Fitted.matched`."""
    rows = fitted.left if fitted.right is None else fitted.left @ fitted.right
    factor = _matching(fitted.gain * rows, match, fitted.dimension)
    scale = fitted.scale if fitted.scale == "learned" else "match"
    return replace(fitted, left=fitted.left * factor, factor=fitted.factor * factor, scale=scale)


def _factor(rows: Floats, how: Finish) -> float:
    """Return what the coordinates are multiplied by; the rows of W have unit length."""
    return 1.0 if how.match is None else _matching(rows, how.match, how.dimension)


def _matching(rows: Floats, match: Any, dimension: int) -> float:
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
            f"match is {wanted:g}, which float32 can not hold; pass the root mean square of a "
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
