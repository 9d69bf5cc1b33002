"""Lifts: how an encoding is given distances between positions.

* *kernel* (default): D_ij^2 = k_ii + k_jj - 2 k_ij with k the positional part of the logit,
  symmetrised: p_i.p_j for vectors, sum_k cos(w_k (i-j)) for rotary encodings (content of unit
  pairs), the mean over heads of the bias for biases. Negative D^2 are set to 0 and their share of
  all pairs is reported.
* *vectors*: the Euclidean distance of the vectors that are added.
* *probe*: |R_i u - R_j u| for a content vector u; of a rule on content, which carries no vector
  anywhere, the kernel of its logits where every query, key and token is u.
* *slope*: the bias of ALiBi read as a distance, m |i-j| [cirrincione2026 sec. 6].

The lift decides rankings, so it stands in every table. Encodings whose distances depend on the lag
alone are lifted through their lag profile: O(n d) instead of O(n^2 d), and at equally spaced
positions the n x n matrix is a view of 2n - 1 numbers.

The portrait of an encoding: what it does at each position, its lag profile, and its ladder.

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

from gnomon.encodings.frequencies import UNSCALED
from gnomon.encodings.rotary.rope import Rope, Rotating
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import as_coordinates
from gnomon.numeric.checks import reals
from gnomon.numeric.rows import distances_between
from gnomon.results import Result, pairs_dataframe

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding, LagDistances


Floats = NDArray[np.float64]
_PAIRS = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class Lifted(Result):
    """Distances between positions; `profile` holds them by lag where nothing else decides them."""

    distances: Floats
    lift: str
    negative_share: float
    profile: Floats | None
    note: str

    def to_dataframe(self) -> Any:
        """Return one row per pair of rows, i < j, with its distance."""
        return pairs_dataframe(range(len(self.distances)), {"distance": self.distances})


def lift(
    encoding: Encoding,
    positions: Any,
    *,
    lift: str = "kernel",
    probe: Any = None,
    rng: np.random.Generator | None = None,
) -> Lifted:
    """Return the distances between positions that an encoding makes under a lift.

    `probe` is the content vector of the probe lift; without it one is drawn from `rng` (seed 0 when
    None), normal with mean pair energy 1.
    """
    if lift not in encoding.lifts:
        raise EncodingError(
            f"The encoding {encoding.name!r} has no lift {lift!r}; "
            f"it has: {', '.join(encoding.lifts)}."
        )
    points = _points(encoding, positions)
    content = _probe(encoding, probe, rng) if lift == "probe" else None
    closed = encoding.lag_distances(lift, content)
    if closed is not None:
        distances, profile = _by_lag(closed, points, mixes=encoding.mixes_axes)
        return _as_lifted(encoding, lift, distances, profile, 0.0)
    if lift == "kernel" and "vectors" not in encoding.kinds:
        bias = encoding.bias(_as_positions(points))
        distances, share = _from_bias(bias, causal=encoding.card.causal_only)
        return _as_lifted(encoding, lift, distances, None, share)
    if content is not None and "content" in encoding.kinds:
        distances, share = _from_rule(encoding, points, content)
        return _as_lifted(encoding, lift, distances, None, share)
    vectors = _carry(encoding, points, content)
    return _as_lifted(encoding, lift, distances_between(vectors), None, 0.0)


def _as_lifted(
    encoding: Encoding, name: str, distances: Floats, profile: Floats | None, share: float
) -> Lifted:
    notes = {
        "kernel": "the positional part of the logit, symmetrised",
        "vectors": "Euclidean distance of the vectors added",
        "probe": "a content vector carried to every position; the probe decides the distances",
        "slope": "the bias read as a distance; the slope decides the scale",
    }
    if encoding.kinds == ("bias",):
        notes["kernel"] = "the mean bias over heads"
    if encoding.card.causal_only:
        notes["kernel"] += ", the causal half mirrored"
    return Lifted(
        distances=distances,
        lift=name,
        negative_share=share,
        profile=profile,
        note=notes[name],
    )


def _points(encoding: Encoding, positions: Any) -> Floats:
    """Return coordinates (m, axes); a single axis may also come as a column (m, 1)."""
    values = np.asarray(positions)
    if values.ndim == 2 and encoding.axes == 1:
        if values.shape[1] != 1:
            advice = f"make it with axes={values.shape[1]}"
            raise EncodingError(
                f"The positions have {values.shape[1]} axes and the encoding {encoding.name!r} "
                f"has 1; {advice if encoding.on_grids else 'pass its rows as an array instead'}."
            )
        values = values[:, 0]
    points = np.asarray(as_coordinates(values, encoding.axes))
    if points.ndim != 2 or len(points) == 0:
        raise EncodingError(
            f"The positions have shape {values.shape}; pass one list of positions to lift."
        )
    return points


def _as_positions(points: Floats) -> Floats:
    return points[:, 0] if points.shape[1] == 1 else points


def _by_lag(closed: LagDistances, points: Floats, *, mixes: bool) -> tuple[Floats, Floats | None]:
    """Return distances through the lags: a Toeplitz view, a table of whole lags, or all pairs."""
    steps = np.diff(points, axis=0)
    if points.shape[1] == 1 and len(points) > 1 and steps[0, 0] != 0 and np.ptp(steps) == 0:
        profile = closed(np.abs(steps[0, 0]) * np.arange(len(points), dtype=np.float64)[:, None])
        return _toeplitz(profile), profile
    if not mixes and np.array_equal(points, np.rint(points)):
        spans = tuple(int(span) + 1 for span in np.ptp(points, axis=0))
        if np.prod(spans, dtype=np.float64) <= 4 * len(points) ** 2:
            return _from_lag_table(closed, points, spans), None
    return _all_pairs(closed, points), None


def _toeplitz(profile: Floats) -> Floats:
    """Return the read-only matrix with entry profile[|i-j|] at (i, j), as a view of 2n - 1 numbers.

    >>> _toeplitz(np.array([0.0, 1.0, 2.0]))
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    both = np.concatenate([profile[:0:-1], profile])
    size, stride = len(profile), both.strides[0]
    return np.lib.stride_tricks.as_strided(
        both[size - 1 :], shape=(size, size), strides=(-stride, stride), writeable=False
    )


def _from_lag_table(closed: LagDistances, points: Floats, spans: tuple[int, ...]) -> Floats:
    """Evaluate every whole lag once; frequencies act on one axis each, so signs do not matter."""
    grid = np.stack(np.meshgrid(*map(np.arange, spans), indexing="ij"), axis=-1)
    table = closed(grid.astype(np.float64))

    def look_up(lags: Floats) -> Floats:
        found: Floats = table[tuple(np.moveaxis(np.abs(lags).astype(np.int64), -1, 0))]
        return found

    return _all_pairs(look_up, points)


def _all_pairs(closed: LagDistances, points: Floats) -> Floats:
    """Evaluate a function of the lag at all pairs, some rows at a time."""
    distances = np.empty((len(points), len(points)))
    step = max(1, _PAIRS // len(points))
    for start in range(0, len(points), step):
        lags = points[start : start + step, None, :] - points[None, :, :]
        distances[start : start + step] = closed(lags)
    return distances


def _from_bias(bias: Any, *, causal: bool) -> tuple[Floats, float]:
    """Return distances from the mean bias over heads, and the share of pairs with D^2 < 0.

    Under a causal mask the logit of a pair is the one of the later query and the earlier key;
    otherwise it is the mean of both.
    """
    mean = np.asarray(bias, dtype=np.float64).mean(axis=-3)
    kernel = np.tril(mean) + np.tril(mean, -1).T if causal else 0.5 * (mean + mean.T)
    own = np.diagonal(kernel)
    squares = own[:, None] + own[None, :] - 2.0 * kernel
    np.fill_diagonal(squares, 0.0)
    pairs = squares[np.triu_indices(len(squares), 1)]
    share = float(np.mean(pairs < 0.0)) if pairs.size else 0.0
    return np.sqrt(np.maximum(squares, 0.0)), share


def _from_rule(encoding: Encoding, points: Floats, content: Floats) -> tuple[Floats, float]:
    """Return distances from the mean over heads of the logits of one content at all positions."""
    heads = encoding.head_count or 1
    copies = np.broadcast_to(content, (heads, len(points), len(content)))
    scale = 1.0 / np.sqrt(len(content))
    logits = np.asarray(encoding.scores(copies, copies, _as_positions(points), scale=scale))
    # Keys after their query may be masked: under a causal rule their half is mirrored.
    return _from_bias(np.where(np.isneginf(logits), 0.0, logits), causal=encoding.card.causal_only)


def _carry(encoding: Encoding, points: Floats, content: Floats | None) -> Floats:
    if content is None:
        return np.asarray(encoding.vectors(_as_positions(points)), dtype=np.float64)
    heads = encoding.head_count or 1
    copies = np.broadcast_to(content, (heads, len(points), len(content)))
    carried, _ = encoding.transform(copies, copies, _as_positions(points))
    # Side by side, heads have the root of their mean squared distance.
    beside = np.moveaxis(np.asarray(carried, dtype=np.float64), 0, 1).reshape(len(points), -1)
    return beside / np.sqrt(heads)


def _probe(encoding: Encoding, probe: Any, rng: np.random.Generator | None) -> Floats:
    dimension = int(np.size(probe)) if encoding.any_width else encoding.query_width
    if probe is None:
        stream = np.random.default_rng(0) if rng is None else rng
        return stream.normal(scale=np.sqrt(0.5), size=dimension)
    content = reals(probe, "probe")
    if content.shape != (dimension,) or not np.isfinite(content).all():
        raise EncodingError(
            f"The probe has shape {content.shape}; pass {dimension} finite numbers, one per "
            f"coordinate of {encoding.name!r}."
        )
    return content


_PICTURE_ROWS = 128
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
    points = _raster(encoding, _PICTURE_ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    if "vectors" in encoding.kinds:
        return "vectors", points, np.asarray(encoding.vectors(flat), dtype=np.float64)
    return "pairs", points, _rows_of_units(encoding, flat)


def _bias(encoding: Encoding) -> tuple[str, Floats, Floats]:
    """Return the bias of one query with the keys along the first axis, by head."""
    points = _along(encoding, 0, _PICTURE_ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    query = len(flat) - 1 if encoding.card.causal_only else len(flat) // 2
    bias = np.asarray(encoding.bias(flat[query : query + 1], flat), dtype=np.float64)
    return "bias", (points[query] - points)[::-1, :1], bias.reshape(-1, len(flat))[:, ::-1]


def _logits(encoding: Encoding) -> tuple[str, Floats, Floats]:
    """Return the logits of one query with the keys along the first axis, by head, all alike."""
    points = _along(encoding, 0, _PICTURE_ROWS)
    flat = points[:, 0] if encoding.axes == 1 else points
    query = len(flat) - 1 if encoding.card.causal_only or encoding.in_order else len(flat) // 2
    width = encoding.query_width
    ones = np.ones((encoding.head_count or 1, len(flat), width))
    logits = encoding.scores(ones, ones, flat, scale=1.0 / width)
    rows = np.asarray(logits, dtype=np.float64)[:, query]
    return "logits", (points[query] - points)[::-1, :1], rows[:, ::-1]


def _rows_of_units(encoding: Encoding, flat: Floats) -> Floats:
    """Return unit pairs as queries at these positions; of several heads those of the first."""
    dimension = 2 if encoding.any_width else encoding.query_width
    heads = _own_heads(encoding)
    content = np.broadcast_to(unit_pairs(encoding, dimension), (*heads, len(flat), dimension))
    carried, _ = encoding.transform(content, content, flat)
    rows = np.asarray(carried, dtype=np.float64)
    return rows.reshape(-1, *rows.shape[-2:])[0]


def _own_heads(encoding: Encoding) -> tuple[int, ...]:
    """Return the number of heads where an encoding tells them apart, as a shape."""
    heads = encoding.head_count
    return () if heads is None else (int(heads),)


def unit_pairs(encoding: Encoding, dimension: int) -> Floats:
    """Return (1, 0) in every pair that turns; ones where pairs are not known."""
    content = np.ones(dimension)
    rotary = encoding.inside
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
    if encoding.row_shape is not None:
        return int(encoding.row_shape[axis])
    # Past the trained length a scaling may follow the length of a sequence that is not there.
    return most if encoding.known_length is None else encoding.known_length


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
        plain = _plain_frequencies(encoding) if name == "frequencies" else None
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


def _plain_frequencies(encoding: Encoding) -> Floats | None:
    """Return the ladder without its scaling, where it has one."""
    if not isinstance(encoding, Rope) or encoding.scaling == UNSCALED:
        return None
    plain = dataclasses.replace(encoding, scaling=UNSCALED)
    return _by_axis(plain.frequencies)[0]
