"""The lags of corpora that are read from files, and of real ones."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gnomon
from gnomon.errors import CorpusError
from gnomon.groups.dependence import Dependence, Mode
from gnomon.survey import lag_structure
from gnomon.survey.lag_words import said_modes


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
    assert found.text().splitlines()[1:] == [
        "mutual information: none is detected at lags up to 32",
        "nothing depends on the lag, up to 32, beyond the noise",
    ]
    assert found.slopes == ()
    json.dumps(found.to_dict(), allow_nan=False)


def staying(rng, share, length):
    """A token that stays with a probability, or is drawn anew."""
    held = np.maximum.accumulate(np.where(rng.random(length) < share, 0, np.arange(length)))
    return rng.integers(6, size=length)[held]


def test_a_half_life_its_law_and_its_slopes_are_said_in_words(rng):
    found = gnomon.dependence([staying(rng, 0.9, 300) for _ in range(100)], lags=64)
    information, law, life, slopes = found.text().splitlines()[1:]
    assert information.startswith("mutual information: ")
    assert f"detected up to lag {found.information.reach} of 64" in information
    assert law.startswith("it falls exponentially, by half every ")
    assert life.startswith("a half-life of ")
    assert slopes.startswith("slopes for 8 heads: ")
    # Covariances fall as 0.9^lag, their squares twice as fast.
    truth = np.log(0.5) / np.log(0.9)
    assert found.found.modes[0].half_life == pytest.approx(truth, rel=0.1)
    assert found.law.half_life == pytest.approx(truth / 2.0, rel=0.15)
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["law"]["law"] == "exponential"
    assert said["information"]["values"][0] == pytest.approx(float(found.information.values[0]))


def test_a_bar_and_its_beat_are_said_together(rng):
    documents = []
    for _ in range(100):
        place = (rng.integers(16) + np.arange(300)) % 16
        text = np.where((place % 4 == 0) & (rng.random(300) < 0.8), 1, rng.integers(2, 9, size=300))
        documents.append(np.where((place == 0) & (rng.random(300) < 0.8), 0, text))
    text = gnomon.dependence(documents, lags=128).text()
    assert "a period of 16 [" in text
    assert "in 8 harmonics, of which a period of 4 is the strongest" in text
    assert "it follows no law of falling: dependence does not fall" in text


def test_lines_longer_than_half_the_lags_are_found_from_further_lags(rng):
    documents = rng.integers(1, 30, size=(60, 600))
    for text in documents:
        text[rng.integers(50) :: 50] = 0
    found = gnomon.dependence(documents, lags=64)
    assert found.found.periods == (pytest.approx(50.0, abs=0.05),)
    assert len(found.kernel.lags) == len(found.information.lags) == 64


def test_a_law_of_positions_is_said_and_taken_off(rng):
    documents = rng.integers(1, 9, size=(80, 200))
    documents[:, ::10] = 0
    text = gnomon.dependence(documents, lags=32).text()
    assert "mutual information: none is detected" in text
    assert re.search(r"positions alone tell 0\.\d+ bits at lag [123]0: that is no depend", text)


def test_lags_of_few_long_documents_are_left_out(rng):
    """Of 30 documents 28 have 40 tokens, two have 400: at lag 38 an eighth of all pairs is left."""
    documents = [rng.integers(4, size=size) for size in [40] * 28 + [400] * 2]
    found = gnomon.dependence(documents, lags=300)
    pairs = sum(np.maximum(len(x) - np.arange(1, 301), 0) for x in documents)
    assert found.kernel.lags[-1] == np.flatnonzero(pairs >= pairs[0] / 8)[-1] + 1


def test_what_falls_before_it_turns_is_not_called_a_period():
    """A covariance of 2^(-lag / 2) cos(2 pi lag / 8): a fourth is left after half a period."""
    mode = Mode(
        period=8.0,
        period_interval=(7.9, 8.1),
        half_life=2.0,
        half_life_interval=(1.9, 2.1),
        amplitude=0.5,
    )
    found = Dependence(modes=(mode,), rank=2, lags=32, largest_error=0.0)
    assert found.periods == ()
    assert list(said_modes(found)) == [
        "a half-life of 2 [1.9, 2.1] tokens, turning once in 8, amplitude 0.5"
    ]


def test_rare_words_are_said_to_be_merged(rng):
    words = rng.zipf(1.4, size=(40, 100)).clip(max=300)
    text = gnomon.dependence(words.tolist(), lags=16).text()
    assert "rare ones, " in text
    assert "which can only lower the information" in text


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
