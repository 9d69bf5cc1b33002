"""What all layers of encodings share: a definition, its constants, and its learned numbers.

A layer calls the formulas of its encoding (`vectors_at`, `turned`, `bias_between`) with numbers of
its own: learnable ones are parameters, all others constants (`gnomon.torch.constants`). Phases,
lags and slopes are computed in float64 and cast last, so a layer may be moved to half precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat.torch as array_torch
import numpy as np
import torch
from torch import Tensor, nn

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError
from gnomon.torch.constants import Constants
from gnomon.torch.places import check_tensor, coordinates_of

XP = array_torch
"""The namespace of the formulas, fixed here so that compiled code need not look for it."""
_HALVES = (torch.float16, torch.bfloat16)


class Layer(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """An encoding in PyTorch; a subclass has the `forward` of its kind."""

    keeps_float32 = False
    """Whether learned numbers stay in float32 when the layer is moved to half precision."""

    def __init__(
        self, encoding: Encoding, *, learn: bool = True, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self.definition: Any = encoding
        self.constants = Constants(self._fixed_numbers())
        self._place = torch.device("cpu")
        self._dtype = torch.get_default_dtype() if dtype is None else dtype
        _check_dtype(self._dtype)
        kept = torch.float32 if self.keeps_float32 and self._dtype in _HALVES else self._dtype
        for name, numbers in self._learnable_numbers().items():
            self.register_parameter(name, nn.Parameter(numbers.to(kept), learn))

    @property
    def encoding(self) -> Encoding:
        """Return the definition with the numbers as they are learned at present.

        Numbers that are those of the definition, rounded to the precision of the layer, are those.
        """
        made = self._learnable_numbers()
        now = {name: getattr(self, name).detach() for name in made}
        if any(numbers.device.type == "meta" for numbers in now.values()):
            raise EncodingError(
                "The layer has no storage yet, so its learned numbers are not known; load weights, "
                "or call to_empty and reset_parameters first."
            )
        if all(torch.equal(now[name].cpu(), made[name].to(now[name].dtype)) for name in made):
            return self.definition
        return self.definition.with_numbers(**{name: _numpy(now[name]) for name in made})

    def numbers_on(self, device: torch.device) -> dict[str, Any]:
        """Return every number of the formula on a device, learned ones as they are at present."""
        learned = {name: getattr(self, name) for name in self.definition.learnable}
        return {**self.constants.on(device), **learned}

    def scores(
        self,
        q: Tensor,
        k: Tensor,
        positions_q: Any,
        positions_k: Any = None,
        *,
        scale: float = 1.0,
        tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the logits, scale times q.k with all that the encoding does, in exact phases.

        Under an encoding that is causal only, keys after their query get -inf. A rule on content
        reads `tokens` (..., m, width), or the keys where they are not given.
        """
        check_tensor(q, "q")
        check_tensor(k, "k")
        exact = getattr(self, "arithmetic", "exact") == "exact" or self.definition.learnable
        held = self.numbers_on(q.device) if exact else None
        given = {"scale": scale, "tokens": tokens, "numbers": held}
        return self.definition.scores(q, k, positions_q, positions_k, **given)

    def reset_parameters(self) -> None:
        """Put the numbers of the definition back, as after `to_empty`."""
        with torch.no_grad():
            for name, numbers in self._learnable_numbers().items():
                getattr(self, name).copy_(numbers)

    def extra_repr(self) -> str:
        """Say which encoding it is, with its parameters."""
        given = ", ".join(f"{k}={v!r}" for k, v in self.definition.parameters.items())
        return f"{self.definition.name}: {given}"

    def _fixed_numbers(self) -> dict[str, Any]:
        """Return the numbers that training never changes."""
        learnable = self.definition.learnable
        return {k: v for k, v in self.definition.numbers.items() if k not in learnable}

    def _learnable_numbers(self) -> dict[str, Tensor]:
        """Return the learnable numbers as they are defined, in float64."""
        numbers = self.definition.numbers if self.definition.learnable else {}
        return {
            name: torch.from_numpy(np.array(numbers[name])) for name in self.definition.learnable
        }

    def _coordinates(self, positions: Any) -> Any:
        """Return the coordinates of positions, on their own device where they have one."""
        device = positions.device if isinstance(positions, Tensor) else self._place
        return coordinates_of(positions, self.definition.axes, device)

    def _apply(self, fn: Callable[[Tensor], Tensor], *args: Any, **kwargs: Any) -> Any:
        """Follow `.to(...)`, though there may be no parameter that shows where the layer went."""
        probe = fn(torch.empty(0, dtype=self._dtype, device=self._place))
        self._dtype = probe.dtype
        if probe.device.type != "meta":
            self._place = probe.device
        if self.keeps_float32:
            return super()._apply(lambda tensor: _kept(tensor, fn(tensor)), *args, **kwargs)
        return super()._apply(fn, *args, **kwargs)


def _kept(before: Tensor, after: Tensor) -> Tensor:
    """Return a tensor after a move that may round it to half precision, without that rounding."""
    narrowed = after.dtype in _HALVES and before.dtype not in _HALVES
    return before.to(after.device) if narrowed else after


def _check_dtype(dtype: torch.dtype) -> None:
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise EncodingError(
            f"dtype is {dtype!r}; pass a type of real numbers, such as torch.float32."
        )


def _numpy(parameter: Tensor) -> Any:
    return parameter.detach().to("cpu", torch.float64).numpy()
