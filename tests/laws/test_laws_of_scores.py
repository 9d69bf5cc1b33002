"""Laws of logits: shifts, packing, padding, caches. Every example of the catalogue keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.positions import documents, packed_positions, padded_positions, real
from gnomon.encodings.registry import ENTRIES, encoding

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}
INVARIANT = ("L0", "L1", "L2", "L3", "L4", "L5", "L7")
"""Levels at which logits depend on lags, or on what stands between, and not on the origin."""


def invariant(subject):
    """Whether a common shift changes nothing: not where lags are those of a clock."""
    return subject.level in INVARIANT and not hasattr(subject.encoding, "clock")


def moved(subject, at, step):
    """Positions moved by one step on every axis, by different amounts."""
    axes = subject.encoding.axes
    return at + step * (1 if axes == 1 else np.arange(1, axes + 1))


def test_without_an_encoding_scores_are_q_k(rng):
    q, k = rng.normal(size=(2, 3, 7, 5))
    found = encoding("nope").scores(q, k, np.arange(7), rng.normal(size=7))
    np.testing.assert_allclose(found, np.einsum("hid,hjd->hij", q, k), rtol=1e-14, atol=1e-14)


def test_logits_depend_on_lags_alone_exactly_where_the_level_says_so(subject, rng):
    """All levels but L6 are invariant; under L6 a common shift is plainly visible."""
    n = min(6, subject.reach // 2)
    at, other = subject.places(rng, n, most=subject.reach // 2), subject.line(n)
    at = other if subject.encoding.in_order else at  # queries are tokens: they have a key each
    q, k = subject.content(rng, n)
    before = subject.encoding.scores(q, k, at, other)
    defects = []
    for step in (1, subject.reach // 4, subject.reach // 2 // max(1, subject.encoding.axes)):
        after = subject.encoding.scores(q, k, moved(subject, at, step), moved(subject, other, step))
        if invariant(subject):
            np.testing.assert_allclose(after, before, **TOLERANCE)
        finite = np.isfinite(before)
        defects.append(np.abs(after[finite] - before[finite]).max())
    assert invariant(subject) or max(defects) > 1e-2 * np.abs(before[finite]).mean()


@pytest.mark.subjects(where=lambda subject: subject.level == "L0" and not subject.whole)
def test_shifts_by_any_real_number_change_nothing_at_level_l0(subject, rng):
    n = 5
    q, k = subject.content(rng, n)
    at = subject.places(rng, n) + rng.random()
    before = subject.encoding.scores(q, k, at)
    for step in (0.37, -1234.5):
        after = subject.encoding.scores(q, k, moved(subject, at, step))
        np.testing.assert_allclose(after, before, **TOLERANCE)


@pytest.mark.subjects(where=lambda subject: "bias" in subject.encoding.kinds and invariant(subject))
def test_a_bias_depends_on_lags_alone(subject, rng):
    at, other = subject.places(rng, 5, most=512), subject.places(rng, 9, most=512)
    before = subject.encoding.bias(at, other)
    assert before.shape[-2:] == (5, 9)
    after = subject.encoding.bias(moved(subject, at, 77), moved(subject, other, 77))
    if "frequencies" in subject.encoding.numbers:  # made of sinusoids, not of lags
        np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(after, before)


def test_the_card_calls_relative_what_depends_on_lags(subject):
    assert subject.encoding.card.relative == invariant(subject)


def test_packed_documents_score_as_separate_ones(subject, rng):
    lengths = [3, 1, 4]
    q, k = subject.content(rng, sum(lengths))
    at = packed_positions(lengths)
    at = at if subject.encoding.axes == 1 else np.stack([at] * subject.encoding.axes, axis=-1)
    packed, owner = subject.encoding.scores(q, k, at), documents(lengths)
    for document, length in enumerate(lengths):
        mine = np.flatnonzero(owner == document)
        alone = subject.encoding.scores(q[:, mine], k[:, mine], subject.line(length))
        np.testing.assert_allclose(packed[:, mine][:, :, mine], alone, **TOLERANCE)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_documents_score_as_separate_ones(subject, side, rng):
    lengths = [3, 5]
    q, k = subject.content(rng, 2, 5)
    at = padded_positions(lengths, width=5, side=side)
    at = at if subject.encoding.axes == 1 else np.stack([at] * subject.encoding.axes, axis=-1)
    padded, kept = subject.encoding.scores(q, k, at), real(lengths, width=5, side=side)
    for row, length in enumerate(lengths):
        mine = np.flatnonzero(kept[row])
        alone = subject.encoding.scores(q[row][:, mine], k[row][:, mine], subject.line(length))
        np.testing.assert_allclose(padded[row][:, mine][:, :, mine], alone, **TOLERANCE)


def test_scores_token_by_token_are_those_of_one_pass(subject, rng):
    q, k = subject.content(rng, 6)
    at = subject.line(6)
    whole = subject.encoding.scores(q, k, at)
    for now in range(6):
        step = subject.encoding.scores(
            q[:, now : now + 1], k[:, : now + 1], at[now : now + 1], at[: now + 1]
        )
        np.testing.assert_allclose(step[:, 0], whole[:, now, : now + 1], **TOLERANCE)


def keeps_keys(subject):
    """Whether keys are turned, and the card does not say that a cache is wrong."""
    return "transform" in subject.encoding.kinds and subject.encoding.card.cacheable


@pytest.mark.subjects(where=keeps_keys)
def test_keys_are_turned_once_and_kept(subject, rng):
    """A cache holds keys as they were turned when they came; later queries find them right."""
    made = subject.encoding
    q, k = subject.content(rng, 6)
    at = subject.line(6)
    cached = [made.transform(q[:, i : i + 1], k[:, i : i + 1], at[i : i + 1])[1] for i in range(6)]
    last, _ = made.transform(q[:, 5:], k[:, 5:], at[5:])
    found = last @ np.swapaxes(np.concatenate(cached, axis=-2), -1, -2)
    if "bias" in made.kinds:
        found = found + made.bias(at[5:], at)
    np.testing.assert_allclose(found, made.scores(q, k, at)[:, 5:], **TOLERANCE)


NOT_CACHED = [n for n, entry in ENTRIES.items() if entry.examples and not entry.card.cacheable]


@pytest.mark.parametrize("name", NOT_CACHED)
def test_what_can_not_be_cached_turns_old_keys_differently_at_a_new_length(name, rng):
    """The card says so, and it is true: the encoding of a longer context is another one."""
    changes = []
    for parameters in ENTRIES[name].examples:
        made = encoding(name, **parameters)
        k = rng.normal(size=(4, made.dimension))
        short, long = (made.at_length(n).transform(k, k, np.arange(4))[1] for n in (4, 10**6))
        changes.append(np.abs(long - short).max())
    assert max(changes) > 1e-3


@pytest.mark.subjects(where=lambda subject: not subject.encoding.in_order)
def test_query_and_key_positions_may_differ_in_number_and_place(subject, rng):
    """A block of scores for some queries and some keys is that block of all scores."""
    n = 8
    q, k = subject.content(rng, n)
    at = subject.places(rng, n, most=subject.reach)
    whole = subject.encoding.scores(q, k, at)
    block = subject.encoding.scores(q[:, 2:5], k[:, 1:], at[2:5], at[1:])
    np.testing.assert_allclose(block, whole[:, 2:5, 1:], **TOLERANCE)


@pytest.mark.subjects(where=lambda subject: not subject.encoding.in_order)
def test_the_order_in_which_positions_are_asked_for_does_not_matter(subject, rng):
    q, k = subject.content(rng, 7)
    at, order = subject.places(rng, 7), rng.permutation(7)
    whole = subject.encoding.scores(q, k, at)
    mixed = subject.encoding.scores(q[:, order], k[:, order], at[order])
    np.testing.assert_allclose(mixed, whole[:, order][:, :, order], **TOLERANCE)


def test_keys_after_their_query_are_masked_only_where_the_card_says_causal(subject, rng):
    q, k = subject.content(rng, 4)
    found = subject.encoding.scores(q, k, subject.line(4))
    later = np.triu(np.ones((4, 4), dtype=bool), 1)
    masked = np.isneginf(found)
    assert masked.any() == subject.encoding.card.causal_only
    assert (masked == (later & subject.encoding.card.causal_only)).all()
