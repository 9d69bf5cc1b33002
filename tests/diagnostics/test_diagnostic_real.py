"""Real tables and a real corpus, counted here by a few lines of our own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from gnomon.diagnostics.monotonicity import violations
from gnomon.diagnostics.pairs import separation
from gnomon.diagnostics.stress_report import stress
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding

pytestmark = pytest.mark.data


@pytest.mark.parametrize("file", ["minilm_l6.npy", "mpnet_base.npy", "whisper_decoder.npy"])
def test_a_learned_table_has_the_separation_of_its_rows(data_root, file):
    path = data_root / "position-tables" / file
    rows = np.load(path, allow_pickle=False).astype(np.float64)
    made = encoding("table", path=path)
    lifted = lift(made, np.arange(len(rows)))
    gaps = pdist(rows)
    assert separation(lifted).minimum == pytest.approx(gaps.min(), rel=1e-9)
    assert separation(lifted).mean == pytest.approx(gaps.mean(), rel=1e-12)
    assert 0 <= violations(lifted).violations < 0.5


@pytest.fixture(scope="module")
def sst2(data_root):
    """Chord distances of the first 64 positions of SST-2, from counts made here."""
    import csv

    from tokenizers import Tokenizer

    with (data_root / "sst2" / "train.tsv").open(encoding="utf-8", newline="") as lines:
        rows = [
            row["sentence"]
            for row in csv.DictReader(lines, delimiter="\t", quotechar=None, quoting=csv.QUOTE_NONE)
        ]
    tokenizer = Tokenizer.from_file(str(data_root / "bert-base-uncased" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts = np.zeros((64, tokenizer.get_vocab_size()))
    for encoded in tokenizer.encode_batch(rows, add_special_tokens=False):
        ids = encoded.ids[:64]
        counts[np.arange(len(ids)), ids] += 1
    assert counts.sum() == 762_340
    return squareform(pdist(np.sqrt(counts / counts.sum(axis=1, keepdims=True))))


@pytest.mark.wide
def test_the_sinusoid_on_sst2_measures_scale(sst2):
    """Raw 236.06, of which 0.0560 is shape: the rest a better scale would remove."""
    report = stress(encoding("sinusoidal", dimension=768), sst2)
    assert report.raw == pytest.approx(236.06, abs=0.005)
    assert report.scale_free == pytest.approx(0.0560, abs=0.00005)
    assert report.scale_part == pytest.approx(report.raw - report.scale_free, rel=1e-12)
