r"""A real Jordan basis P with X = P J P^-1, of the chains of every cluster, made when asked for.

First X is moved to a matrix that has the structure: the changes that every cluster needs are taken
away, and with them the smallest change that makes real parts zero which count as zero. A change E
moves the mean of a cluster with projector Pi and k members by tr(Pi E) / k; the least E with given
real parts of these is a combination of the Re Pi^T. Putting zeros into J alone would cost cond(P)
more.

A cluster on the real axis has a real invariant subspace: its basis is turned into a real one before
the chains are made. Of a conjugate pair, v = p - i q with X v = (a + ib) v + v' gives the columns
p, q: X p = a p + b q + p', X q = -b p + a q + q'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import GroupError
from gnomon.groups.blocks import Block
from gnomon.groups.clusters import Floats
from gnomon.groups.generator import Generator
from gnomon.groups.search import Cluster, search
from gnomon.groups.staircase import Matrix, jordan_chains, staircase

if TYPE_CHECKING:
    from gnomon.groups.classification import Structure

ROUNDS = 3
"""Corrections of X; the second is already of the order of rounding."""


def blocks_and_basis(structure: Structure) -> tuple[tuple[Block, ...], Floats]:
    """Return the blocks, and the real basis in which they stand."""
    blocks: list[Block] = []
    columns: list[Floats] = []
    for cluster, value in zip(*exact_clusters(structure), strict=True):
        for chain in split_chains(chains_of(cluster), cluster.sizes):
            moved, gain = balanced(chain)
            columns.append(np.asarray(moved.real) if cluster.real else paired(moved))
            blocks.append(block_of(value, moved.shape[1], gain * structure.scale))
    return tuple(blocks), np.concatenate(columns, axis=1)


def block_of(value: complex, order: int, gain: float) -> Block:
    """Return a block; one of order 1 has no nilpotent part to scale."""
    return Block(
        decay=value.real, frequency=value.imag, order=order, gain=gain if order > 1 else 1.0
    )


def split_chains(vectors: Matrix, sizes: tuple[int, ...]) -> list[Matrix]:
    """Return chains that stand side by side one by one."""
    return np.split(vectors, np.cumsum(sizes)[:-1], axis=1)


def balanced(chain: Matrix) -> tuple[Matrix, float]:
    """Return a chain whose ends are of one length, and what stands above the diagonal for it.

    A nilpotent part that is small against the rest would make a chain with ones ill-conditioned.
    """
    order = chain.shape[1]
    if order == 1:
        return chain, 1.0
    first, last = np.linalg.norm(chain[:, 0]), np.linalg.norm(chain[:, -1])
    step = float((first / last) ** (1.0 / (order - 1)))
    made = chain * step ** np.arange(order)
    return made * np.sqrt(order) / np.linalg.norm(made), step


def generator_of(blocks: Sequence[Block], basis: Floats) -> Generator:
    """Return the generator, or say that its basis can not be held."""
    try:
        return Generator(blocks, basis)
    except GroupError as error:
        raise singular() from error


def singular() -> GroupError:
    """Return the refusal of blocks that do not make the matrix again."""
    return GroupError(
        "the blocks stand in a basis that is singular to rounding or to the tolerance, and do not "
        "make the matrix again; classify it at another tolerance, or use the matrix itself."
    )


def exact_clusters(structure: Structure) -> tuple[list[Cluster], list[complex]]:
    """Return clusters and eigenvalues of a matrix near X that has the structure exactly."""
    from gnomon.groups.classification import Units, values_of

    x = structure.matrix
    norm = float(np.linalg.norm(x, 2))
    units = Units(structure.scale, norm, structure.tolerance)
    clusters = list(structure.clusters)
    shape = _shape(clusters)
    for _ in range(ROUNDS):
        change = _change(clusters, values_of(clusters, units), structure.scale)
        if np.linalg.norm(change, 2) <= 4.0 * np.finfo(np.float64).eps * norm:
            break
        x = x - change
        moved = search(x, units.delta).clusters
        if _shape(moved) != shape:  # the move was not small after all: keep what there was
            break
        clusters = moved
    return clusters, values_of(clusters, units)


def _shape(clusters: list[Cluster]) -> list[tuple[bool, tuple[int, ...]]]:
    return sorted((cluster.real, cluster.sizes) for cluster in clusters)


def _change(clusters: list[Cluster], values: list[complex], scale: float) -> Floats:
    """Return the changes of all clusters, and the least one that makes real parts zero."""
    size = len(clusters[0].part.right)
    change = np.zeros((size, size))
    wanted, normals = [], []
    for cluster, value in zip(clusters, values, strict=True):
        if cluster.change is not None:
            change = change + cluster.change
        shift = cluster.mean.real - value.real / scale
        if shift:
            wanted.append(shift * len(cluster.members))
            normals.append((cluster.part.left @ cluster.part.right.conj().T).real.reshape(-1))
    if wanted:
        span = np.array(normals)
        weights = np.linalg.lstsq(span @ span.T, np.array(wanted), rcond=None)[0]
        change = change + (weights @ span).reshape(size, size)
    return change


def columns_of(cluster: Cluster, *, time: float = 1.0) -> Floats:
    """Return the real columns of P for a cluster, or for it at another speed: X / time."""
    powers = time ** np.concatenate([np.arange(size) for size in cluster.sizes])
    vectors = chains_of(cluster) * powers
    if cluster.real:
        return np.asarray(vectors.real)
    return paired(vectors.conj() if time < 0.0 else vectors)


def chains_of(cluster: Cluster) -> Matrix:
    """Return the chains of a cluster side by side, longest first; real ones on the real axis."""
    if cluster.real:
        return _real_vectors(cluster).astype(np.complex128)
    return np.asarray(cluster.part.right @ jordan_chains(cluster.stairs))


def paired(vectors: Matrix) -> Floats:
    """Return p and q of every v = p - i q, as columns."""
    pairs = np.stack([vectors.real, -vectors.imag], axis=-1)
    return np.asarray(pairs.reshape(len(vectors), -1))


def _real_vectors(cluster: Cluster) -> Floats:
    right, exact = cluster.part.right, cluster.stairs.exact
    real = np.linalg.svd(np.concatenate([right.real, right.imag], axis=1))[0][:, : len(exact)]
    turn = real.T @ right
    nilpotent: Matrix = np.ascontiguousarray((turn @ exact @ turn.conj().T).real)
    made = staircase(nilpotent, weyr=cluster.stairs.weyr)
    stairs = cluster.stairs if made is None else made  # None only where sizes grow: they can not
    return np.asarray((real @ jordan_chains(stairs)).real)
