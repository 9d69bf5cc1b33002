"""Attention under decays at far positions, against the sum that defines it, in float64.

    logit(i, j) = scale sum_k e^(a_k (i - j)) Re(q_k conj(k_k) e^(i w_k (i - j)))

for pairs read as complex numbers: the formula itself, with no reference point in it.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.torch import attention, attention_plan
from gnomon.torch.sdpa.decay_blocks import merged

DECAYS = {
    "xpos": {"dimension": 8},
    "retnet": {"dimension": 8, "heads": 2},
    "retnet, steep": {"dimension": 8, "heads": 2, "gammas": (0.5, 0.001)},
}


def made(name):
    return gnomon.encoding(name.partition(",")[0], **DECAYS[name])


def direct(q, k, v, encoding, at_q, at_k):
    """The defining sum in float64 for q (heads, n, d), pairs side by side."""
    rates = np.broadcast_to(encoding.rates, (len(q), q.shape[-1] // 2))
    frequencies = encoding.frequencies[:, 0]
    out = np.empty((*q.shape[:-1], v.shape[-1]))
    left, right = (x[..., 0::2] + 1j * x[..., 1::2] for x in (q, k))
    for h in range(len(q)):
        for i, at in enumerate(at_q):
            ages = at - at_k[at_k <= at]
            growth = np.exp(ages[:, None] * (rates[h] + 1j * frequencies))
            logits = (left[h, i] * right[h, at_k <= at].conj() * growth).real.sum(-1)
            logits *= q.shape[-1] ** -0.5
            weights = np.exp(logits - logits.max())
            out[h, i] = (weights / weights.sum()) @ v[h, at_k <= at]
    return out


def vectors(n, m, seed=0):
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(2, count, 8)).astype(np.float32) for count in (n, m, m)]
    return [torch.from_numpy(x)[None] for x in arrays], [x.astype(np.float64) for x in arrays]


@pytest.mark.parametrize("name", DECAYS)
def test_twenty_thousand_positions_in_float32_are_the_sum_in_float64(name):
    tensors, arrays = vectors(300, 20_000)
    encoding = made(name)
    assert attention_plan(*tensors, encoding).route == "blocks"
    out = attention(*tensors, encoding)[0].double().numpy()
    some = np.r_[0:300:23, 299]
    queries, keys = arrays[0][:, some], arrays[1]
    wanted = direct(queries, keys, arrays[2], encoding, 19_700 + some, np.arange(20_000))
    assert np.abs(out[:, some] - wanted).max() < 1e-5


@pytest.mark.wide
@pytest.mark.parametrize("name", DECAYS)
def test_all_of_twenty_thousand_queries_are_the_sum_in_float64(name):
    tensors, arrays = vectors(20_000, 20_000)
    encoding = made(name)
    out = attention(*tensors, encoding)[0].double().numpy()
    some = np.arange(0, 20_000, 487)
    at = np.arange(20_000)
    wanted = direct(arrays[0][:, some], arrays[1], arrays[2], encoding, some, at)
    assert np.abs(out[:, some] - wanted).max() < 1e-5


@pytest.mark.parametrize("name", ["xpos", "retnet"])
def test_one_reference_for_all_positions_is_refused_where_blocks_serve(name):
    tensors, _ = vectors(100, 100)
    at = 200_000 + np.arange(100)
    encoding = made(name)
    out = attention(*tensors, encoding, positions_q=at)
    assert torch.allclose(out, attention(*tensors, encoding), atol=2e-5)
    with pytest.raises(gnomon.errors.EncodingError, match="pass a reference near the positions"):
        encoding.transform(tensors[0], tensors[1], at)


@pytest.mark.parametrize("name", DECAYS)
def test_positions_may_lie_a_million_apart(name):
    tensors, arrays = vectors(60, 60)
    at = np.r_[np.arange(30), 1_000_000 + 7 * np.arange(30)].astype(np.float64)
    encoding = made(name)
    out = attention(*tensors, encoding, positions_q=at)[0].double().numpy()
    assert np.abs(out - direct(*arrays, encoding, at, at)).max() < 1e-5


@pytest.mark.parametrize("name", DECAYS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_rounds_vectors_and_the_result_alone(name, dtype):
    tensors, _ = vectors(50, 3000)
    tensors = [x.to(dtype) for x in tensors]
    encoding = made(name)
    out = attention(*tensors, encoding)[0].double().numpy()
    wide = [x[0].double().numpy() for x in tensors]
    wanted = direct(*wide, encoding, 2950 + np.arange(50), np.arange(3000))
    assert np.abs(out - wanted).max() < torch.finfo(dtype).eps * np.abs(wanted).max()


def test_parts_are_merged_by_their_log_sum_exp():
    generator = torch.Generator().manual_seed(0)
    logits = 30.0 * torch.randn(5, 12, dtype=torch.float64, generator=generator)
    logits[1, :4] = -torch.inf  # a part that sees nothing
    logits[2] = -torch.inf  # and a query that does
    v = torch.randn(12, 3, dtype=torch.float64, generator=generator)
    parts = []
    for some in (slice(0, 4), slice(4, 12)):
        total = torch.logsumexp(logits[:, some], dim=-1, keepdim=True)
        parts.append((torch.softmax(logits[:, some], -1).nan_to_num(0.0) @ v[some], total))
    wanted = torch.softmax(logits, dim=-1).nan_to_num(0.0) @ v
    assert torch.allclose(merged(parts), wanted, atol=1e-14)


@pytest.mark.parametrize("name", ["jordan", "jordan-scaled", "rope-hyperbolic"])
def test_powers_of_the_lag_do_not_cancel_in_blocks(name):
    encoding = gnomon.encoding(name, **ENTRIES[name].examples[0])
    heads, dimension = getattr(encoding, "heads", None) or 2, encoding.dimension
    rng = np.random.default_rng(0)
    sizes = [(1, heads, count, dimension) for count in (150, 3000, 3000)]
    arrays = [rng.normal(size=size).astype(np.float32).astype(np.float64) for size in sizes]
    at = np.arange(3000)
    logits = encoding.scores(arrays[0], arrays[1], at[2850:], at, scale=dimension**-0.5)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ arrays[2]
    tensors = [torch.from_numpy(x).float() for x in arrays]
    assert attention_plan(*tensors, encoding, causal=True).route == "blocks"
    out = attention(*tensors, encoding, causal=True).double().numpy()
    assert np.abs(out - wanted).max() < 2e-5
