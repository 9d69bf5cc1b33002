"""Rotary encoding against the reference evaluator of ONNX's RotaryEmbedding (opset 23)."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding

onnx = pytest.importorskip("onnx")
ROWS = 3000


def evaluator(**attributes):
    """Return the reference evaluator of a graph with this one operator."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    def value(name, axes, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, [f"{name}{axis}" for axis in range(axes)])

    inputs = [value("x", 4), value("cosines", 2), value("sines", 2)]
    inputs += [value("ids", 2, TensorProto.INT64)]
    node = helper.make_node("RotaryEmbedding", [i.name for i in inputs], ["y"], **attributes)
    outputs = [value("y", 4)]
    graph = helper.make_graph([node], "rotary", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    onnx.checker.check_model(model)
    return ReferenceEvaluator(model)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("rotated", [16, 64])
def test_vectors_turn_as_the_reference_evaluator_of_onnx(layout, rotated, rng):
    """Tables are handed to it, cosines of exact phases rounded once, so a few ulp are left."""
    x = rng.normal(size=(2, 3, 20, 64)).astype(np.float32)
    ids = rng.integers(0, ROWS, size=(2, 20))
    angles = np.multiply.outer(np.arange(ROWS), 10000.0 ** (-np.arange(0, rotated, 2) / rotated))
    tables = {"cosines": np.cos(angles), "sines": np.sin(angles)}
    run = evaluator(
        interleaved=int(layout == "interleaved"),
        rotary_embedding_dim=0 if rotated == 64 else rotated,
    )
    feeds = {name: table.astype(np.float32) for name, table in tables.items()}
    (wanted,) = run.run(None, {"x": x, "ids": ids, **feeds})
    rope = encoding("rope", dimension=64, layout=layout, fraction=rotated / 64)
    made, _ = rope.transform(x, x, ids)
    assert made.dtype == wanted.dtype == np.float32
    np.testing.assert_allclose(made, wanted, atol=4 * 2.0**-24 * np.abs(x).max())
