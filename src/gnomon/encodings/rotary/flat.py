"""Scaled rotary encodings by their own names, from flat parameters.

`rope-yarn` takes the parameters of `Rope` and those of `Yarn` side by side, and gives
`Rope(scaling=Yarn(...))`; so for every scaling. Frequencies: the ladder w_k = base^(-2k/r)
[su2021 sec. 3.4] as the scaling changes it, stated in the module of each.
"""

from __future__ import annotations

import dataclasses
import inspect
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gnomon.encodings.rotary import rope
from gnomon.encodings.rotary.rope import Rope
from gnomon.encodings.rotary.scaling.known import KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.encodings.card import Card
    from gnomon.encodings.rotary.scaling.unscaled import Scaling


class ScaledRope:
    """Makes rotary encodings with one kind of scaling from flat parameters.

    >>> MAKERS["rope-linear"](dimension=4, base=100.0, factor=4.0).frequencies[:, 0]
    array([0.25 , 0.025])
    """

    def __init__(self, kind: type[Scaling]) -> None:
        self._own = {field.name for field in dataclasses.fields(kind)}
        self._kind = kind
        self.__name__ = str(kind.about["name"])
        self.__doc__ = kind.__doc__
        self.__signature__ = _signature(kind)

    def __call__(self, **parameters: Any) -> Rope:
        """Return the rotary encoding, its scaling made of the parameters that it has."""
        own = {name: value for name, value in parameters.items() if name in self._own}
        rest = {name: value for name, value in parameters.items() if name not in self._own}
        return Rope(scaling=self._kind(**own), **rest)


def _signature(kind: type[Scaling]) -> inspect.Signature:
    """Return the parameters of `Rope`, without its scaling, and then those of a scaling."""
    both = (inspect.signature(Rope), inspect.signature(kind))
    every = [parameter for each in both for parameter in each.parameters.values()]
    kept = [parameter for parameter in every if parameter.name != "scaling"]
    return inspect.Signature(kept, return_annotation=Rope)


_SCALED = [kind for kind in KNOWN.values() if kind.about]
MAKERS: Mapping[str, ScaledRope] = MappingProxyType(
    {kind.about["name"]: ScaledRope(kind) for kind in _SCALED}
)
CARDS: Mapping[str, Card] = MappingProxyType(
    {kind.about["name"]: dataclasses.replace(rope.CARD, **kind.about) for kind in _SCALED}
)
