"""Frequencies in float32: those that transformers computes, and those that old state dicts hold.

`arithmetic="float32"` takes the frequencies of `Rotating.frequencies_in`, computed in PyTorch in
float32 in the order of operations of transformers, so that they are its bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnomon.encodings import Encoding, Rotating
from gnomon.errors import EncodingError
from gnomon.torch.base import XP

_ULPS = 8
"""Rounding that frequencies of two computations may differ by, in units of their own type."""


def float32_numbers(encoding: Encoding, numbers: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the constants of an encoding in float32, frequencies as transformers makes them."""
    made = {name: _narrow(values) for name, values in numbers.items()}
    if "frequencies" in made and isinstance(encoding, Rotating):
        with torch.device("cpu"):  # a model may be made without storage, but not its constants
            made["frequencies"] = encoding.frequencies_in(xp=XP, dtype=torch.float32)
    return made


def _narrow(values: Any) -> Tensor:
    kept = torch.from_numpy(np.array(values))
    return kept.to(torch.float32) if kept.is_floating_point() else kept


def check_frequencies(given: Tensor, own: Tensor, key: str) -> None:
    """Refuse frequencies of a state dict that are not those of the definition."""
    if given.numel() != own.numel():
        raise EncodingError(
            f"The state dict has {given.numel()} frequencies in {key!r} and this encoding "
            f"{own.numel()}; make the layer with the dimension that the model was trained with."
        )
    wide, wanted = given.detach().cpu().double().reshape(-1), own.cpu().double().reshape(-1)
    kind = torch.finfo(given.dtype if given.is_floating_point() else torch.float32)
    allowed = _ULPS * max(kind.eps, torch.finfo(torch.float32).eps) * wanted.abs() + kind.tiny
    wrong = ~((wide - wanted).abs() <= allowed)
    if bool(wrong.any()):
        at = int(wrong.nonzero()[0, 0])
        raise EncodingError(
            f"Frequency {at} in {key!r} of the state dict is {wide[at]:.6g} and this encoding's is "
            f"{wanted[at]:.6g}; make the layer with the base and scaling of that model, or leave "
            "the key out."
        )
