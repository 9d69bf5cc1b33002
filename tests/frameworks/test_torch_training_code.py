"""What training code does to a layer: replicas, half precision, no storage, a change of mind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gnomon.encodings.fitted import Fitted
from gnomon.torch import load


@pytest.mark.parametrize("trainable", [False, True])
def test_a_replica_without_parameters_of_its_own_gives_the_same_vectors(
    learned: Fitted,
    trainable: bool,  # noqa: FBT001 - a case
) -> None:
    """As `nn.parallel.replicate` makes them: tensors stand where parameters stood."""
    layer = load(learned, trainable=trainable)
    replica = layer._replicate_for_data_parallel()
    for name, value in layer._parameters.items():
        setattr(replica, name, value.detach().clone())
    assert not list(replica.parameters())
    assert torch.equal(replica([1, 2]), layer([1, 2]))


def test_whether_it_is_trainable_is_what_its_weights_say(fitted: Fitted) -> None:
    layer = load(fitted)
    layer.requires_grad_(requires_grad=True)
    assert layer.trainable
    assert "trainable" in repr(layer)
    assert layer.to_embedding().weight.requires_grad


def test_a_model_made_without_storage_has_the_fitted_numbers(learned: Fitted) -> None:
    with torch.device("meta"):
        layer = load(learned)
    assert {part.device.type for part in layer.parameters()} == {"cpu"}
    assert torch.equal(layer([1, 2]), load(learned)([1, 2]))
    emptied = layer.to_empty(device="cpu")
    emptied.reset_parameters()
    assert torch.equal(emptied([1, 2]), load(learned)([1, 2]))


@pytest.mark.parametrize("trainable", [False, True])
def test_rounding_to_half_precision_is_no_training(
    learned: Fitted,
    trainable: bool,  # noqa: FBT001 - a case
) -> None:
    layer = load(replace(learned, gain=1.1), trainable=trainable).half()
    assert layer.to_fitted() is layer.fitted
    with torch.no_grad():
        layer.gain += 1.0
    assert layer.to_fitted().origin["trained"]


@pytest.mark.parametrize("trainable", [False, True])
def test_mixed_precision_leaves_positions_in_float32(
    fitted: Fitted,
    trainable: bool,  # noqa: FBT001 - a case
) -> None:
    """As it leaves those of nn.Embedding."""
    layer = load(fitted, trainable=trainable)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(torch.arange(12))
        assert found.dtype == torch.nn.Embedding(12, 8)(torch.arange(12)).dtype
    assert torch.equal(found, layer(torch.arange(12)))


def test_vectors_of_a_trained_gain_are_those_of_numpy(learned: Fitted, tmp_path: Path) -> None:
    layer = load(learned)
    with torch.no_grad():
        layer.gain.fill_(2.5)
    layer.save_pretrained(tmp_path)
    numbers = Fitted.from_pretrained(tmp_path).vectors(range(12))
    np.testing.assert_allclose(layer(torch.arange(12)).detach(), numbers, rtol=2e-7)
