"""What no encoding takes: other sizes, other types. Each is refused in words, nothing computed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def calls(subject):
    """The ways in which queries and keys reach an encoding."""
    made = subject.encoding
    return [made.scores, made.transform] if "transform" in made.kinds else [made.scores]


@pytest.mark.subjects(where=lambda subject: subject.heads > 1)
def test_another_number_of_heads_is_refused(subject, rng):
    heads = subject.heads
    q = rng.normal(size=(heads + 1, 4, subject.width))
    for call in calls(subject):
        with pytest.raises(EncodingError, match=rf"\({heads + 1}, .* {heads}\s+heads; pass"):
            call(q, q, subject.line(4))


def needs_a_dimension(subject):
    """Not so where contents of any will do, and in layers that leave the encoding out."""
    return hasattr(subject.encoding, "dimension") and getattr(subject.encoding, "encoded", True)


@pytest.mark.subjects(where=needs_a_dimension)
def test_queries_of_another_dimension_are_refused(subject, rng):
    q = rng.normal(size=(subject.heads, 4, subject.width + 2))
    for call in calls(subject):
        with pytest.raises(EncodingError, match=rf"q has shape .* dimension\s+{subject.width}; "):
            call(q, q, subject.line(4))


def test_whole_numbers_as_queries_or_keys_are_refused(subject, rng):
    q = rng.normal(size=(subject.heads, 4, subject.width))
    for call in calls(subject):
        for left, right, name in ((q.astype(int), q, "q"), (q, q.astype(int), "k")):
            with pytest.raises(EncodingError, match=rf"{name} holds int64; pass real numbers"):
                call(left, right, subject.line(4))


def test_more_positions_than_queries_are_refused(subject, rng):
    q, k = subject.content(rng, 4)
    for call in calls(subject):
        with pytest.raises(EncodingError, match=r"positions .* pass"):
            call(q, k, subject.line(5))


def test_tokens_are_read_or_refused(subject, rng):
    """Nothing that is given is left aside in silence."""
    q, k = subject.content(rng, 5)
    width = getattr(subject.encoding, "read_width", k.shape[-1])
    tokens = rng.normal(size=(5, width))
    if subject.encoding.reads_tokens:
        before, after = (
            subject.encoding.scores(q, k, subject.line(5), tokens=x) for x in (tokens, tokens[::-1])
        )
        seen = np.isfinite(before)
        assert np.abs(after[seen] - before[seen]).max() > 1e-6
        return
    with pytest.raises(EncodingError, match=r"tokens is given, .* reads no tokens; leave it out"):
        subject.encoding.scores(q, k, subject.line(5), tokens=tokens)


@pytest.mark.subjects(where=lambda subject: subject.parameters)
def test_a_parameter_of_another_name_is_refused_with_the_nearest(subject):
    known = next(iter(subject.parameters))
    with pytest.raises(EncodingError, match=rf"no parameter '{known}s': did you mean"):
        encoding(subject.name, **subject.parameters, **{f"{known}s": 1})


def test_an_encoding_can_not_be_changed(subject, rng):
    """It is a definition: whoever holds it may rely on it."""
    with pytest.raises(FrozenInstanceError):
        subject.encoding.axes = 7
    q, k = subject.content(rng, 4)
    before = subject.encoding.scores(q, k, subject.line(4))
    for values in subject.encoding.numbers.values():
        if values.flags.writeable:  # then it is a copy
            values[...] = 0
    np.testing.assert_array_equal(subject.encoding.scores(q, k, subject.line(4)), before)
