"""Claims about published figures, on the three-regime corpus they were published for.

Corpus: n = 32, V = 200, N = 2000 tokens per position, three Dirichlet(0.2) laws with borders at n/3
and 2n/3. The ranges are those of independent runs over seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from gnomon.diagnostics.monotonicity import violations
from gnomon.diagnostics.stress_report import stress
from gnomon.encodings.biases.linear import best_slope
from gnomon.encodings.fitted import fit
from gnomon.encodings.registry import encoding


def three_regimes(seed, length=32):
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(200, 0.2), size=3)
    regime = np.minimum(3 * np.arange(length) // length, 2)
    counts = np.stack([rng.multinomial(2000, laws[r]) for r in regime])
    return squareform(pdist(np.sqrt(counts / 2000)))


@pytest.fixture(scope="module", params=range(4))
def corpus(request):
    return three_regimes(request.param)


def test_raw_stress_of_the_sinusoid_is_what_its_dimension_makes_it(corpus):
    assert 1.8 < stress(encoding("sinusoidal", dimension=16), corpus).raw < 3.2
    assert 24 < stress(encoding("sinusoidal", dimension=128), corpus).raw < 37


def test_raw_stress_grows_with_dimension_while_its_shape_stays(corpus):
    """Growth is of the norm: S / d tends to a constant and S* hardly moves."""
    reports = [stress(encoding("sinusoidal", dimension=d), corpus) for d in (256, 512, 1024)]
    ratios = [report.raw / d for report, d in zip(reports, (256, 512, 1024), strict=True)]
    assert max(ratios) / min(ratios) < 1.25
    shapes = [report.scale_free for report in reports]
    assert max(shapes) - min(shapes) < 0.01


def test_order_of_the_published_table_holds(corpus):
    """MDS far below the sinusoid, which is far below N(0, 1) vectors."""
    fitted = stress(fit(corpus, dimension=2), corpus).raw
    sinusoid = stress(encoding("sinusoidal", dimension=128), corpus).raw
    drawn = stress(encoding("random", dimension=128), corpus).raw
    assert fitted < 0.05
    assert 50 * fitted < sinusoid < drawn / 4


def test_zero_scores_better_than_the_sinusoid_under_raw_stress(corpus):
    assert stress(encoding("nope"), corpus).raw == pytest.approx(1.0, rel=1e-15)
    assert stress(encoding("sinusoidal", dimension=128), corpus).raw > 1


def test_rope_with_unit_pairs_is_the_sinusoid(corpus):
    sinusoid = stress(encoding("sinusoidal", dimension=128), corpus).to_dict()
    assert stress(encoding("rope", dimension=128), corpus).to_dict() == sinusoid


def test_the_lift_decides_the_ranking_of_alibi_and_the_sinusoid(corpus):
    sinusoid = stress(encoding("sinusoidal", dimension=128), corpus).scale_free
    alibi = encoding("alibi")
    assert stress(alibi, corpus, lift="slope").scale_free > sinusoid
    assert stress(alibi, corpus, lift="kernel").scale_free < sinusoid


def test_best_slope_makes_raw_stress_scale_free(corpus):
    report = stress(encoding("alibi", slopes=(best_slope(corpus),)), corpus, lift="slope")
    assert report.best_scale == pytest.approx(1.0)
    assert report.raw == pytest.approx(report.scale_free)


def test_the_sinusoid_is_more_monotone_than_the_corpus(corpus):
    """Monotone is not the same as faithful."""
    from gnomon.encodings.lifts import lift

    sinusoid = lift(encoding("sinusoidal", dimension=128), np.arange(32))
    assert violations(sinusoid).violations < 0.05 < violations(corpus).violations


def test_smacof_beats_classical_mds_below_the_rank(corpus):
    for rank in (1, 2, 3):
        classical = stress(fit(corpus, dimension=rank), corpus).raw
        assert stress(fit(corpus, method="smacof", dimension=rank), corpus).raw < classical


def test_an_encoding_can_be_surveyed_from_counts_to_stress(rng):
    """The walk counts -> geometry -> stress on a masked corpus uses the positions that are left."""
    from gnomon.distances.geometry import measure

    counts = rng.integers(0, 40, size=(20, 30))
    counts[7] = 0
    geometry = measure(counts)
    kept = np.delete(np.arange(20), 7)
    made = encoding("sinusoidal", dimension=16)
    vectors = made.vectors(kept)
    wanted = stress(vectors, geometry.distances).raw
    assert stress(made, geometry).raw == pytest.approx(wanted, rel=1e-12)
    assert stress(made.vectors(np.arange(20)), geometry).raw == pytest.approx(wanted, rel=1e-12)
