"""Fitted encodings in JAX: `load` gives a pytree, `embed` the vectors; `nnx` holds Flax's module.

from gnomon.jax import embed, load
encoding = load("encoding.safetensors")
vectors = embed(encoding, positions)
"""

from __future__ import annotations

from gnomon.errors import MissingExtraError

try:
    import jax as _jax  # noqa: F401 - asked for first, so that its absence is said in words
except ImportError as error:
    raise MissingExtraError(
        "gnomon.jax needs JAX, which is not installed; run `pip install gnomon[jax]`."
    ) from error

from gnomon.jax.embedding import PositionVectors, embed, load, to_fitted

__all__ = ["PositionVectors", "embed", "load", "to_fitted"]
