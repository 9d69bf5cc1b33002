"""The sums behind the debiased estimator, against loops that follow the formulas literally."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.corpus.counts import PositionCounts
from gnomon.errors import CountsError
from gnomon.geometry.debiased.folded import folded
from gnomon.geometry.debiased.pilot import drift_energy, pilot
from gnomon.geometry.debiased.separable import chebyshev_nodes, lagrange
from gnomon.geometry.debiased.sums import balanced_signs, sums


@pytest.fixture
def counts(rng) -> PositionCounts:
    """Four folds, five positions, nine types of very different frequency."""
    law = rng.dirichlet(np.geomspace(4.0, 0.05, 9), size=5)
    array = np.stack([[rng.multinomial(40 + 9 * i, law[i]) for i in range(5)] for _ in range(4)])
    return PositionCounts.from_array(array, minimum_count=1)


def literal(counts, leave_out=None):
    """Energy of all types by loops over positions, types and pairs of different folds."""
    data = folded(counts)
    tau = drift_energy(data)
    m, folds = data.size, data.folds
    used = [g for g in range(folds) if g != leave_out]
    energy = np.zeros((m, m))
    for block in data.blocks():
        at = pilot(data, block, tau)
        q, s, x, n = at.root**2, at.weight, block.counts, data.fold_tokens
        y = (x - n[:, :, None] * q[:, None, :]) / np.sqrt(q)[:, None, :]
        for i in range(m):
            for j in range(m):
                for v in range(q.shape[1]):
                    product = {}
                    for a, b in ((i, i), (j, j), (i, j)):
                        above = sum(y[a, g, v] * y[b, h, v] for g in used for h in used if g != h)
                        below = sum(n[a, g] * n[b, h] for g in used for h in used if g != h)
                        product[a, b] = above / below
                    mean_i = sum(y[i, g, v] for g in used) / sum(n[i, g] for g in used)
                    mean_j = sum(y[j, g, v] for g in used) / sum(n[j, g] for g in used)
                    ri, rj = np.sqrt(q[i, v]), np.sqrt(q[j, v])
                    own_i = q[i, v] + ri * mean_i + product[i, i] / 4
                    own_j = q[j, v] + rj * mean_j + product[j, j] / 4
                    both = ri * rj + (ri * mean_j + rj * mean_i) / 2 + product[i, j] / 4
                    energy[i, j] += s[i, v] * s[j, v] * (own_i + own_j - 2 * both)
    return energy


def test_energies_are_the_sums_over_pairs_of_different_folds(counts):
    data = folded(counts)
    found = sums(data, drift_energy(data), np.zeros((0, 4)))
    np.testing.assert_allclose(found.energy.sum(axis=0), literal(counts), atol=1e-9)


def test_deleting_a_fold_is_leaving_it_out_of_every_sum(counts):
    data = folded(counts)
    found = sums(data, drift_energy(data), np.zeros((0, 4)))
    for fold in range(4):
        np.testing.assert_allclose(found.deleted[fold], literal(counts, fold), atol=1e-9)


def test_flipped_signs_keep_only_products_of_different_folds(counts, rng):
    data = folded(counts)
    tau = drift_energy(data)
    signs = balanced_signs(4, 3, rng)
    found = sums(data, tau, signs)
    for draw, flipped in zip(signs, found.flipped, strict=True):
        wanted = np.zeros((data.size, data.size))
        for block in data.blocks():
            at = pilot(data, block, tau)
            n = data.fold_tokens
            y = (block.counts - n[:, :, None] * (at.root**2)[:, None, :]) / at.root[:, None, :]
            y = y * draw[None, :, None]
            for i in range(data.size):
                for j in range(data.size):
                    terms = []
                    for a, b in ((i, i), (j, j), (i, j)):
                        outer = np.einsum("gv,hv->ghv", y[a], y[b])
                        pairs = np.outer(n[a], n[b])
                        off = ~np.eye(4, dtype=bool)
                        terms.append(outer[off].sum(axis=0) / pairs[off].sum())
                    weight = at.weight[i] * at.weight[j]
                    wanted[i, j] += (weight * (terms[0] + terms[1] - 2 * terms[2])).sum() / 4
        np.testing.assert_allclose(flipped, wanted, atol=1e-6)


def test_classes_are_octaves_and_hold_every_type_seen_twice(counts):
    data = folded(counts)
    totals = counts.matrix.sum(axis=0)
    assert len(data.type_tokens) == (totals >= 2).sum()
    for c in range(data.classes):
        own = data.type_tokens[data.class_bounds[c] : data.class_bounds[c + 1]]
        assert len(set(np.floor(np.log2(own)))) == 1
    assert data.fold_tokens.sum() == counts.tokens


def test_signs_are_balanced(rng):
    signs = balanced_signs(16, 50, rng)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert not signs.sum(axis=1).any()


def test_positions_met_in_too_few_folds_are_left_out_and_too_few_folds_refused(rng):
    array = rng.poisson(3.0, (4, 5, 6))
    array[1:, 2] = 0  # position 2 occurs in one fold only
    data = folded(PositionCounts.from_array(array, minimum_count=1))
    assert data.positions.tolist() == [0, 1, 3, 4]
    with pytest.raises(CountsError, match="2 folds, and debiasing needs at least 4"):
        folded(PositionCounts.from_array(array[:2], minimum_count=1))
    array[1:, 1:] = 0
    with pytest.raises(CountsError, match="1 positions have tokens in at least 3 folds"):
        folded(PositionCounts.from_array(array, minimum_count=1))


def test_weights_are_short_sums_of_products_to_eight_digits(counts):
    data = folded(counts)
    tau = drift_energy(data)
    for block in data.blocks():
        at = pilot(data, block, tau)
        np.testing.assert_allclose(at.at_nodes @ at.basis.T, at.weight, rtol=1e-8)


def test_interpolation_is_exact_at_nodes_and_for_polynomials(rng):
    values = rng.uniform(-1.0, 2.0, 50)
    nodes = chebyshev_nodes(values)
    np.testing.assert_allclose(lagrange(nodes, nodes), np.eye(len(nodes)), atol=1e-15)
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(lagrange(values, nodes) @ cubic(nodes), cubic(values), atol=1e-12)
