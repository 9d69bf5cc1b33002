r"""The real logarithm of a step, as blocks and a basis.

In a chain of A = P J P^-1, J_m(mu) with g above the diagonal, log is

    log J = ln mu I + nu,    nu = sum_(0 < r < m) (-1)^(r+1) / r (g / mu)^r N^r,

which is nilpotent of the same order: with c = |g / mu| the vectors nu^(m-1) e_m / c^(m-1), ...,
nu e_m / c, e_m are its chain, with c above the diagonal. Two chains v, w of a negative mu are one
complex chain v - iw of ln |mu| + i pi, and its conjugate [culver1966], [higham2008 sec. 1.3].
"""

from __future__ import annotations

import cmath
import math

import numpy as np

from gnomon.groups.basis import (
    balanced,
    block_of,
    chains_of,
    exact_clusters,
    generator_of,
    paired,
    split_chains,
)
from gnomon.groups.blocks import Block
from gnomon.groups.classification import Structure
from gnomon.groups.clusters import Floats
from gnomon.groups.generator import Generator
from gnomon.groups.staircase import Matrix


def logarithm_of(value: complex, allowed: float) -> complex:
    """Return ln mu with an angle from 0 to pi; a modulus that may be 1 counts as 1."""
    modulus = abs(value)
    decay = 0.0 if abs(modulus - 1.0) <= allowed else math.log(modulus)
    return complex(decay, cmath.phase(value))


def logarithm(step: Structure, delta: float) -> Generator:
    """Return X with exp(X) = A up to the tolerance, for a step that has a real logarithm."""
    clusters, values = exact_clusters(step)
    blocks: list[Block] = []
    columns: list[Floats] = []
    for cluster, value in zip(clusters, values, strict=True):
        found = logarithm_of(value, delta * cluster.condition)
        chains = split_chains(chains_of(cluster), cluster.sizes)
        for chain in _two_by_two(chains) if _negative(value) else chains:
            ratio = step.scale / value
            moved, gain = balanced(chain @ _turned(chain.shape[1], ratio))
            columns.append(paired(moved) if found.imag else np.asarray(moved.real))
            blocks.append(block_of(found, moved.shape[1], gain * abs(ratio)))
    return generator_of(blocks, np.concatenate(columns, axis=1))


def _negative(value: complex) -> bool:
    return value.imag == 0.0 and value.real < 0.0


def _two_by_two(chains: list[Matrix]) -> list[Matrix]:
    """Return pairs of chains as complex ones: of a negative eigenvalue every size occurs evenly."""
    return [one - 1j * other for one, other in zip(chains[::2], chains[1::2], strict=True)]


def _turned(order: int, ratio: complex) -> Matrix:
    """Return the chain of nu in the chain of J, for g / mu."""
    nilpotent = np.zeros((order, order), dtype=np.complex128)
    for power in range(1, order):
        nilpotent += -((-ratio) ** power) / power / abs(ratio) * np.eye(order, k=power)
    made = [np.eye(order, dtype=np.complex128)[:, -1]]
    for _ in range(order - 1):
        made.append(nilpotent @ made[-1])
    return np.array(made[::-1]).T
