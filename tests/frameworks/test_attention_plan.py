"""The plan of attention: which route, why, how much memory; and that it is the one that runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import gnomon
from gnomon.torch import attention, attention_plan, layer
from gnomon.torch.sdpa.call import ROUTES


class Largest(TorchDispatchMode):
    """The largest piece of memory that any operation made."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.bytes = max(self.bytes, leaf.untyped_storage().nbytes())
        return out


def vectors(n, m=None, heads=4, dimension=16, dtype=torch.float32, batch=1):
    generator = torch.Generator().manual_seed(0)
    sizes = [(batch, heads, count, dimension) for count in (n, m or n, m or n)]
    return [torch.randn(size, generator=generator).to(dtype) for size in sizes]


def planned(name, n, m=None, *, parameters=None, **asked):
    encoding = gnomon.encoding(name, **(parameters or {}))
    return attention_plan(*vectors(n, m), encoding, **asked)


@pytest.mark.parametrize(
    ("route", "name", "parameters", "n", "asked"),
    [
        ("plain", "rope", {"dimension": 16}, 64, {"causal": True}),
        ("plain", "nope", {}, 64, {}),
        ("toeplitz", "alibi", {"heads": 4}, 64, {}),
        ("toeplitz", "t5", {"heads": 4}, 2048, {}),
        ("tiles", "alibi", {"heads": 4}, 4096, {}),
        ("tiles", "t5", {"heads": 4}, 4096, {"causal": True}),
        ("bias", "alibi", {"heads": 4, "symmetric": True}, 5, {"positions_q": [0, 1, 5, 6, 9]}),
        ("blocks", "xpos", {"dimension": 16}, 64, {}),
        ("blocks", "rope-nope-layers", {"inner": {"name": "xpos", "dimension": 16}}, 64, {}),
    ],
)
def test_the_route_follows_from_the_encoding_and_the_length(route, name, parameters, n, asked):
    assert planned(name, n, parameters=parameters, **asked).route == route


def test_long_uneven_positions_take_coordinates_where_the_bias_is_linear():
    at = torch.cumsum(torch.arange(4096) % 3 + 1, dim=0)
    plan = planned("alibi", 4096, parameters={"heads": 4}, positions_q=at)
    assert plan.route == "augmented"
    both = {"heads": 4, "symmetric": True}
    assert planned("alibi", 4096, parameters=both, positions_q=at).route == "tiles"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("alibi", {"heads": 4}), ("decay-time", {"half_lives": (1.0, 60.0, 60.0, 60.0)})],
)
def test_timestamps_take_no_coordinates_since_their_terms_would_cancel(name, parameters):
    """A term of 1e7 in float32 has an ulp of 1, as much as the bias of keys that are near."""
    at = 1.7e9 + torch.cumsum(torch.arange(4096) % 3 + 1, dim=0).double() * 3600
    plan = planned(name, 4096, parameters=parameters, positions_q=at)
    assert plan.route == "tiles"
    # From the middle of the positions on; of the decay the term of the query is there, too.
    reached = (0.25 if name == "alibi" else 2 * np.log(2.0)) * float(at[-1] - at[0]) / 2
    assert f"terms reach {reached:.3g} at" in plan.alternatives["augmented"]
    assert planned(name, 64, parameters=parameters, positions_q=at[:64]).route == "bias"
    near = 1.7e9 + torch.cumsum(torch.arange(4096) % 3 + 1, dim=0).double() / 64
    assert planned(name, 4096, parameters=parameters, positions_q=near).route == "augmented"


def test_a_plan_names_every_other_route_with_a_reason():
    plan = planned("t5", 64, parameters={"heads": 4})
    assert set(plan.alternatives) == set(ROUTES) - {plan.route}
    assert plan.alternatives["augmented"] == "the bias of 't5' has no finite rank"
    assert plan.alternatives["blocks"] == "nothing decays"
    assert plan.alternatives["plain"] == "a bias is to be added"
    assert plan.alternatives["dense"] == "it would serve as well, and is not faster"
    assert json.loads(json.dumps(plan.to_dict()))["route"] == "toeplitz"


def test_vectors_are_said_to_belong_to_embeddings():
    plan = planned("sinusoidal", 64, parameters={"dimension": 16})
    assert "where a model adds them to embeddings" in plan.why


def test_alibi_of_4096_makes_no_matrix_of_all_pairs():
    q, k, v = vectors(4096, dimension=8)
    with Largest() as seen:
        attention(q, k, v, gnomon.encoding("alibi", heads=4))
    assert seen.bytes < 4096 * 4096 / 4


@pytest.mark.parametrize("route", ["plain", "bias", "toeplitz", "tiles", "augmented", "blocks"])
def test_no_memory_is_larger_than_the_plan_says(route):
    name = {"plain": "rope", "blocks": "xpos"}.get(route, "alibi")
    parameters = {"heads": 4} if name == "alibi" else {"dimension": 16}
    encoding = gnomon.encoding(name, **parameters)
    for n, m in ((700, 700), (300, 900)):
        q, k, v = vectors(n, m)
        plan = attention_plan(q, k, v, encoding, causal=True, route=route)
        with Largest() as seen:
            attention(q, k, v, encoding, causal=True, route=route)
        result = q.numel() * q.itemsize
        assert seen.bytes <= max(plan.extra_bytes, result), (n, m)


def test_the_route_asked_for_is_the_one_that_runs():
    q, k, v = vectors(600)
    encoding = gnomon.encoding("alibi", heads=4)
    largest = {}
    for route in ("bias", "tiles"):
        with Largest() as seen:
            attention(q, k, v, encoding, route=route)
        largest[route] = seen.bytes
    assert largest["bias"] >= 4 * 600 * 600 * 4 > largest["tiles"]


def test_a_layer_has_the_plan_of_its_encoding():
    q, k, v = vectors(64)
    encoding = gnomon.encoding("t5", heads=4)
    frozen = layer(encoding, learn=False)
    plans = [attention_plan(q, k, v, given) for given in (encoding, frozen)]
    assert plans[0].to_dict() == plans[1].to_dict()
