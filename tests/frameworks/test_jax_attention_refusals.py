"""What attention in JAX does not take: refused in words, in PyTorch in the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
room = pytest.importorskip("gnomon.jax")
attention, attention_plan = room.attention, room.attention_plan

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"q": np.zeros((5, 8), np.float32)}, r"q has shape \(5, 8\); pass a tensor of shape"),
    ({"k": np.zeros((2, 3, 5, 8), np.float32)}, r"k has shape .* pass as many values as keys"),
    ({"k": "narrow", "v": "narrow"}, r"q has shape .* pass the same batch and the same dimension"),
    ({"k": "three", "v": "three"}, r"q has 2 heads and k 3; pass query heads that are a multiple"),
    ({"encoding": "rope"}, r"The encoding is of type str; pass what gnomon\.encoding"),
    ({"causal": 1}, r"causal is 1; pass True, False or None"),
    ({"scale": "big"}, r"scale is 'big'; pass a finite number"),
    ({"mask": np.zeros((5, 4), bool)}, r"mask has shape \(5, 4\) and the logits .* broadcasts"),
    ({"mask": np.zeros((5, 5), int)}, r"mask holds .*int64; pass booleans \(True: may attend\)"),
    ({"segments_k": np.zeros(5)}, r"5 queries and 5 keys, and segments for only one side"),
    ({"segments_q": np.zeros(4)}, r"segments_q has shape \(4,\); pass a number for each token"),
    ({"positions_k": np.zeros(5)}, r"5 queries and 5 keys, and positions for only one side"),
    ({"positions_q": np.zeros(4)}, r"The positions of q have shape \(4,\), and there are 5 vecto"),
    ({"tokens": np.zeros((2, 5, 3), np.float32)}, r"tokens is given, .* reads no tokens"),
    ({"route": "fast"}, r"route is 'fast'; pass one of: auto, plain"),
    ({"route": "bias"}, r"The route 'bias' cannot serve this call, because there is no bias"),
    ({"encoding": ("xpos", {"dimension": 8}), "causal": False}, r"causal is False, .* causal only"),
    ({"encoding": ("rope", {"dimension": 8, "axes": 2})}, r"has 2 axes, so positions cannot be"),
    (
        {
            "encoding": ("rope-dynamic", {"dimension": 8, "factor": 2.0, "original_length": 4}),
            "q": np.zeros((2, 2, 1, 8), np.float32),
        },
        r"1 queries beside 5 keys of a cache, .* changes its frequencies .* fix the length",
    ),
    (
        {"q": np.zeros((2, 2, 6, 8), np.float32)},
        r"6 queries and 5 keys, so queries are not the last of the keys; pass positions_q",
    ),
]
SHAPES = {"narrow": (2, 2, 5, 6), "three": (2, 3, 5, 8)}


def arguments(asked: dict[str, Any], array: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, arrays made by a library."""
    given = {name: np.zeros((2, 2, 5, 8), np.float32) for name in "qkv"}
    given |= {"encoding": ("rope", {"dimension": 8}), **asked}
    for name, value in given.items():
        if isinstance(value, str) and value in SHAPES:
            given[name] = np.zeros(SHAPES[value], np.float32)
        if isinstance(value, tuple):
            given[name] = encoding(value[0], **value[1])
    made = {n: array(x) if isinstance(x, np.ndarray) else x for n, x in given.items()}
    return [made.pop(name) for name in ("q", "k", "v", "encoding")], made


@pytest.mark.parametrize(("asked", "sentence"), REFUSED)
def test_what_attention_does_not_take_is_refused_in_words(
    asked: dict[str, Any], sentence: str
) -> None:
    with jax.enable_x64(True):
        arrays, given = arguments(asked, np.asarray)
        with pytest.raises(EncodingError, match=sentence):
            attention(*arrays, **given)


@pytest.mark.parametrize(("asked", "sentence"), REFUSED)
def test_pytorch_refuses_in_the_same_words(asked: dict[str, Any], sentence: str) -> None:
    torch = pytest.importorskip("torch")
    call = getattr(pytest.importorskip("gnomon.torch"), "attention", None)
    if call is None:
        pytest.skip("there is no attention in PyTorch")
    arrays, given = arguments(asked, torch.asarray)
    with pytest.raises(EncodingError, match=sentence):
        call(*arrays, **given)


def test_arrays_of_torch_and_of_several_types_are_refused(rng: Any) -> None:
    torch = pytest.importorskip("torch")
    q, k, v = rng.normal(size=(3, 2, 2, 5, 8)).astype(np.float32)
    made = encoding("rope", dimension=8)
    with pytest.raises(EncodingError, match=r"q comes from torch; pass an array of JAX or NumPy"):
        attention(torch.asarray(q), k, v, made)
    with pytest.raises(EncodingError, match=r"q holds int32; pass real numbers"):
        attention(q.astype(np.int32), k, v, made)
    half = jnp.asarray(k, jnp.bfloat16)
    with pytest.raises(EncodingError, match=r"q, k and v are of float32, bfloat16 and float32"):
        attention(q, half, v, made)
    with pytest.raises(EncodingError, match=r"attention_plan has no argument 'masks'"):
        attention_plan(q, k, v, made, masks=None)
