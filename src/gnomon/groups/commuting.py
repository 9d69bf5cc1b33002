r"""Positions on several axes: A(x) = exp(sum_i x_i X_i), a group exactly if all X_i commute.

    |exp(x X) exp(y Y) - exp(x X + y Y)| is about |[X, Y]| |x y| / 2,

so generators that do not commute give logits that depend on more than the lag: the defect is
reported, and they are refused as a group [hall2015 sec. 5.2]. Skew ones that commute have one
orthogonal basis in which each turns every plane: mixed rotary encoding in a basis [schenck2025].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from gnomon.errors import GroupError
from gnomon.groups.blocks import Floats
from gnomon.groups.checking import checked
from gnomon.groups.generator import Generator
from gnomon.numeric.checks import reals

TOLERANCE = 1e-10
"""Largest commutator, as a share of the norms of its factors, that rounding may leave."""


def matrix_of(generator: Generator | ArrayLike) -> Floats:
    """Return X of a generator, or a square matrix of finite numbers, or say what is wrong."""
    return generator.matrix if isinstance(generator, Generator) else checked(generator)


def commutator_defect(x: Generator | ArrayLike, y: Generator | ArrayLike) -> float:
    """Return |XY - YX| / (|X| |Y|) in the Frobenius norm, 0 where one of them is 0."""
    one, other = matrix_of(x), matrix_of(y)
    sizes = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.linalg.norm(one @ other - other @ one)) / sizes if sizes > 0.0 else 0.0


class Commuting:
    """Generators of several axes that commute.

    >>> from gnomon.groups.blocks import Block
    >>> turn = Generator([Block(frequency=1.0)])
    >>> Commuting([turn, turn]).exp([np.pi / 2, np.pi / 2]).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """

    def __init__(
        self, generators: Sequence[Generator | ArrayLike], *, tolerance: float = TOLERANCE
    ) -> None:
        self.matrices = tuple(matrix_of(one) for one in generators)
        if not self.matrices:
            raise GroupError("There is no axis without a generator; pass one for each axis.")
        if len({x.shape for x in self.matrices}) > 1:
            shapes = ", ".join(str(x.shape) for x in self.matrices)
            raise GroupError(f"The generators have shapes {shapes}; pass matrices of one size.")
        self.defect = 0.0
        for (i, x), (j, y) in combinations(enumerate(self.matrices), 2):
            found = commutator_defect(x, y)
            if found > tolerance:
                raise GroupError(
                    f"The generators of axes {i} and {j} do not commute: |[X, Y]| is {found:.2g} "
                    f"of |X| |Y|, and {tolerance:.2g} is allowed; logits would not be relative."
                )
            self.defect = max(self.defect, found)

    def exp(self, x: ArrayLike) -> Floats:
        """Return exp(sum_i x_i X_i) for positions (..., axes)."""
        from scipy.linalg import expm

        at = reals(x, "x")
        if at.ndim == 0 or at.shape[-1] != len(self.matrices):
            raise GroupError(
                f"The positions have shape {at.shape}, and there are {len(self.matrices)} axes; "
                f"pass an array of shape (..., {len(self.matrices)})."
            )
        return np.asarray(expm(np.tensordot(at, np.stack(self.matrices), axes=1)))
