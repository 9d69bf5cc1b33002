"""Spectra: Toeplitz kernels of encodings, their eigenvalues, and what coupling does to logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.spectra.coupling import MEANS as MEANS
    from gnomon.spectra.coupling import contraction as contraction
    from gnomon.spectra.lattice import LatticeSpectrum as LatticeSpectrum
    from gnomon.spectra.lattice import lattice_spectrum as lattice_spectrum
    from gnomon.spectra.of_encoding import Spectrum as Spectrum
    from gnomon.spectra.of_encoding import spectrum as spectrum
    from gnomon.spectra.share import Terms as Terms
    from gnomon.spectra.share import ToeplitzShare as ToeplitzShare
    from gnomon.spectra.share import terms_of as terms_of
    from gnomon.spectra.share import toeplitz_share as toeplitz_share

__getattr__, __dir__ = front(
    __name__,
    {
        "coupling": ("MEANS", "contraction"),
        "lattice": ("LatticeSpectrum", "lattice_spectrum"),
        "of_encoding": ("Spectrum", "spectrum"),
        "share": ("Terms", "ToeplitzShare", "terms_of", "toeplitz_share"),
    },
)
