"""Rotary encodings of several axes against the code of transformers: M-RoPE and DINOv3.

Position ids go to 4095. The peer's phases are in float32: see conftest.py for what is allowed.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import patch_centres

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

DIMENSION, LENGTH = 128, 20
ROPE = {"rope_type": "default", "rope_theta": 1000000.0}


@pytest.fixture
def vectors(rng):
    """Return queries and keys (batch, heads, positions, dimension) and ids (axes, batch, n)."""
    q, k = torch.asarray(rng.normal(size=(2, 2, 3, LENGTH, DIMENSION)), dtype=torch.float32)
    return q, k, torch.asarray(rng.integers(0, 4096, size=(3, 2, LENGTH)))


def check_m_rope(check, ours, rotary, apply, vectors):
    """Compare with a peer that takes position ids of shape (axes, batch, positions)."""
    q, k, ids = vectors
    cosine, sine = rotary(q, ids)
    wanted = apply(q, k, cosine, sine)
    made = ours.transform(q, k, ids.permute(1, 2, 0))
    largest = ids.amax(dim=0)[:, None, :].numpy()
    for mine, theirs, x in zip(made, wanted, (q, k), strict=True):
        check(mine, theirs, x, largest)


def test_chunked_sections_turn_as_in_qwen2_vl(vectors, assert_turned_alike):
    """Sections (16, 24, 24) are the default of the installed Qwen2-VL."""
    from transformers.models.qwen2_vl import modeling_qwen2_vl as peer
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

    config = Qwen2VLTextConfig(hidden_size=384, num_attention_heads=3, rope_parameters=dict(ROPE))
    rotary = peer.Qwen2VLRotaryEmbedding(config)
    assert rotary.mrope_section == [16, 24, 24]
    ours = encoding("m-rope", dimension=DIMENSION, sections=(16, 24, 24), base=1e6)
    check_m_rope(assert_turned_alike, ours, rotary, peer.apply_rotary_pos_emb, vectors)


def test_chunked_sections_under_yarn_turn_as_in_qwen2_vl(vectors, assert_turned_alike):
    from transformers.models.qwen2_vl import modeling_qwen2_vl as peer
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig

    rope = {
        **ROPE,
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "mrope_section": [16, 24, 24],
    }
    config = Qwen2VLTextConfig(
        hidden_size=384, num_attention_heads=3, max_position_embeddings=4096, rope_parameters=rope
    )
    rotary = peer.Qwen2VLRotaryEmbedding(config)
    yarn = {"name": "yarn", "factor": 4.0, "original_length": 1024}
    ours = encoding("m-rope", dimension=DIMENSION, sections=(16, 24, 24), base=1e6, scaling=yarn)
    assert ours.attention_factor == pytest.approx(rotary.attention_scaling, rel=1e-15)
    check_m_rope(assert_turned_alike, ours, rotary, peer.apply_rotary_pos_emb, vectors)


def test_interleaved_sections_turn_as_in_qwen3_vl(vectors, assert_turned_alike):
    """Sections (24, 20, 20), dealt t h w t h w ..., are those of the installed Qwen3-VL."""
    from transformers.models.qwen3_vl import modeling_qwen3_vl as peer
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig

    config = Qwen3VLTextConfig(
        hidden_size=384, num_attention_heads=3, head_dim=DIMENSION, rope_parameters=dict(ROPE)
    )
    rotary = peer.Qwen3VLTextRotaryEmbedding(config)
    assert rotary.mrope_section == [24, 20, 20]
    ours = encoding(
        "m-rope", dimension=DIMENSION, sections=(24, 20, 20), arrangement="interleaved", base=1e6
    )
    check_m_rope(assert_turned_alike, ours, rotary, peer.apply_rotary_pos_emb, vectors)


def test_spatial_first_turns_as_in_ernie_4_5_vl(vectors, assert_turned_alike):
    """Its section (22, 22, 20) is in the order h, w, t; ours is in the order of the axes."""
    from transformers.models.ernie4_5_vl_moe import modeling_ernie4_5_vl_moe as peer
    from transformers.models.ernie4_5_vl_moe.configuration_ernie4_5_vl_moe import (
        Ernie4_5_VLMoeTextConfig,
    )

    config = Ernie4_5_VLMoeTextConfig(
        hidden_size=384, num_attention_heads=3, num_key_value_heads=3, rope_parameters=dict(ROPE)
    )
    rotary = peer.Ernie4_5_VLMoeTextRotaryEmbedding(config)
    assert rotary.mrope_section == [22, 22, 20]
    ours = encoding(
        "m-rope",
        dimension=DIMENSION,
        sections=(20, 22, 22),
        arrangement="spatial-first",
        base=1e6,
        layout="interleaved",
    )
    check_m_rope(assert_turned_alike, ours, rotary, peer.apply_rotary_pos_emb, vectors)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("arrangement", ["chunked", "interleaved"])
def test_float32_arithmetic_has_the_bits_of_qwen_vl(arrangement, dtype, vectors):
    """For ported weights: the peer's own operations, in its order, to the last bit."""
    from transformers.models.qwen2_vl import modeling_qwen2_vl as chunked
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig
    from transformers.models.qwen3_vl import modeling_qwen3_vl as interleaved
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig

    from gnomon.torch import layer

    shape = {"hidden_size": 384, "num_attention_heads": 3, "rope_parameters": dict(ROPE)}
    if arrangement == "chunked":
        rotary = chunked.Qwen2VLRotaryEmbedding(Qwen2VLTextConfig(**shape))
    else:
        config = Qwen3VLTextConfig(head_dim=DIMENSION, **shape)
        rotary = interleaved.Qwen3VLTextRotaryEmbedding(config)
    q, k, ids = (x.to(getattr(torch, dtype)) if x.is_floating_point() else x for x in vectors)
    wanted = chunked.apply_rotary_pos_emb(q, k, *rotary(q, ids))
    ours = encoding(
        "m-rope",
        dimension=DIMENSION,
        sections=tuple(rotary.mrope_section),
        arrangement=arrangement,
        base=1e6,
    )
    made = layer(ours, arithmetic="float32")(q, k, ids.permute(1, 2, 0))
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(made, wanted, strict=True))


def test_axes_of_a_picture_turn_as_in_qwen2_vl_vision(rng, assert_turned_alike):
    from transformers.models.qwen2_vl import modeling_qwen2_vl as peer
    from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLVisionConfig

    config = Qwen2VLVisionConfig(embed_dim=96, num_heads=3)
    places = torch.asarray(rng.integers(0, 200, size=(LENGTH, 2)))
    q, k = torch.asarray(rng.normal(size=(2, LENGTH, 3, 32)), dtype=torch.float32)
    cosine, sine = peer.Qwen2VLVisionRotaryEmbedding(config)(q, places)
    wanted = peer.apply_rotary_pos_emb_vision(q, k, cosine, sine)
    heads = [x.transpose(0, 1) for x in (q, k)]
    made = encoding("rope", dimension=32, axes=2, layout="half").transform(*heads, places)
    for mine, theirs, x in zip(made, wanted, heads, strict=True):
        assert_turned_alike(mine, theirs.transpose(0, 1), x, places.amax(dim=-1).numpy())


@pytest.mark.parametrize("size", [(64, 96), (48, 48), (16, 160)])
def test_patch_centres_are_those_of_dinov3(size):
    from transformers.models.dinov3_vit import modeling_dinov3_vit as peer

    height, width = (side // 16 for side in size)
    wanted = peer.get_patches_center_coordinates(height, width, torch.float64, torch.device("cpu"))
    np.testing.assert_allclose(patch_centres(height, width), wanted.numpy(), atol=1e-15)


@pytest.mark.parametrize("size", [(64, 96), (48, 48)])
def test_patches_of_a_picture_turn_as_in_dinov3(size, rng, assert_turned_alike):
    """With a class token and four registers before the patches, which stand at 0."""
    from transformers.models.dinov3_vit import modeling_dinov3_vit as peer
    from transformers.models.dinov3_vit.configuration_dinov3_vit import DINOv3ViTConfig

    config = DINOv3ViTConfig(hidden_size=192, num_attention_heads=3, patch_size=16)
    rotary = peer.DINOv3ViTRopePositionEmbedding(config).eval()
    cosine, sine = rotary(torch.zeros(1, 3, *size))
    centres = patch_centres(size[0] // 16, size[1] // 16)
    places = np.concatenate([np.zeros((5, 2)), centres])
    shape = (2, 2, 3, len(places), 64)
    q, k = torch.asarray(rng.normal(size=shape), dtype=torch.float32)
    wanted = peer.apply_rotary_pos_emb(q, k, cosine, sine)
    made = encoding("rope-patches", dimension=64).transform(q, k, places)
    for mine, theirs, x in zip(made, wanted, (q, k), strict=True):
        assert_turned_alike(mine, theirs, x, 2.0 * np.pi)


def test_moved_centres_are_drawn_as_dinov3_draws_them(monkeypatch):
    """The same uniform numbers give the same centres: shift, stretch per axis, stretch of all."""
    from transformers.models.dinov3_vit import modeling_dinov3_vit as peer

    from gnomon.encodings.rotary.axes import move_centres

    drawn = iter([[0.3, -0.8], [-0.5, 0.9], [0.7]])

    class Uniform:
        def uniform(self, low, high, size=None):
            values = low + (np.asarray(next(drawn)) + 1.0) / 2.0 * (high - low)
            return values if size else float(values[0])

    made = move_centres(patch_centres(3, 2), rng=Uniform(), shift=0.2, jitter=1.4, rescale=2.0)
    queue = iter([[0.3, -0.8], [-0.5, 0.9], [0.7]])

    def uniform_(self, low, high):
        values = torch.asarray(next(queue), dtype=self.dtype)
        return low + (values + 1.0) / 2.0 * (high - low)

    monkeypatch.setattr(torch.Tensor, "uniform_", uniform_)
    centres = torch.asarray(patch_centres(3, 2))
    wanted = peer.augment_patches_center_coordinates(centres, shift=0.2, jitter=1.4, rescale=2.0)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-14)
