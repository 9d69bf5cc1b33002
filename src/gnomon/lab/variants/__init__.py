"""Models by their names: the Transformer of `gnomon.lab.model` and its relatives.

Each takes the same arguments, and is loaded when it is first built: PyTorch is not needed to read
a grid.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Variant:
    """Where a model is defined, and how wide its queries and keys are."""

    home: str
    """`module:class` below `gnomon.lab`."""
    widths: int = 1
    """Width of queries and keys, in dimensions of a head."""
    reads_values: bool = False
    """Whether it reads numbers, `features` of them in each place, and not tokens."""

    def load(self) -> Callable[..., Any]:
        """Return the class of the model."""
        module, name = self.home.split(":")
        found: Callable[..., Any] = getattr(importlib.import_module(f"gnomon.lab.{module}"), name)
        return found

    def head_width(self, head: int) -> int:
        """Return the dimension of queries and keys, from that of a head."""
        return self.widths * head


VARIANTS: dict[str, Variant] = {
    "transformer": Variant(home="model:Transformer"),
    "latent": Variant(home="variants.latent:LatentTransformer", widths=2),
    "seq2seq": Variant(home="variants.crossing:SequenceToSequence"),
    "latent-query": Variant(home="variants.crossing:LatentQuery"),
    "patches": Variant(home="variants.patches:PatchTransformer", reads_values=True),
    "gru": Variant(home="variants.recurrent:GruModel"),
    "state-space": Variant(home="variants.recurrent:StateSpaceModel"),
}
