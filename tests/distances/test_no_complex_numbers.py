"""Whatever takes an array refuses complex numbers in one sentence: none loses an imaginary part."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import gnomon
from gnomon import oracle
from gnomon.cli.app import run
from gnomon.corpus.counts import PositionCounts
from gnomon.diagnostics.monotonicity import violations
from gnomon.distances.chord import (
    angle,
    centred_gram,
    chord_distances,
    counts_matrix,
    double_centred,
)
from gnomon.distances.scaling import classical_mds, smacof
from gnomon.errors import GnomonError
from gnomon.groups.generator import Block, Generator
from gnomon.lab.heads import gini
from gnomon.lab.stability import has_diverged
from gnomon.lab.table import holm, over_seeds
from gnomon.spectra.lattice import isotropy
from gnomon.spectra.modes import cosine_eigenvalues, modes, most_rank
from gnomon.spectra.share import gram_spectrum, toeplitz_share
from gnomon.spectra.toeplitz import BlockToeplitz, block_eigenvalues

SQUARE = np.ones((4, 4)) + 0.5j - (1.0 + 0.5j) * np.eye(4)
LINE = np.array([4 + 1j, 3, 2, 1])
PAIRS = SQUARE[:, :2]
REAL = 1.0 - np.eye(4)
AT = np.arange(4)


def rope():
    return gnomon.encoding("rope", dimension=4)


def sinusoidal():
    return gnomon.encoding("sinusoidal", dimension=4)


def turn():
    return Generator((Block(frequency=1.0),))


ENTRIES = {
    "distances": lambda: gnomon.geometry(SQUARE),
    "counts": lambda: PositionCounts.from_array(SQUARE),
    "counts, sparse": lambda: counts_matrix(csr_array(SQUARE)),
    "chords": lambda: chord_distances(SQUARE),
    "gram": lambda: centred_gram(SQUARE),
    "double centred": lambda: double_centred(SQUARE),
    "angle": lambda: angle(SQUARE),
    "classical": lambda: classical_mds(SQUARE, 2),
    "smacof": lambda: smacof(SQUARE, 2),
    "smacof, start": lambda: smacof(REAL, 2, start=PAIRS),
    "fit": lambda: gnomon.fit(SQUARE),
    "stress, target": lambda: gnomon.stress(rope(), SQUARE),
    "stress, encoding": lambda: gnomon.stress(SQUARE, REAL),
    "violations": lambda: violations(SQUARE),
    "violations, lags": lambda: violations(REAL, SQUARE),
    "violations, positions": lambda: violations(REAL, positions=LINE),
    "classify": lambda: gnomon.classify(SQUARE),
    "equivalent": lambda: gnomon.equivalent(SQUARE, SQUARE),
    "realise": lambda: gnomon.realise(LINE, rank=1),
    "compile_bias": lambda: gnomon.compile_bias(LINE, length=4),
    "time_unit": lambda: gnomon.time_unit(LINE),
    "count": lambda: gnomon.count(SQUARE),
    "count, documents": lambda: gnomon.count([LINE]),
    "dependence": lambda: gnomon.dependence([LINE]),
    "learned values": lambda: gnomon.encoding("learned", dimension=2, rows=4, values=PAIRS),
    "slopes": lambda: gnomon.encoding("alibi", heads=4, slopes=LINE),
    "positions": lambda: rope().transform(REAL, REAL, LINE),
    "positions, list": lambda: rope().transform(REAL, REAL, LINE.tolist()),
    "queries": lambda: rope().transform(SQUARE, REAL, AT),
    "queries, list": lambda: rope().transform(SQUARE.tolist(), REAL.tolist(), AT),
    "scores": lambda: rope().scores(SQUARE, SQUARE, AT),
    "vectors": lambda: sinusoidal().vectors(LINE),
    "oracle, positions": lambda: oracle.vectors(sinusoidal(), LINE),
    "oracle, scores": lambda: oracle.scores(rope(), SQUARE, SQUARE, AT),
    "block": lambda: Block(frequency=1.0).apply(PAIRS, AT),
    "block, times": lambda: Block(frequency=1.0).apply(PAIRS.real, LINE),
    "generator": lambda: turn().exp(LINE),
    "generator, scores": lambda: turn().scores(PAIRS, PAIRS, AT, AT),
    "generator, basis": lambda: Generator((Block(frequency=1.0),), basis=SQUARE[:2, :2]),
    "gram spectrum": lambda: gram_spectrum(SQUARE),
    "toeplitz share": lambda: toeplitz_share(SQUARE),
    "toeplitz blocks": lambda: BlockToeplitz(LINE),
    "eigenvalues": lambda: block_eigenvalues(LINE),
    "cosines": lambda: cosine_eigenvalues(LINE, AT, 4),
    "cosines, weights": lambda: cosine_eigenvalues(AT, LINE, 4),
    "rank": lambda: most_rank(LINE, 4),
    "isotropy": lambda: isotropy(LINE, AT),
    "modes": lambda: modes(LINE, AT.astype(float)),
    "modes, frequencies": lambda: modes(AT.astype(float), LINE),
    "losses": lambda: has_diverged(LINE),
    "seeds": lambda: over_seeds(LINE),
    "p-values": lambda: holm(LINE),
    "drops": lambda: gini(LINE),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_complex_numbers_are_refused_in_one_sentence(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GnomonError) as caught:
            ENTRIES[name]()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert re.search(r"complex|j|real numbers|integer|not numbers", sentence), sentence


@pytest.mark.parametrize(
    "words", [["stress", "rope"], ["pipeline"], ["fit"], ["classify"], ["verify"], ["spectrum"]]
)
def test_the_command_line_refuses_complex_files(words, tmp_path, capsys):
    path = tmp_path / "complex.npy"
    np.save(path, SQUARE)
    assert run([*words, str(path)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines


def test_scikit_learn_refuses_in_its_own_words():
    from gnomon.sklearn import PositionalMDS

    with pytest.raises(ValueError, match="Complex data not supported"):
        PositionalMDS().fit(SQUARE)


def test_real_numbers_that_are_objects_or_half_types_still_pass():
    from gnomon.numeric.checks import reals

    assert reals(np.array([1, 2.5], dtype=object), "x").tolist() == [1.0, 2.5]
    assert reals(np.array([1.5], dtype=np.float16), "x").tolist() == [1.5]


def test_rooms_that_take_arrays_read_them_by_the_helper():
    """A bare np.asarray(argument, float64) in these files would drop an imaginary part."""
    source = Path(gnomon.__file__).parent
    bare = re.compile(r"np\.asarray\((\w+), (?:dtype=)?(?:np\.float64|float)\)")
    made_here = {"groups/compilation.py"}
    rooms = ("distances", "groups", "spectra", "diagnostics", "lab", "pipeline")
    found = {
        str(path.relative_to(source))
        for room in rooms
        for path in (source / room).rglob("*.py")
        if bare.search(path.read_text())
    }
    assert found - made_here <= {"spectra/checks.py", "groups/logit_function.py"}
