"""Tables in every library: learned, given and random rows, and positions that have none."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from gnomon.numeric import uint64

TABLES = {
    "learned": {"rows": 12, "dimension": 5},
    "table": {"path": np.arange(60.0).reshape(12, 5)},
    "mds": {"geometry": 1.0 - np.eye(12), "dimension": 5},
    "mds-low-rank": {"geometry": 1.0 - np.eye(12), "dimension": 5, "rank": 3},
}
WORDS = np.array([0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF, 0xFFFF0000FFFF0001], dtype=np.uint64)


def test_a_learned_table_starts_normal_with_the_stated_sigma():
    start = encoding("learned", rows=400, dimension=100).vectors(np.arange(400))
    assert start.std() == pytest.approx(0.02, rel=0.01)
    assert abs(start.mean()) < 5 * 0.02 / 200


def test_the_start_follows_sigma_and_seed_and_what_was_learned_replaces_it(rng):
    made = encoding("learned", rows=3, dimension=4)
    start = made.vectors([0, 1, 2])
    double = encoding("learned", rows=3, dimension=4, sigma=0.04)
    np.testing.assert_allclose(double.vectors([0, 1, 2]), 2 * start)
    assert not np.array_equal(
        encoding("learned", rows=3, dimension=4, seed=1).vectors([0]), start[:1]
    )
    learned = rng.normal(size=(3, 4))
    np.testing.assert_array_equal(
        made.with_numbers(values=learned).vectors([2, 0]), learned[[2, 0]]
    )


def test_numbers_that_do_not_fit_are_refused():
    made = encoding("learned", rows=3, dimension=4)
    with pytest.raises(
        EncodingError, match=r"values has shape \(4, 3\) and this encoding has \(3, 4"
    ):
        made.with_numbers(values=np.ones((4, 3)))
    with pytest.raises(
        EncodingError, match=r"values holds nan at row 0, column 0; pass a table of"
    ):
        made.with_numbers(values=np.full((3, 4), np.nan))
    with pytest.raises(
        EncodingError, match=r"The encoding 'learned' cannot learn 'table'; it learn"
    ):
        made.with_numbers(table=np.ones((3, 4)))


def test_positions_outside_of_a_learned_table_are_refused():
    made = encoding("learned", rows=3, dimension=4)
    for position in (3, -1):
        sentence = (
            rf"Position {position} is not in the learned table, which has rows 0 to 2; ask for"
        )
        with pytest.raises(EncodingError, match=sentence):
            made.vectors([0, position])
    with pytest.raises(
        EncodingError, match=r"Position 0\.5 is not a whole number, and the learned"
    ):
        made.vectors([0.5])


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_the_same_in_torch_and_jax(name):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    made, places = encoding(name, **TABLES[name]), np.array([[3, 0], [11, 3]])
    wanted = made.vectors(places)
    found = made.vectors(torch.asarray(places))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found, wanted, atol=1e-15)
    np.testing.assert_allclose(made.vectors(jnp.asarray(places)), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", TABLES)
def test_positions_without_a_row_are_refused_where_they_are_seen_and_nan_where_not(name):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import array_api_compat.torch as xp

    made, places = encoding(name, **TABLES[name]), np.array([11, 12, -1])
    for library in (np, torch, jax.numpy):
        with pytest.raises(EncodingError, match=r"Position 12 is "):
            made.vectors(library.asarray(places))
        with pytest.raises(EncodingError, match=r"Position 2\.5 is not a whole number"):
            made.vectors(library.asarray(np.array([2.5])))
    wanted = np.array([False, True, True])
    found = jax.jit(made.vectors)(jax.numpy.asarray(places))
    np.testing.assert_array_equal(np.isnan(found).all(axis=-1), wanted)
    numbers = made.numbers_in(torch.zeros(1), xp=xp)
    call = torch.compile(
        lambda at: made.vectors_at(at, numbers, xp=xp), fullgraph=True, backend="aot_eager"
    )
    found = call(torch.asarray(places, dtype=torch.float64)[:, None])
    np.testing.assert_array_equal(torch.isnan(found).all(dim=-1).numpy(), wanted)
    np.testing.assert_allclose(found[0], made.vectors(11), atol=1e-15)


@pytest.mark.parametrize("axes", [1, pytest.param(2, marks=pytest.mark.wide)])
def test_random_rows_are_the_same_in_torch_and_compiled_by_jax(axes):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    made = encoding("random", dimension=7, axes=axes, seed=2**63 + 5)
    places = np.arange(-30, 30).reshape((-1, 2) if axes == 2 else -1) * 71993
    wanted = made.vectors(places)
    np.testing.assert_allclose(made.vectors(torch.asarray(places)), wanted, atol=1e-14)
    found = jax.jit(made.vectors)(jax.numpy.asarray(places))
    np.testing.assert_allclose(found, wanted, atol=3e-6)


@pytest.mark.parametrize("factor", [1, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 2**64 - 1])
def test_words_in_digits_multiply_as_whole_numbers_of_python(factor):
    found = joined(uint64.times(list(uint64.digits_of(WORDS)), factor))
    assert found == [int(word) * factor % 2**64 for word in WORDS]


@pytest.mark.parametrize("bits", [11, 16, 27, 30, 31, 47])
def test_words_in_digits_shift_and_add_as_whole_numbers_of_python(bits):
    word = list(uint64.digits_of(WORDS))
    assert joined(uint64.shifted(word, bits)) == [int(word) >> bits for word in WORDS]
    total = uint64.add(word, list(uint64.digits_of(WORDS[::-1])))
    assert joined(total) == [
        (int(a) + int(b)) % 2**64 for a, b in zip(WORDS, WORDS[::-1], strict=True)
    ]


def test_negative_whole_numbers_are_words_in_twos_complement():
    values = [0, 1, -1, -(2**31), 2**31 - 1]
    wanted = [value % 2**64 for value in values]
    for kind in (np.int32, np.int64):
        assert joined(uint64.word_of_whole(np.array(values, dtype=kind), xp=np)) == wanted


def joined(word):
    """Return digits as whole numbers of Python."""
    return [
        sum(int(d) << (16 * place) for place, d in enumerate(digits))
        for digits in zip(*word, strict=True)
    ]


@pytest.mark.parametrize(
    "tensor",
    [
        lambda torch: torch.ones(2, 2, requires_grad=True),
        lambda torch: torch.ones(2, 2, dtype=torch.bfloat16),
        lambda torch: torch.ones(2, 2, device="meta"),
        lambda _: [[1.0], [2.0, 3.0]],
    ],
)
def test_values_that_numpy_can_not_read_are_refused_in_words(tensor):
    torch = pytest.importorskip("torch")
    sentence = r"values cannot be read as an array \(.*\); pass numbers of NumPy, of a tensor its"
    with pytest.raises(EncodingError, match=sentence) as caught:
        encoding("learned", rows=2, dimension=2, values=tensor(torch))
    assert "\n" not in str(caught.value)
