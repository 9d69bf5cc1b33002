"""Every route of attention in JAX under every mask in every type, against softmax in float64.

Logits are those of the definition in NumPy. A cache stands before the queries, two query heads
share a key head, and blocks are made small, so that there are several. Masks stand side by side on
the axis of sequences, since JAX compiles each kind of call anew: six sequences with booleans, and
six with numbers that are added, -inf among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
room = pytest.importorskip("gnomon.jax")
walked = pytest.importorskip("gnomon.jax.sdpa.blocks")

HEADS, DIMENSION, N, M, SEQUENCES = 4, 8, 19, 27, 6
ENCODINGS: dict[str, dict[str, Any]] = {
    "rope": {"dimension": DIMENSION},
    "pope": {"dimension": DIMENSION, "heads": HEADS},
    "alibi": {"heads": HEADS},
    "t5": {"heads": HEADS, "seed": 1},
    "fire": {"heads": HEADS},
    "retnet": {"dimension": DIMENSION, "heads": HEADS},
    "jordan": {"dimension": DIMENSION, "decay": 0.05, "gain": 0.2},
    "fox": {"dimension": DIMENSION, "heads": HEADS, "sigma": 1.0},
    "path": {"dimension": DIMENSION, "heads": HEADS, "sigma": 1.0},
    "shaw": {"dimension": DIMENSION, "largest_lag": 6, "with_values": True, "sigma": 1.0},
}
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "bfloat16": 3e-2, "float16": 4e-3}
ROUNDED = 1e-6
"""What jax.nn.dot_product_attention leaves of float64: its softmax is float32."""
WIDE = (pytest.mark.wide,)
DEFAULT = {("rope", "bfloat16"), ("alibi", "float32"), ("retnet", "float16"), ("shaw", "float64")}
"""Between them they take every route and every type; the rest is for a wide run."""


def masks() -> tuple[Any, Any, Any]:
    """Return what may be seen, what is added, and which documents keys belong to, by sequence."""
    rng = np.random.default_rng(1)
    may = rng.random((SEQUENCES, 1, N, M)) > 0.3
    may[0] = True  # nothing hidden
    may[1] = np.arange(M) >= 5  # padded on the left
    may[2, 0, 3] = False  # a query that may attend to nothing
    added = rng.normal(size=(SEQUENCES, HEADS, N, M)).astype(np.float32)
    added[0] = 0.0
    added[3:] = np.where(may[3:], added[3:], -np.inf)
    added[4, :, 2] = -np.inf
    documents = np.sort(rng.integers(0, 3, size=(SEQUENCES, M)), axis=1)
    documents[:2] = 0
    return may, added, documents


def direct(arrays: Any, made: Any, added: Any, *, causal: bool) -> Any:
    """Attention in float64; zeros for a query that may attend to nothing."""
    q, k, v = arrays
    k, v = (np.repeat(x, HEADS // 2, axis=1) for x in (k, v))
    at = np.arange(M)
    logits = made.scores(q, k, at[M - N :], at, scale=DIMENSION**-0.5) + added
    if causal:
        logits = np.where(at[None, :] <= at[M - N :, None], logits, -np.inf)
    weights = np.exp(logits - np.maximum(logits.max(axis=-1, keepdims=True), -1e300))
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)
    places = at[:, None].astype(np.float64)
    extra = made.value_terms(weights, places[M - N :], places, made.numbers, xp=np)
    return weights @ v if extra is None else weights @ v + extra


def compared(made: Any, arrays: Any, added: Any, *, causal: bool, **given: Any) -> set[str]:
    """Compare every route that serves with attention written out, and name the routes."""
    exact = [np.asarray(x, np.float64) for x in arrays]
    wanted = direct(exact, made, added, causal=causal)
    plan = room.attention_plan(*arrays, made, causal=causal, **given)
    able = {name for name, why in plan.alternatives.items() if why.startswith("it would serve")}
    for route in {plan.route} | able:
        call = jax.jit(
            lambda q, k, v, r=route: room.attention(q, k, v, made, causal=causal, route=r, **given)
        )
        found = call(*arrays)
        assert found.dtype == arrays[0].dtype
        limit = TOLERANCE[str(found.dtype)]
        limit = max(limit, ROUNDED) if route in ("plain", "bias") else limit
        errors = np.abs(np.asarray(found, np.float64) - wanted).max(axis=(1, 2, 3))
        assert (errors < limit).all(), (route, errors)
    return {plan.route} | able


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=() if (name, dtype) in DEFAULT else WIDE)
        for name in ENCODINGS
        for dtype in TOLERANCE
    ],
)
def test_every_route_under_every_mask_in_every_type_is_attention_in_float64(
    name: str, dtype: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(walked, "BLOCK", 8)
    monkeypatch.setattr(walked, "NEAR", 8)
    made = gnomon.encoding(name, **ENCODINGS[name])
    may, added, documents = masks()
    same = (documents[:, M - N :, None] == documents[:, None, :])[:, None]
    rng = np.random.default_rng(0)
    sizes = ((SEQUENCES, HEADS, N, DIMENSION), *[(SEQUENCES, 2, M, DIMENSION)] * 2)
    with jax.enable_x64(dtype == "float64"):
        arrays = [jnp.asarray(rng.normal(size=size), dtype) for size in sizes]
        owners = {"segments_q": documents[:, M - N :], "segments_k": documents}
        hidden = np.where(may & same, 0.0, -np.inf)
        compared(made, arrays, hidden, causal=True, mask=may, **owners)
        both = made.card.causal_only
        compared(made, arrays, added.astype(np.float64), causal=both, mask=added)


def test_every_route_is_crossed_here() -> None:
    """So that a route that no encoding of the table takes any more is seen."""
    taken = set()
    x = jnp.zeros((1, HEADS, 9, DIMENSION))
    for name, parameters in ENCODINGS.items():
        plan = room.attention_plan(x, x, x, gnomon.encoding(name, **parameters), causal=True)
        able = {n for n, why in plan.alternatives.items() if why.startswith("it would serve")}
        taken |= able | {plan.route}
    assert taken == {*plan.alternatives, plan.route}
