"""The PyTorch module: `nn.Embedding`'s manners, NumPy's numbers, declared ends."""

from __future__ import annotations

import copy
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn

from gnomon.encodings.files import FILE
from gnomon.encodings.fitted import Fitted
from gnomon.errors import EncodingError
from gnomon.torch import FactoredPositionEmbedding, PositionEmbedding, load

COMPILER = pytest.mark.skipif(
    shutil.which("g++") is None and shutil.which("clang++") is None,
    reason="torch.compile needs a C++ compiler",
)


COMPILING = pytest.mark.filterwarnings(  # of the compiler itself, when it is first loaded
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)


def numbers(module: nn.Module, positions: Any) -> np.ndarray:
    return module(torch.as_tensor(positions)).detach().numpy()


def steps(module: nn.Module, positions: torch.Tensor, target: torch.Tensor, many: int = 20) -> None:
    """Train towards a target with everything that can be trained."""
    trained = [p for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=0.05)
    for _ in range(many):
        optimiser.zero_grad()
        (module(positions) - target).square().sum().backward()
        optimiser.step()


# -- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_layer_can_take_the_scale_of_a_token_embedding(fitted: Fitted, kind: torch.dtype) -> None:
    """By torch's own mean of squares; distances keep their proportions."""
    tokens = nn.Embedding(50, 8, dtype=kind)
    wanted = tokens.weight.detach().double().square().mean().sqrt()
    for match in (tokens, tokens.weight, float(wanted)):
        weight = load(fitted, match=match).weight.detach().double()
        torch.testing.assert_close(weight.square().mean().sqrt(), wanted, rtol=1e-6, atol=0.0)
    own = torch.pdist(torch.from_numpy(fitted.table()).double())
    ratio = torch.pdist(weight) / own
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio), rtol=1e-5, atol=0.0)


def test_a_loaded_layer_gives_the_vectors_of_numpy(
    built_in: Fitted, tmp_path: Path, ulps: Any
) -> None:
    """Within 1 ulp of the float64 vectors rounded to float32; bit for bit the shipped table."""
    built_in.save(tmp_path / "encoding.safetensors")
    layer = load(tmp_path / "encoding.safetensors")
    at = np.arange(built_in.reach)
    shipped = Fitted.load(tmp_path / "encoding.safetensors").vectors(at).astype(np.float32)
    assert ulps(numbers(layer, at), shipped) <= 1
    assert np.array_equal(numbers(layer, at), built_in.table())


@pytest.mark.data
def test_a_layer_fitted_on_promoters_gives_the_vectors_of_numpy(
    promoters: Fitted, tmp_path: Path, ulps: Any
) -> None:
    promoters.save_pretrained(tmp_path / "promoters")
    layer = load(tmp_path / "promoters")
    at = np.arange(promoters.reach)
    shipped = Fitted.from_pretrained(tmp_path / "promoters").vectors(at).astype(np.float32)
    assert ulps(numbers(layer, at), shipped) <= 1
    assert np.array_equal(numbers(layer, at), promoters.table())


def test_the_layer_is_a_lookup_as_nn_embedding_does_it(fitted: Fitted) -> None:
    stock = nn.Embedding.from_pretrained(torch.from_numpy(fitted.table()))
    layer = load(fitted)
    positions = torch.randint(0, 12, (2, 3, 5), generator=torch.Generator().manual_seed(0))
    assert torch.equal(layer(positions), stock(positions))
    assert (layer.num_embeddings, layer.embedding_dim) == (12, 8)
    assert layer.padding_idx is stock.padding_idx is None


@pytest.mark.parametrize("kind", [torch.int8, torch.int16, torch.int32, torch.uint8])
def test_whole_positions_of_every_width_are_taken(fitted: Fitted, kind: torch.dtype) -> None:
    layer = load(fitted)
    assert torch.equal(layer(torch.arange(12).to(kind)), layer(torch.arange(12)))


def test_a_list_of_positions_is_taken(fitted: Fitted) -> None:
    assert torch.equal(load(fitted)([3, 1]), load(fitted)(torch.tensor([3, 1])))


def test_a_single_position_gives_a_single_vector(fitted: Fitted, grid: Fitted) -> None:
    assert torch.equal(load(fitted)(torch.tensor(3)), load(fitted)([3])[0])
    assert torch.equal(load(fitted)(3), load(fitted)([3])[0])
    assert torch.equal(load(grid)(torch.tensor([1, 2])), load(grid)([[1, 2]])[0])
    with pytest.raises(EncodingError, match=r"Position 12 is past the end"):
        load(fitted)(12)


def test_no_positions_give_no_vectors(fitted: Fitted) -> None:
    assert load(fitted)(torch.zeros((2, 0), dtype=torch.int64)).shape == (2, 0, 8)


def test_positions_that_are_no_whole_numbers_are_refused(fitted: Fitted) -> None:
    with pytest.raises(EncodingError, match=r"positions have type torch.float32; pass whole"):
        load(fitted)(torch.tensor([0.5]))


def test_a_grid_takes_coordinates_and_row_numbers(grid: Fitted) -> None:
    at = np.stack(np.meshgrid(np.arange(3), np.arange(4), indexing="ij"), axis=-1)
    assert np.array_equal(numbers(load(grid), at), grid.table().reshape(3, 4, 8))
    assert np.array_equal(numbers(load(grid, flat=True), np.arange(12)), grid.table())
    with pytest.raises(EncodingError, match=r"shape \(5,\), but this encoding has 2 axes; .*flat"):
        load(grid)(torch.arange(5))


def test_what_is_no_encoding_is_refused() -> None:
    with pytest.raises(EncodingError, match=r"cannot be made of ndarray; pass what gnomon.fit"):
        load(np.eye(3))


# -- ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [12, -1, 2**40])
def test_a_refused_position_raises_the_sentence_of_numpy(fitted: Fitted, bad: int) -> None:
    with pytest.raises(EncodingError) as said:
        fitted.vectors([0, bad])
    with pytest.raises(EncodingError, match=re.escape(str(said.value))):
        load(fitted)(torch.tensor([0, bad]))


def test_a_clamping_layer_repeats_its_last_position(fitted: Fitted) -> None:
    layer = load(replace(fitted, beyond="clamp"))
    assert torch.equal(layer(torch.tensor([12, 10**9])), layer(torch.tensor([11, 11])))
    with pytest.raises(EncodingError, match="Position -1 is negative"):
        layer(torch.tensor([-1]))


def test_a_clamping_grid_clamps_each_axis(grid: Fitted) -> None:
    layer = load(replace(grid, beyond="clamp"))
    far, edge = torch.tensor([[7, 1], [1, 9], [3, 4]]), torch.tensor([[2, 1], [1, 3], [2, 3]])
    assert torch.equal(layer(far), layer(edge))


def test_a_column_past_the_edge_of_a_grid_is_not_taken_from_the_next_row(grid: Fitted) -> None:
    with pytest.raises(EncodingError, match=r"Position 0, 4 is past the end .* position is 2, 3"):
        load(grid)(torch.tensor([[0, 4]]))


def test_a_masked_position_that_is_refused_raises_the_sentence_of_numpy(holed: Fitted) -> None:
    with pytest.raises(EncodingError) as said:
        holed.vectors([9])
    with pytest.raises(EncodingError, match=re.escape(str(said.value))):
        load(holed)(torch.tensor([[0, 9]]))
    assert torch.isfinite(load(holed)(torch.tensor([0, 3, 5]))).all()


def test_vectorised_code_gets_the_same_vectors_and_no_row_that_is_not_there(
    fitted: Fitted,
) -> None:
    layer = load(fitted)
    positions = torch.arange(12).reshape(4, 3)
    assert torch.equal(torch.vmap(layer)(positions), layer(positions))
    with pytest.raises(IndexError, match="out of range"):
        torch.vmap(layer)(positions - 1)


# -- compiling --------------------------------------------------------------------------------


@COMPILER
@COMPILING
def test_a_compiled_layer_is_one_graph_with_the_same_bits(holed: Fitted) -> None:
    """Out of range, before the beginning included, is refused by the gather; masked is NaN."""
    layer = load(holed)
    compiled = torch.compile(layer, fullgraph=True)
    positions = torch.tensor([0, 3, 11])
    assert torch.equal(compiled(positions), layer(positions))
    assert compiled(torch.tensor([0, 3, 9])).isnan().all(dim=1).tolist() == [False, False, True]
    for bad in (12, -1):
        with pytest.raises(RuntimeError, match="index out of bounds"):
            compiled(torch.tensor([0, 3, bad]))


@pytest.mark.wide  # the C++ compiler takes as long as for the layer above
@COMPILER
@COMPILING
def test_a_compiled_grid_clamps_and_trains_its_factors(grid: Fitted) -> None:
    layer = load(replace(grid, beyond="clamp"), trainable=True)
    compiled = torch.compile(layer, fullgraph=True)
    positions = torch.tensor([[0, 0], [7, 1], [2, 9]])
    torch.testing.assert_close(compiled(positions), layer(positions), rtol=1e-6, atol=1e-6)
    compiled(positions).sum().backward()
    wanted = torch.zeros(12)
    wanted[[0, 9, 11]] = 1.0  # the rows of (0, 0), (2, 1) and (2, 3)
    assert torch.equal((layer.left.grad != 0).any(dim=1).float(), wanted)


def test_an_exported_layer_takes_any_number_of_positions(fitted: Fitted) -> None:
    layer = load(fitted)
    many = torch.export.Dim("many", min=2, max=64)
    program = torch.export.export(layer, (torch.arange(5),), dynamic_shapes=({0: many},)).module()
    assert torch.equal(program(torch.arange(12)), layer(torch.arange(12)))
    with pytest.raises(IndexError, match="out of range"):
        program(torch.tensor([0, 12]))
    with pytest.raises(IndexError, match="out of range"):
        program(torch.tensor([0, -1]))


# -- training ---------------------------------------------------------------------------------


def test_a_frozen_table_has_nothing_to_train(fitted: Fitted) -> None:
    layer = load(fitted)
    assert [name for name, p in layer.named_parameters() if p.requires_grad] == []
    assert not layer(torch.arange(3)).requires_grad


def test_the_gradient_of_a_trainable_table_counts_how_often_a_row_was_taken(dense: Fitted) -> None:
    layer = load(dense, trainable=True)
    layer(torch.tensor([2, 2, 5])).sum().backward()
    wanted = np.zeros((12, 8))
    wanted[2], wanted[5] = 2, 1
    assert np.array_equal(layer.weight.grad.numpy(), wanted)


def test_a_trainable_table_reaches_another_one(dense: Fitted) -> None:
    layer, at = load(dense, trainable=True), torch.arange(12)
    steps(layer, at, layer.weight.detach() + 0.5, many=100)
    assert np.abs(layer.weight.detach().numpy() - dense.table() - 0.5).max() < 0.05


def test_trained_factors_keep_their_rank_and_the_whole_table_is_their_product(
    fitted: Fitted,
) -> None:
    layer, at = load(fitted, trainable=True), torch.arange(12)
    assert isinstance(layer, FactoredPositionEmbedding)
    assert np.allclose(numbers(layer, at), fitted.table(), rtol=0, atol=1e-6)
    assert torch.allclose(layer(at), layer.weight, rtol=0, atol=1e-6)
    steps(layer, at, torch.zeros(12, 8))
    assert np.linalg.matrix_rank(layer.weight.detach().numpy(), tol=1e-4) == 3
    assert not np.allclose(numbers(layer, at), fitted.table(), rtol=0, atol=1e-2)


def test_a_masked_row_does_not_spoil_the_gradient_of_the_factors(holed: Fitted) -> None:
    layer = load(holed, trainable=True)
    layer(torch.tensor([0, 1, 3])).sum().backward()
    assert torch.isfinite(layer.left.grad).all()
    assert torch.isfinite(layer.right.grad).all()


def test_a_learned_scale_trains_over_a_frozen_table(learned: Fitted) -> None:
    layer, at = load(learned), torch.arange(12)
    assert np.array_equal(numbers(layer, at), np.float32(1.5) * learned.table())
    assert [name for name, p in layer.named_parameters() if p.requires_grad] == ["gain"]
    steps(layer, at, 2.0 * layer.weight.detach(), many=200)
    assert layer.gain.item() == pytest.approx(2.0, abs=0.01)
    assert np.array_equal(layer.weight.detach().numpy(), learned.table())


def test_every_value_of_an_embedding_has_a_right_gradient(learned: Fitted) -> None:
    """Against finite differences, in float64."""
    layer = load(learned, trainable=True, dtype=torch.float64)
    parameters = dict(layer.named_parameters())
    assert set(parameters) == {"left", "right", "gain"}

    def made(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(layer, given, (torch.tensor([0, 7, 7]),))

    assert torch.autograd.gradcheck(made, tuple(parameters.values()))


# -- state ------------------------------------------------------------------------------------


def test_the_state_of_a_whole_table_loads_into_a_stock_embedding(fitted: Fitted) -> None:
    layer, stock = load(fitted), nn.Embedding(12, 8)
    assert list(layer.state_dict()) == list(stock.state_dict()) == ["weight"]
    stock.load_state_dict(layer.state_dict(), strict=True)
    assert torch.equal(stock(torch.arange(12)), layer(torch.arange(12)))


@pytest.mark.parametrize("trainable", [False, True])
def test_the_state_goes_round(learned: Fitted, trainable: bool) -> None:  # noqa: FBT001 - a case
    first, second = (load(learned, trainable=trainable) for _ in range(2))
    steps(first, torch.arange(12), torch.zeros(12, 8))
    second.load_state_dict(first.state_dict(), strict=True)
    assert torch.equal(first(torch.arange(12)), second(torch.arange(12)))


def test_a_copy_is_apart_and_a_reset_layer_is_as_fitted(learned: Fitted) -> None:
    layer = load(learned, trainable=True)
    before = numbers(layer, np.arange(12))
    other = copy.deepcopy(layer)
    steps(other, torch.arange(12), torch.zeros(12, 8))
    assert np.array_equal(numbers(layer, np.arange(12)), before)
    other.reset_parameters()
    assert np.array_equal(numbers(other, np.arange(12)), before)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_a_layer_in_another_precision_is_the_table_rounded(
    fitted: Fitted, kind: torch.dtype
) -> None:
    wanted = torch.from_numpy(fitted.table()).to(kind)
    assert torch.equal(load(fitted).to(kind)(torch.arange(12)), wanted)
    assert torch.equal(load(fitted, dtype=kind)(torch.arange(12)), wanted)


def test_a_layer_can_be_without_storage(fitted: Fitted) -> None:
    """On the meta device only shapes are known; large models are laid out that way."""
    layer = load(fitted).to("meta")
    assert layer(torch.arange(5, device="meta")).shape == (5, 8)
    layer.to_empty(device="cpu").reset_parameters()
    assert np.array_equal(numbers(layer, np.arange(12)), fitted.table())


def test_the_layer_says_what_it_is(fitted: Fitted) -> None:
    said = "PositionEmbedding(12, 8, rank=3, mds-low-rank, frozen, past='refuse')"
    assert repr(load(fitted)) == said
    assert "trainable" in repr(load(fitted, trainable=True))


# -- folders ----------------------------------------------------------------------------------


def test_an_untouched_layer_saves_what_it_was_loaded_from(fitted: Fitted, tmp_path: Path) -> None:
    fitted.save_pretrained(tmp_path / "a")
    load(tmp_path / "a").save_pretrained(tmp_path / "b")
    first, second = (safe_open(tmp_path / name / FILE, framework="np") for name in "ab")
    assert first.metadata() == second.metadata()
    for name in ("left", "right", "status"):
        assert np.array_equal(first.get_tensor(name), second.get_tensor(name))


@pytest.mark.parametrize("factored", [False, True])
def test_a_trained_layer_saves_its_weights_and_says_so(
    learned: Fitted,
    tmp_path: Path,
    factored: bool,  # noqa: FBT001 - a case
) -> None:
    layer, at = load(learned, trainable=True, factored=factored), torch.arange(12)
    steps(layer, at, torch.ones(12, 8))
    layer.save_pretrained(tmp_path)
    again = PositionEmbedding.from_pretrained(tmp_path, trainable=True, factored=factored)
    assert torch.equal(again(at), layer(at))
    card = Fitted.from_pretrained(tmp_path).to_dict()
    assert card["origin"]["trained"] is True
    assert card["gain"] == pytest.approx(layer.gain.item(), rel=0)
    assert "trained" not in learned.to_dict()["origin"]


def test_a_stock_embedding_gets_the_gain_multiplied_in(learned: Fitted) -> None:
    layer = load(learned)
    stock = layer.to_embedding()
    assert type(stock) is nn.Embedding
    assert torch.equal(stock(torch.arange(12)), layer(torch.arange(12)))
    assert not stock.weight.requires_grad
