"""Small networks that make biases: their layers, and what training starts them from.

    h_1 = f(x W_1 + b_1),  ...,  y = h W + b,   x (..., inputs),  y (..., heads).

Weights and biases start uniform in (-1/sqrt(n), 1/sqrt(n)), n the inputs of the layer: the default
of torch.nn.Linear, which the published codes of [li2024] and x-transformers leave as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.encodings.starting import kept, spread

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.positions import Array, Namespace


def affine(x: Array, weights: Array, biases: Array, *, xp: Namespace) -> Array:
    """Return x W + b in the wider type of both: inputs are float64 where there is."""
    dtype = xp.result_type(x.dtype, weights.dtype)
    product = xp.matmul(xp.astype(x, dtype), xp.astype(weights, dtype))
    return product + xp.astype(biases, dtype)


def relu(x: Array, *, xp: Namespace) -> Array:
    """Return what is positive of x; NaN stays NaN."""
    return xp.where(x < 0.0, xp.zeros_like(x), x)


def settle(
    encoding: Encoding, name: str, shape: tuple[int, ...], *, seed: int, place: int, inputs: int
) -> None:
    """Keep the numbers that a field was given, read-only, or those that training starts from."""
    if getattr(encoding, name) is None:
        start = spread(place, shape, seed) * inputs**-0.5
        object.__setattr__(encoding, name, start)
    kept(encoding, name, shape)
