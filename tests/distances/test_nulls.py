"""The dealt null: draws against their exact law, expectations against enumeration."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from gnomon.corpus.counting import count_with
from gnomon.corpus.options import CountOptions
from gnomon.corpus.shuffling import shuffled_counts
from gnomon.distances import estimators, nulls
from gnomon.distances.estimators import difference_means, expected_null_squares
from gnomon.distances.geometry import measure
from gnomon.distances.nulls import deal, dealt_geometry, dealt_null, null_geometry
from gnomon.errors import CountsError, InputError

TABLES = arrays(
    np.int64, st.tuples(st.integers(2, 6), st.integers(1, 7)), elements=st.integers(0, 9)
)


def stream(*words: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(words)


def zipf(rng, totals, types=400):
    law = 1.0 / np.arange(1, types + 1)
    return np.vstack([rng.multinomial(total, law / law.sum()) for total in totals])


# Drawing


@pytest.fixture(params=["compiled", "numpy", "from what remains"])
def any_route(request, monkeypatch):
    """Every way of dealing that keeps the margins."""
    monkeypatch.setenv("GNOMON_NUMBA", "1" if request.param == "compiled" else "0")
    if request.param == "from what remains":
        monkeypatch.setattr(nulls, "SHUFFLED_UP_TO", 0)
    return request.param


@pytest.mark.parametrize("numba", ["0", "1"])
@given(table=TABLES, seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_deal_keeps_every_row_and_column_sum(numba, table, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_NUMBA", numba)
        drawn = deal(table, stream(seed))
    assert drawn.sum(axis=1).tolist() == table.sum(axis=1).tolist()
    assert drawn.sum(axis=0).tolist() == table.sum(axis=0).tolist()
    assert drawn.has_canonical_format
    assert (drawn.data > 0).all()
    columns = np.split(drawn.indices, drawn.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in columns)


def tables_with_margins(rows, columns):
    """All tables with these margins, by brute force."""
    cells = itertools.product(*(range(min(r, c) + 1) for r in rows for c in columns))
    for cell in cells:
        table = np.array(cell).reshape(len(rows), len(columns))
        if (table.sum(1) == rows).all() and (table.sum(0) == columns).all():
            yield table


def test_every_table_comes_as_often_as_deals_make_it(any_route):
    """P(table) = prod N_i! prod X_v! / (T! prod x_iv!), for all with margins 3 2 2, 4 2 1."""
    rows, columns = np.array([3, 2, 2]), np.array([4, 2, 1])
    start = np.array([[3, 0, 0], [1, 1, 0], [0, 1, 1]])
    ways = {
        table.tobytes(): 1.0 / np.prod([factorial(x) for x in table.ravel()])
        for table in tables_with_margins(rows, columns)
    }
    draws = 6000
    seen = Counter(deal(start, stream(5, r)).toarray().tobytes() for r in range(draws))
    assert set(seen) <= set(ways)
    law = np.array(list(ways.values()))
    found = [seen[key] for key in ways]
    assert stats.chisquare(found, draws * law / law.sum()).pvalue > 1e-3


def test_a_cell_is_hypergeometric_also_where_hands_are_scanned(any_route):
    """A row of 300 tokens over 5 types, against scipy's law."""
    table = np.array([[100, 80, 60, 40, 20], [10, 10, 10, 10, 60], [0, 0, 50, 25, 25]])
    drawn = np.array([deal(table, stream(9, r)).toarray()[0, 0] for r in range(3000)])
    law = stats.hypergeom(500, 110, 300)
    edges = law.ppf(np.linspace(0, 1, 13)[1:-1])
    bins = np.concatenate([[-1], np.unique(edges), [500]])
    expected = np.diff(law.cdf(bins)) * drawn.size
    found = np.histogram(drawn, bins + 0.5)[0]
    assert stats.chisquare(found, expected).pvalue > 1e-3


def test_beyond_hypergeometric_numbers_rows_follow_the_pooled_law(monkeypatch):
    monkeypatch.setattr(nulls, "SHUFFLED_UP_TO", 0)
    monkeypatch.setattr(nulls, "HYPERGEOMETRIC_UP_TO", 0)
    table = np.array([[30, 10, 0], [10, 0, 10]])
    drawn = [deal(table, stream(2, r)) for r in range(2000)]
    assert all(d.sum(axis=1).tolist() == [40, 20] for d in drawn)
    cells = np.array([d.toarray()[1] for d in drawn])
    np.testing.assert_allclose(cells.mean(0), [40 / 3, 10 / 3, 10 / 3], atol=0.2)
    np.testing.assert_allclose(cells.var(0), [40 / 9, 25 / 9, 25 / 9], rtol=0.15)


def test_same_stream_same_deal_on_any_number_of_threads(rng, monkeypatch):
    counts = zipf(rng, [500] * 300)
    tables = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GNOMON_THREADS", threads)
        tables.append(deal(counts, stream(3, 1)).toarray())
    np.testing.assert_array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[0], tables[2])
    assert (deal(counts, stream(3, 2)).toarray() != tables[0]).any()


# Expectation


def enumerated(counts):
    """Return E d_ij^2 by walking through every order of the tokens."""
    rows = counts.sum(axis=1)
    tokens = np.repeat(np.arange(counts.shape[1]), counts.sum(axis=0))
    slots = np.repeat(np.arange(rows.size), rows)
    orders = set(itertools.permutations(tokens.tolist()))
    total = np.zeros((rows.size, rows.size))
    for order in orders:
        table = np.zeros(counts.shape)
        np.add.at(table, (slots, np.array(order)), 1)
        roots = np.sqrt(table / rows[:, None])
        total += np.square(roots[:, None] - roots[None]).sum(axis=-1)
    return total / len(orders)


@pytest.mark.parametrize(
    "counts",
    [
        [[2, 1], [1, 2]],
        [[2, 1, 1], [1, 2, 0]],
        [[3, 1, 0], [1, 0, 1], [0, 1, 1]],
        [[4, 0], [1, 3]],
        [[1, 1], [5, 1]],
        [[3, 3], [1, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[7], [2]],
    ],
)
def test_expectation_equals_enumeration_of_all_deals(counts, route):
    """The expansion in orthogonal polynomials is exact, not a first order."""
    counts = np.array(counts)
    np.testing.assert_allclose(expected_null_squares(counts), enumerated(counts), atol=1e-13)


def test_expectation_is_the_mean_of_draws_for_uneven_rows(rng):
    """Rows from 3 to 20,000 tokens: the largest one is more than half of the corpus."""
    counts = zipf(rng, [20_000, 9_000, 4_000, 1_000, 300, 50, 3], types=3000)
    drawn = np.array([measure(deal(counts, stream(1, r))).distances ** 2 for r in range(300)])
    pairs = np.triu_indices(7, 1)
    mean, error = drawn.mean(0)[pairs], drawn.std(0)[pairs] / np.sqrt(300)
    z = (expected_null_squares(counts)[pairs] - mean) / error
    assert np.abs(z).max() < 4.0


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_means_of_differences_agree_with_scipy(order, route):
    rows, sizes = np.array([10.0, 50.0, 140.0]), np.array([3.0, 7.0, 30.0, 120.0])
    found = difference_means(rows, sizes, order)
    x = np.arange(201)
    values = np.diff(np.sqrt(np.arange(201 + order)), n=order)
    for i, j in np.ndindex(found.shape):
        law = stats.hypergeom(200 - 2 * order, int(sizes[j]) - order, int(rows[i]) - order)
        assert found[i, j] == pytest.approx(law.pmf(x) @ values, rel=1e-9)


def test_the_series_for_large_means_agrees_with_the_sum(monkeypatch):
    counts = np.array([[9_000, 4_000, 2_000], [50_000, 20_000, 10_000], [3_000, 2_000, 1_500]])
    by_series = expected_null_squares(counts)
    monkeypatch.setattr(estimators, "SERIES_FROM", 1e9)
    monkeypatch.setattr(estimators, "TABLE", 200_000)
    by_sum = expected_null_squares(counts)
    pairs = np.triu_indices(3, 1)
    np.testing.assert_allclose(by_series[pairs], by_sum[pairs], rtol=2e-6)


def test_expectation_tends_to_v_minus_1_over_4_times_the_sum_of_reciprocals():
    """The delta method, where counts are large; 4 letters, 8 positions of unequal totals."""
    counts = np.outer(np.arange(1, 9) * 100_000, [1, 2, 3, 4])
    totals = counts.sum(axis=1)
    limit = 3 / 4 * (1 / totals[:, None] + 1 / totals[None, :])
    np.fill_diagonal(limit, 0.0)
    np.testing.assert_allclose(expected_null_squares(counts), limit, rtol=1e-4)


# What is made of it


def test_figures_of_a_null_are_those_of_its_pairs(rng, route):
    """Against numpy and scipy over the list of pairs."""
    real = measure(zipf(rng, [300] * 20, types=60))
    draws = [measure(zipf(rng, [300] * 20, types=60)) for _ in range(4)]
    found = null_geometry(real, draws, kind="shuffled")
    pairs = np.triu_indices(20, 1)
    h = real.distances[pairs]
    nulls = [d.distances[pairs] for d in draws]
    assert found.mean_distance == pytest.approx(np.mean(nulls))
    assert found.mean_squared == pytest.approx(np.mean(np.square(nulls)))
    assert found.share == pytest.approx(np.mean(np.square(nulls)) / np.mean(np.square(h)))
    correlations = [stats.pearsonr(h, d).statistic for d in nulls]
    assert found.correlation == pytest.approx(np.mean(correlations))
    assert found.spread["correlation"] == pytest.approx(np.std(correlations, ddof=1))
    tops = [np.linalg.eigvalsh(d.gram)[-1] for d in draws]
    assert found.top_eigenvalue_95 == pytest.approx(np.quantile(tops, 0.95))
    assert found.eigenvalue_quantiles.shape == (3, 20)
    np.testing.assert_allclose(found.mean_squares[pairs], np.mean(np.square(nulls), axis=0))


def test_without_position_the_dealt_null_has_all_of_the_distance(rng):
    counts = zipf(rng, np.linspace(3000, 100, 30).astype(int))
    found = dealt_null(counts, replicates=5, rng=rng)
    assert found.share == pytest.approx(1.0, abs=0.03)
    assert found.correlation > 0.9  # the totals alone make this pattern


def test_position_that_is_there_is_not_in_the_dealt_null(rng):
    """Two laws without a common token: d^2 = 2 across halves, 0 plus noise inside them."""
    law = np.ones(20) / 20
    low, high = np.eye(2)[:, :, None] * law
    halves = [np.concatenate(pair) for pair in (low, high)]
    counts = np.vstack([rng.multinomial(2000, halves[i // 10]) for i in range(20)])
    real = measure(counts)
    found = dealt_null(counts, replicates=5, rng=rng, geometry=real)
    assert found.share < 0.05
    assert real.eigenvalues[0] > 20 * found.top_eigenvalue_95
    assert real.eigenvalues[1] < 2 * found.top_eigenvalue_95


def test_largest_eigenvalue_without_position_stays_below_the_quantile_95_times_of_100(rng):
    """60 corpora: 3 are expected above, and more than 9 are a matter of one in a thousand."""
    above = 0
    for _ in range(60):
        counts = zipf(rng, [400, 300, 200, 100, 80, 60], types=50)
        found = dealt_null(counts, replicates=40, rng=rng)
        above += measure(counts).eigenvalues[0] > found.top_eigenvalue_95
    assert above <= 9


def test_more_replicates_keep_those_there_were(zipf_counts):
    one = dealt_null(zipf_counts, replicates=1, rng=np.random.default_rng(4))
    two = dealt_null(zipf_counts, replicates=2, rng=np.random.default_rng(4))
    half = two.spread["mean_squared"] / np.sqrt(2)  # of two values, half their difference
    assert min(abs(two.mean_squared - half - one.mean_squared),
               abs(two.mean_squared + half - one.mean_squared)) < 1e-12  # fmt: skip
    assert half > 1e-6
    assert one.spread["mean_squared"] is None


def test_masked_positions_are_not_dealt_to(rng):
    counts = zipf(rng, [500, 0, 300, 0, 200])
    real = measure(counts)
    drawn = dealt_geometry(counts, real, stream(1))
    assert drawn.counts_per_position.tolist() == [500, 300, 200]
    assert dealt_null(counts, replicates=2, rng=rng).positions.tolist() == [0, 2, 4]


@pytest.mark.parametrize("metric", ["chord", "angle"])
def test_metric_of_the_null_is_that_of_the_geometry(zipf_counts, metric):
    found = dealt_null(zipf_counts, metric=metric, replicates=2, rng=np.random.default_rng(0))
    assert found.metric == metric
    real = measure(zipf_counts, metric)
    assert found.share == pytest.approx(found.mean_squared / real.mean_squared)


@pytest.mark.parametrize("counts", [[[4], [7], [2]], [[2, 4], [1, 2], [3, 6]]])
def test_what_is_undefined_is_none_and_never_nan(counts):
    found = dealt_null(counts, replicates=2, rng=np.random.default_rng(0))
    assert found.share is None
    assert found.correlation is None
    assert found.spread["share"] is None
    assert json.dumps(found.to_dict(), allow_nan=False)


# What bad input gets


def test_no_replicates_are_refused():
    with pytest.raises(InputError, match="0 replicates of a null were asked for; draw 1 or more"):
        dealt_null([[1, 2], [2, 1]], replicates=0, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="a null without replicates says nothing; draw 1 or more"):
        null_geometry(measure([[1, 2], [2, 1]]), [], kind="dealt")


def test_a_geometry_of_other_counts_is_refused():
    other = measure([[1, 2], [2, 1], [1, 1]])
    with pytest.raises(CountsError, match="counts of 2 positions were given with a geometry of 3"):
        dealt_null([[1, 2], [2, 1]], rng=np.random.default_rng(0), geometry=other)


def test_a_null_of_other_positions_is_refused():
    two, three = measure([[1, 2], [2, 1]]), measure([[1, 2], [2, 1], [1, 1]])
    with pytest.raises(InputError, match=r"a null of 3 positions \(chord\) cannot be compared"):
        null_geometry(two, [three], kind="shuffled")


def test_a_debiased_geometry_is_refused():
    real = replace(measure([[1, 2], [2, 1]]), estimator="debiased")
    with pytest.raises(InputError, match="compared with plug-in distances, and these are 'debia"):
        dealt_null([[1, 2], [2, 1]], rng=np.random.default_rng(0), geometry=real)


def test_an_empty_row_has_no_expectation():
    with pytest.raises(CountsError, match="row 1 of the counts holds no token"):
        expected_null_squares([[1, 2], [0, 0]])


# Real corpora


def options_of(data_root, **options):
    return CountOptions(tokenizer=data_root / "bert-base-uncased" / "tokenizer.json", **options)


@pytest.mark.data
@pytest.mark.wide
def test_most_of_the_distance_of_sst2_is_there_when_its_tokens_are_dealt(data_root):
    """95 % and 0.97 were found by an independent script with --minimum-count 1."""
    options = options_of(data_root, column="sentence", length=64, minimum_count=1, cache=False)
    counts = count_with(data_root / "sst2" / "train.tsv", options)
    found = dealt_null(counts, replicates=10, rng=np.random.default_rng(0))
    assert found.share == pytest.approx(0.95, abs=0.015)
    assert found.correlation == pytest.approx(0.97, abs=0.01)
    masked = dealt_null(counts.with_minimum_count(10), replicates=5, rng=np.random.default_rng(0))
    assert masked.positions.size < 64
    assert masked.share > 0.9  # the rarest positions are not all of it
    assert masked.correlation > 0.95


@pytest.mark.data
@pytest.mark.wide
def test_expectation_on_sst2_is_the_mean_of_draws(data_root):
    options = options_of(data_root, column="sentence", length=64, cache=False)
    counts = count_with(data_root / "sst2" / "train.tsv", options)
    found = dealt_null(counts, replicates=10, rng=np.random.default_rng(0))
    expected = expected_null_squares(counts.matrix[np.flatnonzero(counts.kept)])
    m, error = found.positions.size, found.spread["mean_squared"] / np.sqrt(10)
    assert expected.sum() / (m * (m - 1)) == pytest.approx(found.mean_squared, abs=4 * error)


@pytest.mark.data
@pytest.mark.wide
def test_most_of_the_distance_of_imdb_is_there_without_order(data_root):
    """97 % of the mean squared distance at n = 512 is noise by an independent estimate."""
    options = options_of(data_root, column="text", length=512)
    counts = count_with(data_root / "imdb" / "train.parquet", options)
    real = measure(counts)
    dealt = dealt_null(counts, replicates=2, rng=np.random.default_rng(0), geometry=real)
    drawn = measure(shuffled_counts(data_root / "imdb" / "train.parquet", options, seed=1))
    shuffled = null_geometry(real, [drawn], kind="shuffled")
    assert real.mean_squared == pytest.approx(0.400, abs=0.001)
    assert dealt.share == pytest.approx(0.97, abs=0.03)
    assert shuffled.share == pytest.approx(0.97, abs=0.03)
