"""Layers without an encoding between layers with one: the schedule, the temperature, the inner."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.encodings.wrappers import inner_encoding, inner_parameters, sharpening
from gnomon.errors import EncodingError
from gnomon.numeric.limbs import Limbs

ROPE = {"name": "rope", "dimension": 8}


def test_an_encoded_layer_is_its_inner_encoding(rng):
    q, k = rng.normal(size=(2, 6, 8))
    layer = encoding("rope-nope-layers", inner=ROPE, layer=2)
    made, wanted = (e.transform(q, k, np.arange(6)) for e in (layer, encoding("rope", dimension=8)))
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(
        lift(layer, np.arange(6)).distances,
        lift(encoding("rope", dimension=8), np.arange(6)).distances,
    )


def test_a_layer_without_the_encoding_changes_nothing(rng):
    q, k = rng.normal(size=(2, 6, 8))
    layer = encoding("rope-nope-layers", inner=ROPE, layer=3)
    np.testing.assert_array_equal(layer.transform(q, k, np.arange(6)), (q, k))
    assert not lift(layer, np.arange(6)).distances.any()
    assert layer.numbers == {}


def test_without_every_layer_nothing_is_encoded():
    model = encoding("rope-nope-layers", inner=ROPE, every=1)
    assert not any(model.at_layer(layer).encoded for layer in range(8))


def test_the_temperature_sharpens_queries_by_the_closed_form(rng):
    q, k = rng.normal(size=(2, 2, 3, 50, 8))
    layer = encoding(
        "rope-nope-layers", inner=ROPE, layer=3, temperature=0.1, temperature_length=16
    )
    places = np.arange(-3, 47)
    queries, keys = layer.transform(q, k, places)
    steps = [max(0, (int(place) + 1) // 16) for place in places]
    factors = np.array([1.0 + 0.1 * np.log(1.0 + step) for step in steps])
    np.testing.assert_allclose(queries, q * factors[:, None], rtol=1e-14)
    np.testing.assert_array_equal(keys, k)


def test_the_temperature_of_positions_apart_for_each_sequence(rng):
    q = rng.normal(size=(2, 3, 5, 8))
    layer = encoding("rope-nope-layers", inner=ROPE, layer=3, temperature=0.1, temperature_length=2)
    places = rng.integers(0, 100, size=(2, 5))
    made, _ = layer.transform(q, q, places)
    for row in range(2):
        alone, _ = layer.transform(q[row], q[row], places[row])
        np.testing.assert_array_equal(made[row], alone)


def test_steps_of_the_temperature_are_exact_without_float64():
    """Near 2^30 float32 cannot tell a position from its neighbours; whole numbers can."""
    places = np.array([0, 8190, 8191, 8192, 2**30 - 2, 2**30 - 1, 2**30], dtype=np.int32)
    limbs = Limbs(whole=places[:, None], fraction=np.full((7, 1), 0.5, np.float32))
    made = sharpening(limbs, 1.0, 8192, xp=np)[:, 0]
    steps = [0, 0, 1, 1, 2**17 - 1, 2**17, 2**17]
    np.testing.assert_allclose(made, 1.0 + np.log1p(steps), rtol=2e-7)
    assert made[4] < made[5] == made[6]


def test_a_temperature_is_not_shift_invariant_and_the_card_says_so(rng):
    q, k = rng.normal(size=(2, 6, 8))
    layer = encoding("rope-nope-layers", inner=ROPE, layer=3, temperature=0.1, temperature_length=4)
    here, there = (layer.scores(q, k, np.arange(6) + shift) for shift in (0, 1000))
    assert np.abs(here - there).max() > 0.1
    assert layer.card.level == "L6 not shift invariant"
    assert not layer.card.relative
    assert layer.at_layer(0).card.level == "L0 strict group"


def test_learned_frequencies_reach_the_inner_encoding(rng):
    layer = encoding("rope-nope-layers", inner={"name": "rope-mixed", "dimension": 8, "heads": 2})
    assert layer.axes == 2
    learned = rng.normal(size=(2, 4, 2))
    assert layer.learnable == ("frequencies",)
    np.testing.assert_array_equal(
        layer.with_numbers(frequencies=learned).inside.frequencies, learned
    )
    with pytest.raises(EncodingError, match=r"cannot learn 'frequencies'; it learns: nothing\."):
        layer.at_layer(3).with_numbers(frequencies=learned)


@pytest.mark.parametrize(
    "given",
    [
        ROPE,
        {"name": "rope", "dimension": 8, "scaling": {"name": "linear", "factor": 2.0}},
        {"name": "rope-mixed", "dimension": 8, "heads": 2, "seed": 5},
        {"name": "mla", "dimension": 12, "content_dimension": 8},
        {"name": "rope-nope-layers", "inner": ROPE, "layer": 2},
    ],
)
def test_parameters_make_the_same_encoding_again(given, rng):
    first = inner_encoding(given)
    again = inner_encoding(inner_parameters(first))
    q, k = rng.normal(size=(2, 2, 5, first.dimension))
    places = rng.integers(0, 50, size=(5,) if first.axes == 1 else (5, first.axes))
    np.testing.assert_array_equal(first.transform(q, k, places), again.transform(q, k, places))


@pytest.mark.parametrize("layer", [2, 3])
def test_vectors_of_another_dimension_are_refused_in_every_layer(layer, rng):
    q = rng.normal(size=(4, 6))
    with pytest.raises(EncodingError, match=r"q has shape \(4, 6\), but .* dimension 8; pass an"):
        encoding("rope-nope-layers", inner=ROPE, layer=layer).transform(q, q, np.arange(4))


def test_an_inner_encoding_that_is_a_bias_is_refused():
    with pytest.raises(
        EncodingError, match=r"inner is 'alibi', which offers bias; pass an encoding"
    ):
        encoding("rope-nope-layers", inner={"name": "alibi", "heads": 2})


@pytest.mark.parametrize("inner", ["rope", {"dimension": 8}, 3])
def test_an_inner_encoding_without_a_name_is_refused(inner):
    with pytest.raises(
        EncodingError, match=r"inner is .*; pass an encoding, or its parameters with"
    ):
        encoding("rope-nope-layers", inner=inner)


def test_an_unknown_inner_encoding_is_named():
    with pytest.raises(EncodingError, match=r"There is no encoding 'ropes': did you mean 'rope'\?"):
        encoding("rope-nope-layers", inner={"name": "ropes", "dimension": 8})


def test_a_temperature_on_several_axes_is_refused():
    with pytest.raises(EncodingError, match=r"temperature is 0\.1 and inner has 2 axes; pass temp"):
        encoding(
            "rope-nope-layers",
            inner={"name": "rope", "dimension": 8, "axes": 2},
            temperature=0.1,
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"every": 0}, r"every is 0; pass a whole number from 1 on\."),
        ({"layer": -1}, r"layer is -1; pass a whole number from 0 on\."),
        ({"temperature": -0.1}, r"temperature is -0\.1; pass a finite number from 0 on\."),
        ({"temperature_length": 0}, r"temperature_length is 0; pass a whole number from 1 on\."),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, message):
    with pytest.raises(EncodingError, match=message):
        encoding("rope-nope-layers", inner=ROPE, **wrong)


def test_an_encoded_layer_gives_the_scores_and_keeps_the_promises_of_what_is_inside(rng):
    """Far positions need the blocks of xPos: a plain product of its factors overflows there."""
    inner = encoding("xpos", dimension=8)
    layer = encoding("rope-nope-layers", inner=inner)
    assert layer.card.causal_only
    q, k = rng.normal(size=(2, 3, 8)).astype(np.float32)
    far = 10**6 + np.arange(3)
    np.testing.assert_array_equal(layer.scores(q, k, far), inner.scores(q, k, far))
    assert np.isfinite(np.diagonal(layer.scores(q, k, far))).all()
