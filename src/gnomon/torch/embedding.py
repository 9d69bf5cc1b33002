"""A module for `nn.Embedding`'s place: the table of a fitted encoding, frozen or trainable.

    forward(i) = gain * weight[row(i)]        whole table: parameter `weight` (rows, dimension)
    forward(i) = gain * left[row(i)] @ right  factored: parameters `left` (rows, r), `right` (r, d)

The weight is the float32 table that NumPy made, so that a frozen layer gives the same bits
everywhere; only factors that are multiplied here, because they are trained, round for themselves.
`gain` is there only where the scale is learned, and is trained even if the table is frozen.

It is no subclass of `nn.Embedding`: models reinitialise every embedding they find, and a fitted
table would be overwritten. Its state dict has the same key, `weight`, and loads into a stock model.

Past the end. In eager mode a position that is refused raises `EncodingError`; that looks at the
values, so on an accelerator it waits for them. Compiled, exported or vectorised code cannot look:
there a refused position becomes a row number past the table, which the gather refuses by its own
check of bounds, and a masked position that is refused gives NaN.
"""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gnomon.encodings import Fitted, Rules
from gnomon.errors import EncodingError
from gnomon.torch.coordinates import is_tracing, without_autocast


def load(
    source: Fitted | str | PathLike[str],
    *,
    trainable: bool = False,
    factored: bool | None = None,
    flat: bool = False,
    match: Any = None,
    dtype: torch.dtype | None = None,
) -> PositionEmbedding:
    """Return a fitted encoding as a module; `source` is a `Fitted`, its file or its folder.

    `factored` keeps the two factors of a low-rank table apart; by default they are kept apart
    where the file holds them so and they are to be trained. Positions of a grid have shape
    (..., axes), or are row numbers with `flat`. `match`, a token embedding or the root mean square
    of its entries, gives the vectors that scale: those of a corpus may be far smaller, and drown.
    """
    fitted = Fitted.open(source, match)
    apart = fitted.factored and trainable if factored is None else factored
    kind = FactoredPositionEmbedding if apart else PositionEmbedding
    return kind(fitted, trainable=trainable, flat=flat, dtype=dtype)


class PositionEmbedding(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """One vector for each position, from a whole table."""

    padding_idx = None

    def __init__(
        self,
        fitted: Fitted,
        *,
        trainable: bool = False,
        flat: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.fitted = fitted
        self.rules = dataclasses.replace(fitted.rules, flat=flat)
        self.num_embeddings, self.embedding_dim = self.rules.size, fitted.dimension
        # From NumPy, and so with their values even where a model is made without storage (meta).
        for name, numbers in self._numbers_of_fit().items():
            self.register_parameter(name, nn.Parameter(numbers.to(dtype), trainable))
        gain = nn.Parameter(_gain(fitted).to(dtype)) if fitted.scale == "learned" else None
        self.register_parameter("gain", gain)

    @property
    def trainable(self) -> bool:
        """Whether the table is trained at present; a gain always is."""
        return bool(self._source.requires_grad)

    @classmethod
    def from_pretrained(cls, folder: str | PathLike[str], **options: Any) -> PositionEmbedding:
        """Return the module saved in a folder; options are those of `load`."""
        return load(Fitted.from_pretrained(folder), **options)

    def forward(self, positions: Tensor) -> Tensor:
        """Return one vector for each position, shape (..., dimension)."""
        vectors = self._taken(_rows_of(self.rules, positions, self._source.device))
        return vectors if self.gain is None else self.gain * vectors

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Write the present weights with the card, which says so where they were trained."""
        self.to_fitted().save_pretrained(folder)

    def to_fitted(self) -> Fitted:
        """Return the present weights as an encoding of NumPy, in float32.

        Weights that are the fitted ones, rounded to the precision of the layer, are those.
        """
        fresh = self._numbers_of_fit()
        if self.gain is not None:
            fresh["gain"] = _gain(self.fitted)
        now = {name: getattr(self, name) for name in fresh}
        fresh = {name: numbers.to(now[name].dtype) for name, numbers in fresh.items()}
        return self.fitted.retrain(*({k: _numpy(v) for k, v in d.items()} for d in (now, fresh)))

    def to_embedding(self) -> nn.Embedding:
        """Return a stock `nn.Embedding` with the present vectors, the gain multiplied in."""
        weight = self.weight if self.gain is None else self.gain * self.weight
        return nn.Embedding.from_pretrained(weight.detach().clone(), freeze=not self.trainable)

    def reset_parameters(self) -> None:
        """Put the fitted numbers back."""
        with torch.no_grad():
            for name, numbers in self._numbers_of_fit().items():
                getattr(self, name).copy_(numbers)
            if self.gain is not None:
                self.gain.copy_(_gain(self.fitted))

    def extra_repr(self) -> str:
        """Say what the layer holds and how it treats its end."""
        kind = "trainable" if self.trainable else "frozen"
        rank = f", rank={self.fitted.rank}"
        return (
            f"{self.num_embeddings}, {self.embedding_dim}{rank}, {self.rules.name}, {kind}, "
            f"past={self.rules.past!r}"
        )

    def _numbers_of_fit(self) -> dict[str, Tensor]:
        """Return the parameters as they were fitted."""
        return {"weight": torch.from_numpy(self.fitted.table())}

    @property
    def _source(self) -> Tensor:
        """What rows are taken from."""
        return self.weight

    def _taken(self, rows: Tensor) -> Tensor:
        return functional.embedding(rows, self.weight)


class FactoredPositionEmbedding(PositionEmbedding):
    """One vector for each position, from two factors with r (n + d) numbers."""

    @property
    def weight(self) -> Tensor:
        """Return the whole table, left @ right."""
        return _product(self.left, self.right)

    def _numbers_of_fit(self) -> dict[str, Tensor]:
        left, right = self.fitted.factors()
        return {"left": torch.from_numpy(left), "right": torch.from_numpy(right)}

    @property
    def _source(self) -> Tensor:
        return self.left

    def _taken(self, rows: Tensor) -> Tensor:
        # Rows first: a masked row of NaN would otherwise reach the gradient of `right` as 0 * NaN.
        return _product(functional.embedding(rows, self.left), self.right)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right in their own precision, as a lookup has it under mixed precision too."""
    with without_autocast(left.device):
        return left @ right


def _gain(fitted: Fitted) -> Tensor:
    return torch.from_numpy(np.array(fitted.gain, dtype=np.float32))


def _numpy(parameter: Tensor) -> Any:
    return parameter.detach().to("cpu", torch.float32).numpy()


def _rows_of(rules: Rules, positions: Any, device: Any) -> Tensor:
    """Return the rows (int64) that positions ask for; a list of them is put on the device."""
    if not isinstance(positions, Tensor):
        positions = torch.as_tensor(positions, device=device)
    if positions.is_floating_point() or positions.is_complex() or positions.dtype == torch.bool:
        raise EncodingError(
            f"The positions have type {positions.dtype}; pass whole numbers, such as torch.int64."
        )
    coordinates = rules.coordinates(positions).long()
    seen = _visible(coordinates) and _check_options(rules, coordinates)
    return _plain(rules, coordinates) if seen else _guard(rules, coordinates)


def _plain(rules: Rules, coordinates: Tensor) -> Tensor:
    """Return the rows of positions that were looked at: none of them is refused."""
    rows, *more = (_inside(rules, coordinates, axis) for axis in range(len(rules.limits)))
    for axis, here in enumerate(more, start=1):
        rows = rows * rules.limits[axis] + here
    return rows


def _inside(rules: Rules, coordinates: Tensor, axis: int) -> Tensor:
    here = coordinates[..., axis]
    return here.clamp(max=rules.limits[axis] - 1) if rules.past == "clamp" else here


def _guard(rules: Rules, coordinates: Tensor) -> Tensor:
    """Return the rows; what the rules refuse becomes a row past the table, which no gather takes.

    Without it a compiled gather would count a negative position from the end, and a column past
    the edge of a grid would be one of the next row.
    """
    outside = torch.zeros_like(coordinates[..., 0], dtype=torch.bool)
    for axis, limit in enumerate(rules.limits):
        here = coordinates[..., axis]
        outside = outside | (here < 0)
        if rules.past == "refuse":
            outside = outside | (here >= limit)
    return torch.where(outside, rules.size, _plain(rules, coordinates))


def _visible(tensor: Tensor) -> bool:
    """Whether the values may be looked at: not while code is compiled, traced or exported."""
    return not is_tracing() and tensor.device.type != "meta" and tensor.numel() > 0


def _check_options(rules: Rules, coordinates: Tensor) -> bool:
    """Raise for positions that are refused, in the words that NumPy uses; False: cannot look."""
    try:
        suspect = _suspect(rules, coordinates)
    except RuntimeError:  # vectorised by vmap: no single value can be looked at
        return False
    if suspect:
        rules.rows(coordinates.cpu().numpy())
    return True


def _suspect(rules: Rules, coordinates: Tensor) -> bool:
    """Whether a position may have to be refused, by one small answer from the device."""
    if rules.refused:
        return True
    axes = len(rules.limits)
    ends = torch.aminmax(coordinates.reshape(-1, axes), dim=0)
    low, high = torch.stack(ends).tolist()
    past = rules.past == "refuse" and any(map(int.__ge__, high, rules.limits))
    return past or min(low) < 0
