"""Certificates for modules of PyTorch and for the rotary functions of Hugging Face models."""

from __future__ import annotations

import sys

import pytest

import gnomon
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")


@pytest.mark.parametrize("family", ["llama", "gpt_neox", "qwen3", "deepseek_v3"])
def test_the_rotary_function_of_a_model_is_a_group(room, family):
    found = gnomon.verify(room.build(family))
    assert found.level == "L0 strict group"
    assert found.holds
    assert found.laws["shift"].residual > 0.0  # it is rounded, and measured


def test_the_table_of_another_layout_in_a_model_is_found(room, monkeypatch):
    """As in ports: the model's cosines are those of halves, its turn is that of neighbours."""
    model = room.build("llama")

    def neighbours(x):
        return torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)

    monkeypatch.setattr(sys.modules[type(model).__module__], "rotate_half", neighbours)
    found = gnomon.verify(model)
    assert "shift" in found.broken
    assert found.level == "L6 not shift invariant"


def test_a_model_that_does_not_turn_is_refused(room):
    with pytest.raises(EncodingError, match=r"has no rotary module .* nothing to certify; pass a"):
        gnomon.verify(room.build("bert"))


class Turning(torch.nn.Module):
    """Rotary encoding as people write it, its frequencies a buffer that follows the module."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", 100.0 ** (-torch.arange(0, 8, 2) / 8))

    def forward(self, x, positions):
        phases = positions.to(self.frequencies.dtype)[:, None] * self.frequencies
        cosine, sine = phases.cos(), phases.sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)


def test_a_module_is_certified_in_its_own_type():
    exact = gnomon.verify(Turning().double(), dimension=8)
    assert exact.holds
    assert exact.laws["shift"].tolerance == 1e-9
    single = gnomon.verify(Turning(), dimension=8)
    assert single.holds
    assert single.laws["shift"].residual > 1e-8


def test_positions_in_half_precision_break_what_the_same_module_keeps_in_float32():
    found = gnomon.verify(Turning().bfloat16(), dimension=8, promised=["shift"])
    exact = gnomon.verify(Turning(), dimension=8, promised=["shift"])
    assert found.laws["shift"].residual > 1e3 * exact.laws["shift"].residual


def test_a_layer_is_certified_with_the_numbers_it_learned():
    layer = gnomon.torch.layer(gnomon.encoding("t5", heads=2))
    assert gnomon.verify(layer).level == "L5 relative, not separable"
    with torch.no_grad():
        layer.table.zero_()
    assert gnomon.verify(layer).level == "L0 strict group"
