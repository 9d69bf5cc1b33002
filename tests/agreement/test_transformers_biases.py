"""Biases on logits against those of transformers and x-transformers, and where a peer differs."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.biases.linear import official_slopes
from gnomon.encodings.registry import encoding

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ALL_LAGS = np.arange(-100_000, 100_001)
HEADS = (1, 2, 3, 5, 8, 12, 16, 20, 32, 40, 64, 71, 112)
FLOAT32 = 2.0**-23


def buckets(*, lags=ALL_LAGS, **parameters):
    """Our buckets of lags, read off as the bias of a table whose row is its own number."""
    count = parameters.get("buckets", 32)
    made = encoding("t5", heads=1, table=np.arange(count)[:, None], **parameters)
    return made.bias(np.zeros(1), -lags)[0, 0].astype(int)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_equal_those_of_transformers_for_every_lag(bidirectional):
    from transformers.models.t5.modeling_t5 import T5Attention

    theirs = T5Attention._relative_position_bucket(torch.asarray(-ALL_LAGS), bidirectional)
    np.testing.assert_array_equal(buckets(bidirectional=bidirectional), theirs.numpy())


def test_buckets_equal_those_of_mpnet_for_every_lag():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    theirs = MPNetEncoder.relative_position_bucket(torch.asarray(-ALL_LAGS))
    np.testing.assert_array_equal(buckets(), theirs.numpy())


GRID = [
    (count, largest, both)
    for both in (True, False)
    for count in (8, 16, 32, 64, 320)
    for largest in (20, 100, 128, 800, 1024)
    if largest > count // (2 if both else 1) // 2
]


@pytest.mark.parametrize(
    ("count", "largest", "both"),
    [
        pytest.param(*case, marks=() if i % 9 == 0 else pytest.mark.wide)
        for i, case in enumerate(GRID)
    ],
)
def test_buckets_of_other_sizes_equal_those_of_transformers(count, largest, both):
    from transformers.models.t5.modeling_t5 import T5Attention

    lags = torch.asarray(-ALL_LAGS)
    theirs = T5Attention._relative_position_bucket(lags, both, count, largest)
    ours = buckets(buckets=count, largest_lag=largest, bidirectional=both)
    np.testing.assert_array_equal(ours, theirs.numpy())


def test_the_bias_equals_that_of_an_attention_layer_of_t5(rng):
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=16, d_kv=4, num_heads=4)
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    made = encoding("t5", heads=4, table=layer.relative_attention_bias.weight.detach().numpy())
    theirs = layer.compute_bias(300, 400, past_seen_tokens=100).detach().numpy()[0]
    np.testing.assert_array_equal(made.bias(np.arange(100, 400), np.arange(400)), theirs)


@pytest.mark.parametrize("causal", [False, True])
def test_t5_bias_equals_that_of_x_transformers(causal):
    theirs = pytest.importorskip("x_transformers.x_transformers").RelativePositionBias
    layer = theirs(scale=1.0, causal=causal, heads=3)
    table = layer.relative_attention_bias.weight.detach().numpy()
    made = encoding("t5", heads=3, bidirectional=not causal, table=table)
    wanted = layer(200, 260).detach().numpy()
    np.testing.assert_array_equal(made.bias(np.arange(60, 260), np.arange(260)), wanted)


@pytest.mark.parametrize("heads", HEADS)
def test_alibi_equals_bloom_mpt_and_falcon_of_transformers(heads):
    """Theirs is a multiple of the key's position; ours differs by a constant of each query's row.

    Powers of a float32 base drift by a few ulps; Falcon rounds its slopes to bfloat16.
    """
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor as mpt

    width = 50
    ours = encoding("alibi", heads=heads).bias([width - 1], np.arange(width))
    mask = torch.ones(1, width)
    np.testing.assert_allclose(mpt(heads, width).numpy(), ours, rtol=4 * FLOAT32)
    rows = ours - ours[:, :, :1]
    np.testing.assert_allclose(bloom(mask, heads, torch.float32), rows, rtol=heads * FLOAT32)
    np.testing.assert_allclose(falcon(mask, heads, torch.float32), rows, rtol=2.0**-7)


@pytest.mark.parametrize("heads", HEADS)
def test_alibi_equals_that_of_x_transformers(heads):
    theirs = pytest.importorskip("x_transformers.x_transformers").AlibiPositionalBias
    wanted = theirs(heads)(40, 60).numpy()
    ours = encoding("alibi", heads=heads, symmetric=True).bias(np.arange(20, 60), np.arange(60))
    np.testing.assert_allclose(ours, wanted, rtol=4 * FLOAT32)


def test_alibi_of_x_transformers_takes_the_same_float_positions(rng):
    theirs = pytest.importorskip("x_transformers.x_transformers").AlibiPositionalBias
    places = np.sort(rng.uniform(0, 100, size=(2, 30)), axis=-1)
    wanted = theirs(6).forward_custom_pos(torch.asarray(places, dtype=torch.float64)).numpy()
    ours = encoding("alibi", heads=6, symmetric=True).bias(places)
    np.testing.assert_allclose(ours, wanted, rtol=4 * FLOAT32, atol=1e-12)


@pytest.mark.parametrize("heads", [4, 8, 12, 40])
def test_attention_gym_has_other_slopes_where_heads_are_no_power_of_two(heads):
    """Its `generate_alibi_bias` (attn_gym/mods/alibi.py) has slope 2^(-8 (h+1)/H) for every H.

    That is the paper's rule for powers of two only. The package is not installed here: this is its
    formula as read, so that a port from it is no surprise.
    """
    gym = 2.0 ** (-8.0 * (np.arange(heads) + 1) / heads)
    largest = np.abs(gym - official_slopes(heads)).max()
    assert (largest == 0.0) == (heads in (4, 8))
    if heads == 12:  # head 8: the paper has the first slope of 16 heads
        assert largest == pytest.approx(2**-0.5 - 2**-6)


def test_bias_of_torch_and_jax_positions_equals_that_of_numpy(rng):
    jnp = pytest.importorskip("jax.numpy")
    places = rng.integers(0, 10**6, size=40)
    for parameters in ({"heads": 3}, {"heads": 3, "bidirectional": False}):
        made = encoding("t5", **parameters)
        wanted = made.bias(places)
        np.testing.assert_array_equal(made.bias(torch.asarray(places)).numpy(), wanted)
        np.testing.assert_array_equal(made.bias(jnp.asarray(places)), wanted.astype(np.float32))
