"""Layers leave PyTorch as ONNX: real arithmetic, the same numbers in two other evaluators."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnomon.encodings.registry import encoding
from gnomon.torch import layer

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

WIDE = [pytest.mark.wide]
CASES = [  # seconds each, spent in the exporter
    pytest.param("rope", {"dimension": 8}, id="rope"),
    pytest.param(
        "rope", {"dimension": 8, "layout": "half", "fraction": 0.5}, marks=WIDE, id="half"
    ),
    pytest.param("sinusoidal", {"dimension": 8}, marks=WIDE, id="sinusoidal"),
    pytest.param("alibi", {"heads": 3}, marks=WIDE, id="alibi"),
]


def exported(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> Any:
    """The model as ONNX; what the exporter says about itself is not heard."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(module.eval(), inputs, dynamo=True, verbose=False, **options)
    return program.model_proto


def inputs_of(name: str, count: int = 5) -> tuple[torch.Tensor, ...]:
    positions = torch.arange(count) * 1000
    if name != "rope":
        return (positions,)
    make = torch.Generator().manual_seed(2)
    q, k = (torch.randn(2, 3, count, 8, generator=make) for _ in "qk")
    return (q, k, positions)


def feed(proto: Any, inputs: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    names = [entry.name for entry in proto.graph.input]
    return dict(zip(names, (x.numpy() for x in inputs), strict=True))


def outputs_of(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[Any]:
    found = module(*inputs)
    return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]


def same(found: list[Any], wanted: list[Any]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(a.dtype == b.dtype and np.allclose(a, b, rtol=1e-6, atol=3e-7) for a, b in pairs)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_two_onnx_evaluators_give_what_the_layer_gives_without_complex_numbers(
    name: str, parameters: dict[str, Any]
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    module, inputs = layer(encoding(name, **parameters)), inputs_of(name)
    proto = exported(module, inputs)
    onnx.checker.check_model(proto)
    wanted = outputs_of(module, inputs)
    session = runtime.InferenceSession(proto.SerializeToString())
    assert same(session.run(None, feed(proto, inputs)), wanted)
    reference = onnx.reference.ReferenceEvaluator(proto)
    assert same(reference.run(None, feed(proto, inputs)), wanted)
    typed = {entry.type.tensor_type.elem_type for entry in proto.graph.value_info}
    assert onnx.TensorProto.DOUBLE in typed  # phases and lags
    assert not {onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128} & typed


@pytest.mark.wide
def test_a_length_left_open_serves_other_lengths(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    module = layer(encoding("rope", dimension=8))
    length = torch.export.Dim("length", min=2, max=4096)
    shapes = ({2: length}, {2: length}, {0: length})
    proto = exported(module, inputs_of("rope"), dynamic_shapes=shapes)
    file = tmp_path / "rope.onnx"
    onnx.save(proto, file)
    longer = inputs_of("rope", count=11)
    found = runtime.InferenceSession(str(file)).run(None, feed(proto, longer))
    assert same(found, outputs_of(module, longer))
