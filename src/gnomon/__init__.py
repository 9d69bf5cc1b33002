"""Gnomon measures, designs, verifies and ships positional encodings for Transformers.

`import gnomon` loads nothing but this file; each name is loaded when it is first used.

>>> import gnomon
>>> counts = gnomon.count("three-regimes")
>>> measured = gnomon.geometry(counts)
>>> round(gnomon.stress(gnomon.encoding("sinusoidal", dimension=128), measured).scale_free, 1)
0.1
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.conformance import verify as verify
    from gnomon.corpus import PositionCounts as PositionCounts
    from gnomon.corpus import count as count
    from gnomon.diagnostics import stress as stress
    from gnomon.distances import measure as geometry
    from gnomon.encodings import catalogue as catalogue
    from gnomon.encodings import encoding as encoding
    from gnomon.encodings import from_config as from_config
    from gnomon.encodings import schedule as schedule
    from gnomon.encodings import time_unit as time_unit
    from gnomon.errors import GnomonError as GnomonError
    from gnomon.groups import classify as classify
    from gnomon.groups import compile_bias as compile_bias
    from gnomon.groups import equivalent as equivalent
    from gnomon.groups import realise as realise
    from gnomon.pipeline import dependence as dependence
    from gnomon.pipeline import fit as fit
    from gnomon.pipeline import survey as survey
    from gnomon.spectra import spectrum as spectrum

__version__ = "0.1.0"

_HOME = {
    "GnomonError": "gnomon.errors",
    "PositionCounts": "gnomon.corpus",
    "catalogue": "gnomon.encodings",
    "classify": "gnomon.groups",
    "compile_bias": "gnomon.groups",
    "count": "gnomon.corpus",
    "dependence": "gnomon.pipeline",
    "encoding": "gnomon.encodings",
    "equivalent": "gnomon.groups",
    "fit": "gnomon.pipeline",
    "from_config": "gnomon.encodings",
    "geometry": "gnomon.distances",
    "realise": "gnomon.groups",
    "schedule": "gnomon.encodings",
    "spectrum": "gnomon.spectra",
    "stress": "gnomon.diagnostics",
    "survey": "gnomon.pipeline",
    "time_unit": "gnomon.encodings",
    "verify": "gnomon.conformance",
}
# Rooms that need an extra: `gnomon.torch.layer(...)` needs no import of its own.
_EXTRAS = ("jax", "lab", "oracle", "sklearn", "torch")

__all__ = [
    "GnomonError",
    "PositionCounts",
    "__version__",
    "catalogue",
    "classify",
    "compile_bias",
    "count",
    "dependence",
    "encoding",
    "equivalent",
    "fit",
    "from_config",
    "geometry",
    "realise",
    "schedule",
    "spectrum",
    "stress",
    "survey",
    "time_unit",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    if name in _EXTRAS:
        return importlib.import_module(f"gnomon.{name}")
    if name in _HOME:
        home = importlib.import_module(_HOME[name])
        found = getattr(home, "measure" if name == "geometry" else name)
        globals()[name] = found  # so that it is looked for once
        return found
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
