"""Images of digits, 8 x 8, in 17 grey levels: real ones where scikit-learn is, else drawn.

The real ones (Alpaydin and Kaynak 1998) were scanned at 32 x 32 and reduced by counting the dark
points of every 4 x 4 block, which gives the levels 0..16. The drawn ones are made the same way:
strokes of a seven-segment display, with jitter, on a 32 x 32 raster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIGITS = 1797
_RASTER = 32
# Ends of the seven strokes, x to the right and y down, on the unit square of the display.
_CORNERS = np.array(
    [
        [0, 0, 1, 0],
        [1, 0, 1, 1],
        [1, 1, 1, 2],
        [0, 2, 1, 2],
        [0, 1, 0, 2],
        [0, 0, 0, 1],
        [0, 1, 1, 1],
    ],
    dtype=np.float64,
).reshape(7, 2, 2)
# Which strokes each digit lights: top, upper and lower right, bottom, lower and upper left, middle.
LIT = ("012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356")


def real_digits() -> NDArray[np.int32] | None:
    """Return scikit-learn's digit images as int32 (rows, 8, 8), or None where it is missing."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return None
    return load_digits().images.astype(np.int32)


def drawn_digits(rows: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw `rows` images (rows, 8, 8) of digits in turn, each with its own jitter."""
    return np.stack([_drawn(row % 10, rng) for row in range(rows)])


def _drawn(digit: int, rng: np.random.Generator) -> NDArray[np.int32]:
    strokes = _CORNERS[[int(lit) for lit in LIT[digit]]]
    size = rng.uniform(9.0, 12.0)
    slant = rng.uniform(-0.15, 0.15)
    corner = np.array([_RASTER / 2 - size / 2, _RASTER / 2 - size]) + rng.normal(0.0, 1.0, 2)
    points = strokes * size + corner + rng.normal(0.0, 0.5, strokes.shape)
    points[..., 0] -= slant * (points[..., 1] - _RASTER / 2)
    dark = _distance_to_strokes(points) < rng.uniform(1.5, 2.5)
    blocks = dark.reshape(8, 4, 8, 4).sum(axis=(1, 3))
    return blocks.astype(np.int32)


def _distance_to_strokes(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of every raster point (y, x) to the nearest stroke."""
    y, x = np.mgrid[0:_RASTER, 0:_RASTER] + 0.5
    start, along = points[:, 0], points[:, 1] - points[:, 0]
    away = np.stack([x, y], axis=-1)[:, :, None, :] - start
    part = np.clip((away * along).sum(-1) / (along**2).sum(-1), 0.0, 1.0)
    return np.linalg.norm(away - part[..., None] * along, axis=-1).min(axis=-1)
