"""Attention by every route against attention in float64, written out: logits, softmax, values.

The logits are those that NumPy makes of the definition in float64, which have a proof of their own
(the oracle); masks, packing, grouped heads and caches are written out here, query by query.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.torch import attention, attention_plan

HEADS, DIMENSION = 4, 16
ENCODINGS = {
    "nope": {},
    "rope": {"dimension": DIMENSION},
    "rope-mixed": {"dimension": DIMENSION, "heads": HEADS, "axes": 1},
    "sinusoidal": {"dimension": DIMENSION},
    "alibi": {"heads": HEADS},
    "alibi, symmetric": {"heads": HEADS, "symmetric": True},
    "t5": {"heads": HEADS},
    "xpos": {"dimension": DIMENSION},
    "retnet": {"dimension": DIMENSION, "heads": HEADS},
    "rope-nope-layers": {"inner": {"name": "retnet", "dimension": DIMENSION, "heads": HEADS}},
    "randomised": {"inner": {"name": "alibi", "heads": HEADS}, "largest": 999, "length": 600},
}
SHAPES = {"square": (40, 40, 4), "cache": (7, 40, 2), "one query": (1, 40, 1)}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
MASKS = ("none", "boolean", "float", "segments")


def made(name):
    return gnomon.encoding(name.partition(",")[0], **ENCODINGS[name])


def direct(q, k, v, encoding, at_q, at_k, *, causal, may=None, added=None):
    """Attention of float64, query by query; q (batch, heads, n, d) and so on, arrays of NumPy."""
    groups = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, groups, axis=1) for x in (k, v))
    logits = encoding.scores(q, k, at_q, at_k, scale=q.shape[-1] ** -0.5)
    logits = logits if added is None else logits + added
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for b, h, i in np.ndindex(q.shape[:-1]):
        seen = np.isfinite(logits[b, h, i])
        if causal:
            seen &= np.asarray(at_k) <= at_q[i]
        if may is not None:
            seen &= np.broadcast_to(may, logits.shape)[b, h, i]
        if seen.any():
            weights = np.exp(logits[b, h, i, seen] - logits[b, h, i, seen].max())
            out[b, h, i] = (weights / weights.sum()) @ v[b, h, seen]
    return out


def problem(shape, dtype, seed=0):
    """Random vectors of a type, and the same numbers in float64."""
    n, m, key_heads = SHAPES.get(shape, shape)
    rng = np.random.default_rng(seed)
    sizes = ((2, HEADS, n, DIMENSION), (2, key_heads, m, DIMENSION), (2, key_heads, m, DIMENSION))
    tensors = [torch.from_numpy(rng.normal(size=size)).to(dtype) for size in sizes]
    return tensors, [x.double().numpy() for x in tensors]


def given(mask, n, m, seed=1):
    """Arguments of one kind of mask, and what they say written out."""
    rng = np.random.default_rng(seed)
    if mask == "boolean":
        may = rng.random((2, 1, n, m)) > 0.3
        may[0, 0, 0] = False  # a query that may attend to nothing
        return {"mask": torch.from_numpy(may)}, {"may": may}
    if mask == "float":
        added = rng.normal(size=(HEADS, n, m)).astype(np.float32)
        return {"mask": torch.from_numpy(added)}, {"added": added.astype(np.float64)}
    if mask == "segments":
        keys = np.sort(rng.integers(0, 3, size=(2, m)), axis=1)
        queries = keys[:, m - n :]
        may = (queries[:, :, None] == keys[:, None, :])[:, None]
        of = {"segments_q": torch.from_numpy(queries), "segments_k": torch.from_numpy(keys)}
        return of, {"may": may}
    return {}, {}


def routes_of(tensors, encoding, **asked):
    plan = attention_plan(*tensors, encoding, **asked)
    others = [name for name, why in plan.alternatives.items() if why.startswith("it would serve")]
    return [plan.route, *(name for name in others if name != "flex")]


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_route_is_attention_in_float64(name, shape):
    encoding = made(name)
    n, m, _ = SHAPES[shape]
    tensors, arrays = problem(shape, torch.float32)
    keys = np.arange(m)
    for causal in (True,) if encoding.card.causal_only else (True, False):
        for mask in MASKS:
            asked, written = given(mask, n, m)
            wanted = direct(*arrays, encoding, keys[m - n :], keys, causal=causal, **written)
            for route in routes_of(tensors, encoding, causal=causal, **asked):
                out = attention(*tensors, encoding, causal=causal, route=route, **asked)
                assert np.abs(out.double().numpy() - wanted).max() < 2e-5, (causal, mask, route)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "retnet", "rope-mixed", "randomised"])
def test_every_route_keeps_the_precision_of_its_type(name, dtype):
    encoding = made(name)
    tensors, arrays = problem("square", dtype)
    keys = np.arange(40)
    wanted = direct(*arrays, encoding, keys, keys, causal=True)
    for route in routes_of(tensors, encoding, causal=True):
        out = attention(*tensors, encoding, causal=True, route=route)
        assert out.dtype == dtype
        assert np.abs(out.double().numpy() - wanted).max() < TOLERANCE[dtype], route


@pytest.mark.parametrize("name", ["rope", "alibi", "alibi, symmetric", "t5", "xpos", "randomised"])
def test_several_tiles_are_attention_in_float64(name):
    encoding = made(name)
    tensors, arrays = problem((570, 580, 2), torch.float32)
    keys = np.arange(580)
    for mask in ("none", "segments"):
        asked, written = given(mask, 570, 580)
        wanted = direct(*arrays, encoding, keys[10:], keys, causal=True, **written)
        for route in set(routes_of(tensors, encoding, causal=True, **asked)) - {"dense"}:
            out = attention(*tensors, encoding, causal=True, route=route, **asked)
            assert np.abs(out.double().numpy() - wanted).max() < 5e-5, (mask, route)


@pytest.mark.parametrize("name", ["rope", "alibi", "alibi, symmetric", "t5", "retnet"])
@pytest.mark.parametrize("at", ["steps of a quarter", "uneven", "other than the keys'"])
def test_positions_may_be_any_numbers(name, at):
    encoding = made(name)
    n, m = 20, 30
    tensors, arrays = problem((n, m, 4), torch.float32)
    rng = np.random.default_rng(2)
    keys, queries = 1000.0 + np.arange(m) / 4, 1002.5 + np.arange(n) / 4
    if at == "uneven":
        keys = 1000.0 + np.cumsum(rng.integers(1, 4, size=m))
        queries = keys[m - n :]
    if at == "other than the keys'":
        queries = queries + 0.125
    if name == "t5":
        keys, queries = np.round(keys * 8), np.round(queries * 8)
    for causal in (True,) if encoding.card.causal_only else (True, False):
        wanted = direct(*arrays, encoding, queries, keys, causal=causal)
        asked = {"positions_q": queries, "positions_k": torch.from_numpy(keys), "causal": causal}
        for route in routes_of(tensors, encoding, **asked):
            out = attention(*tensors, encoding, route=route, **asked)
            assert np.abs(out.double().numpy() - wanted).max() < 2e-5, (causal, route)


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "retnet"])
def test_every_sequence_may_have_positions_of_its_own(name):
    encoding = made(name)
    tensors, arrays = problem("square", torch.float32)
    rng = np.random.default_rng(3)
    at = np.cumsum(rng.integers(1, 3, size=(2, 40)), axis=1) + np.array([[0], [5000]])
    asked = {"positions_q": torch.from_numpy(at), "causal": True}
    wanted = np.concatenate(
        [
            direct(*(x[b : b + 1] for x in arrays), encoding, at[b], at[b], causal=True)
            for b in range(2)
        ]
    )
    for route in routes_of(tensors, encoding, **asked):
        out = attention(*tensors, encoding, route=route, **asked)
        assert np.abs(out.double().numpy() - wanted).max() < 2e-5, route


def test_packed_documents_are_each_attention_of_its_own():
    encoding = gnomon.encoding("alibi", heads=HEADS)
    tensors, arrays = problem("square", torch.float32)
    segments, at = np.repeat([0, 1], [15, 25]), np.r_[np.arange(15), np.arange(25)]
    out = attention(
        *tensors, encoding, positions_q=at, segments_q=torch.from_numpy(segments)
    ).double()
    for part, length in ((slice(0, 15), 15), (slice(15, 40), 25)):
        alone = [x[:, :, part] for x in arrays]
        wanted = direct(*alone, encoding, np.arange(length), np.arange(length), causal=True)
        assert np.abs(out[:, :, part].numpy() - wanted).max() < 2e-5


@pytest.mark.parametrize("name", ["path", "selective-rope"])
def test_taps_of_a_rule_stop_where_a_segment_begins_though_positions_go_on(name):
    encoding = gnomon.encoding(name, heads=HEADS, dimension=DIMENSION, kernel=3)
    q, k, v = (x.double() for x in problem("square", torch.float32)[0])
    segments = torch.from_numpy(np.repeat([0, 1], [15, 25]))
    out = attention(q, k, v, encoding, segments_q=segments)
    for part in (slice(0, 15), slice(15, 40)):
        alone = attention(q[:, :, part], k[:, :, part], v[:, :, part], encoding)
        torch.testing.assert_close(out[:, :, part], alone, rtol=1e-12, atol=1e-12)
    cached = attention(q[:, :, -2:], k, v, encoding, segments_q=[1, 1], segments_k=segments)
    torch.testing.assert_close(cached, out[:, :, -2:], rtol=1e-12, atol=1e-12)


def test_a_cache_read_token_by_token_gives_what_one_pass_gives():
    for name in ("rope", "alibi", "t5", "retnet"):
        encoding = made(name)
        (q, k, v), _ = problem("square", torch.float32)
        whole = attention(q, k, v, encoding, causal=True)
        steps = [
            attention(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1], encoding, causal=True)
            for i in range(40)
        ]
        assert (torch.cat(steps, dim=2) - whole).abs().max() < 1e-5


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_axes_before_heads_are_sequences(leading):
    encoding = gnomon.encoding("alibi", heads=2)
    rng = np.random.default_rng(4)
    q, k, v = (torch.from_numpy(rng.normal(size=(*leading, 2, 9, 8))) for _ in range(3))
    mask = torch.from_numpy(rng.random((*leading, 1, 9, 9)) > 0.4)
    out = attention(q, k, v, encoding, mask=mask)
    assert out.shape == q.shape
    for at in np.ndindex(*leading):
        arrays = [x[at].numpy()[None] for x in (q, k, v)]
        wanted = direct(
            *arrays, encoding, np.arange(9), np.arange(9), causal=True, may=mask[at].numpy()[None]
        )
        assert np.abs(out[at].numpy() - wanted[0]).max() < 1e-12


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "retnet"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_queries_beside_a_cache_see_no_key_after_them(name, n):
    """The first of two queries has one later key, the fewest that a mask can have."""
    encoding = made(name)
    tensors, arrays = problem((n, 9, 2), torch.float64)
    at = np.arange(9)
    wanted = direct(*arrays, encoding, at[9 - n :], at, causal=True)
    for route in routes_of(tensors, encoding, causal=True):
        out = attention(*tensors, encoding, causal=True, route=route)
        assert np.abs(out.numpy() - wanted).max() < 1e-12, route


AROUND = {
    "repeated": ([0, 1, 1, 2, 2, 2, 7], [0, 1, 1, 2, 2, 2, 7]),
    "repeated, queries a run": ([1, 2, 2, 3], [0, 1, 2, 2, 3]),
    "nearly even": ([0, 1.0001, 2, 3.0002, 4], [0, 1.0001, 2, 3.0002, 4]),
    "keys a little later": ([0, 1, 2, 3], [0.0001, 1.0001, 2.0001, 3.0001]),
    "keys a little earlier": ([0, 1, 2, 3], [-0.0001, 0.9999, 1.9999, 2.9999]),
}


@pytest.mark.parametrize("case", AROUND)
@pytest.mark.parametrize("name", ["rope", "alibi", "retnet"])
def test_positions_that_meet_or_nearly_meet_are_told_apart(case, name):
    """Keys at a query's own position are seen, also later ones in order; those past it are not."""
    encoding = made(name)
    at_q, at_k = (np.asarray(at, dtype=float) for at in AROUND[case])
    tensors, arrays = problem((len(at_q), len(at_k), 4), torch.float64)
    asked = {"positions_q": at_q, "positions_k": at_k, "causal": True}
    wanted = direct(*arrays, encoding, at_q, at_k, causal=True)
    for route in routes_of(tensors, encoding, **asked):
        out = attention(*tensors, encoding, route=route, **asked)
        assert np.abs(out.numpy() - wanted).max() < 1e-12, route


@pytest.mark.parametrize("name", ["xpos", "retnet"])
def test_a_decay_may_have_keys_that_are_far_later_than_a_block_of_queries(name):
    """Their factor, as seen from the block, is not finite; they are masked, so none is needed."""
    encoding = made(name)
    tensors, arrays = problem((300, 300, 4), torch.float32)
    at = np.stack([np.arange(300), np.arange(300) + 10**6 * (np.arange(300) >= 256)])
    out = attention(*tensors, encoding, positions_q=torch.from_numpy(at), route="blocks")
    for b, places in enumerate(at):
        one = [x[b : b + 1] for x in arrays]
        wanted = direct(*one, encoding, places, places, causal=True)
        assert np.abs(out[b].double().numpy() - wanted[0]).max() < 2e-5


def test_values_may_be_narrower_or_wider_than_queries():
    for width in (5, 24):
        encoding = gnomon.encoding("alibi", heads=HEADS)
        (q, k, _), (a, b, _) = problem("square", torch.float32)
        v = torch.randn(2, HEADS, 40, width, generator=torch.Generator().manual_seed(0))
        values = v.double().numpy()
        wanted = direct(a, b, values, encoding, np.arange(40), np.arange(40), causal=True)
        for route in routes_of((q, k, v), encoding):
            out = attention(q, k, v, encoding, route=route)
            assert np.abs(out.double().numpy() - wanted).max() < 2e-5, route


def test_positions_on_two_axes_take_part():
    rng = np.random.default_rng(5)
    for name, parameters in (("rope", {"dimension": 8}), ("alibi", {"heads": 2})):
        encoding = gnomon.encoding(name, axes=2, **parameters)
        q, k, v = (torch.from_numpy(rng.normal(size=(1, 2, 12, 8))) for _ in range(3))
        at = np.indices((3, 4)).reshape(2, -1).T
        wanted = direct(*(x.numpy() for x in (q, k, v)), encoding, at, at, causal=False)
        for route in routes_of((q, k, v), encoding, positions_q=at):
            out = attention(q, k, v, encoding, positions_q=at, route=route)
            assert np.abs(out.numpy() - wanted).max() < 1e-12, route


@pytest.mark.parametrize(
    ("name", "mask"), [("alibi", "none"), ("t5", "segments"), ("rope", "float")]
)
def test_flex_attention_gives_the_values_on_a_processor(name, mask):
    encoding = made(name)
    tensors, arrays = problem("cache", torch.float32)
    asked, written = given(mask, 7, 40)
    keys = np.arange(40)
    wanted = direct(*arrays, encoding, keys[33:], keys, causal=True, **written)
    out = attention(*tensors, encoding, causal=True, route="flex", **asked)
    assert np.abs(out.double().numpy() - wanted).max() < 2e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_coordinates_of_a_linear_bias_keep_it_at_long_lengths(dtype):
    encoding = gnomon.encoding("alibi", heads=HEADS)
    tensors, arrays = problem((3, 4000, 4), dtype)
    at = np.arange(4000)
    wanted = direct(*arrays, encoding, at[3997:], at, causal=True)
    out = attention(*tensors, encoding, route="augmented")
    tolerance = {torch.float32: 1e-4, torch.float16: 6e-3}.get(dtype, 3e-2)
    assert np.abs(out.double().numpy() - wanted).max() < tolerance


@pytest.mark.parametrize("name", ["sandwich", "decay-time"])
def test_biases_of_finite_rank_are_coordinates_of_queries_and_keys(name):
    encoding = gnomon.encoding(name, **ENTRIES[name].examples[0])
    heads = encoding.heads or 2
    rng = np.random.default_rng(6)
    q, k, v = (torch.from_numpy(rng.normal(size=(1, heads, 30, 8))) for _ in range(3))
    at = np.cumsum(rng.integers(1, 4, size=30))
    wanted = direct(*(x.numpy() for x in (q, k, v)), encoding, at, at, causal=True)
    asked = {"positions_q": at, "causal": True}
    assert "augmented" in routes_of((q, k, v), encoding, **asked)
    out = attention(q, k, v, encoding, route="augmented", **asked)
    assert np.abs(out.numpy() - wanted).max() < 1e-10
