"""Merging neighbouring positions: sums of rows, lawful, named, and enough for debiasing."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.cli.app import run
from gnomon.corpus.binning import enough_tokens, inflation, noise
from gnomon.corpus.counting import count, count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.options import CountOptions
from gnomon.corpus.shuffling import shuffled_counts
from gnomon.diagnostics.pairs import target_of
from gnomon.distances.estimate import debias
from gnomon.distances.geometry import measure
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import CountsError, InputError

CORE = 0.02
"""Largest sqrt(2) sigma^2 of a position that is debiased."""


@pytest.fixture
def array(rng) -> np.ndarray:
    """Counts of 4 folds, 11 positions and 7 types."""
    return rng.poisson(2.0, (4, 11, 7))


@pytest.fixture
def documents(rng) -> list[str]:
    """Sentences of 1 to 24 words, long ones being rare."""
    words = [f"w{k}" for k in range(40)]
    chances = 1.0 / np.arange(1, 41)
    lengths = np.minimum(1 + rng.geometric(0.15, 600), 24)
    return [" ".join(rng.choice(words, n, p=chances / chances.sum())) for n in lengths]


def same_numbers(left: PositionCounts, right: PositionCounts) -> bool:
    return (
        np.array_equal(left.blocks.toarray(), right.blocks.toarray())
        and (left.folds, left.axes, left.bins) == (right.folds, right.axes, right.bins)
        and (left.digest, left.rows) == (right.digest, right.rows)
    )


# -- what merging is ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [2, 3, 5, 10, 11, 50])
def test_bins_are_sums_of_rows_of_a_dense_array(array, width):
    found = PositionCounts.from_array(array).binned(width)
    for fold in range(4):
        sums = [array[fold, p : p + width].sum(axis=0) for p in range(0, 11, width)]
        np.testing.assert_array_equal(found.fold(fold).toarray(), sums)
    assert found.bins == tuple(range(0, 11, width))
    assert found.axes == (len(found.bins),)
    assert found.extents[-1] == (found.bins[-1], 10)


def test_bins_may_be_given_by_their_first_positions(array):
    found = PositionCounts.from_array(array).binned((0, 1, 6, 10))
    wanted = np.add.reduceat(array.sum(axis=0), [0, 1, 6, 10], axis=0)
    np.testing.assert_array_equal(found.matrix.toarray(), wanted)
    assert found.extents == ((0, 0), (1, 5), (6, 9), (10, 10))
    again = PositionCounts.from_array(array).binned(np.array([0, 1, 6, 10]))
    assert same_numbers(found, again)


def test_a_width_of_one_changes_nothing(array):
    counts = PositionCounts.from_array(array)
    assert counts.binned(1) is counts
    assert counts.binned(None) is counts
    assert counts.binned(tuple(range(11))) is counts


SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 4))


@given(shape=SHAPES, width=st.integers(1, 11), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_merging_and_adding_may_change_places(shape, width, seed):
    stream = np.random.default_rng(seed)
    left, right = (PositionCounts.from_array(1 + stream.poisson(1.0, shape)) for _ in range(2))
    assert same_numbers(left.binned(width) + right.binned(width), (left + right).binned(width))


@given(shape=SHAPES, bins=st.one_of(st.integers(1, 11), st.just("auto")), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_merging_keeps_tokens_types_folds_and_the_digest(shape, bins, seed):
    counts = PositionCounts.from_array(1 + np.random.default_rng(seed).poisson(40.0, shape))
    found = counts.binned(bins)
    assert found.tokens == counts.tokens == found.totals.sum()
    np.testing.assert_array_equal(found.fold_tokens, counts.fold_tokens)
    np.testing.assert_array_equal(found.matrix.sum(axis=0), counts.matrix.sum(axis=0))
    assert found.digest == counts.digest
    edges = [place for extent in found.extents for place in extent]
    assert (edges[0], edges[-1]) == (0, counts.length - 1)
    assert all(a + 1 == b for a, b in zip(edges[1::2], edges[2::2], strict=False))


def test_folds_may_be_merged_before_or_after_positions(array):
    counts = PositionCounts.from_array(array)
    assert same_numbers(counts.binned(3).with_folds(2), counts.with_folds(2).binned(3))


def test_the_first_bins_of_merged_counts_are_those_of_the_first_positions(array):
    counts = PositionCounts.from_array(array)
    found = counts.binned(4).shortened(2)
    assert found.extents == ((0, 3), (4, 7))
    np.testing.assert_array_equal(found.totals, counts.shortened(8).binned(4).totals)
    assert [n for n in found.notes if "merged" in n] == [
        "positions merged: 8 into 2 bins of 4 neighbouring positions"
    ]


# -- "auto" -------------------------------------------------------------------------------------


@pytest.mark.parametrize("types", [2, 4, 25, 400])
def test_enough_tokens_of_a_uniform_law_are_those_of_the_closed_form(types):
    """With p = 1/V all weights are alike and sqrt2 sigma^2 = sqrt(2 V) / (4 N)."""
    enough = enough_tokens(PositionCounts.from_array(np.full((3, types), 50)))
    assert enough == np.ceil(np.sqrt(2 * types) / (4 * 0.7 * CORE))


def test_enough_tokens_are_the_least_that_keep_the_rule(rng):
    """The rule written out type by type, with no vectors."""
    table = rng.poisson(300.0 / np.arange(1, 301), (6, 300))
    enough = enough_tokens(PositionCounts.from_array(table))
    law = [x / table.sum() for x in table.sum(axis=0) if x]

    def written_out(tokens: int) -> float:
        weights = [tokens * p / (tokens * p + 2.0) for p in law]
        extension = 1.0 / sum(w * p for w, p in zip(weights, law, strict=True))
        return 2**0.5 * extension * sum(w * w for w in weights) ** 0.5 / (4 * tokens)

    assert written_out(enough) <= 0.7 * CORE < written_out(enough - 1)
    assert noise(77, np.array(law)) == pytest.approx(written_out(77), rel=1e-12)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_tokens_that_come_in_copies_are_seen_to(copies, rng):
    """Every token k times in its fold: counts vary k times as much as Poisson ones."""
    table = copies * rng.poisson(3.0, (32, 20, 50))
    assert inflation(PositionCounts.from_array(table)) == pytest.approx(copies, rel=0.03)


def test_auto_merges_just_as_many_neighbours_as_are_needed(documents):
    single = count(documents, tokenizer="words")
    found = single.binned("auto")
    enough = enough_tokens(single)
    assert found.binning is not None
    assert found.binning.enough == enough
    assert 2 < found.length < single.length
    assert (found.totals[:-1] >= enough).all()
    for (first, last), tokens in zip(found.extents[:-1], found.totals, strict=False):
        assert tokens - single.totals[last] < enough or first == last


def test_bins_merged_by_auto_are_core_positions_of_the_estimator(rng):
    """The estimator knows more than the rule (its own laws, a class profile), and agrees."""
    law = 1.0 / np.arange(1, 3001) ** 1.05
    per_fold = np.maximum(400 * np.exp(-np.arange(48) / 8.0), 1).astype(int)
    table = [[rng.multinomial(n, law / law.sum()) for n in per_fold] for _ in range(16)]
    single = PositionCounts.from_array(np.array(table))
    merged = single.binned("auto")
    before, after = debias(single, draws=4), debias(merged, draws=4)
    assert len(before.core) < 40
    assert set(range(merged.length - 1)) <= set(after.core.tolist())


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("sst2/whole-sentences.tsv", {"column": "0"}),
        ("sst2/train.tsv", {"column": "sentence", "group": "contained"}),
    ],
)
def test_bins_of_real_text_are_core_even_where_rows_repeat_each_other(data_root, file, options):
    tokenizer = data_root / "bert-base-uncased" / "tokenizer.json"
    merged = count(data_root / file, tokenizer=tokenizer, length=64, bins="auto", **options)
    found = debias(merged, draws=4)
    assert merged.length > 40
    assert set(range(merged.length - 1)) <= set(found.core.tolist())


def test_auto_leaves_well_counted_positions_alone_and_says_so():
    counts = PositionCounts.from_array(np.full((5, 4), 1000)).binned("auto")
    assert counts.bins is None
    assert counts.notes[-1].startswith("no positions were merged: each is counted well enough")


def test_a_shuffled_corpus_can_be_merged_to_the_bins_of_the_corpus(documents):
    options = CountOptions(tokenizer="words", bins="auto")
    found = count_with(documents, options)
    shuffled = shuffled_counts(documents, replace(options, bins=found.bins))
    assert shuffled.bins == found.bins
    np.testing.assert_array_equal(shuffled.totals, found.totals)


# -- how it is named and kept -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "note", "rule"),
    [
        (
            4,
            "11 into 3 bins of 4 neighbouring positions, the last of 3",
            "4 neighbouring positions",
        ),
        ((0, 2), "as given: 11 into 2 bins that begin at 0, 2", "given first positions"),
        ("auto", "until counted well enough, with 67 tokens a bin", "merged until counted well"),
    ],
)
def test_counts_say_how_their_positions_were_merged(array, bins, note, rule):
    """67 tokens: sqrt(2 * 7) / 0.056 = 66.8 for seven types of equal frequency."""
    table = np.full((11, 7), 3) if bins == "auto" else array
    found = PositionCounts.from_array(table).binned(bins).to_dict()
    assert found["notes"][-1].startswith("positions merged")
    assert note in found["notes"][-1]
    assert found["bins"]["rule"].startswith(rule)
    assert found["bins"]["positions"] == 11
    assert found["length"] == len(found["bins"]["starts"])


def test_counts_of_single_positions_say_that_there_are_no_bins(array):
    assert PositionCounts.from_array(array).to_dict()["bins"] is None


@pytest.mark.parametrize("bins", [3, (0, 4, 5), "auto"])
def test_merged_counts_come_back_from_disk_as_they_were(documents, tmp_path, bins):
    found = count(documents, tokenizer="words", bins=bins)
    found.save(tmp_path / "counts.npz")
    again = PositionCounts.load(tmp_path / "counts.npz")
    assert same_numbers(found, again)
    assert again.to_dict() == found.to_dict()


def rewritten(path, change) -> None:
    """Change the metadata inside a counts file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head, body = members["metadata.npy"][:128], members["metadata.npy"][128:]
    text = json.dumps(change(json.loads(body))).encode()
    header = head.replace(f"({len(body)},)".encode(), f"({len(text)},)".encode())
    header = header.rstrip(b"\n ").ljust(127) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in (members | {"metadata.npy": header + text}).items():
            archive.writestr(name, value)


def test_files_from_before_there_were_bins_are_read(array, tmp_path):
    """Such a file has format 1 and no word of bins; so has, still, one of single positions."""
    path = tmp_path / "counts.npz"
    counts = PositionCounts.from_array(array)
    counts.save(path)
    kept = {}
    rewritten(path, lambda metadata: kept.update(metadata) or metadata)
    assert (kept["format"], "bins" in kept) == (1, False)
    assert same_numbers(PositionCounts.load(path), counts)


@pytest.mark.parametrize("starts", [[0, 8, 4], [1, 4, 8], [0, 4], [0, 4, 11]])
def test_damaged_bins_on_disk_are_refused(array, tmp_path, starts):
    path = tmp_path / "counts.npz"
    PositionCounts.from_array(array).binned(4).save(path)
    rewritten(path, lambda m: m | {"bins": m["bins"] | {"starts": starts}})
    with pytest.raises(CountsError, match="the bins of the counts file are damaged; count the"):
        PositionCounts.load(path)


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (0, "--bins is 0; give how many neighbouring positions make a bin .1 or more., or auto"),
        (-3, "--bins is -3; give how many"),
        ("four", "--bins is 'four'; give how many"),
        (2.5, "--bins is 2.5; give how many"),
        (True, "--bins is True; give how many"),
        ((), "first positions as an empty list; give whole numbers that begin with 0 and increase"),
        ((1, 4), "first positions as 1, 4; give whole numbers"),
        ((0, 4, 4), "as 0, 4, 4; give whole numbers that begin with 0 and increase"),
        ((0, "a"), "as 0, a; give whole numbers"),
        ((0, 11), "a bin begins at position 11, and array has 11 positions; give bins that begin"),
    ],
)
def test_bins_that_are_none_are_refused_in_a_sentence(array, bins, words):
    with pytest.raises(InputError, match=words):
        PositionCounts.from_array(array).binned(bins)
    if words.startswith("--bins"):
        with pytest.raises(InputError, match=words):
            CountOptions(bins=bins)


def test_neighbours_on_a_grid_are_not_merged(array):
    grid = PositionCounts.from_array(array[:, :6], axes=(2, 3))
    with pytest.raises(CountsError, match="a grid of 2x3 positions, whose neighbours lie on"):
        grid.binned(2)


def test_positions_are_merged_once(array):
    with pytest.raises(CountsError, match=r"merged already \(2 neighbouring positions\); merge"):
        PositionCounts.from_array(array).binned(2).binned(2)


def test_counts_in_other_bins_are_not_added(array):
    counts = PositionCounts.from_array(array)
    words = "counts of 11 positions in bins that begin at 0, 4, 8 and of 11 single positions can"
    with pytest.raises(CountsError, match=words):
        _ = counts.binned(4) + counts
    shorter = PositionCounts.from_array(array[:, :9])  # the same first positions, another end
    with pytest.raises(CountsError, match="of 9 positions in bins that begin at 0, 4, 8 cannot"):
        _ = counts.binned(4) + shorter.binned(4)


def test_equal_bins_by_two_rules_add_to_given_bins(array):
    counts = PositionCounts.from_array(array)
    found = counts.binned(4) + counts.binned((0, 4, 8))
    assert found.bins == (0, 4, 8)
    assert found.to_dict()["bins"]["rule"] == "given first positions"
    assert sum("merged" in note for note in found.notes) == 1


@pytest.mark.parametrize("bins", [24, 99, "auto"])
def test_a_single_bin_has_no_distances_and_is_refused(documents, bins):
    few = documents[:3] if bins == "auto" else documents
    with pytest.raises(
        InputError, match=f"--bins {bins} merges all .* into one bin, and distances"
    ):
        count(few, tokenizer="words", bins=bins)


@pytest.mark.parametrize("bins", ["four", "0", "2.5"])
def test_the_command_line_refuses_wrong_bins_in_one_sentence(documents, tmp_path, capfd, bins):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(documents), encoding="utf-8")
    assert run(["survey", str(path), "--bins", bins]) == 2
    seen = capfd.readouterr()
    assert seen.out == ""
    assert seen.err.count("\n") == 1
    assert "--bins is" in seen.err


# -- where bins lie -----------------------------------------------------------------------------


def test_a_bin_lies_at_its_first_position(documents):
    counts = count(documents, tokenizer="words", bins=(0, 1, 2, 5, 9, 23), minimum_count=20)
    found = measure(counts)
    assert counts.totals[-1] < 20
    assert found.positions.tolist() == [0, 1, 2, 3, 4]
    assert found.coordinates.tolist() == [[0], [1], [2], [5], [9]]
    slope = lift(encoding("alibi", slopes=(1.0,)), found.coordinates, lift="slope")
    starts = np.array([0, 1, 2, 5, 9])
    np.testing.assert_allclose(slope.distances, np.abs(np.subtract.outer(starts, starts)))
    assert target_of(found).coordinates.tolist() == found.coordinates.tolist()


def test_a_survey_in_bins_names_them(documents, tmp_path, capfd):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(documents), encoding="utf-8")
    arguments = ["survey", str(path), "--dimension", "8", "--bins", "5"]
    assert run([*arguments, "--json", str(tmp_path / "found.json")]) == 0
    assert "positions merged: 24 into 5 bins of 5 neighbouring positions" in capfd.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["corpus"]["bins"]["starts"] == [0, 5, 10, 15, 20]
    assert len(found["positions"]) == 5
