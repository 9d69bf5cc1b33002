"""SmolLM2-135M, a Llama that many run: its rotary positions through ours.

Logits are compared with those of the model as transformers makes it: bit for bit where ours are
computed as transformers does (float32, its order of operations), within rounding where exactly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
hf = pytest.importorskip("gnomon.hf")
pytestmark = [pytest.mark.data, pytest.mark.wide]

TEXT = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
    "must be in want of a wife. However little known the feelings or views of such a man may be "
    "on his first entering a neighbourhood, this truth is so well fixed in the minds of the "
    "surrounding families, that he is considered the rightful property of some one or other of "
    "their daughters."
)


@pytest.fixture(scope="module")
def read(smollm2_file: Path) -> Any:
    from gnomon.reproduce.scaling import reader

    return reader(smollm2_file)


@pytest.fixture(scope="module")
def tokens(read: Any) -> Any:
    return torch.tensor(read.tokenizer(TEXT)["input_ids"])[None]


def logits(model: Any, tokens: Any, **more: Any) -> Any:
    with torch.no_grad():
        return model(tokens, use_cache=False, **more).logits


@pytest.fixture(scope="module")
def before(read: Any, tokens: Any) -> Any:
    return logits(read.model, tokens)


class Ours(torch.nn.Module):
    """A layer of ours where transformers asks its rotary module for cosines and sines."""

    def __init__(self, encoding: Any, arithmetic: str) -> None:
        super().__init__()
        from gnomon.torch import layer

        self.layer = layer(encoding, arithmetic=arithmetic)

    def forward(self, x: Any, position_ids: Any) -> Any:
        tables = self.layer.tables(position_ids, dtype=x.dtype)
        return tuple(torch.cat((t, t), dim=-1) for t in (tables.cosine, tables.sine))


def replaced(model: Any, tokens: Any, arithmetic: str) -> Any:
    stock = model.model.rotary_emb
    model.model.rotary_emb = Ours(hf.read(model), arithmetic)
    try:
        return logits(model, tokens)
    finally:
        model.model.rotary_emb = stock


def test_the_model_is_what_its_authors_say(read: Any, tokens: Any, before: Any) -> None:
    """8,192 positions and base 100,000; a model read wrongly would not predict English."""
    assert (read.trained.length, read.trained.dimension, read.trained.base) == (8192, 64, 1e5)
    loss = torch.nn.functional.cross_entropy(before[0, :-1], tokens[0, 1:])
    assert float(loss) < np.log(30.0)


def test_its_rotary_module_replaced_by_ours_gives_the_same_logits_bit_for_bit(
    read: Any, tokens: Any, before: Any
) -> None:
    assert torch.equal(replaced(read.model, tokens, "float32"), before)


def test_with_exact_phases_logits_agree_within_the_rounding_of_float32(
    read: Any, tokens: Any, before: Any
) -> None:
    found = replaced(read.model, tokens, "exact")
    assert not torch.equal(found, before)  # phases of float32 do err
    assert float((found - before).abs().max()) < 2e-3 * float(before.abs().max())


def test_its_own_encoding_installed_gives_the_same_logits_and_comes_out_again(
    read: Any, tokens: Any, before: Any
) -> None:
    own = hf.read(read.model)
    assert (own.name, own.base, own.dimension, own.layout) == ("rope", 1e5, 64, "half")
    hf.install(read.model, own)
    try:
        assert torch.equal(logits(read.model, tokens), before)
    finally:
        hf.uninstall(read.model)
    assert torch.equal(logits(read.model, tokens), before)


@pytest.mark.parametrize("shift", [1000, 8000])
def test_positions_shifted_together_change_nothing_but_rounding(
    shift: int, read: Any, tokens: Any, before: Any
) -> None:
    """Rotary positions are relative: with exact phases the whole model does not see a shift."""
    stock = read.model.model.rotary_emb
    read.model.model.rotary_emb = Ours(hf.read(read.model), "exact")
    try:
        places = torch.arange(tokens.shape[1])[None] + shift
        found = logits(read.model, tokens, position_ids=places)
    finally:
        read.model.model.rotary_emb = stock
    assert float((found - before).abs().max()) < 2e-3 * float(before.abs().max())


@pytest.mark.parametrize(
    ("line", "spelled"),
    [
        ("linear", {"rope_type": "linear", "factor": 2.0}),
        ("dynamic", {"rope_type": "dynamic", "factor": 2.0}),
        ("yarn", {"rope_type": "yarn", "factor": 2.0}),
        (
            "llama3",
            {
                "rope_type": "llama3",
                "factor": 2.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
            },
        ),
    ],
)
def test_each_scaling_gives_the_logits_of_transformers_own(
    line: str, spelled: dict[str, Any], read: Any, tokens: Any
) -> None:
    """Transformers' module, made of a config that says the scaling, on the same weights."""
    import copy

    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    from gnomon.reproduce.scaling import encoding_of

    config = copy.deepcopy(read.model.config)
    own = {"rope_theta": 1e5, "original_max_position_embeddings": 8192}
    config.rope_parameters = own | spelled
    stock = read.model.model.rotary_emb
    read.model.model.rotary_emb = LlamaRotaryEmbedding(config)
    try:
        wanted = logits(read.model, tokens)
    finally:
        read.model.model.rotary_emb = stock
    length = 8192 if line == "dynamic" else 16384  # transformers sees a text within L0
    hf.install(read.model, encoding_of(line, read.trained, 2.0, length))
    try:
        assert torch.equal(logits(read.model, tokens), wanted)
    finally:
        hf.uninstall(read.model)


def test_the_encoding_that_is_read_is_that_of_the_catalogue(read: Any) -> None:
    made = gnomon.encoding("rope", dimension=64, base=1e5, layout="half")
    np.testing.assert_array_equal(hf.read(read.model).frequencies, made.frequencies)
