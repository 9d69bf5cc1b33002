"""Lifts: closed forms against kernels and vectors written out, on lines, gaps, grids and floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gnomon.encodings.base import Encoding
from gnomon.encodings.card import Card, in_words
from gnomon.encodings.frequencies import ladder_sine_squares
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from gnomon.numeric.rows import distances_between

GRID = np.stack(np.meshgrid(np.arange(5), np.arange(7), indexing="ij"), -1).reshape(-1, 2)
PLACES = {
    "line": np.arange(80),
    "far line": np.arange(5000, 5080),
    "steps of three": 3 * np.arange(70),
    "half steps": 0.5 * np.arange(70),
    "gaps": np.array([0, 1, 2, 5, 6, 40, 41, 77]),
    "floats": np.sort(np.random.default_rng(0).uniform(0, 90, 40)),
    "backwards": np.arange(30)[::-1],
    "one": np.array([4]),
}


@pytest.mark.parametrize("place", PLACES)
def test_sinusoid_and_rope_lift_to_the_distances_of_the_sinusoidal_vectors(place):
    """RoPE with unit pairs is the sinusoid: by algebra the same distances."""
    positions = PLACES[place]
    sinusoid = encoding("sinusoidal", dimension=32)
    vectors = sinusoid.vectors(positions)
    wanted = cdist(vectors, vectors)
    lifted = lift(sinusoid, positions)
    np.testing.assert_allclose(lifted.distances, wanted, atol=1e-11)
    rope = lift(encoding("rope", dimension=32), positions)
    np.testing.assert_array_equal(rope.distances, lifted.distances)
    assert lifted.negative_share == 0.0


def test_on_a_grid_axial_encodings_lift_to_the_distances_of_their_vectors():
    sinusoid = encoding("sinusoidal", dimension=16, axes=2)
    vectors = sinusoid.vectors(GRID)
    wanted = cdist(vectors, vectors)
    np.testing.assert_allclose(lift(sinusoid, GRID).distances, wanted, atol=1e-13)
    rope = encoding("rope", dimension=16, axes=2)
    np.testing.assert_allclose(lift(rope, GRID).distances, wanted, atol=1e-13)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("place", ["line", "gaps", "floats"])
def test_probe_lift_is_the_distance_between_turned_copies_of_the_probe(layout, place, rng):
    positions = PLACES[place]
    rope = encoding("rope", dimension=12, layout=layout)
    probe = rng.normal(size=12)
    copies = np.tile(probe, (len(positions), 1))
    turned, _ = rope.transform(copies, copies, positions)
    lifted = lift(rope, positions, lift="probe", probe=probe)
    np.testing.assert_allclose(lifted.distances, cdist(turned, turned), atol=1e-12)


def test_the_default_probe_has_mean_pair_energy_one():
    """Over many dimensions the probe gives nearly the kernel distances."""
    rope = encoding("rope", dimension=4096)
    kernel = lift(rope, np.arange(50)).distances[0, 1:]
    probe = lift(rope, np.arange(50), lift="probe").distances[0, 1:]
    np.testing.assert_allclose(probe, kernel, rtol=0.1)
    again = lift(rope, np.arange(50), lift="probe", rng=np.random.default_rng(1))
    assert not np.array_equal(again.distances[0, 1:], probe)


def test_alibi_lifts_to_root_and_to_line():
    alibi = encoding("alibi", slopes=(0.25, 0.75))
    lags = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(lift(alibi, np.arange(6), lift="slope").distances, 0.5 * lags)
    np.testing.assert_allclose(lift(alibi, np.arange(6)).distances, np.sqrt(lags))


def test_alibi_on_a_grid_sees_euclidean_lags():
    alibi = encoding("alibi", slopes=(2.0,), axes=2)
    lifted = lift(alibi, GRID, lift="slope")
    np.testing.assert_allclose(lifted.distances, 2.0 * cdist(GRID, GRID), atol=1e-14)


def test_no_encoding_has_no_distances():
    assert not lift(encoding("nope"), np.arange(5)).distances.any()


@pytest.mark.parametrize("name", ["random", "table"])
def test_a_table_lifts_to_euclidean_distances_under_kernel_and_vectors(name, rng):
    parameters = {"random": {"dimension": 9}, "table": {"path": rng.normal(size=(20, 9))}}
    made = encoding(name, **parameters[name])
    vectors = made.vectors(np.arange(20))
    for word in ("kernel", "vectors"):
        lifted = lift(made, np.arange(20), lift=word)
        np.testing.assert_allclose(lifted.distances, cdist(vectors, vectors), atol=1e-13)
        assert lifted.lift == word


@dataclass(frozen=True, kw_only=True, eq=False)
class Bumpy(Encoding):
    """A bias that is largest at lag 2: no distance can have it as its kernel."""

    kinds: ClassVar[tuple[str, ...]] = ("bias",)

    @property
    def card(self):
        return Card(
            name="bumpy",
            family="bias",
            kind=("bias",),
            formula="",
            source="press2021",
            level=in_words("L5"),
            relative=True,
        )

    def bias(self, positions_q, positions_k=None):
        keys_at = positions_q if positions_k is None else positions_k
        lags = np.abs(np.subtract.outer(positions_q, keys_at))
        return np.where(lags == 2, 1.0, -lags)[None]


def test_squares_below_zero_are_counted_and_set_to_zero():
    """Of the 10 pairs of 5 positions 3 are at lag 2."""
    lifted = lift(Bumpy(), np.arange(5))
    assert lifted.negative_share == pytest.approx(0.3)
    assert lifted.distances[0].tolist() == [0, np.sqrt(2.0), 0, np.sqrt(6.0), np.sqrt(8.0)]


def test_a_lift_that_an_encoding_lacks_is_refused_with_those_it_has():
    cases = [
        ("sinusoidal", "slope", "kernel, vectors"),
        ("rope", "vectors", "kernel, probe"),
        ("alibi", "probe", "kernel, slope"),
        ("rope", "kernal", "kernel, probe"),
    ]
    for name, word, known in cases:
        made = encoding(name, **({} if name == "alibi" else {"dimension": 8}))
        with pytest.raises(EncodingError, match=rf"'{name}' has no lift '{word}'; it has: {known}"):
            lift(made, np.arange(4), lift=word)


def test_a_probe_of_another_dimension_is_refused():
    with pytest.raises(EncodingError, match=r"The probe has shape \(3,\); pass 8 finite numbers"):
        lift(encoding("rope", dimension=8), np.arange(4), lift="probe", probe=np.ones(3))


def test_a_line_encoding_on_a_grid_is_refused_with_a_remedy():
    with pytest.raises(EncodingError, match=r"have 2 axes and the encoding 'rope' has 1; .*axes=2"):
        lift(encoding("rope", dimension=8), GRID)


def test_a_table_on_a_grid_is_refused_with_another_remedy():
    with pytest.raises(EncodingError, match=r"'table' has 1; pass its rows as an array instead\."):
        lift(encoding("table", path=np.eye(40)), GRID)


def test_the_note_says_what_the_kernel_was():
    assert lift(encoding("alibi"), [0, 1]).note.endswith("the causal half mirrored")
    assert lift(encoding("alibi", symmetric=True), [0, 1]).note == "the mean bias over heads"


def test_a_batch_of_positions_is_refused():
    with pytest.raises(EncodingError, match=r"pass one list of positions to lift"):
        lift(encoding("rope", dimension=8), np.zeros((2, 2, 2)))


@pytest.mark.parametrize("count", [64, 100, 2048])
@pytest.mark.parametrize("step", [1.0, 0.25, 17.0])
def test_the_sine_of_a_sum_gives_what_one_sine_per_lag_gives(count, step, rng):
    frequencies = 10000.0 ** -np.linspace(0, 1, 24)
    weights = rng.random(24)
    phases = 0.5 * np.multiply.outer(step * np.arange(count), frequencies)
    wanted = (weights * np.sin(phases) ** 2).sum(axis=1)
    made = ladder_sine_squares(count, step, frequencies, weights)
    np.testing.assert_allclose(made, wanted, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 1.0])
def test_close_rows_far_from_the_origin_keep_their_distance(scale, rng):
    rows = rng.integers(0, 50, size=(40, 6)).astype(float)
    rows[20:] = rows[:20]
    rows[20:, 0] += scale  # exact in float64 to 1e-14
    wanted = cdist(rows, rows)
    np.testing.assert_allclose(distances_between(rows), wanted, rtol=1e-9)
