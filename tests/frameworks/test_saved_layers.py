"""Layers out of files: the same bits as layers of the encoding itself, and what they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

GROUP = {"dimension": 8, "order": 1, "decay": 0.05}
CHOSEN = {
    "jordan": GROUP,
    "alibi": {"slopes": (0.5, 0.07), "heads": 2},
    "rope-yarn": {"dimension": 8, "factor": 4.0, "original_length": 512},
    "rope-nope-layers": {"inner": {"name": "jordan", **GROUP}},
    "t5": {"heads": 2, "seed": 4},
    "learned": {"rows": 16, "dimension": 8},
    "fox": {"heads": 2, "dimension": 8},
}
"""Transforms, biases, vectors and a rule on content, learned and not, and one inside another."""


@pytest.fixture(params=list(CHOSEN))
def own(request: Any) -> Encoding:
    return encoding(request.param, **CHOSEN[request.param])


@pytest.fixture
def saved(own: Encoding, tmp_path: Path) -> Path:
    path = tmp_path / "e.safetensors"
    own.save(path)
    return path


@pytest.fixture
def content() -> Any:
    rng = np.random.default_rng(2)
    return rng.normal(size=(2, 2, 6, 8)).astype(np.float32)


def test_a_layer_of_torch_out_of_a_file_has_the_same_bits(own, saved, content) -> None:
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    q, k = map(torch.from_numpy, content)
    at = torch.arange(6)
    first, second = layer(own), layer(saved)
    assert type(first) is type(second)
    assert list(first.state_dict()) == list(second.state_dict())
    torch.testing.assert_close(second.scores(q, k, at), first.scores(q, k, at), rtol=0, atol=0)


def test_a_layer_of_jax_out_of_a_file_has_the_same_bits(own, saved, content) -> None:
    jax = pytest.importorskip("jax")
    from gnomon.jax import layer

    q, k = content
    first, second = layer(own), layer(str(saved))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    scores = jax.jit(lambda made: made.scores(q, k, np.arange(6)))
    np.testing.assert_array_equal(scores(second), scores(first))
    assert scores._cache_size() == 1  # to JAX both are one definition


def test_what_a_layer_of_torch_has_learned_comes_back(tmp_path: Path, content) -> None:
    torch = pytest.importorskip("torch")
    from gnomon.torch import layer

    first = layer(encoding("jordan", **GROUP))
    optimiser = torch.optim.SGD(first.parameters(), lr=0.1)
    q, k = map(torch.from_numpy, content)
    first.scores(q, k, torch.arange(6)).tril().square().mean().backward()
    optimiser.step()
    first.encoding.save(tmp_path / "trained.safetensors")
    second = layer(tmp_path / "trained.safetensors")
    fresh = layer(encoding("jordan", **GROUP))
    for name, learned in first.named_parameters():
        torch.testing.assert_close(getattr(second, name), learned, rtol=0, atol=0)
    assert not torch.equal(first.decays, fresh.decays)


def test_what_a_pytree_has_learned_comes_back(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    from gnomon.jax import layer

    moved = jax.tree.map(lambda leaf: leaf * 1.5, layer(encoding("jordan", **GROUP)))
    moved.encoding.save(tmp_path / "trained.safetensors")
    back = layer(tmp_path / "trained.safetensors")
    for name, leaf in moved.numbers.items():
        np.testing.assert_array_equal(back.numbers[name], leaf)


def test_flax_takes_a_file_too(saved: Path, own: Encoding) -> None:
    nnx = pytest.importorskip("flax.nnx")
    from gnomon.jax.nnx import Layer

    made = Layer(saved)
    assert set(nnx.state(made, nnx.Param)) == set(own.learnable)


def test_a_name_that_is_no_file_gets_a_sentence() -> None:
    pytest.importorskip("torch")
    with pytest.raises(EncodingError, match=r"'rope' names no file of an encoding; pass the path"):
        gnomon.torch.layer("rope")
    with pytest.raises(EncodingError, match=r"There is no file none\.safetensors"):
        gnomon.torch.layer("none.safetensors")


def test_a_table_of_vectors_is_not_expected_where_another_encoding_is(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    encoding("jordan", **GROUP).save(tmp_path / "e.safetensors")
    with pytest.raises(EncodingError, match=r"or as a layer with gnomon\.torch\.layer"):
        gnomon.torch.load(tmp_path / "e.safetensors")
