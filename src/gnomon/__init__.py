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
    from gnomon.conformance.verify import verify as verify
    from gnomon.corpus.counting import count as count
    from gnomon.corpus.counts import PositionCounts as PositionCounts
    from gnomon.diagnostics.stress import stress as stress
    from gnomon.distances.measure import measure as geometry
    from gnomon.encodings.registry import catalogue as catalogue
    from gnomon.encodings.registry import encoding as encoding
    from gnomon.encodings.rotary.config.build import from_config as from_config
    from gnomon.encodings.rotary.config.build import schedule as schedule
    from gnomon.encodings.units import time_unit as time_unit
    from gnomon.errors import GnomonError as GnomonError
    from gnomon.groups.classify import classify as classify
    from gnomon.groups.compile import compile_bias as compile_bias
    from gnomon.groups.equivalent import equivalent as equivalent
    from gnomon.groups.realise import realise as realise
    from gnomon.pipeline.fitting import fit as fit
    from gnomon.pipeline.lags import dependence as dependence
    from gnomon.pipeline.survey import survey as survey
    from gnomon.spectra.spectrum import spectrum as spectrum

__version__ = "0.1.0"

_HOME = {
    "GnomonError": "gnomon.errors",
    "PositionCounts": "gnomon.corpus.counts",
    "catalogue": "gnomon.encodings.registry",
    "classify": "gnomon.groups.classify",
    "compile_bias": "gnomon.groups.compile",
    "count": "gnomon.corpus.counting",
    "dependence": "gnomon.pipeline.lags",
    "encoding": "gnomon.encodings.registry",
    "equivalent": "gnomon.groups.equivalent",
    "fit": "gnomon.pipeline.fitting",
    "from_config": "gnomon.encodings.rotary.config.build",
    "geometry": "gnomon.distances.measure",
    "realise": "gnomon.groups.realise",
    "schedule": "gnomon.encodings.rotary.config.build",
    "spectrum": "gnomon.spectra.spectrum",
    "stress": "gnomon.diagnostics.stress",
    "survey": "gnomon.pipeline.survey",
    "time_unit": "gnomon.encodings.units",
    "verify": "gnomon.conformance.verify",
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
        return getattr(home, "measure" if name == "geometry" else name)
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
