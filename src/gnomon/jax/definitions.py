"""A definition that JAX can keep beside the leaves of a pytree: compared by value, never traced.

JAX compiles again when the static part of its arguments changes, and joins two pytrees only where
it is equal. An encoding is compared by its class and its fields, the learnable ones left out: two
layers made alike share their compiled code, whatever they have learned since.

The constants of its formula are prepared once, as NumPy arrays in the types that JAX will hold them
in, because an array made while JAX traces must not outlive the trace.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnomon.encodings import Encoding, has_float64, stored
from gnomon.numeric.limbs import Limbs, Turns

jax.tree_util.register_dataclass(Limbs, data_fields=["whole", "fraction"], meta_fields=[])
jax.tree_util.register_dataclass(Turns, data_fields=["radians", "digits"], meta_fields=[])


class Definition:
    """An encoding as a static value, with the constants of its formula."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._identity = identity(encoding)
        self._hash = hash(self._identity)
        self._prepared: dict[bool, dict[str, Any]] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Definition):
            return NotImplemented
        return self is other or self._identity == other._identity

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Definition({self.encoding!r})"

    def constants(self) -> dict[str, Any]:
        """Return the numbers that are not learned, for the precision that is on at present."""
        wide = has_float64(jnp)
        if wide not in self._prepared:
            self._prepared[wide] = _prepared(self.encoding, wide=wide)
        constants: dict[str, Any] = jax.tree.map(jnp.asarray, self._prepared[wide])
        return constants


def _prepared(encoding: Encoding, *, wide: bool) -> dict[str, Any]:
    """Return the constants in NumPy: no array of JAX is made, which `shard_map` would trace."""
    fixed = {n: v for n, v in encoding.numbers.items() if n not in encoding.learnable}
    return {name: stored(name, values, wide=wide) for name, values in fixed.items()}


def identity(value: Any) -> Any:
    """Return what tells two values apart, in a form that can be hashed.

    >>> identity({"factors": [1.0, 2.0]})
    (('factors', (1.0, 2.0)),)
    """
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        learned = value.learnable if isinstance(value, Encoding) else ()
        kept = [field.name for field in dataclasses.fields(value) if field.name not in learned]
        return (type(value), *((name, identity(getattr(value, name))) for name in kept))
    if isinstance(value, Mapping):
        return tuple((name, identity(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(identity(part) for part in value)
    return value
