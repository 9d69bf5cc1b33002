"""Every example of every entry of the catalogue, and what it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES

EXAMPLES = [
    pytest.param((name, parameters), id=f"{name}-{count}")
    for name, entry in ENTRIES.items()
    for count, parameters in enumerate(entry.examples)
]
FIRST = [
    pytest.param((name, entry.examples[0]), id=name)
    for name, entry in ENTRIES.items()
    if entry.examples
]


def heads_of(made: Encoding) -> int:
    """How many heads an encoding tells apart, or the one inside of it; 1 where none."""
    made = getattr(made, "inner", made)
    frequencies = getattr(made, "frequencies", None)
    if frequencies is not None and frequencies.ndim == 3:
        return len(frequencies)
    return getattr(made, "heads", None) or 1


def width_of(made: Encoding) -> int:
    """How many coordinates a query has."""
    return getattr(made, "width", None) or getattr(made, "dimension", 8)


def on_axes(steps: Any, axes: int) -> Any:
    """Give positions their axes: the place on every axis is its number times the step."""
    return steps if axes == 1 else np.stack([steps] * axes, axis=-1)
