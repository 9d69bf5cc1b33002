"""Documents that agree in all but a few tokens, against comparing all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import gnomon
from gnomon.corpus.documents import offsets_of, text_keys
from gnomon.corpus.grouping import CopySketch, families
from gnomon.corpus.windows import Windows

TYPES = 500
LAW = 1.0 / np.arange(1, TYPES + 1)
LAW /= LAW.sum()


def drawn(rng, size: int) -> np.ndarray:
    """Return a document of independent tokens."""
    return rng.choice(TYPES, size, p=LAW).astype(np.int32)


def labels(rows) -> np.ndarray:
    values = np.concatenate([np.asarray(row, np.int32) for row in rows])
    return families(values, offsets_of([len(row) for row in rows]))


def altered(rng, row, how: str) -> np.ndarray:
    """Return a near-copy: tokens changed, taken out, or put in."""
    at = int(rng.integers(len(row)))
    if how == "deleted":
        return np.delete(row, at)
    if how == "inserted":
        return np.insert(row, at, rng.integers(TYPES))
    copy = row.copy()
    for _ in range(int(how)):
        copy[rng.integers(len(row))] = rng.integers(TYPES)
    return copy


@pytest.mark.parametrize(
    ("size", "how"),
    [(9, "1"), *((n, how) for n in (32, 100) for how in ("1", "2", "3", "deleted", "inserted"))],
)
def test_copies_are_families_and_families_are_kept_apart(how, size, rng):
    """A copy that differs most from all others may stand alone: nine of ten are together."""
    forms = [drawn(rng, size) for _ in range(30)]
    rows = forms + [altered(rng, forms[k % 30], how) for k in range(270)]
    found = labels(rows)
    largest = [np.bincount(found[k::30]).max() for k in range(30)]
    assert np.mean(largest) >= (10.0 if how == "1" else 9.0)
    for one, other in combinations(range(30), 2):
        assert not set(found[one::30]) & set(found[other::30])


@pytest.mark.parametrize(
    "kind", ["independent", "short", "dna", "one form", "slots", "constant", "two tokens"]
)
def test_documents_that_chance_makes_alike_are_no_copies(kind, rng):
    """All that agree here agree as often as independent tokens at each place do."""
    form = drawn(rng, 32)
    slots = np.isin(np.arange(32), (3, 9, 14, 20))
    make = {
        "independent": lambda: drawn(rng, 32),
        "short": lambda: drawn(rng, int(rng.integers(3, 8))),
        "dna": lambda: rng.integers(0, 4, 60),
        "one form": lambda: np.where(rng.random(32) < 0.2, drawn(rng, 32), form),
        "slots": lambda: np.where(slots, drawn(rng, 32), form),
        "constant": lambda: np.full(20, 7),
        "two tokens": lambda: rng.integers(0, 2, 12),
    }[kind]
    found = labels([make() for _ in range(1_500)])
    sizes = np.bincount(found)
    assert sizes[sizes > 1].sum() <= 60


def test_two_documents_are_joined_exactly_where_they_agree_in_eight_places(rng):
    """Pair by pair, with changes at places that are known."""
    form = drawn(rng, 16)
    for changed in range(13):
        copy = form.copy()
        copy[rng.permutation(16)[:changed]] = 1_000 + np.arange(changed)
        others = [drawn(rng, 16) for _ in range(40)]
        found = labels([form, copy, *others])
        joined = found[0] == found[1]
        assert joined == (changed <= 8), changed


def test_the_order_of_documents_does_not_matter(rng):
    forms = [drawn(rng, 24) for _ in range(40)]
    rows = [altered(rng, forms[k % 40], "1") for k in range(200)]
    found = labels(rows)
    order = rng.permutation(200)
    again = labels([rows[k] for k in order])
    pairs = found[order][:, None] == found[order][None, :]
    assert (pairs == (again[:, None] == again[None, :])).all()


def test_a_sample_of_many_documents_knows_how_many_partners_there_are(rng):
    """Twenty copies of each form, of which one in five is looked at."""
    forms = [drawn(rng, 32) for _ in range(100)]
    rows = [altered(rng, forms[k % 100], "1") for k in range(2_000)]
    sketch = CopySketch(sample=400)
    for begin in range(0, 2_000, 250):
        part = rows[begin : begin + 250]
        offsets = offsets_of([len(row) for row in part])
        sketch.add(
            Windows(
                values=np.concatenate(part),
                starts=offsets[:-1],
                stops=offsets[1:],
                step=1,
                keys=text_keys([str(row) for row in part]),
                rows=None,
            )
        )
    found = sketch.result()
    assert (found.documents, found.looked_at) == (2_000, 400)
    assert found.share > 0.9
    assert found.partners == pytest.approx(19.0, rel=0.3)


def test_documents_read_backwards_and_without_tokens_are_met(rng):
    texts = ["", "a", *(" ".join(map(str, drawn(rng, 12))) for _ in range(50))]
    found = gnomon.count(texts, window="end", length=8, cache=False, minimum_count=1).near_copies
    assert found.documents == 51
    assert found.copies == 0


@pytest.mark.parametrize("kind", ["texts", "ids"])
def test_the_group_of_a_near_copy_is_its_family(kind, rng):
    forms = [drawn(rng, 20) for _ in range(25)]
    rows = [altered(rng, forms[k % 25], "1").tolist() for k in range(500)]
    corpus = rows if kind == "ids" else [" ".join(f"w{t}" for t in row) for row in rows]
    counts = gnomon.count(corpus, group="near-copies", cache=False)
    assert counts.groups.estimate() == 25
    assert counts.near_copies.copies == 0
    alone = gnomon.count(corpus, cache=False)
    assert alone.groups.estimate() > 400
    assert alone.near_copies.families == 25
    np.testing.assert_array_equal(counts.totals, alone.totals)


def with_boilerplate(rng, share: float, length: int, at: str, documents: int = 900) -> list:
    """Independent documents of 40 tokens, some of which hold one and the same text."""
    text, rows = drawn(rng, length), [drawn(rng, 40) for _ in range(documents)]
    start = {"start": 0, "middle": 10, "end": 40 - length}[at]
    for row in rows[: int(share * documents)]:
        row[start : start + length] = text
    return [rows[k] for k in rng.permutation(documents)]


@pytest.mark.parametrize("at", ["start", "middle", "end"])
@pytest.mark.parametrize(("share", "length"), [(0.07, 20), (0.1, 15), (0.1, 28), (0.3, 20)])
def test_boilerplate_makes_no_copies(share, length, at, rng):
    """Documents that share a text with a twentieth of all have their own text beside it."""
    rows = with_boilerplate(rng, share, length, at)
    sizes = np.bincount(labels(rows))
    assert sizes.max() < 0.05 * len(rows)
    assert len(sizes) > 0.9 * len(rows)


def test_copies_among_documents_with_boilerplate_are_joined_by_what_else_they_share(rng):
    text = drawn(rng, 20)
    rows = [drawn(rng, 40) for _ in range(900)]
    for row in rows[:90]:
        row[:20] = text
    copies = [altered(rng, rows[k % 10], "1") for k in range(30)]
    found = labels([*rows, *copies])
    assert np.mean([found[900 + k] == found[k % 10] for k in range(30)]) >= 0.9
    assert np.bincount(found).max() <= 8


@pytest.mark.parametrize("forms", [4, 10, 15])
def test_a_corpus_of_few_templates_is_one_of_copies_however_large_the_families(forms, rng):
    originals = [drawn(rng, 32) for _ in range(forms)]
    found = labels([altered(rng, originals[k % forms], "2") for k in range(600)])
    largest = [np.bincount(found[k::forms]).max() for k in range(forms)]
    assert np.mean(largest) >= 0.8 * 600 / forms


def test_grouping_says_how_large_the_largest_group_is(rng):
    copies = [altered(rng, form, "1") for form in [drawn(rng, 20)] * 12]
    rows = [*(drawn(rng, 20) for _ in range(388)), *copies]
    told = [
        note
        for corpus in (rows, [" ".join(f"w{t}" for t in row) for row in rows])
        for note in gnomon.count(
            [r if isinstance(r, str) else r.tolist() for r in corpus],
            group="near-copies",
            cache=False,
        ).notes
        if "near-copies" in note
    ]
    assert told == ["400 documents are 389 groups of near-copies, the largest of 12 (3 %)"] * 2


def test_grouping_says_that_a_text_of_many_documents_joins_none(rng):
    rows = with_boilerplate(rng, 0.1, 20, "start")
    counts = gnomon.count([row.tolist() for row in rows], group="near-copies", cache=False)
    assert any("share a text with 5 % of all or more" in note for note in counts.notes)
    alone = gnomon.count([row.tolist() for row in rows], cache=False).near_copies
    assert alone.copies < 0.02 * len(rows)
    assert 60 <= alone.shared <= 100
