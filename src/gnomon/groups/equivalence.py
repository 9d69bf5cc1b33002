r"""Whether two generators are the same group up to a change of basis, or up to the unit of time.

B = P^-1 A P for some P exactly if A and B have the same Jordan blocks; P is then P_A P_B^-1 with
the Jordan bases of both in the same order, and W_q, W_k absorb it. exp(tA) and exp(tB) run through
the same group at different speeds if B is like c A: all eigenvalues of B are c times those of A,
with the same block sizes (those of c A are those of A for c != 0). A nilpotent A is like c A for
every c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError
from gnomon.groups.classification import Found, Structure, classify
from gnomon.groups.generator import read_matrix
from gnomon.results import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Equivalence(Result):
    """How two generators are related.

    `equivalent`: b = P^-1 a P up to the tolerance, with `basis` P and `residual` |a P - P (b / c)|
    relative to |a| |P|; `time` is c, 1 if they are equivalent, and another number if b is like c a;
    None (with a `reason`), if neither.
    """

    equivalent: bool
    time: float | None
    basis: Floats | None
    residual: float | None
    condition: float | None
    reason: str
    first: Structure
    second: Structure


def equivalent(a: ArrayLike, b: ArrayLike, *, tolerance: float | None = None) -> Equivalence:
    """Return whether A and B generate the same group in other coordinates, and the coordinates.

    >>> round(equivalent([[0.0, -1.0], [1.0, 0.0]], [[0.0, -2.0], [2.0, 0.0]]).time, 9)
    2.0
    """
    matrices = read_matrix(a, "the first generator"), read_matrix(b, "the second generator")
    if len(matrices[0]) != len(matrices[1]):
        raise GroupError(
            f"the generators have {len(matrices[0])} and {len(matrices[1])} rows; pass two of the "
            "same size."
        )
    first, second = (classify(one, tolerance=tolerance) for one in (a, b))
    sizes = [float(np.linalg.norm(matrix, 2)) for matrix in matrices]
    for time in _speeds(first, second):
        pairs = _match_clusters(first, second, time, sizes)
        if pairs is not None:
            return _relate(matrices, (first, second), time, pairs)
    return Equivalence(
        equivalent=False,
        time=None,
        basis=None,
        residual=None,
        condition=None,
        reason=_difference(first, second),
        first=first,
        second=second,
    )


def _speeds(first: Structure, second: Structure) -> list[float]:
    """Return 1, and the speeds at which the largest eigenvalues agree, forward and backward."""
    largest = [max(abs(value) for value in one.values) for one in (first, second)]
    if min(largest) == 0.0:
        return [1.0]
    ratio = largest[1] / largest[0]
    return [1.0, ratio, -ratio]


def _match_clusters(
    first: Structure, second: Structure, time: float, sizes: list[float]
) -> list[int] | None:
    """Return for every cluster of the first the cluster of the second that is like it."""
    left = list(range(len(second.clusters)))
    order = []
    for cluster, value in zip(first.clusters, first.values, strict=True):
        wanted = value * time
        wanted = complex(wanted.real, abs(wanted.imag))
        allowed = abs(time) * first.tolerance * sizes[0] * cluster.condition
        fitting = [
            k
            for k in left
            if second.clusters[k].sizes == cluster.sizes
            and abs(second.values[k] - wanted)
            <= 2.0 * (allowed + second.tolerance * sizes[1] * second.clusters[k].condition)
        ]
        if not fitting:
            return None
        nearest = min(fitting, key=lambda k: abs(second.values[k] - wanted))
        left.remove(nearest)
        order.append(nearest)
    return order if not left else None


def _relate(
    matrices: tuple[Floats, Floats],
    structures: tuple[Structure, Structure],
    time: float,
    order: list[int],
) -> Equivalence:
    """Return the relation with its basis P = P_A P_B^-1."""
    from gnomon.groups.classification import columns_of, singular

    first, second = structures
    own = [columns_of(cluster) for cluster in first.clusters]
    other = [columns_of(second.clusters[k], time=time * first.scale / second.scale) for k in order]
    try:
        solved = np.linalg.solve(np.concatenate(other, axis=1).T, np.concatenate(own, axis=1).T).T
    except np.linalg.LinAlgError as error:
        raise singular() from error
    basis: Floats = (solved / np.linalg.norm(solved, 2)).astype(np.float64)
    a, b = matrices
    size = max(float(np.linalg.norm(a, 2)), float(np.finfo(np.float64).tiny))
    return Equivalence(
        equivalent=time == 1.0,
        time=time,
        basis=basis,
        residual=float(np.linalg.norm(a @ basis - basis @ (b / time), 2)) / size,
        condition=float(np.linalg.cond(basis)),
        reason="" if time == 1.0 else f"the second is the first at {time:.6g} times its speed",
        first=first,
        second=second,
    )


def _difference(first: Structure, second: Structure) -> str:
    """Say what differs first."""
    shapes = [
        sorted((one.order, one.kind, one.count) for one in s.structure) for s in (first, second)
    ]
    if shapes[0] == shapes[1]:
        return "the same kinds of blocks with other eigenvalues"
    return f"other blocks: {_count_kinds(first.structure)} against {_count_kinds(second.structure)}"


def _count_kinds(structure: tuple[Found, ...]) -> str:
    kinds: dict[str, int] = {}
    for one in structure:
        name = one.kind if one.order == 1 else f"{one.kind} of order {one.order}"
        kinds[name] = kinds.get(name, 0) + one.count
    return ", ".join(f"{count} {name}" for name, count in kinds.items())
