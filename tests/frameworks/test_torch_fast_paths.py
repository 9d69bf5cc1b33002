"""Fast routes of the rotary layer: equal to the formula, differentiable, vectorised, compiled."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from torch import Tensor

import gnomon
from gnomon.encodings.rotary.rope import turn as formula
from gnomon.errors import EncodingError
from gnomon.torch import Transform, layer
from gnomon.torch.coordinates import XP
from gnomon.torch.layers import Tables, is_complex_in_memory, rotate_exact

LAYOUTS = ["interleaved", "half"]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def rotary(layout: str = "interleaved", dimension: int = 16, **options: Any) -> Transform:
    made = gnomon.encoding("rope", dimension=dimension, layout=layout)
    return layer(made, **options)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_formula(made: Transform, x: Tensor, tables: Tables) -> Tensor:
    """The one formula of the definition, with the same tables."""
    layout, first = made.definition.layout, made.definition.first
    return formula(x, tables.cosine, tables.sine, layout=layout, first=first, xp=XP)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_fast_route_equals_the_formula(layout: str, dtype: torch.dtype) -> None:
    """Within one unit in the last place of float32 of the pair's length, before it is cast."""
    made, x = rotary(layout), drawn(2, 3, 50, 16).to(dtype)
    tables = made.tables(torch.arange(50) * 999, dtype=dtype)
    found, wanted = made.turn(x, tables, side="q"), by_formula(made, x, tables)
    assert found.dtype == dtype
    eps = torch.finfo(dtype).eps
    assert (found.double() - wanted.double()).abs().max() <= eps * 2 * x.double().abs().max()
    assert layout == "interleaved" or torch.equal(found, wanted)


def test_neighbours_are_multiplied_as_complex_numbers_without_a_copy() -> None:
    made, x = rotary(), drawn(2, 3, 5, 16).float()
    tables = made.tables(torch.arange(5))
    assert tables.turns is not None
    found = made.turn(x, tables, side="q")
    wanted = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (8, 2))) * tables.turns)
    assert torch.equal(found, wanted.flatten(-2))
    assert rotary("half").tables(torch.arange(5)).turns is None


def test_vectors_that_are_not_aligned_take_the_formula() -> None:
    made, tables = rotary(), rotary().tables(torch.arange(5))
    block = drawn(5, 17).float()
    for x in (block[:, 1:], block[:, :16], drawn(16, 5).float().T, drawn(5, 32).float()[:, ::2]):
        assert not is_complex_in_memory(x)
        assert torch.equal(made.turn(x, tables, side="q"), by_formula(made, x, tables))


def test_heads_behind_positions_in_memory_are_read_as_they_are() -> None:
    """Queries often come as (batch, n, heads, d) transposed."""
    made, x = rotary(), drawn(2, 5, 3, 16).float().transpose(1, 2)
    assert is_complex_in_memory(x)
    tables = made.tables(torch.arange(5))
    found = made.turn(x, tables, side="q")
    assert torch.equal(found, made.turn(x.contiguous(), tables, side="q"))


def test_a_partly_turned_head_keeps_the_rest_to_the_bit() -> None:
    made = layer(gnomon.encoding("rope", dimension=16, fraction=0.5))
    x = drawn(2, 5, 16).float()
    found, _ = made(x, x)
    assert torch.equal(found[..., 8:], x[..., 8:])
    assert torch.equal(found[..., :8], rotary(dimension=8)(x[..., :8], x[..., :8])[0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("fraction", [1.0, 0.5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_vectors_turned_into_given_memory_are_the_same(
    layout: str, fraction: float, dtype: torch.dtype
) -> None:
    made = layer(gnomon.encoding("rope", dimension=16, layout=layout, fraction=fraction))
    x, tables = drawn(2, 3, 5, 16).to(dtype), made.tables(torch.arange(5), dtype=dtype)
    wanted, memory = made.turn(x, tables, side="q"), torch.empty_like(x)
    assert made.turn(x, tables, side="q", out=memory) is memory
    assert torch.equal(memory, wanted)
    assert made.turn(x, tables, side="q", out=x) is x
    assert torch.equal(x, wanted)


def test_given_memory_that_can_not_be_used_is_refused_in_words() -> None:
    made, x = rotary(), drawn(5, 16)
    tables = made.tables(torch.arange(5), dtype=torch.float64)
    with pytest.raises(EncodingError, match=r"out has shape \(4, 16\) and torch.float64, and the"):
        made.turn(x, tables, side="q", out=torch.empty(4, 16).double())
    with pytest.raises(EncodingError, match=r"out is given while gradients are recorded"):
        made.turn(x.requires_grad_(), tables, side="q", out=torch.empty(5, 16).double())
    nothing = layer(gnomon.encoding("nope"))
    memory = torch.empty(5, 16).double()
    places = nothing.tables(torch.arange(5))
    assert torch.equal(nothing.turn(x.detach(), places, side="q", out=memory), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_vectors_are_those_of_finite_differences(layout: str) -> None:
    made = rotary(layout, dimension=4)
    q, k = drawn(2, 3, 4).requires_grad_(), drawn(1, 3, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda q, k: made(q, k, [0, 5, 900]), (q, k))
    assert torch.autograd.gradgradcheck(lambda q: made(q, q)[0] ** 2, (q,))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_learned_frequencies_are_those_of_finite_differences(layout: str) -> None:
    mixed = gnomon.encoding("rope-mixed", dimension=8, heads=2, layout=layout)
    made, q = layer(mixed, dtype=torch.float64), drawn(2, 3, 8)
    at = drawn(3, 2, seed=3)

    def turned(frequencies: Tensor) -> Tensor:
        return torch.func.functional_call(made, {"frequencies": frequencies}, (q, q, at))

    start = made.frequencies.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(turned, (start,))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_vectorising_over_sequences_equals_a_loop(layout: str) -> None:
    made, q = rotary(layout), drawn(4, 3, 5, 16)
    at = torch.arange(20).reshape(4, 5)
    found, _ = torch.vmap(made)(q, q, at)
    assert torch.equal(found, torch.stack([made(x, x, p)[0] for x, p in zip(q, at, strict=True)]))
    late, _ = torch.vmap(made)(q, q, at + 0.5)
    assert torch.equal(
        late, torch.stack([made(x, x, p + 0.5)[0] for x, p in zip(q, at, strict=True)])
    )


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_compiled_route_equals_the_formula(layout: str, dtype: torch.dtype) -> None:
    """A compiler may fuse a multiplication with an addition: one rounding less."""
    torch._dynamo.reset()
    made, x = rotary(layout, compiled=True), drawn(2, 3, 50, 16).to(dtype)
    tables = made.tables(torch.arange(50), dtype=dtype)
    found, wanted = made.turn(x, tables, side="q"), by_formula(made, x, tables)
    bound = torch.finfo(dtype).eps * 2 * x.double().abs().max()
    assert (found.double() - wanted.double()).abs().max() <= bound
    x.requires_grad_()
    made.turn(x, tables, side="q").sum().backward()
    assert x.grad is not None


def test_a_compiled_layer_can_be_copied_and_saved_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda by: compiled.append(by) or by)
    made, q = rotary(compiled=True), drawn(5, 16)
    wanted, _ = made(q, q)
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    for other in (copy.deepcopy(made), torch.load(file, weights_only=False)):
        assert torch.equal(other(q, q)[0], wanted)
    assert compiled == [rotate_exact] * 3


def test_inside_of_compiled_code_nothing_is_complex() -> None:
    torch._dynamo.reset()
    made, x, seen = rotary(), drawn(3, 5, 16).float(), []
    tables = made.tables(torch.arange(5))

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        seen.extend(node.meta.get("example_value") for node in graph.graph.nodes)
        return graph.forward

    turned = torch.compile(
        lambda x: made.turn(x, tables, side="q"), fullgraph=True, backend=backend
    )
    assert torch.equal(turned(x), by_formula(made, x, tables))
    computed = [v for v in seen if isinstance(v, Tensor)]
    assert computed
    assert not any(v.is_complex() for v in computed)
