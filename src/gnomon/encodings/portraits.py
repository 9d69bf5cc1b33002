"""The portrait of an encoding: what it does at each position, its lag profile, and its ladder.

* *rows*: the vectors that are added; or unit pairs (1, 0) carried to each position by a transform
  of queries, cos w_k i and sin w_k i where it turns; or, by head, the bias of one query with the
  keys along the first axis; of a rule on content, by head, the logits of one query where every
  query, key and token is the same vector of ones.
* *profile*: the distance of positions by their lag, along each axis, under the first lift that the
  encoding has and under *slope* where it has that; between the smallest and the largest where the
  lag alone does not decide it.
* *ladder*: frequencies in radians per position by pair, slopes by head, decays by either; beside
  the frequencies without their scaling where they have one.

Positions are 0, 1, 2, ... as far as they go, or evenly spaced over the `span` of the encoding.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.lifts import lift
from gnomon.encodings.rotary.rope import Rope, Rotating
from gnomon.encodings.rotary.scaling import UNSCALED
from gnomon.results import Result

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding

Floats = NDArray[np.float64]
_ROWS = 128
"""Positions of which rows are drawn, at most."""
_LAGS = 512
"""Positions of a profile, at most."""
_ROUNDING = 1e-9
"""Distances that differ by less, as a part of the largest, are equal but for rounding."""
_LADDERS = {
    "frequencies": ("pair", "frequency, radians per position"),
    "slopes": ("head", "slope, logits per position"),
    "rates": ("pair", "decay, -ln per position"),
}
"""Numbers that make a ladder: what is counted, and what is measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile(Result):
    """Distances by lag along one axis: their mean, and between what they lie."""

    axis: int
    lift: str
    lags: Floats
    mean: Floats
    low: Floats
    high: Floats

    @property
    def varies(self) -> bool:
        """Whether positions with the same lag differ in distance."""
        top = np.nanmax(np.abs(self.high), initial=0.0)
        return bool((self.high - self.low > _ROUNDING * top).any())

    @property
    def whole(self) -> bool:
        """Whether lags are counts of positions."""
        return bool(np.array_equal(self.lags, np.arange(len(self.lags))))


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder(Result):
    """Numbers by pair or by head, one row per axis or single head; `plain` without scaling."""

    counted: str
    measured: str
    values: Floats
    """(rows, pairs)."""
    labels: tuple[str, ...]
    plain: Floats | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Portrait(Result):
    """What the figures of a card show."""

    name: str
    parameters: dict[str, Any]
    rows: Floats
    """(positions, coordinates) of vectors and carried pairs; (heads, keys) of a bias."""
    shows: str
    """vectors, pairs, bias or logits: what the rows are."""
    places: Floats
    """Positions of the rows, (m, axes); of a bias the lags of the keys, (m, 1)."""
    profiles: tuple[Profile, ...]
    ladders: tuple[Ladder, ...] = field(default=())
    learnable: tuple[str, ...] = ()
    """Numbers that training changes: the portrait shows them as they are now."""


def portrait(encoding: Encoding) -> Portrait:
    """Return what an encoding does at each position, its lag profile and its ladder.

    >>> from gnomon.encodings.rotary.rope import Rope
    >>> portrait(Rope(dimension=4)).ladders[0].values
    array([[1.  , 0.01]])
    """
    shows, places, rows = _rows(encoding)
    return Portrait(
        name=encoding.name,
        parameters=encoding.parameters,
        rows=rows,
        shows=shows,
        places=places,
        profiles=tuple(_profiles(encoding)),
        ladders=tuple(_ladders(encoding)),
        learnable=encoding.learnable,
    )


def _rows(encoding: Encoding) -> tuple[str, Floats, Floats]:
    if encoding.kinds == ("bias",):
        return _bias(encoding)
    if "content" in encoding.kinds:
        return _logits(encoding)
    points = _raster(encoding, _ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    if "vectors" in encoding.kinds:
        return "vectors", points, np.asarray(encoding.vectors(flat), dtype=np.float64)
    return "pairs", points, _carried(encoding, flat)


def _bias(encoding: Encoding) -> tuple[str, Floats, Floats]:
    """Return the bias of one query with the keys along the first axis, by head."""
    points = _along(encoding, 0, _ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    query = len(flat) - 1 if encoding.card.causal_only else len(flat) // 2
    bias = np.asarray(encoding.bias(flat[query : query + 1], flat), dtype=np.float64)
    return "bias", (points[query] - points)[::-1, :1], bias.reshape(-1, len(flat))[:, ::-1]


def _logits(encoding: Encoding) -> tuple[str, Floats, Floats]:
    """Return the logits of one query with the keys along the first axis, by head, all alike."""
    points = _along(encoding, 0, _ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    query = len(flat) - 1 if encoding.card.causal_only or encoding.in_order else len(flat) // 2
    width = int(getattr(encoding, "dimension", 8))
    ones = np.ones((int(getattr(encoding, "heads", None) or 1), len(flat), width))
    logits = encoding.scores(ones, ones, flat, scale=1.0 / width)
    rows = np.asarray(logits, dtype=np.float64)[:, query]
    return "logits", (points[query] - points)[::-1, :1], rows[:, ::-1]


def _carried(encoding: Encoding, flat: Floats) -> Floats:
    """Return unit pairs as queries at these positions; of several heads those of the first."""
    dimension = int(getattr(encoding, "dimension", 2))
    heads = _own_heads(encoding)
    content = np.broadcast_to(unit_pairs(encoding, dimension), (*heads, len(flat), dimension))
    carried, _ = encoding.transform(content, content, flat)
    rows = np.asarray(carried, dtype=np.float64)
    return rows.reshape(-1, *rows.shape[-2:])[0]


def _own_heads(encoding: Encoding) -> tuple[int, ...]:
    """Return the number of heads where an encoding tells them apart, as a shape."""
    heads = getattr(getattr(encoding, "inner", encoding), "heads", None)
    return () if heads is None else (int(heads),)


def unit_pairs(encoding: Encoding, dimension: int) -> Floats:
    """Return (1, 0) in every pair that turns; ones where pairs are not known."""
    content = np.ones(dimension)
    rotary = getattr(encoding, "inner", encoding)  # a wrapper turns what it wraps
    if isinstance(rotary, Rotating):
        turned = np.arange(rotary.rotated)
        second = turned % 2 if rotary.layout == "interleaved" else 2 * turned // rotary.rotated
        content[rotary.first : rotary.first + rotary.rotated] = 1.0 - second
    return content


def _raster(encoding: Encoding, most: int) -> Floats:
    """Return at most `most` points, row by row, as far as the encoding goes."""
    each = int(most ** (1.0 / encoding.axes) + 1e-9)
    sides = [_line(encoding, axis, each) for axis in range(encoding.axes)]
    grid = np.meshgrid(*sides, indexing="ij")
    return np.stack([side.reshape(-1) for side in grid], axis=-1).astype(np.float64)


def _line(encoding: Encoding, axis: int, most: int) -> Floats:
    """Return positions along one axis: whole ones from 0, or evenly spaced ones over the span."""
    if encoding.span is not None:
        return np.linspace(*encoding.span, most)
    return np.arange(min(most, _extent(encoding, axis, most)), dtype=np.float64)


def _along(encoding: Encoding, axis: int, most: int) -> Floats:
    """Return the points of a line along one axis; the others are 0."""
    line = _line(encoding, axis, most)
    points = np.zeros((len(line), encoding.axes))
    points[:, axis] = line
    return points


def _extent(encoding: Encoding, axis: int, most: int) -> int:
    """Return how many positions there are along an axis, where that has an end."""
    shape = getattr(encoding, "shape", None)
    if shape is not None:
        return int(shape[axis])
    values = getattr(encoding, "values", None)
    if values is not None:
        return len(values)
    # Past the trained length such a scaling follows the length of a sequence that is not there.
    reach = getattr(getattr(encoding, "scaling", None), "reach", None)
    return most if reach is None else reach


def _profiles(encoding: Encoding) -> list[Profile]:
    first = encoding.lifts[0]
    asked = [(axis, first) for axis in range(encoding.axes)]
    asked += [(0, name) for name in encoding.lifts[1:] if name == "slope" and encoding.axes == 1]
    return [_profile(encoding, axis, name) for axis, name in asked]


def _profile(encoding: Encoding, axis: int, name: str) -> Profile:
    points = _along(encoding, axis, _LAGS)
    found = lift(encoding, points, lift=name)
    lags = points[:, axis] - points[0, axis]
    if found.profile is not None:
        curves = dict.fromkeys(("mean", "low", "high"), found.profile)
    else:
        bands = [np.diagonal(found.distances, k) for k in range(len(lags))]
        finite = [band[np.isfinite(band)] for band in bands]
        finite = [band if band.size else np.full(1, np.nan) for band in finite]
        curves = {
            "mean": np.array([band.mean() for band in finite]),
            "low": np.array([band.min() for band in finite]),
            "high": np.array([band.max() for band in finite]),
        }
    return Profile(axis=axis, lift=name, lags=lags, **curves)


def _ladders(encoding: Encoding) -> list[Ladder]:
    found = []
    for name, (counted, measured) in _LADDERS.items():
        per = measured if encoding.span is None else measured.replace("per position", "per unit")
        values = encoding.numbers.get(name)
        if values is None or np.size(values) == 0:
            continue
        each, numbers = _by_head(counted, np.asarray(values, dtype=np.float64), name)
        rows, labels = _by_axis(numbers)
        plain = _unscaled(encoding) if name == "frequencies" else None
        made = Ladder(counted=each, measured=per, values=rows, labels=labels, plain=plain)
        found.append(made)
    return found


def _by_head(counted: str, values: Floats, name: str) -> tuple[str, Floats]:
    """Return decays as positive numbers; those of whole heads, all pairs alike, by head."""
    if name != "rates":
        return counted, values
    alike = values.ndim == 2 and bool(np.ptp(values, axis=1).max() == 0.0)
    return ("head", -values[:, 0]) if alike else (counted, -values)


def _by_axis(values: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return numbers as rows, one per axis, of single heads one per head and axis; 0 is absent."""
    if values.ndim == 1:
        return values[None, :], ("",)
    heads = values[None] if values.ndim == 2 else values
    axes = heads.shape[-1]
    rows = np.abs(np.moveaxis(heads, -1, 1)).reshape(-1, heads.shape[-2])
    names = [f"axis {axis}" if axes > 1 else "" for axis in range(axes)]
    single = [f"head {head} " if len(heads) > 1 else "" for head in range(len(heads))]
    return rows, tuple(f"{head}{name}".strip() for head in single for name in names)


def _unscaled(encoding: Encoding) -> Floats | None:
    """Return the ladder without its scaling, where it has one."""
    if not isinstance(encoding, Rope) or encoding.scaling == UNSCALED:
        return None
    plain = dataclasses.replace(encoding, scaling=UNSCALED)
    return _by_axis(plain.frequencies)[0]
