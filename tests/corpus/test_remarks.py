"""Few groups, a giant one, one type, gaps: counts work, and say what a reader should know."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.corpus.counting import count
from gnomon.corpus.counts import PositionCounts


def documents(rng, number: int, words: int = 6) -> list[str]:
    return [" ".join(rng.choice(list("abcde"), words)) for _ in range(number)]


def remark(counts: PositionCounts, words: str) -> str:
    """Return the one remark with these words, which is also among the notes that are shown."""
    found = [sentence for sentence in counts.remarks if words in sentence]
    assert len(found) == 1, counts.remarks
    assert found[0] in counts.to_dict()["notes"]
    return found[0]


def test_an_ordinary_corpus_has_no_remarks(rng):
    assert count(documents(rng, 300), tokenizer="words").remarks == ()
    assert PositionCounts.from_array(1 + rng.poisson(3.0, (8, 4, 5))).remarks == ()
    assert PositionCounts.from_array([[3, 4], [1, 2]]).remarks == ()


@pytest.mark.parametrize("groups", [1, 3])
def test_fewer_groups_than_folds_are_counted_and_named(rng, groups):
    texts = documents(rng, groups) * 4
    found = count(texts, tokenizer="words", minimum_count=1)
    assert (found.rows, found.groups.estimate()) == (4 * groups, groups)
    used = np.count_nonzero(found.fold_tokens)
    assert 1 <= used <= groups
    plural = "s" if groups > 1 else ""
    words = f"the corpus has {groups} group{plural} and 16 folds: {16 - used} hold no token"
    assert "name smaller groups with --group" in remark(found, words)


def test_one_giant_group_beside_small_ones_is_seen_from_the_folds(rng, tmp_path):
    path = tmp_path / "rows.tsv"
    rows = [f"{text}\tgiant" for text in documents(rng, 1900)]
    rows += [f"{text}\t{k}" for k, text in enumerate(documents(rng, 100))]
    path.write_text("\n".join(["text\tauthor", *rows]), encoding="utf-8")
    found = count(path, column="text", group="author", tokenizer="words")
    share = found.fold_tokens.max() / found.tokens
    assert share > 0.95
    assert f"one fold of 16 holds {100 * share:.0f} % of the tokens" in remark(found, "one fold")
    assert count(path, column="text", tokenizer="words").remarks == ()


def test_all_rows_identical_are_one_group():
    found = count(["a b c"] * 50, tokenizer="words")
    assert found.totals.tolist() == [50, 50, 50]
    assert "the corpus has 1 group and 16 folds: 15 hold no token" in remark(found, "1 group")
    assert len(found.remarks) == 1


def test_a_vocabulary_of_one_token_is_counted_and_named():
    texts = ["a " * (1 + k % 5) for k in range(200)]
    found = count(texts, tokenizer="words")
    assert found.totals.tolist() == [200, 160, 120, 80, 40]
    assert remark(found, "only one type of token occurs, so all positions have the same law")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[3, 1], [0, 0], [2, 2]], "position 1 holds no token although later ones do"),
        ([[0, 0], [0, 0], [2, 2], [0, 0]], "2 positions (0, 1) hold no token although later ones"),
    ],
)
def test_positions_without_tokens_between_others_are_named(rows, words):
    found = PositionCounts.from_array(rows, minimum_count=1)
    assert remark(found, words)
    empty = [p for p, row in enumerate(rows) if not sum(row)]
    assert found.masked == empty


def test_a_sum_of_counts_has_the_remarks_of_the_sum(rng):
    few = count(documents(rng, 3), tokenizer="words", minimum_count=1)
    many = count(documents(rng, 300), tokenizer="words", minimum_count=1)
    assert few.remarks
    assert (few + many).remarks == ()
    assert few.with_folds(1).remarks == ()


def test_folds_without_tokens_are_named_where_groups_are_enough(rng):
    """40 groups fall by their hash into 32 folds and miss some; they are not said to be few."""
    found = count(documents(rng, 40), tokenizer="words", minimum_count=1, folds=32)
    empty = int(np.count_nonzero(found.fold_tokens == 0))
    assert 0 < empty < 32
    assert remark(found, f"of 32 folds, {empty} hold no token")
