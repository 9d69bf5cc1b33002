"""Every route under every mask in every type, crossed, against softmax in float64 written out.

Logits are those of the definition in NumPy. There are two tiles of queries, a cache before them,
and two query heads for each key head.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gnomon
from gnomon.torch import attention, attention_plan

HEADS, DIMENSION, N, M = 4, 8, 70, 80
ENCODINGS = {
    "rope": {"dimension": DIMENSION},
    "pope": {"dimension": DIMENSION, "heads": HEADS},
    "alibi": {"heads": HEADS},
    "t5": {"heads": HEADS, "seed": 1},
    "sandwich": {"heads": HEADS, "vector_dimension": 8},
    "fire": {"heads": HEADS},
    "retnet": {"dimension": DIMENSION, "heads": HEADS},
    "jordan": {"dimension": DIMENSION, "decay": 0.05, "gain": 0.2},
    "fox": {"dimension": DIMENSION, "heads": HEADS, "sigma": 1.0},
    "path": {"dimension": DIMENSION, "heads": HEADS, "sigma": 1.0},
    "shaw": {"dimension": DIMENSION, "largest_lag": 6, "with_values": True, "sigma": 1.0},
}
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
MASKS = ("none", "boolean", "float", "float with -inf", "segments", "segments and boolean")
SERVED = {
    "plain": "rope",
    "bias": "fire",
    "toeplitz": "t5",
    "tiles": "alibi",
    "augmented": "alibi",
    "blocks": "jordan",
    "dense": "shaw",
    "flex": "alibi",
}


def vectors(dtype):
    """Random vectors of a type, and the same numbers in float64."""
    rng = np.random.default_rng(0)
    sizes = ((2, HEADS, N, DIMENSION), (2, 2, M, DIMENSION), (2, 2, M, DIMENSION))
    tensors = [torch.from_numpy(rng.normal(size=size)).to(dtype) for size in sizes]
    return tensors, [x.double().numpy() for x in tensors]


def given(mask):
    """The arguments of a mask, and what is added to logits: -inf where a key may not be seen."""
    rng = np.random.default_rng(1)
    may = rng.random((2, 1, N, M)) > 0.3
    may[0, 0, 0] = False  # a query that may attend to nothing
    added = rng.normal(size=(HEADS, N, M)).astype(np.float32)
    some = np.where(may, added, -np.inf).astype(np.float32)
    keys = np.sort(rng.integers(0, 3, size=(2, M)), axis=1)
    same = (keys[:, M - N :, None] == keys[:, None, :])[:, None]
    of = {
        "segments_q": torch.from_numpy(keys[:, M - N :].copy()),
        "segments_k": torch.from_numpy(keys),
    }
    return {
        "none": ({}, np.zeros((N, M))),
        "boolean": ({"mask": torch.from_numpy(may)}, np.where(may, 0.0, -np.inf)),
        "float": ({"mask": torch.from_numpy(added)}, added.astype(np.float64)),
        "float with -inf": ({"mask": torch.from_numpy(some)}, some.astype(np.float64)),
        "segments": (of, np.where(same, 0.0, -np.inf)),
        "segments and boolean": (
            {**of, "mask": torch.from_numpy(may)},
            np.where(same & may, 0.0, -np.inf),
        ),
    }[mask]


def direct(q, k, v, encoding, added, *, causal):
    """Attention in float64; zeros for a query that may attend to nothing."""
    k, v = (np.repeat(x, 2, axis=1) for x in (k, v))
    at = np.arange(M)
    logits = encoding.scores(q, k, at[M - N :], at, scale=DIMENSION**-0.5) + added
    if causal:
        logits = np.where(at[None, :] <= at[M - N :, None], logits, -np.inf)
    weights = np.exp(logits - np.maximum(logits.max(axis=-1, keepdims=True), -1e300))
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
    out = weights @ v
    if not encoding.on_values:
        return out
    places = at[:, None].astype(np.float64)
    return out + encoding.value_terms(weights, places[M - N :], places, encoding.numbers, xp=np)


def check(name, dtype, mask, causal, routes=None):
    """Compare some routes, or all that serve but the slow one, with attention written out."""
    encoding = gnomon.encoding(name, **ENCODINGS[name])
    tensors, arrays = vectors(dtype)
    asked, added = given(mask)
    wanted = direct(*arrays, encoding, added, causal=causal)
    if routes is None:
        plan = attention_plan(*tensors, encoding, causal=causal, **asked)
        others = {at for at, why in plan.alternatives.items() if why.startswith("it would serve")}
        routes = {plan.route} | (others - {"flex"})
    for route in routes:
        out = attention(*tensors, encoding, causal=causal, route=route, **asked)
        assert out.dtype == dtype
        assert np.abs(out.double().numpy() - wanted).max() < TOLERANCE[dtype], (route, mask, causal)


FIRST = ("rope", "alibi", "retnet", "jordan", "shaw")
"""Between them they take every route; the others are for a wide run."""
WIDE = (pytest.mark.wide,)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FIRST else WIDE) for name in ENCODINGS]
)
def test_every_route_under_every_mask_in_every_type_is_attention_in_float64(name, dtype):
    both = not gnomon.encoding(name, **ENCODINGS[name]).card.causal_only
    for mask in MASKS:
        for causal in (True, False) if both else (True,):
            check(name, dtype, mask, causal)


@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        pytest.param(mask, dtype, marks=() if mask == "float with -inf" else WIDE)
        for mask, dtype in zip(MASKS, [*TOLERANCE, torch.bfloat16, torch.float16], strict=True)
    ],
    ids=str,
)
def test_flex_attention_is_attention_in_float64_under_every_mask_and_in_every_type(mask, dtype):
    check("alibi", dtype, mask, causal=True, routes=["flex"])


@pytest.mark.parametrize("route", SERVED)
def test_every_route_is_crossed_with_masks_and_types_here(route):
    """So that a route that no encoding of the table takes any more is seen."""
    name = SERVED[route]
    tensors, _ = vectors(torch.float32)
    encoding = gnomon.encoding(name, **ENCODINGS[name])
    assert attention_plan(*tensors, encoding, causal=True, route=route).route == route
