"""Laws of positions: whole or real, any batch shape, refused where they are no numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import EncodingError


def outputs(made, q, k, at):
    """Everything that an encoding offers at these positions, by name."""
    found = {"scores": made.scores(q, k, at)}
    if "vectors" in made.kinds:
        found["vectors"] = made.vectors(at)
    if "transform" in made.kinds:
        found["q"], found["k"] = made.transform(q, k, at)
    if "bias" in made.kinds:
        found["bias"] = made.bias(at)
    return found


def test_whole_positions_of_every_type_give_the_same_bits(subject, rng):
    q, k = subject.content(rng, 6)
    at = subject.places(rng, 6, most=128)
    wanted = outputs(subject.encoding, q, k, at)
    for kind in (np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64):
        found = outputs(subject.encoding, q, k, at.astype(kind))
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name], values, err_msg=f"{name} of {kind}")


def test_lists_of_positions_are_as_good_as_arrays(subject, rng):
    q, k = subject.content(rng, 3)
    at = subject.places(rng, 3)
    wanted = subject.encoding.scores(q, k, at)
    np.testing.assert_array_equal(subject.encoding.scores(q, k, at.tolist()), wanted)


def test_a_batch_of_any_shape_is_its_members_one_by_one(subject, rng):
    """Positions (..., n) leave the heads of q (..., heads, n, width) out, or serve them all."""
    for batch in ((), (1,), (2,), (2, 3)):
        q, k = subject.content(rng, *batch, 4)
        at = subject.places(rng, *batch, 4)
        whole = outputs(subject.encoding, q, k, at)
        for index in np.ndindex(*batch):
            alone = outputs(subject.encoding, q[index], k[index], at[index])
            for name, values in alone.items():
                np.testing.assert_allclose(whole[name][index], values, rtol=1e-12, atol=1e-12)


def test_positions_of_one_line_serve_a_whole_batch(subject, rng):
    q, k = subject.content(rng, 3, 5)
    at = subject.places(rng, 5)
    whole = subject.encoding.scores(q, k, at)
    each = np.stack([subject.encoding.scores(q[i], k[i], at) for i in range(3)])
    np.testing.assert_allclose(whole, each, rtol=1e-12, atol=1e-12)


def test_no_positions_give_nothing(subject, rng):
    q, k = subject.content(rng, 0)
    at = subject.places(rng, 0)
    assert subject.encoding.scores(q, k, at).shape == (subject.heads, 0, 0)


def test_positions_that_are_no_numbers_are_refused(subject, rng):
    q, k = subject.content(rng, 3)
    good, made = subject.line(3), subject.encoding
    ask = {
        "vectors": made.vectors,
        "transform": lambda at: made.transform(q, k, good, at),
        "bias": lambda at: made.bias(good, at),
        "content": lambda at: made.scores(q, k, good, at),
        "scores": lambda at: made.scores(q, k, at),
    }
    for wrong in (np.nan, np.inf, -np.inf):
        at = good.astype(float)
        at[(1,) * at.ndim] = wrong
        for kind in (*made.kinds, "scores"):
            with pytest.raises(EncodingError, match=r"The position at index .* pass finite pos"):
                ask[kind](at)


@pytest.mark.subjects(where=lambda subject: subject.whole)
def test_the_fraction_of_a_timestamp_is_named_where_whole_positions_are_needed(subject, rng):
    q, k = subject.content(rng, 2)
    at = on_every_axis([1_700_000_000.25, 0.0], subject.encoding.axes)
    with pytest.raises(EncodingError, match=r"Position 1700000000\.25 is not a whole number"):
        subject.encoding.scores(q, k, at)


def test_words_as_positions_are_refused(subject, rng):
    q, k = subject.content(rng, 2)
    with pytest.raises(EncodingError, match=r"The positions have type .*; pass whole numbers"):
        subject.encoding.scores(q, k, on_every_axis(["a", "b"], subject.encoding.axes))


def on_every_axis(words, axes):
    """A list of positions with the same word on every axis."""
    return words if axes == 1 else [[word] * axes for word in words]


@pytest.mark.subjects(where=lambda subject: subject.encoding.axes > 1)  # on one, all is a batch
def test_positions_with_another_number_of_axes_are_refused(subject, rng):
    q, k = subject.content(rng, 5)
    with pytest.raises(EncodingError, match=r"The positions have shape .* axes; pass positions"):
        subject.encoding.scores(q, k, np.zeros((5, subject.encoding.axes + 1)))


def test_what_an_encoding_does_not_offer_is_refused_in_words(subject, rng):
    made = subject.encoding
    q, k = subject.content(rng, 2)
    at = subject.line(2)
    ask = {
        "vectors": lambda: made.vectors(at),
        "transform": lambda: made.transform(q, k, at),
        "bias": lambda: made.bias(at),
    }
    for kind in set(ask) - set(made.kinds):
        with pytest.raises(EncodingError, match=f"The encoding '{made.name}' has no .*; it offers"):
            ask[kind]()


def test_arguments_are_left_as_they_were(subject, rng):
    q, k = subject.content(rng, 4)
    at = subject.places(rng, 4)
    kept = [x.copy() for x in (q, k, at)]
    for x in (q, k, at):
        x.flags.writeable = False
    outputs(subject.encoding, q, k, at)
    for x, before in zip((q, k, at), kept, strict=True):
        np.testing.assert_array_equal(x, before)
