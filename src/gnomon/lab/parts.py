"""What enters a model: encodings, each with the layers and heads it acts in.

A *part* is an encoding together with the place it has in a model. Several parts act together: a
rotary encoding and a sinusoid, a rotary encoding in the first layers only, a bias on some heads.
Nothing at all is attention without an encoding. This is how the couplings of content and position
that [gu2025] compares are written down.

An encoding that is causal only decays with the lag, and grows where keys come after their query. In
a model without a causal mask it is refused, unless `both_directions` asks for the group as it
stands, exp(lag X) at lags of either sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gnomon.encodings import Encoding
from gnomon.errors import LabError


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """An encoding in some layers and heads of a model; by default in all of them."""

    encoding: Encoding
    layers: tuple[int, ...] | None = None
    """The layers it acts in, from 0; vectors are added once, before the first layer."""
    heads: int | None = None
    """How many heads it acts on, the first ones."""
    multiplier: float = 1.0
    """What the learning rate of its learned numbers is multiplied by."""
    frozen: bool = False
    """Whether numbers that it could learn stay as they are: what is compared is then its form."""
    both_directions: bool = False
    """Whether one that is causal only acts on keys after their query, too."""

    @property
    def kind(self) -> str:
        """Return how it enters: vectors, transform, bias or content."""
        return self.encoding.kinds[0]

    def acts_in(self, layer: int) -> bool:
        """Whether a layer has it."""
        return self.kind != "vectors" and (self.layers is None or layer in self.layers)


def parts_of(encoding: Any, *, layers: int, heads: int, causal: bool) -> tuple[Part, ...]:
    """Return the parts of a model, checked: an encoding, a part, several of them, or None."""
    if encoding is None:
        return ()
    several = encoding if isinstance(encoding, Iterable) else (encoding,)
    made = tuple(_part(one) for one in several)
    for part in made:
        _check(part, layers=layers, heads=heads, causal=causal)
    for layer in range(layers):
        acting = [part for part in made if part.acts_in(layer)]
        if len(acting) > 1 and any(part.kind == "content" for part in acting):
            names = ", ".join(repr(part.encoding.name) for part in acting)
            raise LabError(
                f"Layer {layer} has several encodings ({names}), and one of them makes logits by "
                "a rule on content, which leaves no room for others; give it layers of its own."
            )
    return made


def _part(given: Any) -> Part:
    if isinstance(given, Part):
        return given
    if isinstance(given, Encoding):
        return Part(encoding=given)
    raise LabError(
        f"The encoding of a model is of type {type(given).__name__}; pass what "
        "gnomon.encoding(...) returns, a Part, or several of these."
    )


def _check(part: Part, *, layers: int, heads: int, causal: bool) -> None:
    """Refuse a part that has no place in a model of this size."""
    name = part.encoding.name
    for layer in part.layers or ():
        if not isinstance(layer, int) or not 0 <= layer < layers:
            raise LabError(
                f"The encoding {name!r} is for layer {layer!r}, and the model has {layers}; pass "
                f"layers from 0 to {layers - 1}."
            )
    if part.heads is not None and not 1 <= part.heads <= heads:
        raise LabError(
            f"The encoding {name!r} is for {part.heads} heads, and the model has {heads}; pass 1 "
            f"to {heads} of them."
        )
    if part.kind in ("vectors", "content") and part.heads is not None:
        raise LabError(
            f"The encoding {name!r} gives {part.kind}, which all heads share; leave the number of "
            "heads out."
        )
    if part.kind == "vectors" and part.layers is not None:
        raise LabError(
            f"The encoding {name!r} gives vectors, which are added before the first layer; leave "
            "its layers out."
        )
    _check_learned(part)
    only = part.encoding.card.causal_only
    if only and not causal and (part.kind != "transform" or not part.both_directions):
        remedy = "or choose another"
        if hasattr(part.encoding, "symmetric"):
            remedy = "or say symmetric = true"
        elif part.kind == "transform":
            remedy = "or say both_directions = true"
        raise LabError(
            f"The encoding {name!r} is causal only, and the model sees keys after their query; "
            f"make the task causal, {remedy}."
        )


def _check_learned(part: Part) -> None:
    """Refuse a rate of its own, or numbers that stay, for one that has no such numbers."""
    name, learns = part.encoding.name, bool(part.encoding.learnable)
    if part.frozen and not learns:
        raise LabError(f"The encoding {name!r} learns nothing; leave frozen out.")
    if part.multiplier != 1.0 and (part.frozen or not learns):
        why = "is frozen" if learns else "learns nothing"
        raise LabError(
            f"The encoding {name!r} {why}, and has a multiplier of its rate; leave multiplier out."
        )
