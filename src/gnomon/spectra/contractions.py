r"""What an encoding does to the logits of drawn content, over several draws and shared means.

Turned queries and keys have the same singular values as before only pair by pair; of the whole
logit matrix a spectral norm ratio of about 1 is what independent pairs give, and less where all
positions share a mean, whose rank-one part is spread over the frequencies. Both are drawn here
(`gnomon.spectra.content`), the mean and the range over draws are given, and no verdict: a norm of
logits is not an optimisation.

The dimension d of content is that of the encoding; a bias takes any, and its ratios depend on it,
since the norm of content logits is about sqrt d (1 + sqrt(n/d))^2 without a shared mean, and
mu^2 n sqrt d with one of size mu: encodings are compared at one d, by default `DIMENSION`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, heads_of
from gnomon.errors import SpectrumError
from gnomon.numeric.ranges import MOST_DIMENSION, MOST_SEED
from gnomon.results import Result
from gnomon.spectra.checks import whole
from gnomon.spectra.content import checked_mean, drawn_content
from gnomon.spectra.coupling import Coupling, compared_sides, couple, coupled_sides, kind_of
from gnomon.spectra.eigenvalues import checked_length
from gnomon.spectra.line import on_line
from gnomon.spectra.reading import as_encoding, check_head

Floats = NDArray[np.float64]
MEANS = (0.0, 0.5, 1.0, 2.0, 4.0)
DRAWS = 8
DIMENSION = 64
"""Of content, where an encoding takes any."""
LONGEST = 256
"""Positions that are coupled at most: the ratios do not need more, and cost n^3."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Contraction(Result):
    """Ratios after / before for each shared mean, averaged over draws."""

    kind: str
    head: int | None
    """The head of the encoding that content met; None where it tells none apart."""
    length: int
    dimension: int
    """Of queries and keys."""
    draws: int
    tied: bool
    means: Floats
    norm: Floats
    norm_range: Floats
    """The smallest and the largest of the draws, (means, 2)."""
    rank_before: Floats
    rank_after: Floats
    """The mean number of singular values that can be told from 0."""
    condition: Floats
    """NaN where there is no condition number, or the ranks of a draw differ."""
    condition_reason: str
    """Why there is none for some mean, or nothing."""
    effective_rank: Floats
    toeplitz_share: Floats
    example: Coupling
    """The first draw with the first mean, whole."""

    def at(self, mean: float) -> dict[str, Any]:
        """Return the ratios for one of the means as plain values."""
        k = int(np.flatnonzero(self.means == mean)[0])
        names = ("norm", "rank_before", "rank_after", "condition", "effective_rank")
        rows = {name: float(getattr(self, name)[k]) for name in (*names, "toeplitz_share")}
        known = {name: value if np.isfinite(value) else None for name, value in rows.items()}
        return {"mean": float(mean), **known, "norm_range": self.norm_range[k].tolist()}


def contraction(
    encoding: Encoding | str,
    length: int,
    *,
    means: tuple[float, ...] = MEANS,
    draws: int = DRAWS,
    tied: bool = True,
    head: int | None = None,
    direction: Any = None,
    dimension: int | None = None,
    seed: int = 0,
) -> Contraction:
    """Return the ratios of drawn content; the same content for every encoding of a dimension.

    `dimension` is that of queries and keys where an encoding takes any, as a bias does.
    """
    n = min(checked_length(length), LONGEST)
    known = on_line(as_encoding(encoding), direction, n)
    draws = whole("draws", draws, least=1)
    check_head(known, head)
    drawn = checked_drawing(known, means=means, dimension=dimension, seed=seed)
    sizes, d, seed = drawn["means"], drawn["dimension"], drawn["seed"]

    def content(mean: float, draw: int) -> tuple[Floats, Floats]:
        return drawn_content(n, d, mean=mean, tied=tied, rng=np.random.default_rng([seed, draw]))

    rows = [
        [_compared(known, *content(mean, draw), head) for draw in range(draws)] for mean in sizes
    ]
    norms = np.array([[_number(one.norm) for one in row] for row in rows])
    reasons = [one.condition_reason for row in rows for one in row if one.condition_reason]
    return Contraction(
        kind=kind_of(known),
        head=(head or 0) if heads_of(known) > 1 else None,
        length=n,
        dimension=d,
        draws=draws,
        tied=tied,
        means=np.array(sizes, dtype=np.float64),
        norm=norms.mean(axis=1),
        norm_range=np.stack([norms.min(axis=1), norms.max(axis=1)], axis=1),
        rank_before=_mean(rows, lambda one: one.before.rank),
        rank_after=_mean(rows, lambda one: one.after.rank),
        # Condition numbers are spread over decades: their geometric mean is the typical one.
        condition=np.exp(_mean(rows, lambda one: np.log(_number(one.condition)))),
        condition_reason=reasons[0] if reasons else "",
        effective_rank=_mean(rows, lambda one: _number(one.effective_rank)),
        toeplitz_share=_mean(rows, lambda one: one.toeplitz_share),
        example=couple(*content(sizes[0], 0), known, head=head),
    )


def checked_drawing(
    encoding: Encoding, *, means: Any, dimension: int | None, seed: int
) -> dict[str, Any]:
    """Return what content is drawn with, or say what is wrong before anything is computed."""
    try:
        sizes = () if isinstance(means, (str, bytes)) else tuple(means)
    except TypeError:
        sizes = ()
    if not sizes:
        raise SpectrumError(
            f"means is {means!r}; pass at least one size of the shared mean in a tuple, such as "
            "(0.0, 1.0)."
        )
    return {
        "means": tuple(checked_mean(mean) for mean in sizes),
        "dimension": _content_dimension(encoding, dimension),
        "seed": whole("seed", seed, least=0, most=MOST_SEED),
    }


def _content_dimension(encoding: Encoding, dimension: int | None) -> int:
    """Return the dimension of queries and keys: that of the encoding, or any."""
    width = getattr(encoding, "width", None)
    own = getattr(encoding, "dimension", None) if width is None else width
    if dimension is None:
        return int(own or DIMENSION)
    asked = whole("dimension", dimension, least=1, most=MOST_DIMENSION)
    if own and asked != own:
        raise SpectrumError(
            f"dimension is {asked}, and the encoding {encoding.name!r} is made for {own}; pass "
            "that, or make it with another dimension."
        )
    return asked


def _compared(encoding: Encoding, q: Floats, k: Floats, head: int | None) -> Coupling:
    """Return a coupling without its bounds, which cost as much as the rest."""
    at, scale = np.arange(len(q), dtype=np.float64), q.shape[1] ** -0.5
    return compared_sides(encoding, coupled_sides(encoding, q, k, at, head=head or 0, scale=scale))


def _mean(rows: list[list[Coupling]], read: Any) -> Floats:
    return np.array([np.mean([read(one) for one in row]) for row in rows])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
