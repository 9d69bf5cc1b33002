"""Learned numbers of an encoding: those that were given, or those that training starts from.

Starting values, and the rows of random tables, are drawn from SplitMix64 streams [steele2014] that
start at a hash of a seed and whole coordinates, and are made normal by Box and Muller [box1958]: a
row of the `purpose`-th number of an encoding is a function of (seed, purpose, row) alone, the same
on every machine and in every library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.base import Encoding

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The step of a SplitMix64 stream."""


def given(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return learned numbers as a read-only copy in float64, or say why they do not fit.

    >>> given("gains", [1, 2], (2,))
    array([1., 2.])
    """
    array = checks.array(name, values)
    if array.dtype.kind not in "iuf":
        raise EncodingError(f"{name} holds {array.dtype}; pass finite numbers of shape {shape}.")
    if array.shape != shape:
        raise EncodingError(
            f"{name} has shape {array.shape}; pass finite numbers of shape {shape}."
        )
    if not np.isfinite(array).all():
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        raise EncodingError(
            f"{name} holds {array[tuple(at)]} at {at}; pass finite numbers of shape {shape}."
        )
    return lock(array.astype(np.float64))


def learned(name: str, values: Any, start: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return numbers of a shape: those given, or where they start, one number for all or each.

    >>> learned("gains", None, 0.5, (2,))
    array([0.5, 0.5])
    """
    return given(name, np.broadcast_to(start, shape) if values is None else values, shape)


def freeze_given(encoding: Encoding, name: str, shape: tuple[int, ...]) -> None:
    """Keep learned numbers that a field was given: read-only, finite, and of their shape."""
    values = getattr(encoding, name)
    if values is not None:
        object.__setattr__(encoding, name, given(name, values, shape))


def lock(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers that are kept, and are the definition: nothing may be written into them."""
    values.flags.writeable = False
    return values


def given_or_starts(
    encoding: Encoding, started: dict[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """Return learned numbers by name: those the encoding was given, else those it starts from."""
    own = {name: getattr(encoding, name) for name in started}
    return {
        name: lock(values) if own[name] is None else own[name] for name, values in started.items()
    }


def of_each_head(heads: int | None, *shape: int) -> tuple[int, ...]:
    """Return a shape of numbers, with the heads first where each has its own.

    >>> of_each_head(None, 3), of_each_head(2, 3)
    ((3,), (2, 3))
    """
    return shape if heads is None else (heads, *shape)


def normal(purpose: int, shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Return standard normal numbers; a row is the last axis, counted over all others.

    >>> normal(0, (2, 3), 0).shape
    (2, 3)
    """
    rows = np.arange(int(np.prod(shape[:-1])))
    places = np.stack([np.full_like(rows, purpose), rows], axis=-1)
    return normal_rows(places, shape[-1], seed % 2**64).reshape(shape)


def spread(purpose: int, shape: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Return numbers uniform in (-1, 1): words of the stream of (seed, purpose), in order."""
    words = stream((seed + purpose * 2**32) % 2**64, int(np.prod(shape)))
    unit = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return (2.0 * unit - 1.0).reshape(shape)


def mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the SplitMix64 finaliser of 64-bit words: a bijection that spreads every bit."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return mixed


def stream(seed: int, count: int) -> NDArray[np.uint64]:
    """Return the first words of the SplitMix64 stream that starts at the hash of a seed."""
    start = mix(np.full(1, seed, dtype=np.uint64) + GOLDEN)
    return mix(start + np.arange(1, count + 1, dtype=np.uint64) * GOLDEN)


def normal_rows(coordinates: NDArray[np.int64], dimension: int, seed: int) -> NDArray[np.float64]:
    """Return standard normal rows (..., dimension) for whole coordinates (..., axes)."""
    flat = coordinates.reshape(-1, coordinates.shape[-1]).astype(np.uint64)
    starts = mix(np.full(len(flat), seed, dtype=np.uint64) + GOLDEN)
    for axis in range(flat.shape[1]):
        starts = mix((starts ^ flat[:, axis]) + GOLDEN)
    pairs = (dimension + 1) // 2
    steps = np.arange(1, 2 * pairs + 1, dtype=np.uint64) * GOLDEN
    bits = mix(starts[:, None] + steps) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 0.5) * 2.0**-53  # in (0, 1): the logarithm is finite
    radius = np.sqrt(-2.0 * np.log(uniform[:, :pairs]))
    angle = 2.0 * np.pi * uniform[:, pairs:]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return normal[:, :dimension].reshape(*coordinates.shape[:-1], dimension)
