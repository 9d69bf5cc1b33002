"""Numbers of a definition as constants of a module: never buffers, never left uninitialised.

A buffer that is in no checkpoint stays empty where a model is made without storage and then filled
from a file, and is rounded by `.to(torch.bfloat16)`. These constants are made from the definition's
NumPy numbers, in float64, once per device; copies and pickles of a module make them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import array_api_compat.torch as array_torch
import numpy as np
import torch

from gnomon.encodings import constant
from gnomon.torch.places import is_tracing

_CPU = torch.device("cpu")


class Constants:
    """The numbers of a formula by name, on every device that asked for them."""

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        self.numbers = dict(numbers)
        self.made: dict[torch.device, dict[str, Any]] = {_CPU: self._make(_CPU)}

    def on(self, device: torch.device) -> dict[str, Any]:
        """Return the numbers on a device; compiled code moves them, other code keeps them there."""
        if device in self.made:
            return self.made[device]
        if is_tracing() and device.type != "mps":
            return {name: value.to(device) for name, value in self.made[_CPU].items()}
        self.made[device] = self._make(device)
        return self.made[device]

    def _make(self, device: torch.device) -> dict[str, Any]:
        return {name: _tensors(name, values, device) for name, values in self.numbers.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"numbers": self.numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["numbers"])  # type: ignore[misc]  # made anew, on no device but this


def _tensors(name: str, values: Any, device: torch.device) -> Any:
    """Return one number as it is kept on a device, in memory of its own."""
    if isinstance(values, torch.Tensor):
        return values.to(device)
    return constant(name, np.array(values), device, xp=array_torch)
