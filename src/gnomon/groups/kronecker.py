r"""Products of kernels: exp(t (X (+) Y)) = exp(tX) (x) exp(tY), X (+) Y = X (x) I + I (x) Y.

The blocks of a Kronecker sum follow from those of its parts. Blocks of orders m and n with
eigenvalues x and y make blocks of orders m + n - 1, m + n - 3, ..., |m - n| + 1 with x + y (and,
where both turn, with x + conj(y)) [trampus1966]. The basis is found in closed form, too: with the
degree a + b of e_a (x) e_b, the nilpotent part M lowers degrees by one, and the chain of length
s = m + n - 1 - 2i starts from the vector of degree m + n - 2 - i that M^s sends to 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.groups.blocks import Block, Floats
from gnomon.groups.generator import Generator

Complex = NDArray[np.complex128]
SAME = 1e-12
"""Frequencies closer than this share of the larger one are one frequency."""


def kronecker_sum(first: Generator, second: Generator) -> Generator:
    """Return X (+) Y, whose exponential is the Kronecker product of both.

    >>> from gnomon.groups.blocks import Block
    >>> turn = Generator([Block(frequency=1.0)])
    >>> [block.frequency for block in kronecker_sum(turn, turn).blocks]
    [2.0, 0.0, 0.0]
    """
    blocks, columns = [], []
    for one, left in _parts(first):
        for other, right in _parts(second):
            found, basis = _pair(one, other)
            blocks += found
            columns.append(np.kron(left, right) @ basis)
    return Generator(blocks, np.concatenate(columns, axis=1))


def _parts(generator: Generator) -> list[tuple[Block, Floats]]:
    return [(block, generator.columns(at)) for at, block in enumerate(generator.blocks)]


def _pair(one: Block, other: Block) -> tuple[list[Block], Floats]:
    """Return the blocks of two blocks, and their basis as columns."""
    chains = _chains(one, other)
    decay = one.decay + other.decay
    turns = [(one.frequency + other.frequency, (1, 1))]
    if one.frequency > 0.0 and other.frequency > 0.0:
        turns.append((one.frequency - other.frequency, (1, -1)))
    blocks: list[Block] = []
    columns: list[Floats] = []
    for turn, signs in turns:
        size = max(one.frequency, other.frequency)
        frequency = 0.0 if abs(turn) <= SAME * size else abs(turn)
        seats = np.kron(_seat(one, signs[0]), _seat(other, signs[1]))
        for chain in chains:
            vectors = seats @ chain
            blocks += [Block(decay=decay, frequency=frequency, order=chain.shape[1])] * _copies(
                one, other, frequency
            )
            columns += _real(vectors, turn, frequency, one, other)
    return blocks, np.concatenate(columns, axis=1)


def _copies(one: Block, other: Block, frequency: float) -> int:
    """Return how many real blocks a chain of complex vectors makes."""
    return 2 if frequency == 0.0 and one.frequency > 0.0 and other.frequency > 0.0 else 1


def _seat(block: Block, sign: int) -> Complex:
    """Return the eigenvectors (dimension, order) of a block's turn, or the identity without one."""
    if block.frequency == 0.0:
        return np.eye(block.order, dtype=np.complex128)
    return np.kron(np.eye(block.order), np.array([[1.0], [-1j * sign]]))


def _real(
    vectors: Complex, turn: float, frequency: float, one: Block, other: Block
) -> list[Floats]:
    """Return real columns of a chain: as they are, apart, or paired as a turn has them."""
    if frequency > 0.0:
        sides = (vectors.real, -np.sign(turn) * vectors.imag)
        return [np.stack(sides, axis=-1).reshape(len(vectors), -1)]
    return [vectors.real, vectors.imag] if _copies(one, other, frequency) == 2 else [vectors.real]


def _chains(one: Block, other: Block) -> list[Floats]:
    """Return the Jordan chains (m n, s) of g N (x) I + h I (x) N, the longest first."""
    m, n = one.order, other.order
    left, right = one.gain * np.eye(m, k=1), other.gain * np.eye(n, k=1)
    lower = np.kron(left, np.eye(n)) + np.kron(np.eye(m), right)
    degrees = np.add.outer(np.arange(m), np.arange(n)).reshape(-1)
    found = []
    for place in range(min(m, n)):
        length = m + n - 1 - 2 * place
        there = np.flatnonzero(degrees == m + n - 2 - place)
        vector = np.zeros(m * n)
        sent = np.linalg.matrix_power(lower, length)[:, there]
        vector[there] = np.linalg.svd(sent)[2][-1]
        chain = [vector]
        for _ in range(length - 1):
            chain.append(lower @ chain[-1])
        found.append(np.stack(chain[::-1], axis=1))
    return found
