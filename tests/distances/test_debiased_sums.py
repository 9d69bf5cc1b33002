"""The sums behind the debiased estimator, against formulas followed literally, fold by fold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from gnomon.corpus.counting import count
from gnomon.corpus.counts import PositionCounts
from gnomon.distances import energies, folds
from gnomon.distances.drift import measure_drift
from gnomon.distances.energies import balanced_signs, common_classes, frame_of, sums
from gnomon.distances.folds import fold_counts
from gnomon.distances.pilot import chebyshev_nodes, lagrange, pilot
from gnomon.errors import CountsError

EXACT = 1e-9
SINGLE = 1e-4
"""Sums under signs are in single precision: their error, relative to their root mean square."""


def few_types(rng) -> PositionCounts:
    """Four folds, five positions, nine types of very different frequency."""
    law = rng.dirichlet(np.geomspace(4.0, 0.05, 9), size=5)
    array = np.stack([[rng.multinomial(40 + 9 * i, law[i]) for i in range(5)] for _ in range(4)])
    return PositionCounts.from_array(array, minimum_count=1)


def rare_types_too(rng) -> PositionCounts:
    """Six folds, fourteen positions, 400 types as uneven as text; tokens 8 .. 60 a cell."""
    law = 1.0 / np.arange(1, 401)
    tokens = rng.integers(8, 60, size=(6, 14))
    laws = law * rng.gamma(4.0, size=(14, 400))
    laws /= laws.sum(axis=1, keepdims=True)
    array = [[rng.multinomial(tokens[g, i], laws[i]) for i in range(14)] for g in range(6)]
    return PositionCounts.from_array(np.array(array), minimum_count=1)


@pytest.fixture(params=[few_types, rare_types_too])
def counts(request, rng) -> PositionCounts:
    return request.param(rng)


def parts(data, drift):
    """For every class: fold deviations y (positions x folds x types), pilot, counts, clumps."""
    for block in data.blocks():
        at = pilot(data, block, drift)
        tokens = data.fold_tokens[:, :, None]
        y = (block.counts - tokens * (at.root**2)[:, None, :]) / at.root[:, None, :]
        yield block, at, y


def products(y, tokens, used):
    """(ybar_i ybar_j)_U of every pair and type: a sum over pairs of different folds in use."""
    pairs = np.outer(used, used) * (1.0 - np.eye(len(used)))
    above = np.einsum("igv,jhv,gh->ijv", y, y, pairs)
    return above / np.einsum("ig,jh,gh->ij", tokens, tokens, pairs)[:, :, None]


def poisson_mean(function, mean):
    """Expectation over a Poisson count, by its sum."""
    counts = np.arange(int(mean + 15.0 * np.sqrt(mean) + 40.0))
    return float(poisson.pmf(counts, mean) @ function(counts))


def literal_remainder(data, block, at):
    """What the tangent misses, cell by cell, with every expectation summed out."""
    m, types = at.root.shape
    means = data.tokens[:, None] * data.pooled[block.types] / data.type_inflation[block.types]
    if means.max() < 4.0:
        return 0.0
    bent, tangent, own = np.zeros((m, types)), np.zeros((m, types)), np.zeros((m, types))
    for i in range(m):
        for v in range(types):
            root, n = at.root[i, v], data.tokens[i] / data.type_inflation[block.types][v]
            share = block.counts[i, :, v].sum() / data.tokens[i]
            shift = root - poisson_mean(np.sqrt, n * root**2) / np.sqrt(n)

            def line(p, root=root):
                return root / 2.0 + p / (2.0 * root)

            def gap(p, line=line, shift=shift):
                return np.sqrt(p) - line(p) + shift

            a = means[i, v] ** 4 / (means[i, v] ** 4 + 8.0**4)

            def noise(x, a=a, n=n, line=line, gap=gap):
                return 2.0 * a * line(x / n) * gap(x / n) + a**2 * gap(x / n) ** 2

            tangent[i, v], bent[i, v] = line(share), line(share) + a * gap(share)
            own[i, v] = bent[i, v] ** 2 - tangent[i, v] ** 2
            own[i, v] -= poisson_mean(noise, n * root**2)
    pairs = own[:, None] + own[None, :] - 2.0 * (bent[:, None] * bent - tangent[:, None] * tangent)
    return np.einsum("iv,jv,ijv->ij", at.weight, at.weight, pairs)


def literal_classes(data, drift, leave_out=None):
    """Energy by class, as the module's docstring writes it."""
    used = np.arange(data.folds) != leave_out
    energy = np.zeros((data.classes, data.size, data.size))
    for block, at, y in parts(data, drift):
        q, s, root = at.root**2, at.weight, at.root
        product = products(y, data.fold_tokens, used.astype(float))
        mean = y[:, used].sum(axis=1) / data.fold_tokens[:, used].sum(axis=1)[:, None]
        own = q + root * mean + np.einsum("iiv->iv", product) / 4.0
        both = root[:, None] * root[None, :] + product / 4.0
        both += (root[:, None] * mean[None, :] + root[None, :] * mean[:, None]) / 2.0
        terms = own[:, None] + own[None, :] - 2.0 * both
        energy[block.class_index] += np.einsum("iv,jv,ijv->ij", s, s, terms)
        energy[block.class_index] += literal_remainder(data, block, at)
    return energy


@pytest.mark.usefixtures("route")
def test_energies_are_the_sums_over_pairs_of_different_folds(counts):
    data = fold_counts(counts)
    drift = measure_drift(data)
    found = sums(data, drift, frame_of(data, np.zeros((0, data.folds))))
    np.testing.assert_allclose(found.energy, literal_classes(data, drift), atol=EXACT)
    assert found.flipped.shape == (0, data.size, data.size)


@pytest.mark.usefixtures("route")
def test_deleting_a_fold_is_leaving_it_out_of_every_sum(counts):
    data = fold_counts(counts)
    drift = measure_drift(data)
    found = sums(data, drift, frame_of(data, np.zeros((0, data.folds))))
    for fold in range(data.folds):
        wanted = literal_classes(data, drift, fold)
        np.testing.assert_allclose(found.deleted[fold], wanted.sum(axis=0), atol=EXACT)
        taught = np.einsum("ij,cij->c", found.learning, wanted)
        scale = found.learning.sum() * np.abs(wanted).max()
        np.testing.assert_allclose(found.deleted_classes[fold], taught, atol=EXACT * scale)


@pytest.mark.usefixtures("route")
def test_flipped_signs_keep_only_products_of_different_folds(counts, rng):
    """To 1e-4 of the size of the sums themselves, which are noise read to two digits."""
    data = fold_counts(counts)
    drift = measure_drift(data)
    signs = balanced_signs(data.folds, 11, rng)
    found = sums(data, drift, frame_of(data, signs))
    for draw, flipped in zip(signs, found.flipped, strict=True):
        wanted = np.zeros((data.size, data.size))
        for _, at, y in parts(data, drift):
            product = products(y * draw[:, None], data.fold_tokens, np.ones(data.folds))
            own = np.einsum("iiv->iv", product)
            terms = own[:, None] + own[None, :] - 2.0 * product
            wanted += np.einsum("iv,jv,ijv->ij", at.weight, at.weight, terms) / 4.0
        size = np.sqrt(np.mean(wanted**2))
        np.testing.assert_allclose(flipped, wanted, atol=SINGLE * size)


@pytest.mark.usefixtures("route")
def test_masses_and_weights_are_sums_over_types(counts):
    data = fold_counts(counts)
    drift = measure_drift(data)
    found = sums(data, drift, frame_of(data, np.zeros((0, data.folds))))
    measured, mass = np.zeros_like(found.measured), np.zeros_like(found.mass)
    squares = np.zeros((data.size, data.size))
    for block, at, _ in parts(data, drift):
        share, s = block.counts.sum(axis=1) / data.tokens[:, None], at.weight
        mean = (share[:, None] + share[None, :]) / 2.0
        measured[block.class_index] += np.einsum("iv,jv,ijv->ij", s, s, mean)
        mass[block.class_index] += share.sum(axis=1)
        clumps = data.type_inflation[block.types]
        squares += np.einsum("v,iv,jv->ij", clumps**2, s**2, s**2)
    np.testing.assert_allclose(found.measured, measured, atol=EXACT)
    np.testing.assert_allclose(found.mass, mass, atol=EXACT)
    np.testing.assert_allclose(found.weight_squares, squares, rtol=EXACT)


def test_drift_follows_its_formulas(counts):
    data = fold_counts(counts)
    above, below = np.zeros(data.size), np.zeros(data.size)
    types = len(data.type_tokens)
    dispersion, variance, gain = np.zeros((3, types))
    for block in data.blocks():
        seen = block.counts.sum(axis=1)
        for i, tokens in enumerate(data.tokens):
            for v, x in enumerate(seen[i]):
                p = data.pooled[block.types][v]
                expected = tokens * p / data.type_inflation[block.types][v]
                s2 = expected / (expected + 2.0)
                square = (x / (tokens * p) - 1.0) ** 2
                above[i] += s2 * (p * square - x / tokens / expected)
                below[i] += s2 * p
                k = block.types.start + v
                dispersion[k] += s2 * (expected * square - 1.0 + tokens / data.tokens.sum())
                variance[k] += s2**2 * (2.0 + 1.0 / expected)
                gain[k] += s2 * expected
    drift = measure_drift(data)
    own = np.where(dispersion > 3.5 * np.sqrt(variance), dispersion / gain, 0.0)
    np.testing.assert_allclose(drift.positions, np.maximum(above / below, 0.0), atol=EXACT)
    np.testing.assert_allclose(drift.dispersion, dispersion, atol=EXACT)
    np.testing.assert_allclose(drift.deviation, np.sqrt(variance), rtol=EXACT)
    np.testing.assert_allclose(drift.types, own, rtol=EXACT)
    assert not drift.outstanding[own == 0.0].any()


def test_rare_types_go_their_own_way_where_loops_are_compiled(rng, monkeypatch):
    """Otherwise the tests on both routes would hold two dense routes against each other."""
    data = fold_counts(rare_types_too(rng))
    assert 0 < common_classes(data) < data.classes
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    assert common_classes(data) == data.classes


def test_many_small_blocks_give_what_few_large_ones_give(rng, monkeypatch, route):
    data = fold_counts(rare_types_too(rng))
    drift, signs = measure_drift(data), balanced_signs(data.folds, 5, rng)
    whole = sums(data, drift, frame_of(data, signs))
    monkeypatch.setattr(folds, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(energies, "_RARE_BYTES", 1)
    monkeypatch.setattr(energies, "_HELD_BYTES", 1)
    cut = sums(data, drift, frame_of(data, signs))
    for name in ("energy", "measured", "weight_squares", "deleted"):
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), atol=EXACT)
    size = np.sqrt(np.mean(whole.flipped**2))
    np.testing.assert_allclose(cut.flipped, whole.flipped, atol=SINGLE * size)


def test_threads_do_not_change_the_sums(rng, monkeypatch):
    data = fold_counts(rare_types_too(rng))
    drift, signs = measure_drift(data), balanced_signs(data.folds, 5, rng)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GNOMON_THREADS", threads)
        found.append(sums(data, drift, frame_of(data, signs)))
    for name in ("energy", "deleted", "deleted_classes", "flipped"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def jackknife_error(deleted):
    folds = len(deleted)
    return np.sqrt(((deleted - deleted.mean(axis=0)) ** 2).sum(axis=0) * (folds - 1) / folds)


@pytest.mark.data
@pytest.mark.wide
def test_both_routes_give_sst2_the_same_errors_and_nulls(data_root, monkeypatch):
    counts = count(
        data_root / "sst2" / "whole-sentences.tsv",
        column="0",
        tokenizer=data_root / "bert-base-uncased" / "tokenizer.json",
        length=64,
    )
    data = fold_counts(counts)
    drift, signs = measure_drift(data), balanced_signs(data.folds, 8, np.random.default_rng(0))
    compiled = sums(data, drift, frame_of(data, signs))
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    dense = sums(data, drift, frame_of(data, signs))
    np.testing.assert_allclose(compiled.energy, dense.energy, atol=EXACT)
    off = ~np.eye(data.size, dtype=bool)
    np.testing.assert_allclose(
        jackknife_error(compiled.deleted)[off], jackknife_error(dense.deleted)[off], rtol=1e-6
    )
    size = np.sqrt(np.mean(dense.flipped**2))
    np.testing.assert_allclose(compiled.flipped, dense.flipped, atol=10 * SINGLE * size)


def test_classes_are_octaves_and_hold_every_type_seen_twice(counts):
    data = fold_counts(counts)
    totals = counts.matrix.sum(axis=0)
    assert len(data.type_tokens) == (totals >= 2).sum()
    for c in range(data.classes):
        own = data.type_tokens[data.class_bounds[c] : data.class_bounds[c + 1]]
        assert len(set(np.floor(np.log2(own)))) == 1
    assert data.fold_tokens.sum() == counts.tokens


def test_counts_over_all_folds_are_those_of_the_blocks(counts):
    data = fold_counts(counts)
    for block in data.blocks():
        np.testing.assert_array_equal(data.seen(block.types), block.counts.sum(axis=1))


def test_signs_are_balanced(rng):
    signs = balanced_signs(16, 50, rng)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert not signs.sum(axis=1).any()


def test_positions_met_in_too_few_folds_are_left_out_and_too_few_folds_refused(rng):
    array = rng.poisson(3.0, (4, 5, 6))
    array[1:, 2] = 0  # position 2 occurs in one fold only
    data = fold_counts(PositionCounts.from_array(array, minimum_count=1))
    assert data.positions.tolist() == [0, 1, 3, 4]
    with pytest.raises(CountsError, match="2 folds, and debiasing needs at least 4"):
        fold_counts(PositionCounts.from_array(array[:2], minimum_count=1))
    array[1:, 1:] = 0
    with pytest.raises(CountsError, match="1 positions have tokens in at least 3 folds"):
        fold_counts(PositionCounts.from_array(array, minimum_count=1))


def test_types_that_are_all_seen_once_are_refused():
    array = np.eye(12, dtype=int).reshape(4, 3, 12)
    with pytest.raises(CountsError, match="none of the 12 types is seen in two groups"):
        fold_counts(PositionCounts.from_array(array, minimum_count=1))


def test_weights_are_short_sums_of_products_to_eight_digits(counts):
    data = fold_counts(counts)
    drift = measure_drift(data)
    for block in data.blocks():
        at = pilot(data, block, drift)
        np.testing.assert_allclose(at.at_nodes @ at.basis.T, at.weight, rtol=1e-8)


def test_interpolation_is_exact_at_nodes_and_for_polynomials(rng):
    values = rng.uniform(-1.0, 2.0, 50)
    nodes = chebyshev_nodes(values)
    np.testing.assert_allclose(lagrange(nodes, nodes), np.eye(len(nodes)), atol=1e-15)
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(lagrange(values, nodes) @ cubic(nodes), cubic(values), atol=1e-12)
