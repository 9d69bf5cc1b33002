"""Gradients of attention on every route, against differences; compiled code; no gradients."""

from __future__ import annotations

import pytest
import torch

import gnomon
from gnomon.torch import attention, layer

LEARNED = [
    ("t5", {"heads": 2, "seed": 1}, "table", ("bias", "toeplitz", "tiles", "dense")),
    (
        "rope-mixed",
        {"dimension": 4, "heads": 2, "axes": 1},
        "frequencies",
        ("plain", "tiles", "dense"),
    ),
]


def vectors(n=6, m=8, heads=2, dimension=4, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    sizes = [(1, heads, count, dimension) for count in (n, m, m)]
    return [torch.randn(size, generator=generator, dtype=dtype) for size in sizes]


@pytest.mark.parametrize(("name", "parameters", "learned", "routes"), LEARNED)
def test_learned_numbers_have_the_gradient_of_differences_on_every_route(
    name, parameters, learned, routes
):
    module = layer(gnomon.encoding(name, **parameters), dtype=torch.float64)
    q, k, v = vectors()
    weight = torch.randn(
        1, 2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    number = getattr(module, learned)

    def loss(route):
        return (attention(q, k, v, module, route=route, causal=True) * weight).sum()

    for route in routes:
        (found,) = torch.autograd.grad(loss(route), number)
        direction = torch.randn(number.shape, dtype=torch.float64)
        with torch.no_grad():
            step = 1e-6 * direction
            number.add_(step)
            high = loss(route)
            number.sub_(2 * step)
            low = loss(route)
            number.add_(step)
        assert abs((found * direction).sum() - (high - low) / 2e-6) < 1e-6, route


@pytest.mark.parametrize(
    ("name", "parameters", "routes"),
    [
        ("rope", {"dimension": 4}, ("plain", "tiles", "dense")),
        ("alibi", {"heads": 2}, ("bias", "toeplitz", "tiles", "augmented", "dense")),
        ("retnet", {"dimension": 4, "heads": 2}, ("blocks", "dense")),
        ("retnet", {"dimension": 4, "heads": 2, "gammas": (0.001, 0.5)}, ("blocks",)),
    ],
)
def test_vectors_have_the_gradient_of_differences_on_every_route(name, parameters, routes):
    encoding = gnomon.encoding(name, **parameters)
    tensors = [x.requires_grad_() for x in vectors()]
    mask = torch.ones(6, 8, dtype=torch.bool)
    mask[2] = False  # a query that attends to nothing
    for route in routes:
        assert torch.autograd.gradcheck(
            lambda *x, route=route: attention(*x, encoding, route=route, causal=True, mask=mask),
            tensors,
        ), route


def test_long_sequences_train_through_tiles():
    module = layer(gnomon.encoding("t5", heads=2, seed=1))
    q, k, v = vectors(600, 600, dtype=torch.float32)
    found = {}
    for route in ("tiles", "dense"):
        out = attention(q, k, v, module, causal=True, route=route)
        (found[route],) = torch.autograd.grad(out.square().sum(), module.table)
    assert torch.allclose(found["tiles"], found["dense"], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@pytest.mark.compiles
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("rope", {"dimension": 4}),
        ("alibi", {"heads": 2}),
        ("t5", {"heads": 2}),
        ("nope", {}),
        ("xpos", {"dimension": 4}),
        ("jordan", {"dimension": 4, "decay": 0.1}),
        ("path", {"dimension": 4, "heads": 2, "kernel": 3}),
    ],
)
def test_attention_compiles_as_one_graph(name, parameters):
    module = layer(gnomon.encoding(name, **parameters))
    tensors = vectors(dtype=torch.float32)

    def call(q, k, v):
        return attention(q, k, v, module, causal=True)

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(*tensors), call(*tensors), atol=1e-6)


def test_attention_without_gradients_is_the_same():
    module = layer(gnomon.encoding("t5", heads=2))
    tensors = vectors()
    with torch.no_grad():
        bare = attention(*tensors, module)
    assert not bare.requires_grad
    assert torch.allclose(bare, attention(*tensors, module), atol=1e-12)


def test_a_layer_uses_its_learned_numbers_and_an_encoding_its_own():
    encoding = gnomon.encoding("t5", heads=2, seed=1)
    module = layer(encoding, dtype=torch.float64)
    tensors = vectors()
    assert torch.allclose(attention(*tensors, module), attention(*tensors, encoding), atol=1e-12)
    with torch.no_grad():
        module.table.mul_(3.0)
    table = 3.0 * encoding.numbers["table"]
    wanted = attention(*tensors, encoding.with_numbers(table=table))
    assert torch.allclose(attention(*tensors, module), wanted, atol=1e-12)


def test_dropped_weights_keep_the_mean():
    encoding = gnomon.encoding("alibi", heads=2)
    q, k, _ = vectors(8, 8)
    v = torch.ones(1, 2, 8, 4, dtype=torch.float64)
    torch.manual_seed(0)
    for route in ("toeplitz", "tiles", "dense", "augmented"):
        drawn = [attention(q, k, v, encoding, dropout=0.5, route=route) for _ in range(300)]
        last = torch.stack(drawn)[..., -1, 0]
        assert last.std() > 0.05
        assert abs(last.mean() - 1.0) < 0.1, route
