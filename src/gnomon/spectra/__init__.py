"""Spectra: Toeplitz kernels of encodings, their eigenvalues, and what coupling does to logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.spectra.contractions import MEANS as MEANS
    from gnomon.spectra.contractions import contraction as contraction
    from gnomon.spectra.lattice import LatticeSpectrum as LatticeSpectrum
    from gnomon.spectra.lattice import lattice_spectrum as lattice_spectrum
    from gnomon.spectra.of_encoding import Spectrum as Spectrum
    from gnomon.spectra.of_encoding import spectrum as spectrum
    from gnomon.spectra.share import ToeplitzShare as ToeplitzShare
    from gnomon.spectra.share import toeplitz_share as toeplitz_share
    from gnomon.spectra.terms import Terms as Terms
    from gnomon.spectra.terms import terms_of as terms_of

__getattr__, __dir__ = front(
    __name__,
    {
        "contractions": ("MEANS", "contraction"),
        "lattice": ("LatticeSpectrum", "lattice_spectrum"),
        "of_encoding": ("Spectrum", "spectrum"),
        "share": ("ToeplitzShare", "toeplitz_share"),
        "terms": ("Terms", "terms_of"),
    },
)
