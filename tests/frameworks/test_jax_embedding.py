"""The pytree of JAX and the module of Flax: NumPy's numbers, transformations, declared ends."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from gnomon.encodings.fitted import Fitted
from gnomon.errors import EncodingError
from gnomon.jax import PositionVectors, embed, load, to_fitted
from gnomon.jax.nnx import Frozen, PositionEmbedding

ALL = jnp.arange(12)


def descended(encoding: PositionVectors, target: Any, many: int = 50) -> PositionVectors:
    """Gradient steps on the whole pytree, as a user without an optimiser library takes them."""

    @jax.jit
    def step(now: PositionVectors) -> PositionVectors:
        slope = jax.grad(lambda e: jnp.square(embed(e, ALL) - target).sum())(now)
        return jax.tree.map(lambda value, down: value - 0.02 * down, now, slope)

    for _ in range(many):
        encoding = step(encoding)
    return encoding


# -- numbers ----------------------------------------------------------------------------------


def test_a_loaded_pytree_gives_the_vectors_of_numpy(
    built_in: Fitted, tmp_path: Path, ulps: Any
) -> None:
    """Within 1 ulp of the float64 vectors rounded to float32; bit for bit the shipped table."""
    built_in.save(tmp_path / "encoding.safetensors")
    encoding = load(tmp_path / "encoding.safetensors")
    at = np.arange(built_in.reach)
    shipped = Fitted.load(tmp_path / "encoding.safetensors").vectors(at).astype(np.float32)
    assert ulps(embed(encoding, at), shipped) <= 1
    assert np.array_equal(embed(encoding, at), built_in.table())
    assert np.array_equal(jax.jit(embed)(encoding, at), built_in.table())


@pytest.mark.data
def test_promoters_in_jax_are_promoters_in_numpy(
    promoters: Fitted, tmp_path: Path, ulps: Any
) -> None:
    promoters.save_pretrained(tmp_path / "promoters")
    encoding = load(tmp_path / "promoters")
    at = np.arange(promoters.reach)
    shipped = Fitted.from_pretrained(tmp_path / "promoters").vectors(at).astype(np.float32)
    assert ulps(jax.jit(embed)(encoding, at), shipped) <= 1
    assert np.array_equal(embed(encoding, at), promoters.table())


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_positions_of_any_shape_give_a_vector_each(fitted: Fitted, shape: tuple[int, ...]) -> None:
    at = np.random.default_rng(0).integers(0, 12, shape)
    assert np.array_equal(embed(load(fitted), at), fitted.table()[at])


def test_a_grid_takes_coordinates_and_row_numbers_in_jax(grid: Fitted) -> None:
    at = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), axis=-1)
    wanted = grid.table().reshape(3, 4, 8)
    assert np.array_equal(embed(load(grid), at), wanted)
    assert np.array_equal(jax.jit(embed)(load(grid), at), wanted)
    assert np.array_equal(embed(load(grid, flat=True), ALL), grid.table())
    with pytest.raises(EncodingError, match=r"shape \(5,\), but this encoding has 2 axes"):
        jax.jit(embed)(load(grid), jnp.arange(5))


@pytest.mark.parametrize("kind", [jnp.bfloat16, jnp.float16])
def test_a_pytree_in_another_precision_is_the_table_rounded(fitted: Fitted, kind: Any) -> None:
    assert np.array_equal(embed(load(fitted, dtype=kind), ALL), fitted.table().astype(kind))


def test_positions_that_are_no_whole_numbers_are_refused_by_jax(fitted: Fitted) -> None:
    with pytest.raises(EncodingError, match=r"positions have type float32; pass whole"):
        embed(load(fitted), jnp.ones(3, jnp.float32))


# -- transformations --------------------------------------------------------------------------


def test_only_the_numbers_are_leaves(fitted: Fitted, learned: Fitted) -> None:
    assert [leaf.shape for leaf in jax.tree.leaves(load(fitted))] == [(12, 8)]
    shapes = [leaf.shape for leaf in jax.tree.leaves(load(learned, trainable=True))]
    assert shapes == [(12, 3), (3, 8), ()]


def test_the_same_file_loaded_twice_has_one_structure(fitted: Fitted, tmp_path: Path) -> None:
    """So that states can be mapped over each other and compiled code is used again."""
    fitted.save(tmp_path / "e.safetensors")
    first, second = (load(tmp_path / "e.safetensors") for _ in range(2))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    traced = []
    taken = jax.jit(lambda e, i: (traced.append(1), embed(e, i))[1])
    taken(first, ALL)
    taken(second, ALL)
    assert len(traced) == 1


def test_vmap_takes_the_same_vectors(fitted: Fitted) -> None:
    at = jnp.arange(12).reshape(4, 3)
    made = jax.vmap(embed, in_axes=(None, 0))(load(fitted), at)
    assert np.array_equal(made, fitted.table()[np.asarray(at)])


def test_the_gradient_counts_how_often_a_row_was_taken_in_jax(dense: Fitted) -> None:
    slope = jax.grad(lambda e: embed(e, jnp.array([2, 2, 5])).sum())(load(dense, trainable=True))
    wanted = np.zeros((12, 8))
    wanted[2], wanted[5] = 2, 1
    assert np.array_equal(slope.table, wanted)


def test_gradients_agree_with_finite_differences(learned: Fitted) -> None:
    from jax.test_util import check_grads

    encoding = load(learned, trainable=True)
    check_grads(lambda e: embed(e, jnp.array([0, 7, 7])), (encoding,), order=1, modes=["rev"])


def test_a_masked_row_does_not_spoil_the_gradient_of_the_factors_in_jax(holed: Fitted) -> None:
    encoding = load(holed, trainable=True)
    slope = jax.grad(lambda e: embed(e, jnp.array([0, 1, 3])).sum())(encoding)
    assert np.isfinite(slope.left).all()
    assert np.isfinite(slope.right).all()


def test_a_frozen_table_stays_and_its_gain_is_trained(learned: Fitted) -> None:
    encoding = load(learned)
    after = descended(encoding, 2.0 * encoding.table)
    assert np.array_equal(after.table, learned.table())
    assert float(after.gain) == pytest.approx(2.0, abs=0.01)


def test_a_trainable_table_reaches_another_one_in_jax(dense: Fitted) -> None:
    encoding = load(dense, trainable=True)
    after = descended(encoding, encoding.table + 0.5, many=200)
    assert np.allclose(after.table, dense.table() + 0.5, rtol=0, atol=0.01)


# -- ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [12, -1, 2**40])
def test_jax_raises_the_sentence_of_numpy_where_it_sees_values(fitted: Fitted, bad: int) -> None:
    with pytest.raises(EncodingError) as said:
        fitted.vectors([0, bad])
    with pytest.raises(EncodingError, match=re.escape(str(said.value))):
        embed(load(fitted), np.array([0, bad]))


def test_compiled_code_gives_nan_for_what_is_refused(holed: Fitted) -> None:
    made = jax.jit(embed)(load(holed), jnp.array([0, 12, -1, 4, 11]))
    assert np.isnan(made).all(axis=1).tolist() == [False, True, True, True, False]
    with pytest.raises(EncodingError, match="Position 4 was masked"):
        embed(load(holed), [4])


def test_a_column_past_the_edge_of_a_grid_is_nan_in_compiled_code(grid: Fitted) -> None:
    made = jax.jit(embed)(load(grid), jnp.array([[0, 4], [3, 0], [-1, 2], [2, 3]]))
    assert np.isnan(made).all(axis=1).tolist() == [True, True, True, False]


def test_clamping_is_the_same_compiled_and_not(grid: Fitted) -> None:
    encoding = load(replace(grid, beyond="clamp"))
    far, edge = jnp.array([[7, 1], [1, 9], [3, 4]]), jnp.array([[2, 1], [1, 3], [2, 3]])
    wanted = grid.vectors(np.asarray(edge))
    for taken in (embed, jax.jit(embed)):
        assert np.allclose(taken(encoding, far), wanted, rtol=0, atol=1e-6)
    with pytest.raises(EncodingError, match="Position -1, 0 is negative"):
        embed(encoding, jnp.array([[-1, 0]]))


# -- back to NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("factored", [False, True])
def test_trained_numbers_go_to_a_file_and_come_back(
    learned: Fitted,
    tmp_path: Path,
    factored: bool,  # noqa: FBT001 - a case
) -> None:
    encoding = load(learned, trainable=True, factored=factored)
    assert to_fitted(encoding, learned) is learned
    after = descended(encoding, jnp.ones((12, 8)), many=5)
    to_fitted(after, learned).save(tmp_path / "e.safetensors")
    again = load(tmp_path / "e.safetensors", trainable=True, factored=factored)
    assert np.array_equal(embed(again, ALL), embed(after, ALL))
    assert Fitted.load(tmp_path / "e.safetensors").to_dict()["origin"]["trained"] is True


# -- Flax -------------------------------------------------------------------------------------


@pytest.mark.parametrize("trainable", [False, True])
def test_a_flax_module_holds_params_only_where_it_is_trained(
    fitted: Fitted,
    trainable: bool,  # noqa: FBT001 - a case
) -> None:
    module = PositionEmbedding(fitted, trainable=trainable, rngs=nnx.Rngs(0))
    params = jax.tree.leaves(nnx.state(module, nnx.Param))
    frozen = jax.tree.leaves(nnx.state(module, Frozen))
    assert (len(params), len(frozen)) == ((2, 0) if trainable else (0, 1))
    assert (module.num_embeddings, module.features) == (12, 8)
    assert np.allclose(module(ALL), fitted.table(), rtol=0, atol=0 if not trainable else 1e-6)


def test_a_flax_module_splits_and_merges(learned: Fitted) -> None:
    module = PositionEmbedding(learned)
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    assert [leaf.shape for leaf in jax.tree.leaves(params)] == [()]
    again = nnx.merge(graph, params, rest)
    assert np.array_equal(again(ALL), module(ALL))
    assert np.array_equal(nnx.jit(lambda m, i: m(i))(module, ALL), module(ALL))


def test_a_flax_module_keeps_its_end(fitted: Fitted) -> None:
    module = PositionEmbedding(fitted)
    with pytest.raises(EncodingError, match="Position 12 is past the end"):
        module(jnp.array([12]))
    assert np.isnan(nnx.jit(lambda m, i: m(i))(module, jnp.array([12]))).all()


def test_a_flax_module_trains_what_it_declares(learned: Fitted) -> None:
    """The gradient of a frozen module has the gain alone; a step moves that and nothing else."""
    module = PositionEmbedding(learned)
    target = 2.0 * learned.table()
    for _ in range(50):
        slope = nnx.grad(lambda m: jnp.square(m(ALL) - target).sum())(module)
        state = nnx.state(module, nnx.Param)
        nnx.update(module, jax.tree.map(lambda value, down: value - 0.02 * down, state, slope))
    assert float(module.gain[...]) == pytest.approx(2.0, abs=0.01)
    assert np.array_equal(module.table[...], learned.table())
    assert module.to_fitted(learned).gain == pytest.approx(2.0, abs=0.01)


def test_rounding_to_bfloat16_is_no_training_in_jax(learned: Fitted) -> None:
    for trainable in (False, True):
        rounded = load(learned, trainable=trainable, dtype=jnp.bfloat16)
        assert to_fitted(rounded, learned) is learned


def test_a_flax_module_takes_the_scale_of_a_token_embedding(fitted: Fitted) -> None:
    vectors = PositionEmbedding(fitted, match=0.02)(ALL)
    assert np.sqrt(np.mean(np.square(vectors))) == pytest.approx(0.02, rel=1e-6)
