"""Arrays that NumPy reads as numbers and are none, or that look odd and are: one gate for all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import gnomon
from gnomon.corpus.counts import PositionCounts
from gnomon.diagnostics.monotonicity import violations
from gnomon.distances.chord import centred_gram, chord_distances, double_centred
from gnomon.distances.scaling import classical_mds, smacof
from gnomon.errors import GnomonError
from gnomon.numeric.checks import plain_array, reals
from gnomon.spectra.share import toeplitz_share

COUNTS = np.arange(1, 17).reshape(4, 4)
REAL = 1.0 - np.eye(4)
LINE = np.arange(4.0)
ROPE = gnomon.encoding("rope", dimension=4)

UNUSUAL = {
    "masked": lambda a: np.ma.masked_equal(a, np.max(a)),
    "dates": lambda a: a.astype("datetime64[s]"),
    "spans": lambda a: a.astype("timedelta64[s]"),
    "records": lambda _: np.array([(1.0, 2)] * 4, dtype=[("a", float), ("b", int)]),
    "text": lambda a: a.astype(str),
    "ragged": lambda _: [[1.0, 2.0], [3.0]],
    "empty": lambda _: np.zeros((0, 0)),
    "no rows": lambda _: [],
}
TAKES = {
    "geometry": (gnomon.geometry, COUNTS),
    "counts": (PositionCounts.from_array, COUNTS),
    "chords": (chord_distances, COUNTS),
    "gram": (centred_gram, COUNTS),
    "double centred": (double_centred, REAL),
    "classical": (lambda a: classical_mds(a, 2), REAL),
    "smacof": (lambda a: smacof(a, 2), REAL),
    "fit": (gnomon.fit, REAL),
    "stress, target": (lambda a: gnomon.stress(ROPE, a), REAL),
    "stress, encoding": (lambda a: gnomon.stress(a, REAL), REAL),
    "violations": (violations, REAL),
    "violations, positions": (lambda a: violations(REAL, positions=a), LINE),
    "toeplitz": (toeplitz_share, REAL),
    "verify": (lambda a: gnomon.verify(lambda *_: a, dimension=4), REAL),
    "verify, no function": (gnomon.verify, REAL),
    "classify": (gnomon.classify, REAL),
    "realise": (lambda a: gnomon.realise(a, rank=1), LINE),
    "learned values": (
        lambda a: gnomon.encoding("learned", dimension=4, rows=4, values=a),
        REAL,
    ),
    "slopes": (lambda a: gnomon.encoding("alibi", heads=4, slopes=a), LINE),
}
MASKED = UNUSUAL["masked"]


@pytest.mark.parametrize("unusual", UNUSUAL)
@pytest.mark.parametrize("name", TAKES)
def test_what_is_no_array_of_numbers_is_refused_in_words(name: str, unusual: str) -> None:
    take, whole = TAKES[name]
    with pytest.raises(GnomonError) as told:
        take(UNUSUAL[unusual](whole))
    assert str(told.value).rstrip().endswith(".")


@pytest.mark.parametrize(
    "place",
    [
        lambda: ROPE.transform(REAL, REAL, MASKED(LINE)),
        lambda: gnomon.encoding("alibi", heads=2).bias(MASKED(LINE), LINE),
        lambda: gnomon.encoding("sinusoidal", dimension=4).vectors(MASKED(LINE)),
        lambda: gnomon.count(MASKED(COUNTS)),
        lambda: toeplitz_share(REAL, mask=np.ma.array(REAL == 0, mask=REAL > 0)),
        lambda: reals([LINE, MASKED(LINE)], "x"),
    ],
)
def test_a_mask_is_never_dropped(place) -> None:
    with pytest.raises(GnomonError, match=r"masked entries, and a mask is not dropped here; fill"):
        place()


def test_a_masked_array_without_masked_entries_is_an_array() -> None:
    assert plain_array(np.ma.array(LINE), "x holds").tolist() == LINE.tolist()


def test_positional_mds_refuses_masks_and_dates() -> None:
    pytest.importorskip("sklearn")
    from gnomon.sklearn import PositionalMDS

    for unusual in ("masked", "dates"):
        with pytest.raises(GnomonError, match=r"^X holds"):
            PositionalMDS(n_components=2).fit(UNUSUAL[unusual](COUNTS))


@pytest.mark.parametrize("kind", [">i8", ">i4", ">f8", "float16", "longdouble", "uint8"])
@pytest.mark.parametrize("take", [lambda a: gnomon.geometry(a).distances, chord_distances])
def test_counts_of_any_type_and_order_of_bytes_are_the_same_counts(take, kind: str) -> None:
    assert np.array_equal(take(COUNTS.astype(kind)), take(COUNTS))


@pytest.mark.parametrize("kind", [">i8", ">f8"])
def test_sparse_counts_of_another_order_of_bytes_are_the_same_counts(kind: str) -> None:
    given = csr_array(COUNTS)
    given.data = given.data.astype(kind)
    assert np.array_equal(chord_distances(given), chord_distances(COUNTS))


def test_float16_counts_that_are_not_whole_are_refused() -> None:
    with pytest.raises(GnomonError, match="is not a whole number"):
        chord_distances((COUNTS / 2).astype(np.float16))


@pytest.mark.parametrize("side", ["q", "k"])
def test_masked_vectors_are_refused(side):
    vectors = {"q": np.ones((2, 8)), "k": np.ones((2, 8))}
    vectors[side] = np.ma.masked_array(vectors[side], mask=np.eye(2, 8) > 0)
    with pytest.raises(GnomonError, match=f"{side} holds masked entries"):
        gnomon.encoding("rope", dimension=8).transform(vectors["q"], vectors["k"], [0, 1])
