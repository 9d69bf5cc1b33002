r"""What an encoding does to the logits of drawn content, over several draws and shared means.

Turned queries and keys have the same singular values as before only pair by pair; of the whole
logit matrix a spectral norm ratio of about 1 is what independent pairs give, and less where all
positions share a mean, whose rank-one part is spread over the frequencies. Both are drawn here
(`gnomon.spectra.content`), the mean and the range over draws are given, and no verdict: a norm of
logits is not an optimisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.base import Encoding
from gnomon.encodings.certified import dimension_of, heads_of
from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.content import drawn_content
from gnomon.spectra.coupling import Coupling, compared, couple, kind_of, logits_of
from gnomon.spectra.reading import check_head

Floats = NDArray[np.float64]
MEANS = (0.0, 0.5, 1.0, 2.0, 4.0)
DRAWS = 8
LONGEST = 256
"""Positions that are coupled at most: the ratios do not need more, and cost n^3."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Contraction(Result):
    """Ratios after / before for each shared mean, averaged over draws."""

    kind: str
    head: int | None
    """The head of the encoding that content met; None where it tells none apart."""
    length: int
    draws: int
    tied: bool
    means: Floats
    norm: Floats
    norm_range: Floats
    """The smallest and the largest of the draws, (means, 2)."""
    condition: Floats
    """NaN where there is no condition number."""
    effective_rank: Floats
    toeplitz_share: Floats
    example: Coupling
    """The first draw with the first mean, whole."""

    def at(self, mean: float) -> dict[str, Any]:
        """Return the ratios for one of the means as plain values."""
        k = int(np.flatnonzero(self.means == mean)[0])
        return {
            "mean": float(self.means[k]),
            "norm": float(self.norm[k]),
            "norm_range": self.norm_range[k].tolist(),
            "condition": float(self.condition[k]) if np.isfinite(self.condition[k]) else None,
            "effective_rank": float(self.effective_rank[k]),
            "toeplitz_share": float(self.toeplitz_share[k]),
        }


def contraction(
    encoding: Encoding,
    length: int,
    *,
    means: tuple[float, ...] = MEANS,
    draws: int = DRAWS,
    tied: bool = True,
    head: int | None = None,
    seed: int = 0,
) -> Contraction:
    """Return the ratios of drawn content; the same content for every encoding of a dimension."""
    if isinstance(draws, bool) or int(draws) != draws or draws < 1:
        raise SpectrumError(f"draws is {draws!r}; pass a whole number from 1 on.")
    if not means:
        raise SpectrumError("means is empty; pass at least one size of the shared mean, such as 0.")
    check_head(encoding, head)
    n, d = min(length, LONGEST), dimension_of(encoding)
    rows = []
    for mean in means:
        streams = [np.random.default_rng([seed, draw]) for draw in range(draws)]
        pairs = [drawn_content(n, d, mean=mean, tied=tied, rng=stream) for stream in streams]
        rows.append([_compared(encoding, q, k, head) for q, k in pairs])
    first = drawn_content(n, d, mean=means[0], tied=tied, rng=np.random.default_rng([seed, 0]))
    norms = np.array([[_number(one.norm) for one in row] for row in rows])
    return Contraction(
        kind=kind_of(encoding),
        head=(head or 0) if heads_of(encoding) > 1 else None,
        length=n,
        draws=draws,
        tied=tied,
        means=np.array(means, dtype=np.float64),
        norm=norms.mean(axis=1),
        norm_range=np.stack([norms.min(axis=1), norms.max(axis=1)], axis=1),
        # Condition numbers are spread over decades: their geometric mean is the typical one.
        condition=np.exp(_mean(rows, lambda one: np.log(_number(one.condition)))),
        effective_rank=_mean(rows, lambda one: _number(one.effective_rank)),
        toeplitz_share=_mean(rows, lambda one: one.toeplitz_share),
        example=couple(*first, encoding, head=head),
    )


def _compared(encoding: Encoding, q: Floats, k: Floats, head: int | None) -> Coupling:
    """Return a coupling without its bounds, which cost as much as the rest."""
    at, scale = np.arange(len(q), dtype=np.float64), q.shape[1] ** -0.5
    before, after, causal = logits_of(encoding, q, k, at, head=head or 0, scale=scale)
    return compared(before, after, name=encoding.name, kind=kind_of(encoding), causal=causal)


def _mean(rows: list[list[Coupling]], read: Any) -> Floats:
    return np.array([np.mean([read(one) for one in row]) for row in rows])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
