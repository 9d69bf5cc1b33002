"""Every encoding of the catalogue as a layer: equal to its definition, compiled, exported, in half.

The cases come from the catalogue: a new encoding is tested by its entry. Truth is the definition in
NumPy float64, which the oracle and the peers verify.
"""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.torch import Bias, Transform, Vectors, layer

COUNT = 5
CASES = [
    pytest.param(name, example, id=f"{name}-{place}", marks=[pytest.mark.wide] if place else [])
    for name, entry in ENTRIES.items()
    for place, example in enumerate(entry.examples)
]


def positions_of(made: Encoding, count: int = COUNT) -> Tensor:
    """Positions inside of every table, or across a picture where the encoding is made for one."""
    rng = np.random.default_rng(3)
    shape = (count,) if made.axes == 1 else (count, made.axes)
    if made.span is not None:
        return torch.from_numpy(rng.uniform(*made.span, shape))
    return torch.from_numpy(rng.integers(0, 6, shape))


def heads_of(made: Encoding) -> int:
    return int(getattr(made, "heads", None) or 3)


def inputs_of(made: Encoding, kind: str) -> tuple[Tensor, ...]:
    """What the layer of a kind is called with."""
    positions = positions_of(made)
    if kind not in ("transform", "content"):
        return (positions,)
    rng = np.random.default_rng(4)
    inner = getattr(made, "inner", made)
    shape = (2, heads_of(inner), COUNT, getattr(inner, "dimension", 8))
    q, k = (torch.from_numpy(rng.normal(size=shape)).float() for _ in "qk")
    return (q, k, positions)


def defined(made: Encoding, kind: str, inputs: tuple[Tensor, ...]) -> list[Any]:
    """The same by the definition, in NumPy float64."""
    arrays = [x.numpy().astype(np.float64) for x in inputs]
    if kind == "transform":
        return list(made.transform(*arrays))
    return [(made.scores if kind == "content" else getattr(made, kind))(*arrays)]


def listed(found: Any) -> list[Tensor]:
    return list(found) if isinstance(found, tuple) else [found]


def pairs(found: Any, wanted: list[Any]) -> list[tuple[Any, Any]]:
    """What was found beside what was wanted, in float64; masked logits are masked in both."""
    made = [x.detach().double().numpy() for x in listed(found)]
    for got, want in zip(made, wanted, strict=True):
        assert np.array_equal(np.isneginf(got), np.isneginf(want))
    seen = [~np.isneginf(want) for want in wanted]
    return [(f[s], w[s]) for f, w, s in zip(made, wanted, seen, strict=True)]


def error(found: Any, wanted: list[Any]) -> float:
    """The largest difference, relative to the largest number."""
    both = pairs(found, wanted)
    scale = max(1.0, *(float(np.abs(w).max()) for _, w in both))
    return max(float(np.abs(f - w).max()) for f, w in both) / scale


def quietly(make: Any, *inputs: Any, **options: Any) -> Any:
    """Tools of PyTorch warn about themselves; what is made here is what counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*inputs, **options)


@pytest.mark.parametrize(("name", "example"), CASES)
def test_a_layer_equals_its_definition(name: str, example: dict[str, Any]) -> None:
    made = encoding(name, **example)
    for kind in made.kinds:
        inputs = inputs_of(made, kind)
        found = layer(made, kind=kind)(*inputs)
        assert {x.dtype for x in listed(found)} == {torch.float32}
        assert error(found, defined(made, kind, inputs)) < 3e-7


@pytest.mark.compiles
@pytest.mark.parametrize(("name", "example"), CASES)
def test_a_layer_compiles_without_a_graph_break(name: str, example: dict[str, Any]) -> None:
    made = encoding(name, **example)
    for kind in made.kinds:
        torch._dynamo.reset()
        inputs = inputs_of(made, kind)
        compiled = torch.compile(layer(made, kind=kind), fullgraph=True, backend="aot_eager")
        assert error(quietly(compiled, *inputs), defined(made, kind, inputs)) < 3e-7


@pytest.mark.compiles
@pytest.mark.parametrize(("name", "example"), CASES)
def test_a_layer_exports(name: str, example: dict[str, Any]) -> None:
    made = encoding(name, **example)
    for kind in made.kinds:
        inputs = inputs_of(made, kind)
        program = quietly(torch.export.export, layer(made, kind=kind), inputs)
        exported = quietly(program.module)
        assert error(exported(*inputs), defined(made, kind, inputs)) < 3e-7
        nodes = [node.meta.get("val") for node in program.graph.nodes]
        assert not any(isinstance(v, Tensor) and v.is_complex() for v in nodes)


@pytest.mark.parametrize(("name", "example"), CASES)
def test_a_layer_follows_half_precision_and_stays_right(name: str, example: dict[str, Any]) -> None:
    """What is left is one rounding to bfloat16 (2^-8), of what comes in and of what goes out."""
    made = encoding(name, **example)
    for kind in made.kinds:
        inputs = tuple(
            x.bfloat16() if x.dtype == torch.float32 else x for x in inputs_of(made, kind)
        )
        found = layer(made, kind=kind).to(torch.bfloat16)(*inputs)
        assert {x.dtype for x in listed(found)} == {torch.bfloat16}
        wanted = defined(made, kind, tuple(x.double() for x in inputs))
        for got, want in pairs(found, wanted):
            # A learnable table is rounded once more, as a parameter.
            ulps = 2.0 if made.learnable else 1.01
            allowed = ulps * 2.0**-8 * np.maximum(np.abs(want), np.abs(want).max() * 1e-3)
            assert (np.abs(got - want) <= allowed).all()


@pytest.mark.parametrize(("name", "example"), CASES)
def test_a_copy_a_saved_module_and_a_state_dict_give_the_same(
    name: str, example: dict[str, Any]
) -> None:
    made = encoding(name, **example)
    for kind in made.kinds:
        inputs, first = inputs_of(made, kind), layer(made, kind=kind)
        with torch.no_grad():
            for parameter in first.parameters():
                parameter.add_(0.25)
        file = io.BytesIO()
        torch.save(first, file)
        file.seek(0)
        loaded = layer(made, kind=kind)
        loaded.load_state_dict(first.state_dict())
        for other in (copy.deepcopy(first), torch.load(file, weights_only=False), loaded):
            pairs = zip(listed(other(*inputs)), listed(first(*inputs)), strict=True)
            assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(("name", "example"), CASES)
def test_learned_numbers_get_gradients_and_come_back_as_a_definition(
    name: str, example: dict[str, Any]
) -> None:
    made = encoding(name, **example)
    for kind in made.kinds:
        inputs, trained = inputs_of(made, kind), layer(made, kind=kind)
        assert {key for key, _ in trained.named_parameters()} == set(made.learnable)
        assert trained.encoding is made
        if not made.learnable:
            continue
        sum(x.square().sum() + x[..., 0].sum() for x in listed(trained(*inputs))).backward()
        acting = [p for n, p in trained.named_parameters() if n not in made.on_values]
        assert all(p.grad.abs().max() > 0 for p in acting)
        with torch.no_grad():
            for parameter in acting:
                parameter.sub_(0.01 * parameter.grad.sign())
        assert trained.encoding is not made
        wanted = defined(trained.encoding, kind, inputs)
        assert error(trained(*inputs), wanted) < 3e-7
        assert error(trained(*inputs), defined(made, kind, inputs)) > 1e-5
        trained.reset_parameters()
        assert trained.encoding is made
        frozen = layer(made, kind=kind, learn=False)
        assert not any(p.requires_grad for p in frozen.parameters())


@pytest.mark.parametrize(("name", "example"), CASES)
def test_scores_of_a_layer_are_those_of_its_definition(name: str, example: dict[str, Any]) -> None:
    """At several sequences at once, in float32, -inf on later keys where it is causal only."""
    made = encoding(name, **example)
    q, k, _ = inputs_of(made, "transform")
    at = positions_of(made)
    found = layer(made).scores(q, k, at).detach().double().numpy()
    wanted = made.scores(q.double().numpy(), k.double().numpy(), at.numpy())
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    seen = np.isfinite(wanted)
    assert np.allclose(found[seen], wanted[seen], rtol=0, atol=2e-6 * np.abs(wanted[seen]).max())


def test_the_kind_of_an_encoding_decides_the_module() -> None:
    assert isinstance(layer(encoding("rope", dimension=8)), Transform)
    assert isinstance(layer(encoding("sinusoidal", dimension=8)), Vectors)
    assert isinstance(layer(encoding("alibi", heads=2)), Bias)
    assert isinstance(layer(encoding("nope"), kind="bias"), Bias)


def test_a_layer_says_which_encoding_it_is() -> None:
    assert "rope: " in repr(layer(encoding("rope", dimension=8)))
    assert "base=10000.0" in repr(layer(encoding("rope", dimension=8)))


def test_vectors_and_biases_have_the_type_they_were_asked_for() -> None:
    assert layer(encoding("alibi", heads=2), dtype=torch.float64)([0, 1]).dtype == torch.float64
    assert layer(encoding("sinusoidal", dimension=8)).half()([0, 1]).dtype == torch.float16


def test_vectors_at_a_late_time_keep_what_float64_knows() -> None:
    """Seconds near 1.7e9: in float32 they would all be the same moment."""
    made = encoding("sinusoidal", dimension=8)
    times = torch.tensor([1.7e9 + 0.25, 1.7e9 + 0.5], dtype=torch.float64)
    found = layer(made)(times)
    assert error(found, [made.vectors(times.numpy())]) < 1e-7
    assert (found[0] - found[1]).abs().max() > 0.1
