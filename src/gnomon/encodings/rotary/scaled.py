"""The card of a rotary family under a scaling: its own formula, and what the scaling changes of it.

A scaling replaces the ladder w_k of any family that has one. Where it follows the length of the
context, keys that were cached at another length are wrong, whatever the family [peng2024].
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.encodings.card import Card
    from gnomon.encodings.rotary.scaling.unscaled import Scaling

CHANGED = ("level", "relative", "cacheable", "extrapolation")
"""What a scaling says of every encoding that it scales; name, formula and proofs stay."""


def with_scaling(card: Card, scaling: Scaling) -> Card:
    """Return the card of a family with a scaling in it."""
    said = scaling.on_card()
    found = dataclasses.replace(card, **{key: said[key] for key in CHANGED if key in said})
    if not said:
        return found
    return dataclasses.replace(found, formula=f"{card.formula}; w_k scaled: {scaling.name}")
