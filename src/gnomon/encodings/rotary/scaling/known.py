"""Every scaling by its name, from flat parameters: the way in from files and command lines.

A scaling written down is a mapping with its name and its parameters, as `Scaling.parameters`
gives it; `scaling(**written)` gives the value back. The names are those of transformers' rope
types [wolf2020], where they have one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gnomon.encodings.rotary.scaling.dynamic import DynamicNtk
from gnomon.encodings.rotary.scaling.linear import Linear
from gnomon.encodings.rotary.scaling.llama3 import Llama3
from gnomon.encodings.rotary.scaling.longrope import LongRope
from gnomon.encodings.rotary.scaling.ntk import NtkAware
from gnomon.encodings.rotary.scaling.unscaled import Scaling, Unscaled
from gnomon.encodings.rotary.scaling.yarn import Yarn
from gnomon.errors import EncodingError, nearest

KNOWN: Mapping[str, type[Scaling]] = MappingProxyType(
    {kind.name: kind for kind in (Unscaled, Linear, NtkAware, DynamicNtk, Yarn, LongRope, Llama3)}
)


def scaling(name: str, **parameters: Any) -> Scaling:
    """Return the scaling of that name.

    >>> scaling("linear", factor=4.0)
    Linear(factor=4.0)
    """
    if name not in KNOWN:
        raise EncodingError(f"There is no scaling {name!r}: {nearest(str(name), KNOWN)}.")
    kind = KNOWN[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for parameter in parameters:
        if parameter not in fields:
            raise EncodingError(
                f"The scaling {name!r} has no parameter {parameter!r}: "
                f"{nearest(parameter, fields)}."
            )
    for parameter, field in fields.items():
        if field.default is dataclasses.MISSING and parameter not in parameters:
            raise EncodingError(f"The scaling {name!r} needs {parameter}; pass {parameter}=... .")
    return kind(**parameters)


def as_scaling(written: Any) -> Scaling:
    """Return a scaling given as a value or as a mapping with its name and parameters."""
    if isinstance(written, Scaling):
        return written
    if not isinstance(written, Mapping) or "name" not in written:
        raise EncodingError(
            f"scaling is {written!r}; pass a value such as Yarn(...) of "
            "gnomon.encodings.rotary.scaling, or a mapping with its name and parameters."
        )
    return scaling(**written)
