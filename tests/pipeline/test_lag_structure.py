"""The lags of corpora that are read from files, and of real ones."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gnomon
from gnomon.errors import CorpusError, EncodingError
from gnomon.lags.modes import Dependence, Mode
from gnomon.pipeline import lags
from gnomon.report.lag_sentences import mode_lines


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
        "mutual information: none is detected at any single lag up to 32",
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
    information, law, life, fit, documents, slopes = found.text().splitlines()[1:]
    assert information.startswith("mutual information: ")
    assert f"detected up to lag {found.information.reach} of 64" in information
    assert law.startswith("it falls exponentially, by half every ")
    assert life.startswith("a half-life of ")
    assert fit.startswith("fit: chi^2 is ")
    assert "of it is the dependence found here, spread by shuffles" in documents
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
    assert (
        "neither a power law nor an exponential describes how it falls: dependence does not fall"
        in text
    )


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


@pytest.fixture(scope="module")
def in_phase():
    """Marks at every tenth place, in documents that all begin with one."""
    documents = np.random.default_rng(0).integers(1, 9, size=(80, 200))
    documents[:, ::10] = 0
    return gnomon.dependence(documents, lags=32)


def test_a_period_that_documents_begin_with_is_said_apart_from_dependence(in_phase):
    assert in_phase.found.modes == ()
    assert in_phase.positions.periods == (pytest.approx(10.0, abs=0.01),)
    nothing, positions = in_phase.text().splitlines()[-2:]
    assert nothing == "nothing depends on the lag, up to 32, beyond the noise"
    low, high = re.match(
        r"positions have a period of 10\S* \[(.*?), (.*?)\] tokens", positions
    ).groups()
    assert float(low) <= 10.0 <= float(high)
    assert positions.endswith(
        "(documents start in phase): tokens are distributed so over positions, and it is no "
        "dependence between tokens beyond that"
    )


def test_the_encoding_has_the_periods_of_positions_unless_they_are_not_asked_for(in_phase):
    made = in_phase.encoding(16)
    turns = 10.0 * made.frequencies / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=0.01)
    assert turns.min() > 0.9
    with pytest.raises(EncodingError, match="Nothing depends on the lag in these documents"):
        in_phase.encoding(16, positions=False)


@pytest.mark.parametrize("documents", [20, 40])
def test_a_law_of_positions_is_taken_off_of_few_documents_too(documents):
    """Stretches with laws of their own; a fold of one document would have no other to compare."""
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        edges = rng.dirichlet(np.full(6, 0.4), size=5).cumsum(axis=1)[np.arange(120) // 24]
        drawn = (rng.random((documents, 120, 1)) > edges).sum(axis=2).clip(max=5)
        alarms += gnomon.dependence(drawn, lags=32).information.reach > 0
    assert alarms <= 3  # of 12 at 5 %: more have a chance of 0.2 %


def test_one_type_tells_nothing():
    found = gnomon.dependence(np.zeros((20, 31), dtype=int), lags=27)
    assert found.information.reach == 0
    assert found.text().splitlines()[1:] == [
        "all tokens are the same: there is one type only, and nothing that could depend"
    ]


def test_tokens_that_depend_but_are_never_equal_are_said_to(rng):
    """A letter at an even place is told again in other letters 21 places later."""
    documents = np.empty((100, 400), dtype=int)
    documents[:, ::2] = rng.integers(2, size=(100, 200))
    documents[:, 1::2] = rng.integers(2, 4, size=(100, 200))
    documents[:, 21::2] = documents[:, :-21:2] + 2
    found = gnomon.dependence(documents, lags=64)
    text = found.text()
    assert found.found.modes == ()
    assert re.search(
        r"at lag 1, most at lag 21 with 0\.\d+ bits, detected up to lag 21 of 64", text
    )
    assert re.search(r"depend on each other up to lag 21 \(0\.\d+ bits there\), but not by", text)
    assert "no period and no half-life is read from it" in text
    assert "nothing depends" not in text


def test_what_alternates_is_said_without_an_interval(rng):
    turns = rng.integers(2, size=(60, 1)) + np.arange(200)
    text = gnomon.dependence(2 * (turns % 2) + rng.integers(2, size=turns.shape), lags=32).text()
    assert "a period of 2 tokens (it alternates), amplitude" in text


def test_slopes_are_said_for_the_heads_that_are_asked_for(rng):
    found = gnomon.dependence([staying(rng, 0.9, 300) for _ in range(60)], lags=64)
    ladder = found.text(heads=3).splitlines()[-1]
    said = [float(one) for one in ladder.removeprefix("slopes for 3 heads: ").split(", ")]
    assert said == pytest.approx(found.encoding(family="alibi", heads=3).slopes, rel=5e-3)


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
    assert list(mode_lines(found)) == [
        "a half-life of 2 [1.9, 2.1] tokens, turning once in 8, amplitude 0.5"
    ]


def phrases(rng, *, documents=60, count=48):
    """Measures of eight that return after two or three of them, never after one."""
    made = []
    for _ in range(documents):
        measures = list(rng.integers(12, size=(3, 8)))
        for _ in range(count - 3):
            again = measures[-2] if rng.random() < 0.6 else measures[-3]
            text = np.where(rng.random(8) < 0.7, again, rng.integers(12, size=8))
            text = np.where(text == measures[-1], rng.integers(12, size=8), text)
            measures.append(text)
        made.append(np.concatenate(measures)[rng.integers(8) :])
    return made


@pytest.fixture(scope="module")
def music():
    return gnomon.dependence(phrases(np.random.default_rng(0)), lags=96)


def test_modes_that_do_not_fit_are_withheld_and_the_measured_peaks_are_said(music):
    """A period of 8 was named where tokens eight apart are less alike than by chance."""
    assert music.kernel.values[7] < 0.0
    assert music.found.periods == ()
    assert music.found.fit.poor
    text = music.text()
    assert "these modes do not fit: chi^2 is " in text
    assert "withheld: no turns and decays of such a size stand above what is left" in text
    best = int(np.argmax(music.kernel.values)) + 1
    assert f"tokens are most alike at lags {best} ({music.kernel.values[best - 1]:.2g})" in text
    assert "nothing depends" not in text
    fit = json.loads(json.dumps(music.to_dict(), allow_nan=False))["found"]["fit"]
    assert fit["chi2_per_dof"] > 2.0
    assert fit["withheld"] > 0


def test_lags_with_less_than_nothing_are_never_the_most(rng):
    """Documents that remember for longer than they last: beyond some lag less than shuffles."""
    for seed in range(4):
        made = []
        for _ in range(120):
            held = np.ceil(np.random.default_rng([seed, len(made)]).random(200) ** (-1.0 / 1.2))
            line = np.repeat(rng.integers(4, size=200), held.astype(int).clip(max=2000))
            start = rng.integers(len(line) - 200 + 1)
            made.append(line[start : start + 200])
        found = gnomon.dependence(made, lags=128)
        bits = found.information
        assert bits.values[bits.strongest] > 0.0
        assert np.all(bits.values[bits.detected] > 0.0)
        assert bits.reach == int(bits.lags[bits.detected].max())
        said = re.search(r"most at lag \d+ with (\S+) bits", found.text())
        assert said is None or float(said.group(1)) > 0.0


def test_what_shuffles_take_off_is_given_back_beside(rng):
    """A state of half-life 20 in documents of 128: 7/8 2^(-5) is left at lag 100, and not -0.28."""
    made = []
    for _ in range(300):
        held = np.where(rng.random(128) < 2.0 ** (-1.0 / 20.0), 0, np.arange(128))
        made.append(rng.integers(8, size=128)[np.maximum.accumulate(held)])
    found = gnomon.dependence(made, lags=112)
    lags = np.arange(1, 113)
    truth = 7.0 / 8.0 * 2.0 ** (-lags / 20.0)
    assert found.kernel.values[99] < -0.2
    assert np.abs(found.kernel.whole - truth)[:100].max() < 0.05
    assert -found.found.constant == pytest.approx(found.kernel.level.mean(), rel=0.15)
    said = re.search(r"the excess of equal tokens at lag 100 is (\S+)", found.text())
    assert float(said.group(1)) == pytest.approx(truth[99], abs=0.03)


def test_topics_are_said_to_be_no_order(rng):
    laws = rng.dirichlet(np.full(8, 0.4), size=80)
    found = gnomon.dependence([rng.choice(8, p=law, size=150) for law in laws], lags=48)
    truth = float((laws**2).sum(axis=1).mean() - (laws.mean(axis=0) ** 2).sum())
    assert found.found.modes == ()
    assert found.kernel.level[20] == pytest.approx(truth, abs=0.02)
    text = found.text()
    assert "tokens of one document are equal by +0.2" in text or "equal by +0.1" in text
    assert "memory longer than they are, which lags do not tell apart" in text


def test_the_kernel_of_the_layer_is_compared_with_the_measured_one(music):
    """A period that the layer has is explained; of two waves that it adds as one it is not."""
    rng = np.random.default_rng(3)
    place = rng.integers(6, size=(100, 1)) + np.arange(240)
    laws = rng.dirichlet(np.full(8, 0.4), size=6).cumsum(axis=1)
    documents = (rng.random((100, 240, 1)) > laws[place % 6]).sum(axis=2).clip(max=7)
    found = gnomon.dependence(documents, lags=64)
    fit = found.layer_fit(found.encoding(64))
    assert fit.explained > 0.9
    other = gnomon.encoding("jordan", dimension=2, order=1, frequencies=[[0.9]], decays=[-9.0])
    assert found.layer_fit(other).explained < 0.2
    with pytest.raises(EncodingError):
        music.encoding(64)


def test_few_of_many_periods_are_told():
    modes = tuple(
        Mode(
            period=float(period),
            period_interval=(period - 0.01, period + 0.01),
            half_life=float("inf"),
            half_life_interval=None,
            amplitude=1.0 / period,
        )
        for period in (5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    )
    lines = list(mode_lines(Dependence(modes=modes, rank=20, lags=128, largest_error=0.0)))
    assert lines[0].startswith("a period of 5 [")
    assert len(lines) == 9
    assert lines[-1] == "and 2 weaker ones"


def test_a_clock_that_wanders_is_one_mode_that_falls():
    """Steps of a phase have a spread s: 10 falls by half in ln 2 / (2 pi^2 s^2 / 100)."""
    life = np.log(2.0) / (2.0 * np.pi**2 * 0.35**2 / 100.0)
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        laws = rng.dirichlet(np.full(12, 0.4), size=10)
        phases = rng.random((200, 1)) * 10 + np.cumsum(1 + rng.normal(0, 0.35, (200, 256)), axis=1)
        edges = laws.cumsum(axis=1)[np.floor(phases % 10).astype(int)]
        tokens = (rng.random((200, 256, 1)) > edges).sum(axis=-1).clip(max=11)
        found = gnomon.dependence(tokens.tolist(), lags=64)
        turning = [one for one in found.found.modes if abs(one.period - 10.0) < 0.5]
        assert [one.half_life for one in turning] == pytest.approx([life], rel=0.25)
        assert all(np.isfinite(one.half_life) for one in found.found.modes)
        assert "a part that falls" not in found.text()


def test_near_copies_are_spoken_of_unless_they_are_held_together(rng):
    """Ten of 110 documents are others with one token in twenty changed; none has an order."""
    law = 1.0 / np.arange(1, 41) ** 1.1
    documents = rng.choice(40, p=law / law.sum(), size=(100, 200))
    copies = np.where(rng.random((10, 200)) < 0.05, 0, documents[:10])
    whole = np.concatenate([documents, copies]).tolist()
    told = gnomon.dependence(whole, lags=64)
    assert "20 of 110 different documents are near-copies of others" in told.text()
    held = gnomon.dependence(whole, lags=64, group="near-copies")
    assert held.notes == ()
    assert "nothing depends on the lag" in held.text()
    assert gnomon.dependence(documents.tolist(), lags=64).notes == ()


def test_palindromes_alternate_and_have_no_period_beside_two():
    """Tokens that are the same from both ends are at odd lags."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 4242])
        law = 1.0 / np.arange(1, 31) ** 1.1
        halves = rng.choice(30, p=law / law.sum(), size=(200, 100))
        found = gnomon.dependence(np.hstack([halves, halves[:, ::-1]]).tolist(), lags=64)
        assert all(abs(period - 2.0) < 1e-9 for period in found.found.periods)


def test_one_type_is_said_where_there_is_one_and_not_where_all_are_rare(rng):
    same = gnomon.dependence(np.zeros((40, 40), dtype=int).tolist(), lags=16)
    assert "all tokens are the same" in same.text()
    many = gnomon.dependence(rng.integers(2000, size=(60, 200)).tolist(), lags=16)
    assert "all tokens are the same" not in many.text()
    assert "are merged into 8 of them" in many.text()


def test_documents_in_which_no_token_repeats_are_said_to_be_that(rng):
    found = gnomon.dependence([rng.permutation(40).tolist() for _ in range(150)], lags=24)
    assert "no token comes twice in a document" in found.text()
    assert "positions alone tell" not in found.text()
    assert found.found.periods == ()


def test_rare_words_are_said_to_be_merged(rng):
    words = rng.zipf(1.4, size=(40, 100)).clip(max=300)
    text = gnomon.dependence(words.tolist(), lags=16).text()
    assert "rarer ones, " in text
    assert "which can only lower the information" in text


def test_a_corpus_too_large_to_hold_is_refused(monkeypatch, rng):
    monkeypatch.setattr(lags, "MOST", 1000)
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


def test_copies_are_held_together_and_are_no_evidence_of_dependence():
    alarms = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        own = [rng.choice(12, p=np.arange(1, 13) / 78, size=96) for _ in range(40)]
        found = gnomon.dependence(own * 4, lags=32, cache=False)
        assert "160 documents are 40 different ones" in found.text()
        alarms += found.information.reach > 0 or bool(found.found.modes)
    assert alarms <= 1


def test_errors_of_copies_are_those_of_the_documents_they_are_copies_of(rng):
    own = [np.cumsum(rng.integers(1, 3, size=80)) % 9 for _ in range(60)]
    once = gnomon.dependence(own, lags=24, cache=False).kernel
    thrice = gnomon.dependence(own * 3, lags=24, cache=False).kernel
    rows = gnomon.dependence(own * 3, lags=24, group="rows", cache=False).kernel
    assert np.median(thrice.errors / once.errors) == pytest.approx(1.0, abs=0.25)
    assert np.median(rows.errors / once.errors) < 0.75


def test_documents_that_are_a_few_different_ones_are_read_and_said_to_be():
    found = gnomon.dependence([np.roll([0, 1, 1] * 30, k % 3) for k in range(64)], lags=32)
    assert [round(period, 2) for period in found.found.periods] == [3.0]
    assert "64 documents are 3 different ones, too few to be taken for copies" in found.text()
    assert found.to_dict()["notes"] == list(found.notes)
