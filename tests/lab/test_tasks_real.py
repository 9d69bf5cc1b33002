"""Tasks on real rows: sizes, splits and observers, against the files themselves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Batch
from gnomon.lab.tasks.characters import SIZE, successors
from gnomon.lab.tasks.documents import bag_accuracy, consistent_share, slot_accuracy

FILES = ("splice", "promoters", "promoter-alignment", "sentences")


def rng_of(seed=0):
    return np.random.default_rng(seed)


def rows_of(batch):
    return {tuple(row) for row in batch.tokens.tolist()}


@pytest.mark.data
def test_splice_rows_are_those_of_the_file(data_root):
    """Every row with its label, read with a plain split; letters A C G T are 1..4, others 5."""
    made = task("splice", data=str(data_root))
    lines = (data_root / "splice" / "splice.data").read_text().split()
    labels = [line.rstrip(",") for line in lines[0::3]]
    letters = [tuple("ACGT".find(x) + 1 or 5 for x in row) for row in lines[2::3]]
    documents = made.documents()
    assert list(map(tuple, documents.tokens.tolist())) == letters
    assert documents.labels.tolist() == [("EI", "IE", "N").index(label) for label in labels]


@pytest.mark.data
@pytest.mark.parametrize("name", ["splice", "sentences"])
def test_no_row_is_both_trained_on_and_held_out(data_root, name):
    made = task(name, data=str(data_root))
    train = made.batch(rng_of(), 5000)
    held = made.held_out().batch(rng_of(), 5000)
    width = max(train.tokens.shape[1], held.tokens.shape[1])
    wide = [np.pad(b.tokens, ((0, 0), (0, width - b.tokens.shape[1]))) for b in (train, held)]
    kept = [rows[(rows == 1).sum(axis=1) == 0] for rows in wide]  # unknown words hide differences
    if name == "splice":
        kept = wide
    assert not {tuple(r) for r in kept[0].tolist()} & {tuple(r) for r in kept[1].tolist()}
    share = held.size / len(made.documents().tokens)
    assert 0.1 < share < 0.15


@pytest.mark.data
def test_other_folds_hold_out_other_rows_and_all_of_them_together(data_root):
    folds = [task("splice", data=str(data_root), fold=fold).held_out() for fold in range(8)]
    sizes = [made.batch(rng_of(), 9999).size for made in folds]
    assert sum(sizes) == 3190
    assert not rows_of(folds[0].batch(rng_of(), 9999)) & rows_of(folds[1].batch(rng_of(), 9999))


@pytest.mark.data
def test_naive_bayes_finds_splice_junctions_by_place_and_not_by_composition(data_root):
    """Per-slot naive Bayes is known to reach about 95 %; scikit-learn agrees on the same rows."""
    bayes = pytest.importorskip("sklearn.naive_bayes")
    made = task("splice", data=str(data_root))
    ceiling = made.ceiling()
    assert ceiling.interval[0] > 0.93
    assert ceiling.prior < 0.6
    train, test = made.batch(rng_of(0), 6000), made.held_out().batch(rng_of(1), 6000)
    judge = bayes.CategoricalNB(min_categories=6).fit(train.tokens, train.targets)
    ours = slot_accuracy(train, test, classes=3, vocabulary=6)
    assert ours == pytest.approx(judge.score(test.tokens, test.targets), abs=0.01)


@pytest.mark.data
@pytest.mark.parametrize("name", ["promoters", "promoter-alignment"])
def test_right_and_wrong_promoters_have_the_same_letters(data_root, name):
    made = task(name, data=str(data_root)).held_out()
    batch = made.batch(rng_of(), 10_000)
    bags = np.sort(batch.tokens, axis=1)
    right, wrong = (Counter(map(tuple, bags[batch.targets == k].tolist())) for k in (1, 0))
    assert right == wrong
    ceiling = made.ceiling()
    assert ceiling.prior == ceiling.constant == 0.5
    assert ceiling.interval[0] > 0.85


@pytest.mark.data
def test_promoters_have_their_tata_box_where_the_text_says(data_root):
    """T A T A A A some 30 slots before the start at slot 249 of the file."""
    batch = task("promoters", data=str(data_root)).held_out().batch(rng_of(), 10_000)
    right = batch.tokens[batch.targets == 1]
    box = np.lib.stride_tricks.sliding_window_view(right, 6, axis=1) == [4, 1, 4, 1, 1, 1]
    places = np.nonzero(box.all(axis=2))[1] + 200
    assert len(places) > 50
    assert 212 < np.median(places) < 224


@pytest.mark.data
def test_turned_promoters_are_turned_by_a_quarter_or_more(data_root):
    made = task("promoter-alignment", data=str(data_root)).held_out()
    rows = rng_of().integers(1, 5, (50, 64))
    for row, turned in zip(rows, made.wrong(rng_of(1), rows), strict=True):
        shifts = [k for k in range(64) if np.array_equal(np.roll(row, -k), turned)]
        assert len(shifts) == 1
        assert 16 <= shifts[0] <= 48


@pytest.mark.data
def test_sentences_come_by_length(data_root):
    made = task("sentences", data=str(data_root), length=20)
    assert made.batch(rng_of(), 3000).mask.sum(axis=1).max() == 20
    longer = made.held_out().batch(rng_of(), 3000, length=40).mask.sum(axis=1)
    assert longer.min() == 21
    assert longer.max() <= 40


@pytest.mark.data
def test_words_of_sentences_are_known_from_training_rows_only(data_root):
    made = task("sentences", data=str(data_root), least_count=3)
    seen = made.batch(rng_of(), 60_000).tokens
    assert set(np.unique(seen)) <= set(range(made.vocabulary))
    held = made.held_out().batch(rng_of(), 2000).tokens
    assert (held == 1).any()
    documents = made.documents()
    trained = documents.tokens[documents.folds > 1]  # the test is fold 0, the validation fold 1
    counts = np.bincount(trained[trained > 1], minlength=made.vocabulary)[2:]
    assert counts.min() == 3


@pytest.fixture(scope="module")
def characters():
    return task("characters", length=20)


def test_characters_ask_for_the_next_one(characters):
    batch = characters.batch(rng_of(), 50)
    assert (batch.tokens[:, 1:] == batch.targets[:, :-1] + 1).all()
    assert batch.targets.max() < characters.classes
    assert characters.batch(rng_of(), 4, length=33).tokens.shape == (4, 33)


def test_characters_are_those_of_python_source(characters):
    """`def ` and `return ` are common in it; tokens are code points in a row from the blank on."""
    stream = characters.held_out().stream()
    text = "".join("\n" if t == 2 else chr(t + 29) for t in stream.tolist())
    assert text.count("def ") > 500
    assert text.count("return ") > 500
    assert (stream == 1).mean() < 0.01


def test_counting_characters_reaches_what_it_says(characters):
    """A dictionary of contexts in plain Python, on a piece of the stream."""
    stream = characters.stream()[:20_000]
    train, test = stream[:18_000], stream[18_000:]
    table: dict[tuple, Counter] = {}
    for at in range(3, len(train)):
        table.setdefault(tuple(train[at - 3 : at]), Counter())[int(train[at])] += 1
    named = successors(train, test, 3)
    for at in range(3, len(test)):
        seen = table.get(tuple(test[at - 3 : at]))
        if seen is None:
            assert named[at - 3] == 0
        else:
            assert seen[int(named[at - 3])] == max(seen.values())


def test_the_ceiling_of_characters_is_ordered_and_named_an_estimate(characters):
    ceiling = characters.ceiling()
    assert 0.1 < ceiling.constant < ceiling.prior < ceiling.value < 0.8
    assert ceiling.how == "estimated"
    assert ceiling.interval == (ceiling.value, 1.0)
    assert "not known" in ceiling.note
    assert SIZE == 98


def test_digits_are_patches_with_their_places_on_the_grid():
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    known = {tuple(image): label for image, label in zip(images.tolist(), labels, strict=True)}
    batch = task("digits").held_out().batch(rng_of(), 40)
    for row in range(40):
        image = np.zeros((8, 8))
        for values, (down, right) in zip(batch.values[row], batch.positions[row], strict=True):
            top, left = int(2 * down), int(2 * right)
            image[top : top + 2, left : left + 2] = 16 * values.reshape(2, 2)
        assert known[tuple(image.reshape(-1))] == batch.targets[row]
    means = 16 * batch.values.mean(axis=2)
    assert (np.abs(batch.tokens - 1 - means) <= 0.5).all()


def test_a_raster_of_digits_is_the_same_without_places():
    grid, raster = (
        task(name, length=64).batch(rng_of(), 8) for name in ("digits", "digits-raster")
    )
    assert raster.positions is None
    assert (grid.tokens == raster.tokens).all()
    assert grid.positions.shape == (8, 64, 2)
    assert (task("digits").axes, task("digits-raster").axes) == (2, 1)


def test_naive_bayes_on_bags_is_that_of_scikit_learn():
    bayes = pytest.importorskip("sklearn.naive_bayes")
    made = task("digits-raster")
    train, test = made.batch(rng_of(0), 1500), made.held_out().batch(rng_of(1), 500)
    bags = [
        np.stack([np.bincount(row, minlength=18) for row in batch.tokens])
        for batch in (train, test)
    ]
    judge = bayes.MultinomialNB().fit(bags[0], train.targets)
    ours = bag_accuracy(train, test, classes=10, vocabulary=18)
    assert ours == pytest.approx(judge.score(bags[1], test.targets), abs=0.01)


def test_contradictions_bound_the_ceiling():
    tokens = np.array([[1], [1], [1], [2]])
    batch = Batch(tokens=tokens, targets=np.array([0, 0, 1, 1]), mask=tokens > 0)
    assert consistent_share(batch) == 0.75


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("splice", {}, "task splice reads real data: name the folder that holds splice"),
        ("splice", {"fold": 8}, "fold is 8; there are 8, numbered from 0"),
        ("splice", {"part": "held"}, "part is 'held'; it is one of train, validation, test"),
        ("digits", {"drawn": "no"}, "drawn is 'no'; it is true or false"),
        ("promoters", {"species": "rat"}, "species is 'rat'; it is one of human, mouse"),
        ("digits", {"length": 9}, "length is 9; 8 x 8 points make 64, 16 or 4 patches"),
        ("sentences", {"least_count": 0}, "least_count is 0; it must be a whole number of 1"),
        ("characters", {"length": 0}, "length is 0; it must be a whole number of 1 or more"),
    ],
)
def test_a_real_task_that_can_not_be_is_refused(name, parameters, message):
    with pytest.raises(LabError, match=message):
        task(name, **parameters).batch(rng_of(), 1)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_without_the_file_is_named(name, tmp_path):
    with pytest.raises(LabError, match=rf"task {name}: .* holds no .*; pass the folder that does"):
        task(name, data=str(tmp_path)).batch(rng_of(), 1)


def test_labels_that_are_not_known_are_named(tmp_path):
    (tmp_path / "splice.data").write_text("XX, one, ACGT\nEI, two, ACGA\n")
    with pytest.raises(LabError, match="has the label 'XX'; it must be one of EI, IE, N"):
        task("splice", data=str(tmp_path)).batch(rng_of(), 1)
    (tmp_path / "whole-sentences.tsv").write_text("a fine film\t1\na poor film\t2\n")
    with pytest.raises(LabError, match="has the label '2'; it must be 0 or 1"):
        task("sentences", data=str(tmp_path)).batch(rng_of(), 1)


def test_lengths_that_are_not_there_are_refused(tmp_path):
    (tmp_path / "hs_pos_TATA.txt").write_text("ACGTACGTAC\nTTGACCATGA\n")
    made = task("promoters", data=str(tmp_path), start=2, length=8)
    with pytest.raises(LabError, match="all rows have 8 tokens, so there are none of 9; leave"):
        made.batch(rng_of(), 1, length=9)
    with pytest.raises(LabError, match=r"slots 200 to 263 are asked for, and .* has rows of 10"):
        task("promoters", data=str(tmp_path)).batch(rng_of(), 1)
    (tmp_path / "whole-sentences.tsv").write_text("a fine film\t1\na poor film\t0\n")
    with pytest.raises(LabError, match="no train document has the length asked for; ask for"):
        task("sentences", data=str(tmp_path)).batch(rng_of(), 1, length=50)
