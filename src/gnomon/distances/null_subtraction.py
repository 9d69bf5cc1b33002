"""Null subtraction: plug-in squared distances minus what dealing the tokens at random would show.

    d2_ij = |sqrt p_i - sqrt p_j|^2 - E |sqrt p_i* - sqrt p_j*|^2,

the expectation over all deals of the corpus's tokens to its slots, exact (`expected_null`). It is
right on average where there is no signal, and only there: with signal the noise of the laws is not
that of the pooled law, and strong drift is underestimated by what the deal mixes in. The plug-in
square multiplies every document with itself, so documents that repeat their words, or are repeated,
add noise that a deal of single tokens does not have and that is not subtracted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.distances.chord import chord_distances
from gnomon.distances.expected_null import expected_null_squares


def null_subtracted_squares(matrix: csr_array) -> NDArray[np.float64]:
    """Return plug-in minus expected null, m x m, zero diagonal; it may be negative.

    Every row must hold a token.

    >>> null_subtracted_squares(csr_array([[1, 0], [0, 1]])).round(9)  # every deal is as far apart
    array([[0., 0.],
           [0., 0.]])
    """
    squares: NDArray[np.float64] = np.square(chord_distances(matrix))
    squares -= expected_null_squares(matrix)
    return squares
