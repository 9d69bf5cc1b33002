"""Rotary encoding against complex multiplication, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.rope import (
    Rope,
    convert_vectors,
    convert_weights,
    half_from_interleaved,
)
from gnomon.errors import EncodingError
from support.examples import EXAMPLES

LAYOUTS = ("interleaved", "half")


def times(x, waves, layout):
    """Read pairs as complex numbers and multiply each."""
    half = x.shape[-1] // 2
    if layout == "interleaved":
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * waves
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
    pairs = (x[..., :half] + 1j * x[..., half:]) * waves
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def turned_by_complex_numbers(x, positions, dimension, layout):
    """Read pairs as complex numbers and multiply each by exp(i position w)."""
    frequencies = 10000.0 ** (-np.arange(0, dimension, 2) / dimension)
    return times(x, np.exp(1j * np.multiply.outer(positions, frequencies)), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rotation_equals_multiplication_by_complex_numbers(layout, rng):
    q, k = rng.normal(size=(2, 3, 20, 16))
    rope = encoding("rope", dimension=16, layout=layout)
    queries, keys = rope.transform(q, k, np.arange(20), np.arange(100, 120))
    wanted = turned_by_complex_numbers(q, np.arange(20), 16, layout)
    np.testing.assert_allclose(queries, wanted, atol=1e-13)
    wanted = turned_by_complex_numbers(k, np.arange(100, 120), 16, layout)
    np.testing.assert_allclose(keys, wanted, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=30)
@given(shift=st.integers(-4000, 4000), seed=st.integers(0, 2**32))
def test_logits_do_not_change_under_a_common_shift(layout, shift, seed):
    q, k = np.random.default_rng(seed).normal(size=(2, 6, 8))
    rope = encoding("rope", dimension=8, layout=layout)
    queries, keys = rope.transform(q, k, np.arange(6))
    moved_queries, moved_keys = rope.transform(q, k, np.arange(6) + shift)
    np.testing.assert_allclose(queries @ keys.T, moved_queries @ moved_keys.T, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rotation_keeps_norms(layout, rng):
    q = rng.normal(size=(50, 64))
    queries, _ = encoding("rope", dimension=64, layout=layout).transform(q, q, np.arange(50))
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), np.linalg.norm(q, axis=1))


def test_one_permutation_converts_between_the_layouts(rng):
    q = rng.normal(size=(10, 12))
    order = half_from_interleaved(12)
    interleaved, _ = encoding("rope", dimension=12).transform(q, q, np.arange(10))
    half, _ = encoding("rope", dimension=12, layout="half").transform(
        q[:, order], q[:, order], np.arange(10)
    )
    np.testing.assert_array_equal(interleaved[:, order], half)


def test_mixing_layouts_breaks_relativity(rng):
    """The classic porting mistake is visible as a logit that changes under a common shift."""
    q, k = rng.normal(size=(2, 1, 16))
    one, other = (encoding("rope", dimension=16, layout=layout) for layout in LAYOUTS)
    logits = [
        one.transform(q, q, [at])[0] @ other.transform(k, k, [at + 3])[1].T for at in (0, 1000)
    ]
    assert abs(logits[0] - logits[1]).max() > 0.1


def test_two_axes_turn_each_pair_by_its_own_axis(rng):
    q = rng.normal(size=(1, 16))
    grid, _ = encoding("rope", dimension=16, axes=2).transform(q, q, [[5, 9]])
    line = encoding("rope", dimension=8)
    rows, _ = line.transform(q[:, :8], q[:, :8], [5])
    columns, _ = line.transform(q[:, 8:], q[:, 8:], [9])
    np.testing.assert_allclose(grid, np.concatenate([rows, columns], axis=1), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_type_of_the_queries_is_kept(dtype, rng):
    q = rng.normal(size=(4, 8)).astype(dtype)
    queries, keys = encoding("rope", dimension=8).transform(q, q, np.arange(4))
    assert queries.dtype == keys.dtype == dtype


def test_torch_queries_are_turned_as_numpy_ones_in_every_precision(rng):
    torch = pytest.importorskip("torch")
    q = rng.normal(size=(7, 8))
    rope = encoding("rope", dimension=8)
    wanted, _ = rope.transform(q, q, np.arange(7))
    for dtype, tolerance in ((torch.float64, 1e-14), (torch.float32, 1e-6), (torch.bfloat16, 0.02)):
        tensor = torch.asarray(q, dtype=dtype)
        made, _ = rope.transform(tensor, tensor, np.arange(7))
        assert made.dtype == dtype
        np.testing.assert_allclose(made.double().numpy(), wanted, atol=tolerance)


def test_an_unknown_layout_is_refused():
    with pytest.raises(EncodingError, match=r"layout is 'neox'; pass one of: interleaved, half\."):
        encoding("rope", dimension=8, layout="neox")


def test_queries_of_another_dimension_are_refused(rng):
    q = rng.normal(size=(4, 6))
    with pytest.raises(EncodingError, match=r"q has shape \(4, 6\), but .* dimension 8; pass an"):
        encoding("rope", dimension=8).transform(q, q, np.arange(4))


def test_whole_numbers_as_queries_are_refused():
    q = np.ones((4, 8), dtype=int)
    with pytest.raises(EncodingError, match=r"q holds int64; pass real numbers"):
        encoding("rope", dimension=8).transform(q, q, np.arange(4))


@pytest.mark.parametrize("weight", [None, "w", 3.0, object()])
def test_what_has_no_rows_can_not_be_converted_between_layouts(weight):
    with pytest.raises(EncodingError, match=r"The weight cannot be converted: this is \w+; pass"):
        convert_weights(weight, heads=1, to="half")


def test_a_part_of_a_head_is_converted_where_it_stands(rng):
    """The rotated coordinates alone move, as the encoding that turns them has it."""
    q, k = rng.normal(size=(2, 5, 10))
    made = {
        layout: encoding("rope", dimension=10, fraction=0.4, layout=layout) for layout in LAYOUTS
    }
    part = {"rotated": made["half"].rotated, "first": made["half"].first}
    moved = [convert_vectors(x, to="half", **part) for x in (q, k)]
    np.testing.assert_allclose(
        made["half"].scores(*moved, np.arange(5)),
        made["interleaved"].scores(q, k, np.arange(5)),
        atol=1e-13,
    )


def made_of(example):
    name, parameters = example
    return encoding(name, **parameters)


class Logarithmic(Rope):
    """Rotary encoding in the time ln(1 + position)."""

    def tables(self, coordinates, numbers, *, xp):
        return super().tables(xp.log1p(coordinates), numbers, xp=xp)


LADDERS = [one for one in EXAMPLES if made_of(one.values[0]).turns_by_frequencies]


@pytest.mark.parametrize("example", LADDERS)
def test_what_turns_by_frequencies_multiplies_by_powers_of_them(example, rng):
    made = made_of(example)
    at = rng.uniform(0.0, 9.0, (5, made.axes))
    x = rng.normal(size=(5, made.dimension))
    turned = x.copy()
    part = slice(made.first, made.first + made.rotated)
    waves = np.exp(1j * at @ made.frequencies.T) * made.attention_factor
    turned[:, part] = times(x[:, part], waves, made.layout)
    found, _ = made.transform(x, x, at if made.axes > 1 else at[:, 0])
    np.testing.assert_allclose(found, turned, atol=1e-12)


def test_a_clock_of_its_own_is_no_ladder_of_frequencies():
    """What asks for the ladder alone, as models of Hugging Face do, would turn by another angle."""
    made = Logarithmic(dimension=4)
    q = np.ones((1, 4))
    at_three, _ = made.transform(q, q, np.array([3.0]))
    angle = np.log(4.0)
    np.testing.assert_allclose(at_three[0, 0], np.cos(angle) - np.sin(angle))
    assert made.turns_by_tables
    assert not made.turns_by_frequencies
    assert Rope(dimension=4).turns_by_frequencies
