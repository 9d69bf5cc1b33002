"""Biases of networks, and linear vectors, against PyTorch's layers and x-transformers.

The order of operations of FIRE was read in a public copy of its authors' code that names its own
origin, mcleish7/arithmetic at 86022a5, cramming/architectures/embeddings.py; here it is written
anew around a network of torch.nn.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")


def linear_numbers(first, second):
    """The numbers of two linear layers under the names of an encoding."""
    return {
        "weights_in": first.weight.T.detach().numpy(),
        "biases_in": first.bias.detach().numpy(),
        "weights_out": second.weight.T.detach().numpy(),
        "biases_out": second.bias.detach().numpy(),
    }


@pytest.mark.parametrize("length", [40, 700])
def test_fire_is_its_formula_with_a_network_of_torch(length):
    """Below the threshold of 512 times 0.9, and past it."""
    torch.manual_seed(1)
    first, second = torch.nn.Linear(1, 32), torch.nn.Linear(32, 4)
    network = torch.nn.Sequential(first, torch.nn.ReLU(), second).double()
    numbers = {"rate": -0.2, "multiplier": 0.9, **linear_numbers(first, second)}
    at = torch.arange(length, dtype=torch.float64)
    lags = at[:, None] - at[None, :]
    scale = torch.maximum(at, torch.tensor(0.9 * 512.0, dtype=torch.float64))[:, None]
    share = torch.log((-0.2 * lags).abs() + 1) / (torch.log((-0.2 * scale).abs() + 1) + 1e-6)
    wanted = network(share[..., None]).permute(2, 0, 1).detach().numpy()
    found = encoding("fire", heads=4, **numbers).bias(np.arange(length))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_mlp_bias_equals_that_of_x_transformers(logarithmic, depth):
    peers = pytest.importorskip("x_transformers.x_transformers")
    torch.manual_seed(2)
    theirs = peers.DynamicPositionBias(8, heads=3, depth=depth, log_distance=logarithmic)
    layers = [layer[0] for layer in theirs.mlp[:-1]]
    numbers = linear_numbers(layers[0], theirs.mlp[-1])
    if depth > 1:
        numbers["weights"] = np.stack([x.weight.T.detach().numpy() for x in layers[1:]])
        numbers["biases"] = np.stack([x.bias.detach().numpy() for x in layers[1:]])
    ours = encoding("mlp-bias", heads=3, hidden=8, depth=depth, logarithmic=logarithmic, **numbers)
    wanted = theirs(7, 20).detach().numpy()  # the last seven of twenty as queries
    found = ours.bias(np.arange(13, 20), np.arange(20))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_networks_start_as_layers_of_torch_do():
    """Uniform within 1/sqrt(inputs): the same bounds, and the same spread, in every layer."""
    ours = encoding("mlp-bias", heads=64, hidden=64, depth=2)
    torch.manual_seed(3)
    for name, inputs in (("weights_in", 1), ("weights", 64), ("weights_out", 64)):
        made = torch.nn.Linear(inputs, 64)
        mine, bound = np.asarray(getattr(ours, name)), inputs**-0.5
        assert np.abs(mine).max() <= bound
        assert made.weight.abs().max() <= bound
        assert abs(mine.std() / (bound / 3**0.5) - 1) < 0.15
        assert abs(made.weight.std().item() / (bound / 3**0.5) - 1) < 0.25


@pytest.mark.parametrize(
    ("name", "parameters", "inputs"), [("fire", {}, 1), ("mlp-bias", {"axes": 2}, 2)]
)
def test_the_first_layer_starts_within_the_bound_of_its_inputs(name, parameters, inputs):
    ours = encoding(name, heads=4, hidden=512, **parameters)
    for numbers in (ours.weights_in, ours.biases_in):
        assert 0.97 * inputs**-0.5 < np.abs(numbers).max() <= inputs**-0.5


def test_ctlpe_is_a_linear_layer_of_torch_on_times():
    made = torch.nn.Linear(1, 6).double()
    slope, offset = made.weight[:, 0].detach().numpy(), made.bias.detach().numpy()
    at = 1.7e9 + np.array([0.0, 12.5, 86400.0, 3e7])
    ours = encoding("ctlpe", dimension=6, origin=1.7e9, unit="day", slope=slope, offset=offset)
    days = torch.asarray((at - 1.7e9) / 86400.0)[:, None]
    np.testing.assert_allclose(ours.vectors(at), made(days).detach().numpy(), rtol=1e-13)
