r"""The spectrum of an encoding: its kernel by lag, eigenvalues, symbol, and what coupling does.

    T_ij = c(i - j),  i, j = 0 ... n-1,

c the kernel (`gnomon.spectra.kernel`). Rank and condition number count on the range only
(`gnomon.spectra.eigenvalues`). Of vectors whose products do not depend on the lag alone the matrix
P P^T is taken, and its Toeplitz share is below 1. Coupling is that of drawn content
(`gnomon.spectra.coupling`). The claims that this is for are those of [gu2025].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError, SpectrumError
from gnomon.results import Result
from gnomon.spectra.coupling import MEANS, Contraction, check_drawing, contraction
from gnomon.spectra.eigenvalues import (
    Conditioning,
    Eigenvalues,
    all_of,
    check_length,
    eigenvalues_of,
    rank_and_condition,
)
from gnomon.spectra.kernel import NOTES, Kernel, as_encoding, kernel_of, on_line
from gnomon.spectra.share import gram_spectrum
from gnomon.spectra.symbol import Symbol, distance, symbol_of
from gnomon.spectra.toeplitz import Circulant, nearest_circulant

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectrum(Result):
    """Eigenvalues of the positional part of logits, and ratios of logits of drawn content."""

    name: str
    parameters: dict[str, Any]
    length: int
    head: int | None
    note: str
    """What the kernel is."""
    profile: Floats
    """The kernel at lags 0 ... n-1; of vectors without one the mean of p_i.p_(i+t)."""
    asymmetry: float
    eigenvalues: Eigenvalues
    conditioning: Conditioning | None
    """None where not all eigenvalues are known."""
    symbol: Symbol | None
    """None where there is no kernel."""
    szego_distance: float | None
    circulant: Circulant | None
    toeplitz_share: float
    """Of the positional part itself: 1 where the lag decides it, NaN where nothing varies."""
    contraction: Contraction | None
    contraction_reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the names that `gnomon spectrum --json` promises."""
        from gnomon.spectra.summary import spectrum_to_dict

        return spectrum_to_dict(self)

    def text(self, *, verbose: bool = False) -> str:
        """Return the spectrum in a few lines; `verbose` adds the first eigenvalues."""
        from gnomon.spectra.summary import spectrum_text

        return spectrum_text(self, verbose=verbose)


def spectrum(
    encoding: Encoding | str,
    length: int = 512,
    *,
    head: int | None = None,
    direction: Any = None,
    tolerance: float | None = None,
    means: tuple[float, ...] = MEANS,
    tied: bool = True,
    coupled: bool = True,
    dimension: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Spectrum:
    """Return the spectrum of an encoding, or of the one of that name, at positions 0 ... n-1.

    `head` is one of those it tells apart (default: the mean kernel over heads), `direction` the
    step on every axis of several (default: along the first), `means` are sizes
    of the mean that drawn content shares, `tied=False` draws queries and keys apart,
    `coupled=False` leaves contraction out, and `dimension` is that of drawn content where any will
    do, as with a bias (default 64). `progress` is told what is being done.

    >>> found = spectrum("rope", 40, coupled=False)
    >>> found.conditioning.rank <= 40, found.toeplitz_share
    (True, 1.0)
    """
    length = check_length(length)
    given = as_encoding(encoding)
    known = on_line(given, direction, length)
    drawn = check_drawing(known, means=means, dimension=dimension, seed=seed)
    about: dict[str, Any] = {"name": known.name, "parameters": known.parameters}
    about |= {"length": length, "head": head}
    about |= {"contraction": None, "contraction_reason": "it was not asked for"}
    kernel = _kernel(known, head)
    if kernel is None:
        measured = _of_vectors(known, length, tolerance, about)
    else:
        measured = _of_kernel(kernel, length, tolerance, about, progress)
    if not coupled:
        return measured
    if progress is not None:
        progress("coupling with drawn content")
    asked = {**drawn, "head": head, "direction": direction, "tied": tied}
    made, reason = _contraction_or_reason(given, length, asked)
    return dataclasses.replace(measured, contraction=made, contraction_reason=reason)


def _of_kernel(
    kernel: Kernel,
    length: int,
    tolerance: float | None,
    about: dict[str, Any],
    progress: Callable[[str], None] | None,
) -> Spectrum:
    column = kernel.column(length)
    found = eigenvalues_of(kernel, length, column=column, told=progress)
    whole = found.complete
    return Spectrum(
        **about,
        note=kernel.note,
        profile=column,
        asymmetry=kernel.asymmetry(length),
        eigenvalues=found,
        conditioning=rank_and_condition(found.values, length, tolerance=tolerance)
        if whole
        else None,
        symbol=symbol_of(kernel, column),
        szego_distance=distance(found.values, kernel, column) if whole else None,
        circulant=nearest_circulant(column),
        toeplitz_share=1.0 if np.ptp(column) > 0.0 else float("nan"),
    )


def _of_vectors(
    encoding: Encoding, length: int, tolerance: float | None, about: dict[str, Any]
) -> Spectrum:
    """Return the spectrum of products of vectors that do not depend on the lag alone."""
    try:
        vectors = np.asarray(encoding.vectors(np.arange(length)), dtype=np.float64)
    except EncodingError as error:
        raise SpectrumError(
            f"The encoding {encoding.name!r} has no vectors at positions 0 to {length - 1} "
            f"({error}) Pass a shorter length."
        ) from error
    found = gram_spectrum(vectors)
    method = "singular values of the vectors"
    values = all_of(found.eigenvalues, length, method, min(vectors.shape))
    return Spectrum(
        **about,
        note=NOTES["vectors"] + ", which do not depend on the lag alone; drawn is their mean",
        profile=found.profile,
        asymmetry=0.0,
        eigenvalues=values,
        conditioning=rank_and_condition(found.eigenvalues, length, tolerance=tolerance),
        symbol=None,
        szego_distance=None,
        circulant=None,
        toeplitz_share=found.toeplitz_share,
    )


def _kernel(encoding: Encoding, head: int | None) -> Kernel | None:
    """Return the kernel, or None for vectors without one."""
    try:
        return kernel_of(encoding, head=head)
    except SpectrumError:
        if "vectors" not in encoding.kinds or head is not None:
            raise
        return None


def _contraction_or_reason(
    encoding: Encoding, length: int, asked: dict[str, Any]
) -> tuple[Contraction | None, str]:
    """Return contraction, or why there is none: some encodings need content of their own."""
    try:
        return contraction(encoding, length, **asked), ""
    except SpectrumError as error:
        if "cannot be coupled" not in str(error):
            raise
        return None, str(error)
