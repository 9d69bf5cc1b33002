"""Attention in JAX: every route against sums over keys in float64, masks, caches, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError
from support.examples import FIRST

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
room = pytest.importorskip("gnomon.jax")
attention, attention_plan, layer = room.attention, room.attention_plan, room.layer

CLOSE = {"rtol": 0.0, "atol": 3e-6}
"""float32 outputs that are means of values of size 1 to 3."""


def truth(made: Any, q: Any, k: Any, v: Any, **given: Any) -> Any:
    """Softmax over keys one query at a time, in float64, of the encoding's scores of NumPy."""
    n, m = q.shape[-2], k.shape[-2]
    at_k = given.get("positions_k")
    at_k = np.arange(m) if at_k is None else np.asarray(at_k)
    at_q = given.get("positions_q")
    at_q = at_k[m - n :] if at_q is None else np.asarray(at_q)
    k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], axis=-3).astype(float) for x in (k, v))
    scale = given.get("scale") or q.shape[-1] ** -0.5
    logits = made.scores(q.astype(float), k, at_q, at_k, scale=scale)
    if given.get("causal"):
        late = np.arange(m) > np.arange(n)[:, None] + m - n
        if made.axes == 1 and not made.in_order:
            late = at_q[..., :, None] < at_k[..., None, :]
        logits = np.where(late if late.ndim == 2 else late[..., None, :, :], -np.inf, logits)
    mask = given.get("mask")
    if mask is not None:
        mask = np.asarray(mask)
        logits = np.where(mask, logits, -np.inf) if mask.dtype == bool else logits + mask
    if given.get("segments_q") is not None:
        of_q = np.asarray(given["segments_q"])
        of_k = of_q if given.get("segments_k") is None else np.asarray(given["segments_k"])
        same = of_q[..., :, None] == of_k[..., None, :]
        logits = np.where(same if same.ndim == 2 else same[..., None, :, :], logits, -np.inf)
    out, weights = np.zeros((*logits.shape[:-1], v.shape[-1])), np.zeros(logits.shape)
    for index in np.ndindex(*logits.shape[:-1]):
        row = logits[index]
        if np.isfinite(row).any():
            weights[index] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
            out[index] = weights[index] @ v[index[:-1]]
    extra = made.value_terms(weights, at_q[:, None], at_k[:, None], made.numbers, xp=np)
    return out if extra is None else out + extra


def contents(rng: Any, n: int, m: int, *, heads: int = 2, of_keys: int = 2, width: int = 8) -> Any:
    q = rng.normal(size=(2, heads, n, width))
    k, v = rng.normal(size=(2, 2, of_keys, m, width))
    return [x.astype(np.float32) for x in (q, k, v)]


def called(q: Any, k: Any, v: Any, made: Any, **given: Any) -> Any:
    """Attention as one compiled function, which takes JAX less time than step by step."""
    return jax.jit(lambda q, k, v: attention(q, k, v, made, **given))(q, k, v)


def routes(made: Any, *arrays: Any, **given: Any) -> list[str]:
    """Every route that does not refuse."""
    plan = attention_plan(*arrays, made, **given)
    able = [n for n, why in plan.alternatives.items() if why.startswith("it would serve")]
    return [plan.route, *able]


@pytest.mark.compiles("rope", "retnet")
@pytest.mark.parametrize("case", FIRST)
def test_every_route_gives_the_sums_over_keys_beside_a_cache(case: Any, rng: Any) -> None:
    """Fewer queries than keys; for an encoding that cannot be cached, as many."""
    made = encoding(case[0], **case[1])
    width = getattr(made, "width", None) or getattr(made, "dimension", 8)
    n, m = (3 if made.card.cacheable else 7), 7
    q, k, v = contents(
        rng, n, m, heads=(made.head_count or 1), of_keys=(made.head_count or 1), width=width
    )
    line = np.arange(m) if made.axes == 1 else np.stack([np.arange(m)] * made.axes, axis=-1)
    given = {"positions_q": line[m - n :], "positions_k": line, "causal": True}
    wanted = truth(made, q, k, v, **given)
    given = given if made.axes > 1 else {"causal": True}
    for route in routes(made, q, k, v, **given):
        found = called(q, k, v, layer(made), route=route, **given)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, wanted, **CLOSE, err_msg=route)


WIDE = (pytest.mark.wide,)
CASES = [
    pytest.param(name, marks=() if name in ("alibi", "xpos") else WIDE)
    for name in ("rope", "alibi", "rope-mixed", "xpos", "t5")
]


def made_for(name: str, heads: int) -> Any:
    """An encoding for so many heads, on one axis."""
    known: dict[str, dict[str, Any]] = {
        "rope": {"dimension": 8},
        "xpos": {"dimension": 8, "scale_base": 8.0},
        "alibi": {"heads": heads, "symmetric": True},
        "t5": {"heads": heads, "buckets": 8, "largest_lag": 16},
        "rope-mixed": {"dimension": 8, "heads": heads, "axes": 1},
    }
    takes = known[name]
    return encoding(name, **takes)


@pytest.mark.parametrize("name", CASES)
def test_masks_segments_groups_and_places_act_together_on_every_route(name: str, rng: Any) -> None:
    """Packed documents, padded keys, two query heads for each key head, places that restart."""
    made = made_for(name, 4)
    q, k, v = contents(rng, 9, 9, heads=4, of_keys=2)
    at = np.stack([[0, 1, 2, 3, 0, 1, 2, 3, 4], [0, 1, 0, 1, 2, 3, 4, 5, 6]])
    owner = np.stack([[0] * 4 + [1] * 5, [0] * 2 + [1] * 7])
    kept = rng.random(size=(2, 1, 1, 9)) > 0.2
    for mask in (kept, np.where(kept, rng.normal(size=(2, 1, 1, 9)), -1e9).astype(np.float32)):
        given = {"positions_q": at, "segments_q": owner, "mask": mask, "causal": True}
        wanted = truth(made, q, k, v, **{**given, "positions_k": at})
        for route in routes(made, q, k, v, **given):
            found = called(q, k, v, made, route=route, **given)
            np.testing.assert_allclose(found, wanted, **CLOSE, err_msg=route)


def test_packed_documents_attend_as_separate_ones(rng: Any) -> None:
    made = encoding("xpos", dimension=8)
    q, k, v = contents(rng, 150, 150)
    owner = np.repeat([0, 1], [60, 90])
    packed = called(q, k, v, made, segments_q=owner)
    for one in range(2):
        mine = owner == one
        alone = called(*(x[:, :, mine] for x in (q, k, v)), made)
        np.testing.assert_allclose(packed[:, :, mine], alone, **CLOSE)


def test_a_query_that_sees_no_key_gives_zeros_and_no_gradient(rng: Any) -> None:
    q, k, v = contents(rng, 4, 4)
    mask = np.ones((4, 4), bool)
    mask[2] = False
    for made in (encoding("rope", dimension=8), made_for("alibi", 2)):
        for route in routes(made, q, k, v, mask=mask):

            def total(x: Any, made: Any = made, route: str = route) -> Any:
                return attention(x, k, v, made, mask=mask, route=route).sum()

            found = called(q, k, v, made, mask=mask, route=route)
            assert (np.asarray(found)[:, :, 2] == 0.0).all()
            slope = np.asarray(jax.jit(jax.grad(total))(q))
            assert np.isfinite(slope).all()
            assert (slope[:, :, 2] == 0.0).all()


@pytest.mark.parametrize("name", ["xpos", pytest.param("retnet", marks=WIDE)])
def test_decays_in_float32_are_direct_sums_in_float64_at_20000_positions(
    name: str, rng: Any
) -> None:
    """The sums are written out here: e^((a + i w)(i - j)) in complex numbers."""
    many, heads = 20_000, 2
    made = encoding(name, dimension=4, **({"heads": heads} if name == "retnet" else {}))
    q, k, v = rng.normal(size=(3, heads, many, 4)).astype(np.float32)
    found = np.asarray(attention(q, k, v, made, scale=1.0))
    assert attention_plan(q, k, v, made).route == "blocks"
    left, right = (x.astype(float)[..., 0::2] + 1j * x.astype(float)[..., 1::2] for x in (q, k))
    rates = np.broadcast_to(made.rates, (heads, 2)) + 1j * made.frequencies[:, 0]
    for head in range(heads):
        for i in (0, 1, 128, 777, 9_999, many - 1):
            lags = (i - np.arange(i + 1))[:, None]
            products = left[head, i] * right[head, : i + 1].conj() * np.exp(rates[head] * lags)
            logits = products.real.sum(axis=1)
            weights = np.exp(logits - logits.max())
            wanted = weights @ v[head, : i + 1].astype(float) / weights.sum()
            assert np.abs(found[head, i] - wanted).max() < 1e-5


def test_a_decay_is_right_at_timestamps_in_no_order(rng: Any) -> None:
    """Keys of one block stand before, between and after its queries, and far apart."""
    made = encoding("xpos", dimension=8, scale_base=4.0)
    q, k, v = contents(rng, 20, 150)
    at_q, at_k = (1.7e9 + rng.uniform(0, 5000, size=size).round(2) for size in (20, 150))
    places = {"positions_q": at_q, "positions_k": at_k}
    found = called(q, k, v, made, **places)
    np.testing.assert_allclose(found, truth(made, q, k, v, **places), **CLOSE)


@pytest.mark.parametrize(
    "name", ["t5", pytest.param("fope", marks=WIDE), pytest.param("rope-mixed", marks=WIDE)]
)
def test_learned_numbers_get_the_slopes_of_differences_on_every_route(name: str, rng: Any) -> None:
    """In float64, against differences of the loss along a random direction."""
    made = {
        "t5": lambda: made_for("t5", 2),
        "fope": lambda: encoding("fope", dimension=8, length=64, heads=2),
        "rope-mixed": lambda: made_for("rope-mixed", 2),
    }[name]()
    with jax.enable_x64(True):
        q, k, v = (x.astype(float) for x in contents(rng, 5, 9))
        target, held = rng.normal(size=(2, 2, 5, 8)), layer(made)
        way = jax.tree.map(lambda x: rng.normal(size=x.shape), held.numbers)

        def loss(step: Any, route: str) -> Any:
            numbers = {name: x + step * way[name] for name, x in held.numbers.items()}
            moved = type(held)(numbers=numbers, definition=held.definition)
            return (attention(q, k, v, moved, causal=True, route=route) * target).sum()

        for route in routes(made, q, k, v):
            # JAX's own softmax is float32 in these two: differences of it are noise
            small, close = (1e-2, 1e-2) if route in ("plain", "bias") else (1e-5, 1e-6)
            value, slope = (jax.jit(f, static_argnums=1) for f in (loss, jax.grad(loss)))
            found = float(slope(0.0, route))
            wanted = float(value(small, route) - value(-small, route)) / (2 * small)
            assert abs(found - wanted) <= close * max(1.0, abs(wanted)), route


@pytest.mark.parametrize("name", [pytest.param("rope", marks=WIDE), "xpos", "alibi"])
def test_slopes_of_q_k_and_v_are_the_same_on_every_route(name: str, rng: Any) -> None:
    """Through several blocks, with a last one that is not full; the dense route is plain JAX."""
    many = 140 if name == "xpos" else 290
    made, arrays = made_for(name, 2), contents(rng, many, many)

    def slopes(route: str) -> Any:
        def loss(q: Any, k: Any, v: Any) -> Any:
            return (attention(q, k, v, made, causal=True, route=route) ** 2).sum()

        return jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(*arrays)

    wanted = slopes("dense")
    for found in map(slopes, {*routes(made, *arrays, causal=True)} - {"dense"}):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "name", ["xpos", pytest.param("rope", marks=WIDE), pytest.param("alibi", marks=WIDE)]
)
def test_compiled_and_mapped_calls_give_the_same(name: str, rng: Any) -> None:
    """Positions and segments are arguments of the compiled function, so their values are hidden."""
    made = layer(made_for(name, 2))
    q, k, v = contents(rng, 6, 6)
    at = np.stack([np.arange(6), np.arange(6) + 40])
    owner = np.stack([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
    given = {"positions_q": at, "segments_q": owner}
    wanted = attention(q, k, v, made, causal=True, **given)

    def call(made: Any, q: Any, k: Any, v: Any, at: Any, owner: Any) -> Any:
        return attention(q, k, v, made, positions_q=at, segments_q=owner, causal=True)

    np.testing.assert_allclose(jax.jit(call)(made, q, k, v, at, owner), wanted, **CLOSE)
    mapped = jax.vmap(call, in_axes=(None, 0, 0, 0, 0, 0))(made, q, k, v, at, owner)
    np.testing.assert_allclose(mapped, wanted, **CLOSE)


def test_half_precision_errs_by_its_own_roundings_of_inputs_and_weights(rng: Any) -> None:
    """A bias of 60 beside logits of 1 is not rounded to bfloat16's eight bits."""
    made = encoding("alibi", slopes=(1.0, 0.25), symmetric=True)
    q, k, v = (jnp.asarray(x, jnp.bfloat16) for x in contents(rng, 64, 64))
    wanted = truth(made, *(np.asarray(x, np.float64) for x in (q, k, v)))
    for route in routes(made, q, k, v):
        found = called(q, k, v, made, route=route)
        assert found.dtype == jnp.bfloat16
        np.testing.assert_allclose(np.asarray(found, float), wanted, atol=3e-2, err_msg=route)


def test_float64_is_kept_where_jax_itself_would_round_the_softmax(rng: Any) -> None:
    made = encoding("rope", dimension=8)
    arrays = [x.astype(float) for x in contents(rng, 5, 5)]
    with jax.enable_x64(True):
        wanted = truth(made, *arrays)
        assert attention_plan(*arrays, made).route == "dense"
        for route in ("auto", "blocks"):
            found = called(*arrays, made, route=route)
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-13)
        with pytest.raises(EncodingError, match="computes the softmax of float64 in float32"):
            called(*arrays, made, route="plain")


def test_values_may_be_wider_or_narrower_than_keys(rng: Any) -> None:
    made = encoding("rope", dimension=8)
    q, k, _ = contents(rng, 5, 7)
    for width in (3, 12):
        v = rng.normal(size=(2, 2, 7, width)).astype(np.float32)
        for route in routes(made, q, k, v):
            found = called(q, k, v, made, route=route)
            np.testing.assert_allclose(found, truth(made, q, k, v), **CLOSE, err_msg=route)


def test_several_leading_axes_or_none_are_a_batch(rng: Any) -> None:
    made = made_for("alibi", 2)
    q, k, v = rng.normal(size=(3, 2, 3, 2, 5, 8)).astype(np.float32)
    mask = rng.random(size=(3, 1, 5, 5)) > 0.3
    found = called(q, k, v, made, mask=mask)
    for i, j in np.ndindex(2, 3):
        alone = called(q[i, j], k[i, j], v[i, j], made, mask=mask[j])
        np.testing.assert_allclose(found[i, j], alone, **CLOSE)


def test_wrappers_are_taken_off(rng: Any) -> None:
    q, k, v = contents(rng, 6, 6)
    inner = {"name": "rope", "dimension": 8}
    drawn = encoding("randomised", inner=inner, largest=1000, length=6)
    rope = encoding("rope", dimension=8)
    wanted = called(q, k, v, rope, positions_q=drawn.places)
    np.testing.assert_allclose(called(q, k, v, drawn), wanted, **CLOSE)


def test_a_module_of_flax_serves_as_its_pytree(rng: Any) -> None:
    nnx = pytest.importorskip("gnomon.jax.nnx")
    q, k, v = contents(rng, 5, 5)
    made = made_for("t5", 2)
    found = attention(q, k, v, nnx.Layer(made))
    np.testing.assert_array_equal(found, attention(q, k, v, layer(made)))


def test_the_plan_says_the_route_and_why_not_the_others(rng: Any) -> None:
    arrays = contents(rng, 5, 5)
    plan = attention_plan(*arrays, made_for("alibi", 2), causal=True)
    assert (plan.route, plan.causal) == ("bias", True)
    assert plan.alternatives["plain"] == "a bias is to be added"
    assert plan.extra_bytes == 2 * 2 * 5 * 5 * 4
    forced = attention_plan(*arrays, made_for("rope", 2), route="blocks")
    assert forced.why.startswith("asked for by name")
    long = jnp.zeros((1, 1, 2048, 8))
    assert attention_plan(long, long, long, made_for("rope", 1)).route == "blocks"
    added = attention_plan(*arrays, encoding("sinusoidal", dimension=8))
    assert "where a model adds them to embeddings" in added.why


@pytest.mark.parametrize("route", ["plain", "dense", "blocks"])
def test_a_float_mask_hides_keys_by_minus_infinity_and_whole_rows_give_zeros(
    route: str, rng: Any
) -> None:
    q, k, v = (rng.normal(size=(1, 2, 6, 8)).astype(np.float32) for _ in "qkv")
    mask = np.where(rng.random((6, 6)) < 0.5, -np.inf, rng.normal(size=(6, 6)))
    mask[2], mask[:, 0] = -np.inf, np.where(np.arange(6) == 2, -np.inf, 0.0)
    found = attention(q, k, v, encoding("nope"), mask=mask.astype(np.float32), route=route)
    logits = np.einsum("bhid,bhjd->bhij", q, k).astype(float) / np.sqrt(8.0) + mask
    weights = np.exp(np.where(np.isneginf(logits), -np.inf, logits))
    total = weights.sum(axis=-1, keepdims=True)
    wanted = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 0.0) @ v
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-6, atol=2e-6)
    assert not np.asarray(found)[..., 2, :].any()


@pytest.mark.parametrize("name", ["path", "selective-rope"])
def test_taps_stop_where_a_segment_begins_though_positions_count_on(name: str, rng: Any) -> None:
    made = encoding(name, heads=2, dimension=8, kernel=3)
    q, k, v = (rng.normal(size=(1, 2, 9, 8)).astype(np.float32) for _ in "qkv")
    segments = np.array([0] * 4 + [1] * 5)
    packed = np.asarray(called(q, k, v, made, causal=True, segments_q=segments))
    for part in (slice(0, 4), slice(4, 9)):
        alone = called(*(x[..., part, :] for x in (q, k, v)), made, causal=True)
        np.testing.assert_allclose(packed[..., part, :], np.asarray(alone), rtol=1e-5, atol=1e-5)
