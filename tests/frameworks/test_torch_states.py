"""What loading and moving do to a layer: no storage, half precision, old state dicts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import gnomon
from gnomon.errors import EncodingError
from gnomon.torch import layer


def rope(**parameters: Any) -> Any:
    return gnomon.encoding("rope", **{"dimension": 8, **parameters})


def inverse(base: float, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The frequencies as model code writes them."""
    return (1.0 / base ** (torch.arange(0, 8, 2).double() / 8)).to(dtype)


def test_a_layer_without_learned_numbers_has_an_empty_state_dict() -> None:
    made = layer(rope())
    assert made.state_dict() == {}
    assert list(made.buffers()) == []


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
def test_a_layer_made_without_storage_has_its_frequencies(arithmetic: str) -> None:
    with torch.device("meta"):
        made = layer(rope(), arithmetic=arithmetic)
    q = torch.ones(3, 8)
    assert torch.equal(made(q, q)[0], layer(rope(), arithmetic=arithmetic)(q, q)[0])
    emptied = made.to_empty(device="cpu")
    assert torch.allclose(emptied.inv_freq, inverse(10000.0), rtol=3e-7, atol=0)


def test_half_precision_does_not_round_frequencies() -> None:
    made = layer(rope()).to(torch.bfloat16)
    assert made.inv_freq.dtype == torch.float32
    assert torch.allclose(made.inv_freq, inverse(10000.0), rtol=3e-7, atol=0)


def test_learned_frequencies_stay_in_float32_when_a_model_is_moved_to_half_precision() -> None:
    mixed = gnomon.encoding("rope-mixed", dimension=8, heads=2)
    model = nn.Sequential(nn.Linear(2, 2), layer(mixed)).to(torch.bfloat16)
    assert model[0].weight.dtype == torch.bfloat16
    assert model[1].frequencies.dtype == torch.float32
    assert model[1].double().frequencies.dtype == torch.float64
    assert layer(mixed, dtype=torch.bfloat16).frequencies.dtype == torch.float32


def test_a_frozen_layer_without_storage_is_filled_by_reset_parameters() -> None:
    mixed = gnomon.encoding("rope-mixed", dimension=8, heads=2)
    made = layer(mixed).to("meta")
    with pytest.raises(EncodingError, match=r"has no storage yet.*reset_parameters"):
        _ = made.encoding
    made = made.to_empty(device="cpu")
    made.reset_parameters()
    assert made.encoding is mixed


def test_frequencies_can_be_read_as_other_libraries_keep_them() -> None:
    assert layer(rope()).inv_freq.shape == (4,)
    assert layer(rope(axes=2)).inv_freq.shape == (4, 2)
    with pytest.raises(EncodingError, match=r"'nope' has no frequencies to read"):
        _ = layer(gnomon.encoding("nope")).inv_freq


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_frequencies_of_an_old_state_dict_are_accepted(dtype: torch.dtype) -> None:
    """In half precision they are rounded, and still recognised."""
    model = nn.ModuleDict({"rotary": layer(rope(base=500.0))})
    model.load_state_dict({"rotary.inv_freq": inverse(500.0, dtype=dtype)}, strict=True)
    assert torch.allclose(model["rotary"].inv_freq, inverse(500.0), rtol=3e-7, atol=0)


def test_frequencies_of_another_model_are_refused_with_their_key() -> None:
    model = nn.ModuleDict({"rotary": layer(rope())})
    words = r"Frequency 1 in 'rotary.inv_freq' of the state dict is 0.211\d+ and .* is 0.1;"
    with pytest.raises(EncodingError, match=words):
        model.load_state_dict({"rotary.inv_freq": inverse(500.0)})
    with pytest.raises(EncodingError, match=r"has 3 frequencies in 'inv_freq' and this encoding 4"):
        layer(rope()).load_state_dict({"inv_freq": torch.ones(3)})
    lost = torch.full((4,), torch.nan)
    with pytest.raises(EncodingError, match=r"Frequency 0 in 'inv_freq' of the state dict is nan"):
        layer(rope()).load_state_dict({"inv_freq": lost})


def test_other_unknown_keys_are_still_refused() -> None:
    with pytest.raises(RuntimeError, match="Unexpected key"):
        layer(rope()).load_state_dict({"cosines": torch.ones(3)})


def test_a_replica_without_parameters_of_its_own_turns_alike() -> None:
    mixed = layer(gnomon.encoding("rope-mixed", dimension=8, heads=2))
    replica = mixed._replicate_for_data_parallel()
    replica.frequencies = mixed.frequencies.detach().clone()
    q, at = torch.ones(2, 3, 8), torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert torch.equal(replica(q, q, at)[0], mixed(q, q, at)[0])


def test_a_default_type_of_the_user_is_the_type_of_vectors() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        made = layer(gnomon.encoding("sinusoidal", dimension=8))
    finally:
        torch.set_default_dtype(torch.float32)
    assert made([1, 2]).dtype == torch.float64


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
def test_autocast_does_not_touch_phases(arithmetic: str) -> None:
    made = layer(rope(axes=2, layout="half"), arithmetic=arithmetic)
    q, at = torch.ones(3, 8), torch.tensor([[0, 1], [70_000, 3], [4, 90_001]])
    with torch.autocast("cpu", torch.bfloat16):
        mixed, _ = made(q, q, at)
    assert torch.equal(mixed, made(q, q, at)[0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: layer(4), r"made of an encoding, and this is int; pass what gnomon.encoding"),
        (lambda: layer(rope(), kind="bias"), r"'rope' has no kind 'bias'; pass one of: transform"),
        (lambda: layer(rope(), arithmetic="fast"), r"arithmetic is 'fast'; pass one of: exact"),
        (lambda: layer(rope(), dtype=torch.int64), r"dtype is torch.int64; pass a type of real"),
        (
            lambda: layer(gnomon.encoding("xpos", dimension=8), arithmetic="float32"),
            r"'xpos' does more than turn by tables, so arithmetic=\"float32\" cannot repeat",
        ),
        (
            lambda: layer(gnomon.encoding("alibi"), arithmetic="float32"),
            r"'alibi' gives bias; arithmetic and compiled are for transforms",
        ),
    ],
)
def test_a_layer_that_can_not_be_made_is_refused_in_words(make: Any, words: str) -> None:
    with pytest.raises(EncodingError, match=words):
        make()


def test_vectors_that_do_not_fit_are_refused_in_words() -> None:
    made = layer(rope())
    with pytest.raises(EncodingError, match=r"q has shape \(3, 6\).* vectors of dimension 8"):
        made(torch.ones(3, 6), torch.ones(3, 6))
    tables = made.tables([0, 1, 2])
    with pytest.raises(EncodingError, match=r"tables are of torch.float32 and the vectors of tor"):
        made.turn(torch.ones(3, 8).double(), tables, side="q")
    with pytest.raises(EncodingError, match=r"There are 3 positions for the 4 vectors of k"):
        made.turn(torch.ones(4, 8), tables, side="k")
    with pytest.raises(EncodingError, match=r"q holds torch.int64; pass real numbers"):
        made(torch.ones(3, 8).long(), torch.ones(3, 8).long())
    mixed = layer(gnomon.encoding("rope-mixed", dimension=8, heads=2))
    with pytest.raises(EncodingError, match=r"frequencies for 2 heads"):
        mixed(torch.ones(3, 5, 8), torch.ones(3, 5, 8), torch.zeros(5, 2))
