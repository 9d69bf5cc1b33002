"""Any encoding as a pytree of JAX: what is a leaf, transformations, tables, caches, bad input."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import gnomon
from gnomon.encodings.positions import documents, packed_positions, padded_positions, real
from gnomon.errors import EncodingError
from gnomon.jax import Layer, Places, Tables, layer, split

MIXED = gnomon.encoding("rope-mixed", dimension=8, heads=2)
ROPE = gnomon.encoding("rope", dimension=8)


@pytest.fixture
def content(rng: np.random.Generator) -> tuple[Any, Any]:
    """Queries and keys of two sequences, two heads, six places."""
    q, k = (jnp.asarray(rng.normal(size=(2, 2, 6, 8)), jnp.float32) for _ in range(2))
    return q, k


# -- pytree -----------------------------------------------------------------------------------


def test_only_learnable_numbers_are_leaves() -> None:
    assert jax.tree.leaves(layer(ROPE)) == []
    assert [leaf.shape for leaf in jax.tree.leaves(layer(MIXED))] == [(2, 4, 2)]


def test_layers_made_alike_share_their_compiled_code(content: tuple[Any, Any]) -> None:
    """And whatever they have learned since; another parameter compiles anew."""
    traced = []

    @jax.jit
    def turned(held: Layer, q: Any) -> Any:
        traced.append(held.definition)
        return held.transform(q, q, jnp.ones((6, held.definition.encoding.axes)))[0]

    first, second = layer(MIXED), layer(gnomon.encoding("rope-mixed", dimension=8, heads=2))
    moved = jax.tree.map(lambda number: number + 1.0, second)
    results = [turned(held, content[0]) for held in (first, second, moved)]
    assert len(traced) == 1
    assert np.array_equal(results[0], results[1])
    assert not np.allclose(results[0], results[2])
    other = gnomon.encoding("rope-mixed", dimension=8, heads=2, layout="half")
    assert not np.allclose(turned(layer(other), content[0]), results[0])
    assert len(traced) == 2


def test_every_field_of_a_definition_tells_layers_apart() -> None:
    yarn = {"name": "yarn", "factor": 4.0, "original_length": 64}
    made = [{}, {"base": 500.0}, {"layout": "half"}, {"fraction": 0.5}, {"scaling": yarn}]
    kinds = {jax.tree.structure(layer(gnomon.encoding("rope", dimension=8, **m))) for m in made}
    assert len(kinds) == len(made)


def test_learned_numbers_go_back_to_numpy(rng: np.random.Generator) -> None:
    made = layer(MIXED)
    assert made.encoding is MIXED
    changed = rng.normal(size=(2, 4, 2)).astype(np.float32)
    moved = jax.tree.map(lambda _: jnp.asarray(changed), made)
    assert np.array_equal(moved.encoding.frequencies, changed.astype(np.float64))


# -- transformations --------------------------------------------------------------------------


def test_compiled_vectorised_and_plain_code_agree(content: tuple[Any, Any]) -> None:
    q, k = content
    at = jnp.arange(6)
    plain = layer(ROPE).transform(q, k, at)
    compiled = jax.jit(Layer.transform)(layer(ROPE), q, k, at)
    mapped = jax.jit(jax.vmap(Layer.transform, in_axes=(None, 0, 0, None)))(layer(ROPE), q, k, at)
    for made in (compiled, mapped):
        for ours, theirs in zip(made, plain, strict=True):
            assert np.allclose(ours, theirs, rtol=0, atol=1e-6)


def test_vmap_over_positions_gives_each_sequence_its_own(content: tuple[Any, Any]) -> None:
    q, k = content
    at = np.array([np.arange(6), 1000 + 7 * np.arange(6)])
    mapped = jax.jit(jax.vmap(layer(ROPE).scores))(q, k, jnp.asarray(at))
    wanted = ROPE.scores(np.asarray(q, np.float64), np.asarray(k, np.float64), at)
    assert np.allclose(mapped, wanted, rtol=0, atol=2e-5)
    assert np.allclose(jax.jit(layer(ROPE).scores)(q, k, at), wanted, rtol=0, atol=2e-5)


def test_slopes_of_learned_frequencies_agree_with_finite_differences(
    content: tuple[Any, Any], rng: np.random.Generator
) -> None:
    at = jnp.asarray(rng.normal(size=(6, 2)), jnp.float32)
    check_grads(
        jax.jit(lambda held, q, k: held.scores(q, k, at)),
        (layer(MIXED), *content),
        order=1,
        modes=["rev"],
        atol=2e-2,
        rtol=2e-2,
    )


def test_planted_frequencies_are_found_by_descent(
    content: tuple[Any, Any], rng: np.random.Generator
) -> None:
    """Gradient steps on the whole pytree bring learned frequencies to those of another encoding."""
    at = jnp.asarray(rng.normal(size=(6, 2)), jnp.float32)
    planted = MIXED.with_numbers(frequencies=MIXED.frequencies + 0.3)
    target = layer(planted).transform(*content, at)[0]

    def loss(held: Layer) -> Any:
        return jnp.square(held.transform(*content, at)[0] - target).mean()

    step = jax.jit(lambda h: jax.tree.map(lambda x, down: x - 0.5 * down, h, jax.grad(loss)(h)))
    held = layer(MIXED)
    for _ in range(300):
        held = step(held)
    assert np.allclose(held.encoding.frequencies, planted.frequencies, rtol=0, atol=0.02)


def test_a_cache_that_grows_inside_of_compiled_code_gives_the_same_scores(
    content: tuple[Any, Any],
) -> None:
    """The offset is traced: one compiled step serves every place."""
    q, k = content
    whole = layer(ROPE).scores(q, k, jnp.arange(6) + 100_000)
    step = jax.jit(lambda q, k, start: layer(ROPE).transform(q, k, jnp.arange(1) + start))
    keys = [step(q[..., i : i + 1, :], k[..., i : i + 1, :], 100_000 + i) for i in range(6)]
    left, right = (jnp.concatenate([pair[side] for pair in keys], -2) for side in (0, 1))
    assert np.allclose(left @ jnp.matrix_transpose(right), whole, rtol=0, atol=1e-5)


# -- tables -----------------------------------------------------------------------------------


def test_tables_made_once_turn_as_the_transform_does(content: tuple[Any, Any]) -> None:
    """Positions of all sequences or of each; heads alike or with frequencies of their own."""
    for encoding in (ROPE, MIXED, gnomon.encoding("rope", dimension=8, fraction=0.5)):
        made = layer(encoding)
        axes = () if encoding.axes == 1 else (encoding.axes,)
        for shape in ((6,), (2, 6)):
            at = jnp.arange(np.prod(shape + axes)).reshape(shape + axes)
            tables = jax.jit(made.tables)(at)
            assert isinstance(tables, Tables)
            turned = jax.jit(made.transform)(*content, at)
            for x, wanted, side in zip(content, turned, "qk", strict=True):
                again = jax.jit(made.turn, static_argnames="side")(x, tables, side=side)
                assert np.allclose(again, wanted, rtol=0, atol=1e-6)


def test_a_transform_without_tables_is_called_the_same_way(content: tuple[Any, Any]) -> None:
    inner = {"name": "rope", "dimension": 8}
    model = gnomon.encoding("rope-nope-layers", inner=inner, temperature=0.1, temperature_length=2)
    made = layer(model.at_layer(3))
    places = jax.jit(made.tables)(jnp.arange(6))
    assert isinstance(places, Places)
    q, k = made.transform(*content, jnp.arange(6))
    assert np.array_equal(made.turn(content[0], places, side="q"), q)
    assert np.array_equal(made.turn(content[1], places, side="k"), k)
    assert not np.array_equal(q, content[0])
    with pytest.raises(EncodingError, match="These are no tables of the encoding 'rope-nope"):
        made.turn(content[0], layer(ROPE).tables(jnp.arange(6)), side="q")


# -- precision --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [jnp.bfloat16, jnp.float16])
def test_half_precision_is_turned_in_float32_and_rounded_once(kind: Any, rng: Any) -> None:
    """At position 10^6 too, where a phase in bfloat16 means nothing."""
    x = jnp.asarray(rng.normal(size=(6, 8)), kind)
    at = 10**6 - np.arange(6)
    made = layer(ROPE).transform(x, x, jnp.asarray(at))[0]
    wide = np.asarray(x, np.float64)
    wanted = ROPE.transform(wide, wide, at)[0]
    assert made.dtype == kind
    step = 2.0 ** np.floor(np.log2(np.abs(wanted))) * float(jnp.finfo(kind).eps)
    assert (np.abs(np.asarray(made, np.float64) - wanted) <= 0.51 * step + 2e-6).all()


def test_a_layer_adds_in_the_type_it_was_given() -> None:
    tokens = jnp.ones((6, 8), jnp.bfloat16)
    vectors = gnomon.encoding("sinusoidal", dimension=8)
    assert (
        tokens + layer(vectors, dtype=jnp.bfloat16).vectors(jnp.arange(6))
    ).dtype == tokens.dtype
    assert layer(vectors).vectors(jnp.arange(6)).dtype == jnp.float32
    bias = gnomon.encoding("alibi", heads=2)
    assert layer(bias, dtype=jnp.bfloat16).bias(jnp.arange(6)).dtype == jnp.bfloat16


def test_one_layer_serves_both_precisions() -> None:
    """Constants follow the precision that is on, not the one it was made under."""
    made = layer(gnomon.encoding("sinusoidal", dimension=8))
    assert made.vectors(jnp.arange(6)).dtype == jnp.float32
    with jax.enable_x64(True):
        wide = made.vectors(jnp.arange(6))
        assert wide.dtype == jnp.float64
        assert np.allclose(wide, made.encoding.vectors(np.arange(6)), rtol=0, atol=1e-15)
    assert made.vectors(jnp.arange(6)).dtype == jnp.float32


# -- lengths ----------------------------------------------------------------------------------


def test_positions_from_lengths_are_made_inside_of_compiled_code() -> None:
    """Lengths [3, 0, 2] and [1, 4, 0], as a batch of packed or of padded sequences."""
    batch = jnp.array([[3, 0, 2], [1, 4, 0]])
    packed = jax.jit(jax.vmap(lambda n: packed_positions(n, total=5)))(batch)
    assert packed.tolist() == [[0, 1, 2, 0, 1], [0, 0, 1, 2, 3]]
    owner = jax.jit(jax.vmap(lambda n: documents(n, total=5)))(batch)
    assert owner.tolist() == [[0, 0, 0, 2, 2], [0, 1, 1, 1, 1]]
    padded = jax.jit(jax.vmap(lambda n: padded_positions(n, width=4, side="left")))(batch)
    assert padded[0].tolist() == [[0, 0, 1, 2], [0, 0, 0, 0], [0, 0, 0, 1]]
    there = jax.jit(jax.vmap(lambda n: real(n, width=4, side="left")))(batch)
    assert there.sum(-1).tolist() == batch.tolist()
    assert padded_positions(jnp.array([2]), width=3).tolist() == [[0, 1, 0]]


# -- bad input --------------------------------------------------------------------------------


def test_bad_input_gets_a_sentence(content: tuple[Any, Any]) -> None:
    made, q = layer(ROPE), content[0]
    with pytest.raises(EncodingError, match="made of an encoding, and this is int; pass what"):
        layer(4)  # type: ignore[arg-type]
    with pytest.raises(EncodingError, match="'rope' has no vectors; it offers transform"):
        made.vectors(jnp.arange(6))
    with pytest.raises(EncodingError, match=r"position at index \[1\] is nan; pass finite"):
        made.transform(q, q, jnp.array([0.0, jnp.nan]))
    with pytest.raises(EncodingError, match="q holds int32; pass real numbers"):
        made.transform(jnp.ones((6, 8), jnp.int32), q, jnp.arange(6))
    with pytest.raises(EncodingError, match="turns vectors of dimension 8; pass an array"):
        made.turn(q[..., :6], made.tables(jnp.arange(6)), side="q")


@pytest.mark.parametrize("far", [3e9, -3e9])
def test_positions_past_int32_are_refused_where_they_can_be_seen(far: float) -> None:
    for at in (jnp.array([far]), np.array([far]), [far]):
        rounded = "reach 3e+09 as float32"  # JAX has rounded them before they are seen
        said = f"reach {far:g}, and without float64" if not hasattr(at, "devices") else rounded
        with pytest.raises(EncodingError, match=re.escape(said)):
            layer(ROPE).tables(at)
    with pytest.raises(EncodingError, match=r"subtract an origin first"):
        split([far])


def test_split_positions_are_refused_where_they_do_not_fit() -> None:
    with pytest.raises(EncodingError, match="split on 1 axes, but this encoding has 2; split them"):
        layer(MIXED).tables(split([1.5, 2.5]))
    with pytest.raises(EncodingError, match=r"position at index \[0\] is inf"):
        split([np.inf])
    with pytest.raises(EncodingError, match="that JAX traces, which are float32 by then"):
        jax.jit(split)(jnp.arange(3.0))
