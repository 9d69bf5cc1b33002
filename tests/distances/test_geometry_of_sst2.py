"""The geometry of a real corpus gives the stress values known from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from gnomon.distances import scale
from gnomon.distances.geometry import measure


@pytest.fixture(scope="module")
def sst2_counts(data_root):
    """Counts of 64 positions of SST-2 in WordPieces, by the shortest script that does it."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(data_root / "bert-base-uncased/tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    lines = (data_root / "sst2/train.tsv").read_text(encoding="utf-8").split("\n")[1:]
    counts = np.zeros((64, tokenizer.get_vocab_size()), dtype=np.int64)
    sentences = [line.split("\t")[1] for line in lines if line]
    for encoded in tokenizer.encode_batch(sentences, add_special_tokens=False):
        ids = encoded.ids[:64]
        np.add.at(counts, (np.arange(len(ids)), ids), 1)
    if counts.sum() != 762_340:
        pytest.fail("these are not the counts that are known for SST-2")
    return counts


def sinusoid(length, dimension):
    phase = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, dimension, 2) / dimension))
    return np.hstack([np.sin(phase), np.cos(phase)])


@pytest.mark.data
def test_sinusoid_on_sst2_has_raw_stress_236_06_and_scale_free_0_0560(sst2_counts):
    found = measure(sst2_counts)
    pairs = np.triu_indices(found.positions.size, 1)
    h, D = found.distances[pairs], pdist(sinusoid(64, 768)[found.positions])
    assert np.square(D - h).sum() / np.square(h).sum() == pytest.approx(236.06, abs=0.005)
    scale_free = 1 - (D @ h) ** 2 / ((D @ D) * (h @ h))
    assert scale_free == pytest.approx(0.0560, abs=0.00005)


@pytest.mark.data
def test_mds_of_sst2_is_exact_at_the_dimension_its_spectrum_certifies(sst2_counts):
    found = measure(sst2_counts)
    dimension = found.spectrum.isometric_from_dimension
    assert dimension == found.positions.size - 1  # sampled counts: full rank, and only that
    points = scale(found, dimension=dimension).vectors
    np.testing.assert_allclose(pdist(points), found.distances[np.triu_indices(64, 1)], atol=1e-13)
