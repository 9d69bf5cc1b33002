"""JAX without float64 at the ends of int32, and positions that it cannot hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.rope import convert_vectors

jax = pytest.importorskip("jax")
jnp = jax.numpy
held = pytest.importorskip("gnomon.jax")
FAR = 2**31 - 1


@pytest.fixture(autouse=True)
def _narrow():
    if jnp.zeros(()).dtype == jnp.float64:
        pytest.skip("float64 is on")


def test_lags_between_the_ends_are_right_to_float32():
    """As int32 they would come around to the other sign."""
    alibi = held.layer(encoding("alibi", slopes=(1.0,)))
    at = np.array([-(2**31), -2_000_000_000, -1, 0, 70_001, 2_000_000_000, FAR])
    wanted = -(at[:, None] - at).astype(np.float64)
    np.testing.assert_allclose(alibi.bias(jnp.asarray(at, jnp.int32))[0], wanted, rtol=6e-8)


def test_small_lags_between_large_positions_are_exact():
    alibi = held.layer(encoding("alibi", slopes=(1.0,)))
    at = np.array([FAR, FAR - 1, FAR - 65_536, FAR - 65_537, FAR - 2**24])
    found = np.asarray(alibi.bias(jnp.asarray(at, jnp.int32))[0], np.float64)
    np.testing.assert_array_equal(found, -(at[:, None] - at))


def test_a_decay_forgets_keys_at_the_other_end():
    """The factor there is 0: as int32 the lag came out negative, and its factor infinite."""
    x, ends = jnp.ones((1, 8)), (jnp.array([2_000_000_000]), jnp.array([-2_000_000_000]))
    made = encoding("retnet", dimension=8, heads=1).scores(x[None], x[None], *ends)
    assert float(made[0, 0, 0]) == 0.0


def test_a_reference_past_int32_is_a_reference():
    xpos = encoding("xpos", dimension=8, scale_base=1e9)
    x, at = np.ones((1, 8), np.float32), np.array([FAR])
    wanted = xpos.transform(x.astype(float), x.astype(float), at, reference=3e9)
    found = xpos.transform(jnp.asarray(x), jnp.asarray(x), jnp.asarray(at), reference=3e9)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at", [FAR, FAR - 1, 8191, 8190, 0, -1, -(2**31)])
def test_the_temperature_of_a_layer_is_right_at_the_ends(at):
    made = encoding(
        "rope-nope-layers", inner={"name": "rope", "dimension": 8}, every=1, temperature=0.1
    )
    q, _ = held.layer(made).transform(jnp.ones((1, 8)), jnp.ones((1, 8)), jnp.array([at]))
    wanted = 1 + 0.1 * np.log1p(max(0, (at + 1) // 8192))
    np.testing.assert_allclose(q[0, 0], wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "at",
    [
        np.array([3e9, 1], np.float32),
        np.array([-3e9, 1], np.float32),
        np.array([np.nan, 1], np.float32),
        np.array([2**31 + 5, 1], np.uint32),
    ],
)
@pytest.mark.parametrize(
    ("name", "given"), [("rope", {"dimension": 8}), ("alibi", {"heads": 1}), ("t5", {"heads": 1})]
)
def test_positions_that_can_not_be_held_are_nan_in_compiled_code(name, given, at):
    """And nothing else is: outside of compiled code they are refused in words."""
    made = held.layer(encoding(name, **given))
    call = made.bias if name != "rope" else (lambda p: made.tables(p).cosine)
    found = np.asarray(jax.jit(call)(jnp.asarray(at)))
    found = found[0] if name != "rope" else found
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1, -1])


def test_positions_in_limbs_serve_an_encoding_without_a_layer():
    alibi, sinusoid = encoding("alibi", slopes=(0.5,)), encoding("sinusoidal", dimension=4)
    at = [1.7e9 + 0.25, 1.7e9 + 2.5]
    np.testing.assert_array_equal(alibi.bias(held.split(at)), alibi.bias(at))
    np.testing.assert_allclose(sinusoid.vectors(held.split(at)), sinusoid.vectors(at), atol=1e-6)


def test_vectors_change_their_layout_in_compiled_code():
    found = jax.jit(lambda x: convert_vectors(x, to="half"))(jnp.array([10.0, 11.0, 20.0, 21.0]))
    assert found.tolist() == [10.0, 20.0, 11.0, 21.0]


def test_a_list_of_numbers_becomes_float32_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q, _ = encoding("rope", dimension=2).transform([[1.0, 2.0]], jnp.ones((1, 2)), [0])
    assert q.dtype == jnp.float32


def test_tables_of_more_sequences_than_vectors_are_refused():
    from gnomon.errors import EncodingError

    made = held.layer(encoding("rope-mixed", dimension=8, heads=3))
    tables = made.tables(jnp.ones((2, 5, 2)))
    with pytest.raises(EncodingError, match=r"positions have shape .* and the vectors .*; pass"):
        made.turn(jnp.ones((1, 3, 5, 8)), tables, side="q")
