"""What a page draws of a survey and survey.json does not hold: matrices, points and pairs.

Distances are kept in single precision (seven digits, of which a picture shows two), on disk as
upper triangles. Points are classical MDS: of the debiased geometry with the positions outside the
core projected into it, rotated to the principal axes of the core; and of the plug-in geometry.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import classical_mds, outside_core, project
from gnomon.errors import InputError
from gnomon.pipeline.debiased_stress import DebiasedTarget, at_pairs, shepard_pairs
from gnomon.pipeline.noise import NoiseReport
from gnomon.reading import Archive, UnreadableError, open_archive, parse_json
from gnomon.results import Result

FORMAT = 1
AXES = 3
CORE, PROJECTED, UNPLACED = 2, 1, 0
_MATRICES = ("plugin", "null", "debiased")
Singles = NDArray[np.float32]
_DTYPES = {
    **dict.fromkeys(("positions", "coordinates", "core", "shepard_pairs"), np.dtype(np.int64)),
    "status": np.dtype(np.uint8),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures(Result):
    """Arrays of a survey whose m measured positions are rows; an array without rows is absent."""

    metric: str
    null_kind: str | None
    """*dealt* or *shuffled*; None where there is no null."""
    axes: tuple[int, ...]
    """Sizes of the axes of a grid; one of them for sequences."""
    positions: NDArray[np.int64]
    """m: indices of the measured positions."""
    coordinates: NDArray[np.int64]
    """m x axes: where they lie; a bin lies where it begins."""
    plugin: Singles
    """m x m distances, as published."""
    null: Singles
    """m x m: root of the mean squared null distance; 0 x 0 without a null."""
    core: NDArray[np.int64]
    """c: rows of the core; none where nothing was debiased."""
    debiased: Singles
    """c x c: low-rank distances between core positions; all 0 at rank 0."""
    status: NDArray[np.uint8]
    """m: 2 core, 1 projected, 0 neither."""
    points: Singles
    """m x k, k <= 3: debiased coordinates, NaN for a position that has none; m x 0 at rank 0."""
    plugin_points: Singles
    """m x 3."""
    whitened: Singles
    """c: eigenvalues of the whitened debiased matrix, in which noise has unit variance."""
    edges: Singles
    """What each of them had to exceed in turn; NaN: no bound was known."""
    shepard_pairs: NDArray[np.int64]
    """k x 2: pairs of rows."""
    shepard_plugin: Singles
    """k: distances of the corpus at these pairs, as published."""
    shepard_debiased: Singles
    """k: the same debiased; none where encodings are not compared with a debiased geometry."""
    shepard_made: Singles
    """encodings x k: their distances times their best scale, in the order of survey.json."""


def pictures(survey: Any) -> Pictures:
    """Return what is drawn of a Survey; O(m^3) for the coordinates.

    Its class is not imported: the report reads pictures, and knows nothing of how a survey is run.
    """
    geometry, noise = survey.geometry, survey.noise
    target = survey.measured.target
    null = survey.null if survey.shuffled is None else survey.shuffled
    pairs = shepard_pairs(geometry, target, survey.options.seed)
    core = _none(np.int64) if noise is None else np.searchsorted(geometry.positions, noise.core)
    debiased = np.zeros((0, 0)) if noise is None else _estimate(noise, geometry.metric)
    made = [found.scaled for found in survey.entries if found.scaled is not None]
    points, status = _points(noise, geometry.positions)
    return Pictures(
        metric=geometry.metric,
        null_kind=None if null is None else null.kind,
        axes=survey.counts.axes,
        positions=geometry.positions,
        coordinates=geometry.coordinates,
        plugin=_single(geometry.distances),
        null=_single(np.zeros((0, 0)) if null is None else np.sqrt(null.mean_squares)),
        core=core,
        debiased=_single(debiased),
        status=status,
        points=_single(points),
        plugin_points=_single(classical_mds(geometry.gram, AXES).vectors),
        whitened=_single([] if noise is None else noise.debiased.low_rank.eigenvalues),
        edges=_single([] if noise is None else _finite(noise.debiased.edges)),
        shepard_pairs=pairs,
        shepard_plugin=_single(at_pairs(geometry.distances, pairs)),
        shepard_debiased=_single(_at_core(target, debiased, core, pairs)),
        shepard_made=_single(made or np.zeros((0, len(pairs)))),
    )


def _single(values: Any) -> Singles:
    return np.asarray(values, dtype=np.float32)


def _none(dtype: Any) -> NDArray[Any]:
    return np.zeros(0, dtype=dtype)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _estimate(noise: NoiseReport, metric: str) -> NDArray[np.float64]:
    chords = np.sqrt(np.minimum(noise.debiased.low_rank.squares, 2.0))
    distances: NDArray[np.float64] = 2.0 * np.arcsin(chords / 2.0) if metric == "angle" else chords
    return distances


def _at_core(
    target: DebiasedTarget | None,
    debiased: NDArray[np.float64],
    core: NDArray[np.int64],
    pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the debiased distances at pairs of rows that are all core."""
    if target is None:
        return np.zeros(0)
    return at_pairs(debiased, np.searchsorted(core, pairs))


def _points(
    noise: NoiseReport | None, positions: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the first debiased coordinates of every row, and what each row is."""
    status = np.full(len(positions), UNPLACED, dtype=np.uint8)
    if noise is None:
        return np.zeros((len(positions), 0)), status
    found = noise.debiased
    rows, outside = np.searchsorted(positions, found.positions), outside_core(found)
    status[rows[found.core]], status[rows[outside]] = CORE, PROJECTED
    left = np.full((len(positions), found.rank), np.nan)
    if not found.rank:
        return left, status
    left[rows[found.core]], left[rows[outside]] = found.low_rank.coordinates, project(found)
    inner = left[rows[found.core]]
    centre = inner.mean(axis=0)
    turn = np.linalg.svd(inner - centre, full_matrices=False)[2]
    largest = np.take_along_axis(turn, np.abs(turn).argmax(axis=1)[:, None], axis=1)
    return ((left - centre) @ (turn * np.sign(largest)).T)[:, :AXES], status


def store_pictures(found: Pictures, handle: BinaryIO) -> None:
    """Write pictures to an open file: `.npz` without pickle, matrices as their upper triangles."""
    about = {"format": FORMAT, "metric": found.metric, "null_kind": found.null_kind}
    about["axes"] = list(found.axes)
    arrays = {"metadata": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}
    for field in fields(found):
        value = getattr(found, field.name)
        if field.name in _MATRICES:
            arrays[field.name] = value[np.triu_indices(len(value), 1)]
            arrays[f"{field.name}_rows"] = np.array(len(value))
        elif isinstance(value, np.ndarray):
            arrays[field.name] = value
    np.savez(handle, allow_pickle=False, **arrays)


def load_pictures(path: Path) -> Pictures:
    """Read pictures that `store_pictures` wrote."""
    try:
        with open_archive(path) as stored:
            return _check(_read(stored))
    except FileNotFoundError as error:
        raise InputError(
            f"there is no file {path}; run the survey again, with --out, to make it."
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # what is not foreseen here is still damage, no fault of ours
        raise InputError(
            f"{path} is damaged or holds no pictures of a survey ({error}); run the survey again."
        ) from error


def _read(stored: Archive) -> Pictures:
    about: Any = parse_json(stored["metadata"].tobytes())
    if not isinstance(about, dict) or set(about) != {"format", "metric", "null_kind", "axes"}:
        raise UnreadableError("its metadata is not that of pictures")
    if about.pop("format") != FORMAT:
        raise UnreadableError("its format is not known")
    metric, kind, axes = about["metric"], about["null_kind"], about["axes"]
    sizes = isinstance(axes, list) and axes and all(type(n) is int and n > 0 for n in axes)
    if metric not in ("chord", "angle") or kind not in (None, "dealt", "shuffled") or not sizes:
        raise UnreadableError("its metadata is not that of pictures")
    about["axes"] = tuple(axes)
    names = {field.name for field in fields(Pictures)} - set(about)
    return Pictures(**about | {name: _array(stored, name) for name in names})


def _array(stored: Archive, name: str) -> NDArray[Any]:
    found = stored[name]
    if found.dtype != _DTYPES.get(name, np.dtype(np.float32)):
        raise UnreadableError(f"its {name} is of type {found.dtype}")
    if name not in _MATRICES:
        return found
    rows = int(stored[f"{name}_rows"])
    if found.shape != (rows * (rows - 1) // 2,) or rows < 0:  # before rows x rows are taken
        raise UnreadableError(f"its {name} is no triangle of {rows} rows")
    matrix = np.zeros((rows, rows), dtype=np.float32)
    matrix[np.triu_indices(rows, 1)] = found
    return matrix + matrix.T


def _check(found: Pictures) -> Pictures:
    """Refuse arrays that do not go together, as a damaged or a foreign file has them."""
    m, c, k = len(found.positions), len(found.core), len(found.shepard_pairs)
    shapes: dict[str, set[tuple[int, ...]]] = {
        "positions": {(m,)},
        "coordinates": {(m, len(found.axes))},
        "plugin": {(m, m)},
        "null": {(0, 0), (m, m)},
        "core": {(c,)},
        "debiased": {(c, c)},
        "status": {(m,)},
        "points": {(m, axes) for axes in range(AXES + 1)},
        "plugin_points": {(m, axes) for axes in range(AXES + 1)},
        "whitened": {(len(found.whitened),)},
        "edges": {(len(found.edges),)},
        "shepard_pairs": {(k, 2)},
        "shepard_plugin": {(k,)},
        "shepard_debiased": {(0,), (k,)},
        "shepard_made": {(len(found.shepard_made), k)},
    }
    for name, allowed in shapes.items():
        shape = getattr(found, name).shape
        if shape not in allowed:
            raise UnreadableError(f"its {name} has the shape {shape}")
    for name, most in (("core", m), ("shepard_pairs", m), ("status", CORE + 1)):
        values = getattr(found, name)
        if values.size and not (values.min() >= 0 and values.max() < most):
            raise UnreadableError(f"its {name} names what is not there")
    _check_numbers(found)
    return found


def _check_numbers(found: Pictures) -> None:
    """Refuse distances that are none; NaN stands for a point or an edge that is not known."""
    for name in ("plugin", "null", "debiased", "shepard_plugin", "shepard_debiased"):
        values = getattr(found, name)
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise UnreadableError(f"its {name} holds what is no distance")
    for name in ("plugin_points", "whitened", "shepard_made"):
        if not np.isfinite(getattr(found, name)).all():
            raise UnreadableError(f"its {name} holds what is no finite number")
    for name in ("points", "edges"):
        if np.isinf(getattr(found, name)).any():
            raise UnreadableError(f"its {name} holds an infinite number")
