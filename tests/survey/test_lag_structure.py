"""The lags of corpora that are read from files, and of real ones."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import CorpusError
from gnomon.survey import lag_structure


def test_a_file_of_text_is_read_document_by_document(tmp_path, rng):
    """Codons of three letters: two that vary little, one that is free."""
    lines = []
    for _ in range(80):
        letters = [
            "".join(["a", "ab"[rng.integers(2)], "cdef"[rng.integers(4)]]) for _ in range(40)
        ]
        lines.append("".join(letters)[rng.integers(3) :])
    file = tmp_path / "codons.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    found = gnomon.dependence(str(file), tokenizer="characters", lags=32)
    assert found.documents == 80
    assert found.tokens == sum(map(len, lines))
    assert found.found.periods[0] == pytest.approx(3.0, abs=0.02)
    assert "a period of 3" in found.text()


def test_nothing_is_said_to_be_nothing(rng):
    found = gnomon.dependence(rng.integers(6, size=(60, 100)).tolist(), lags=32)
    assert found.text().endswith("nothing depends on the lag, up to 32, beyond the noise")


def test_a_corpus_too_large_to_hold_is_refused(monkeypatch, rng):
    monkeypatch.setattr(lag_structure, "MOST", 1000)
    with pytest.raises(CorpusError, match=r"has more than 1,000 tokens, .* pass a smaller length"):
        gnomon.dependence(rng.integers(6, size=(60, 100)).tolist())


@pytest.mark.data
def test_promoters_fall_within_some_ten_bases_and_load_as_layers(data_root):
    """CpG and AT content vary slowly along a sequence: neighbours are alike."""
    torch = pytest.importorskip("torch")
    file = data_root / "promoters" / "hs_pos_TATA.txt"
    found = gnomon.dependence(str(file), tokenizer="dna", cache=False)
    strongest = found.found.modes[0]
    assert 5.0 < strongest.half_life < 20.0
    made = found.encoding(16)
    q = np.random.default_rng(0).normal(size=(4, 16))
    wanted = made.scores(q, q, np.arange(4))
    layer = gnomon.torch.layer(made)
    scores = layer.scores(torch.tensor(q), torch.tensor(q), torch.arange(4))
    np.testing.assert_allclose(scores.detach().numpy(), wanted, rtol=1e-6, atol=1e-6)
