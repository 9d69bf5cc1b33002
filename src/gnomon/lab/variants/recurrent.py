r"""Order without attention: a gated recurrence, and a diagonal state space.

Attention without an encoding can not tell orders apart; a recurrence can. These two stand where
attention does, so that what an encoding adds outside attention can be asked.

*gru* [cho2014]: nn.GRU over the tokens, in both directions unless causal, half the width each.

*diagonal state space* [gu2022]: every channel has m states,

    h_t = a h_(t-1) + b x_t,   y_t = Re sum_m c h_t + d x_t,   a = exp(-exp(r) + i w),

so y is the convolution of x with k_t = Re sum_m c b a^t, computed at all t and multiplied by FFT in
O(n log n). Both directions have kernels of their own. Padding enters as 0.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gnomon.errors import LabError
from gnomon.lab.model import Transformer


class Gru(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """A gated recurrence over tokens."""

    def __init__(self, dimension: int, *, causal: bool) -> None:
        super().__init__()
        width = dimension if causal else dimension // 2
        self.cells = nn.GRU(dimension, width, batch_first=True, bidirectional=not causal)

    def forward(self, x: Tensor, *_: Any, mask: Tensor | None = None, **__: Any) -> Tensor:
        """Return the states at tokens x (b, n, dimension)."""
        if mask is None:
            return self.cells(x)[0]
        lengths = mask.sum(dim=1)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states = self.cells(packed)[0]
        return pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0]


class StateSpace(nn.Module):  # type: ignore[misc]
    """A diagonal state space over tokens, one kernel for each channel and direction."""

    def __init__(self, dimension: int, *, causal: bool, states: int) -> None:
        super().__init__()
        directions = 1 if causal else 2
        size = (directions, dimension, states)
        # decays spread over one to a hundred positions, frequencies over the circle
        self.decay = nn.Parameter(torch.empty(size).uniform_(math.log(0.01), 0.0))
        self.turn = nn.Parameter(torch.empty(size).uniform_(0.0, math.pi))
        self.read = nn.Parameter(torch.randn(*size, 2) / states**0.5)
        self.through = nn.Parameter(torch.randn(dimension))
        self.mix = nn.Linear(dimension, dimension)

    def kernels(self, n: int) -> Tensor:
        """Return k_t for t = 0 ... n-1, (directions, dimension, n)."""
        exponent = torch.complex(-self.decay.exp(), self.turn)[..., None]
        powers = torch.exp(exponent * torch.arange(n))
        return (torch.view_as_complex(self.read)[..., None] * powers).real.sum(dim=-2)

    def forward(self, x: Tensor, *_: Any, mask: Tensor | None = None, **__: Any) -> Tensor:
        """Return the outputs at tokens x (b, n, dimension)."""
        x = x if mask is None else x * mask[..., None].to(x.dtype)
        n = x.shape[1]
        rows = x.transpose(1, 2)
        ways = (rows, rows.flip(-1))
        found = torch.zeros_like(rows)
        for way, kernel in enumerate(self.kernels(n)):
            made = torch.fft.irfft(
                torch.fft.rfft(ways[way], 2 * n) * torch.fft.rfft(kernel, 2 * n), 2 * n
            )[..., :n]
            found = found + (made.flip(-1) if way else made)
        return self.mix(nn.functional.gelu(found.transpose(1, 2) + self.through * x))


class _Headless(Transformer):
    """A model without attention: it has a place for vectors, and for no encoding at all."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for part in self.parts:
            if part.kind != "vectors" and not part.encoding.is_one_of("nope"):
                raise LabError(
                    f"The encoding {part.encoding.name!r} acts on attention, and this model has "
                    "none; choose one that gives vectors, or another model."
                )

    def coupled(self) -> list[Any]:
        """Return no layers of attention."""
        return []

    def _factors(self, factors: Any, axes: int) -> Tensor:
        del factors, axes
        raise LabError("This model has no heads to be scaled; choose one with attention.")


class GruModel(_Headless):
    """The Transformer with a gated recurrence in the place of attention."""

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        del layer
        return Gru(dimension, causal=self.causal)


class StateSpaceModel(_Headless):
    """The Transformer with a diagonal state space in the place of attention."""

    def __init__(self, *, states: int = 16, **given: Any) -> None:
        self._states = states
        super().__init__(**given)

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        del layer
        return StateSpace(dimension, causal=self.causal, states=self._states)
