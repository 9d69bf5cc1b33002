"""Counts -> distances -> Gram matrix -> coordinates.

This room is also the public function of its name: `gnomon.geometry(counts)` measures counts.
The contract wants both `gnomon.geometry(...)` and the package `gnomon.geometry`; as importing the
package would shadow any function of that name, the package itself can be called.
Its parts are loaded when they are first asked for: `import gnomon` stays instant.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.geometry.distances import angle, chord_distances
    from gnomon.geometry.gram import centred_gram
    from gnomon.geometry.mds import Coordinates, classical_mds, scale
    from gnomon.geometry.measure import Geometry
    from gnomon.geometry.spectrum import Spectrum

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
    "angle": "distances",
    "centred_gram": "gram",
    "chord_distances": "distances",
    "classical_mds": "mds",
    "scale": "mds",
}


def __getattr__(name: str) -> Any:
    """Load the part that holds `name`."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


class _Room(ModuleType):
    """A package that can be called."""

    def __call__(self, counts: Any, metric: str = "chord", **options: Any) -> Geometry:
        """Return the geometry of counts; see `gnomon.geometry.measure.measure`."""
        from gnomon.geometry.measure import measure

        return measure(counts, metric, **options)


sys.modules[__name__].__class__ = _Room
