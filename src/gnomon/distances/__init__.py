"""Counts -> distances -> Gram matrix -> coordinates.

Its parts are loaded when they are first asked for: `import gnomon` stays instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.distances.chord import angle, chord_distances
    from gnomon.distances.gram import centred_gram
    from gnomon.distances.mds import Coordinates, classical_mds, scale
    from gnomon.distances.measure import Geometry
    from gnomon.distances.spectrum import Spectrum

__all__ = [
    "Coordinates",
    "Geometry",
    "Spectrum",
    "angle",
    "centred_gram",
    "chord_distances",
    "classical_mds",
    "scale",
]

_HOME = {
    "Coordinates": "mds",
    "Geometry": "measure",
    "Spectrum": "spectrum",
    "angle": "chord",
    "centred_gram": "gram",
    "chord_distances": "chord",
    "classical_mds": "mds",
    "scale": "mds",
}


def __getattr__(name: str) -> Any:
    """Load the part that holds `name`."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
