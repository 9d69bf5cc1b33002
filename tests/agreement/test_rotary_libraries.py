"""Rotary encodings against rotary-embedding-torch and x-transformers, and where they must differ.

Their valid domain: queries in float32, whole tables from position 0 on. Phases are in float32
there, in float64 here: conftest.py says what difference that allows.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import pixel_positions

torch = pytest.importorskip("torch")


@pytest.fixture
def peer():
    return pytest.importorskip("rotary_embedding_torch")


@pytest.mark.parametrize("base", [10000, 500000])
def test_a_line_turns_as_rotary_embedding_torch(base, peer, rng, assert_turned_alike):
    q = torch.asarray(rng.normal(size=(2, 3, 500, 32)), dtype=torch.float32)
    wanted = peer.RotaryEmbedding(dim=32, theta=base).rotate_queries_or_keys(q, offset=100)
    places = np.arange(100, 600)
    made, _ = encoding("rope", dimension=32, base=base).transform(q, q, places)
    assert_turned_alike(made, wanted.detach(), q, places)


def test_a_part_of_a_head_turns_as_rotary_embedding_torch(peer, rng, assert_turned_alike):
    q = torch.asarray(rng.normal(size=(2, 3, 50, 32)), dtype=torch.float32)
    wanted = peer.RotaryEmbedding(dim=16).rotate_queries_or_keys(q)
    made, _ = encoding("rope", dimension=32, fraction=0.5).transform(q, q, np.arange(50))
    assert_turned_alike(made, wanted.detach(), q, np.arange(50))


def test_queries_after_cached_keys_turn_as_rotary_embedding_torch(peer, rng, assert_turned_alike):
    q, k = (torch.asarray(rng.normal(size=(2, 3, n, 16)), dtype=torch.float32) for n in (1, 40))
    wanted = peer.RotaryEmbedding(dim=16).rotate_queries_with_cached_keys(q, k)
    made = encoding("rope", dimension=16).transform(q, k, [39], np.arange(40))
    for mine, theirs, x in zip(made, wanted, (q, k), strict=True):
        assert_turned_alike(mine, theirs.detach(), x, np.arange(40)[-x.shape[-2] :])


@pytest.mark.parametrize("shape", [(7, 5), (4, 5, 6)])
def test_axes_turn_as_rotary_embedding_torch(shape, peer, rng, assert_turned_alike):
    axes = len(shape)
    q = torch.asarray(rng.normal(size=(2, *shape, 8 * axes)), dtype=torch.float32)
    phases = peer.RotaryEmbedding(dim=8).get_axial_freqs(*shape)
    wanted = peer.apply_rotary_emb(phases, q).detach().reshape(2, -1, 8 * axes)
    flat = q.reshape(2, -1, 8 * axes)
    places = np.indices(shape).reshape(axes, -1).T
    made, _ = encoding("rope", dimension=8 * axes, axes=axes).transform(flat, flat, places)
    assert_turned_alike(made, wanted, flat, places.max(axis=-1))


@pytest.mark.parametrize(("shape", "largest"), [((7, 5), 10), ((16, 12), 256), ((3, 4, 5), 20)])
def test_pixel_frequencies_turn_a_picture_as_rotary_embedding_torch(
    shape, largest, peer, rng, assert_turned_alike
):
    axes, dimension = len(shape), 16 * len(shape) + 4  # and four coordinates that do not turn
    q = torch.asarray(rng.normal(size=(2, *shape, dimension)), dtype=torch.float32)
    rotary = peer.RotaryEmbedding(dim=16, freqs_for="pixel", max_freq=largest)
    wanted = peer.apply_rotary_emb(rotary.get_axial_freqs(*shape), q).detach()
    flat = q.reshape(2, -1, dimension)
    ours = encoding(
        "rope-pixel",
        dimension=dimension,
        axes=axes,
        max_frequency=largest,
        fraction=16 * axes / dimension,
    )
    made, _ = ours.transform(flat, flat, pixel_positions(*shape))
    assert_turned_alike(made, wanted.reshape(made.shape), flat, np.pi * largest / 2.0)


def test_known_disagreement_rotary_embedding_torch_counts_in_the_type_of_the_query(peer, rng):
    """Its positions are made in bfloat16 for bfloat16 queries, where 257 is 256; ours are not."""
    q = torch.asarray(rng.normal(size=(1, 1, 600, 16)), dtype=torch.bfloat16)
    theirs = peer.RotaryEmbedding(dim=16).rotate_queries_or_keys(q).detach()
    ours, _ = encoding("rope", dimension=16).transform(q, q, np.arange(600))
    exact, _ = encoding("rope", dimension=16).transform(q.double(), q.double(), np.arange(600))
    error_theirs, error_ours = ((x.double() - exact).abs().max() for x in (theirs, ours))
    assert error_ours < 2.0**-8 * q.double().abs().max() * 2.0
    assert error_theirs > 0.5


def test_known_disagreement_rotary_embedding_torch_keeps_a_half_precision_table(peer, rng):
    """After one bfloat16 call its cache is coarse for float32 calls, too."""
    rotary = peer.RotaryEmbedding(dim=16)
    q = torch.asarray(rng.normal(size=(1, 1, 600, 16)), dtype=torch.float32)
    before = peer.RotaryEmbedding(dim=16).rotate_queries_or_keys(q)
    rotary.rotate_queries_or_keys(q.bfloat16())
    after = rotary.rotate_queries_or_keys(q)
    assert (before - after).abs().max() > 0.5


def test_known_disagreement_rotary_embedding_torch_caches_the_first_offset(peer):
    """Axial phases asked for with offsets come back for later calls without."""
    rotary = peer.RotaryEmbedding(dim=8)
    wanted = peer.RotaryEmbedding(dim=8).get_axial_freqs(4, 4)
    rotary.get_axial_freqs(4, 4, offsets=(100, 200))
    assert (rotary.get_axial_freqs(4, 4) - wanted).abs().max() > 1.0


def test_custom_positions_turn_as_x_transformers(rng, assert_turned_alike):
    peer = pytest.importorskip("x_transformers.x_transformers")
    q = torch.asarray(rng.normal(size=(2, 3, 40, 32)), dtype=torch.float32)
    ids = torch.asarray(rng.integers(0, 4096, size=(2, 40)))
    phases, scale = peer.RotaryEmbedding(16)(ids)
    wanted = peer.apply_rotary_pos_emb(q, phases, scale)
    made, _ = encoding("rope", dimension=32, fraction=0.5).transform(q, q, ids)
    assert_turned_alike(made, wanted, q, ids[:, None, :].numpy())


def test_interpolated_positions_turn_as_x_transformers(rng, assert_turned_alike):
    peer = pytest.importorskip("x_transformers.x_transformers")
    q = torch.asarray(rng.normal(size=(2, 3, 40, 16)), dtype=torch.float32)
    rotary = peer.RotaryEmbedding(16, interpolation_factor=4.0, base=20000)
    phases, scale = rotary.forward_from_seq_len(40)
    wanted = peer.apply_rotary_pos_emb(q, phases, scale)
    linear = {"name": "linear", "factor": 4.0}
    ours = encoding("rope", dimension=16, base=20000.0, scaling=linear)
    made, _ = ours.transform(q, q, np.arange(40))
    assert_turned_alike(made, wanted, q, np.arange(40))
