"""Certificates for modules of PyTorch: narrow types, logits, and whole modules of attention."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError, GroupError

torch = pytest.importorskip("torch")
functional = torch.nn.functional
D = 8


class Rotary(torch.nn.Module):
    """Rotary encoding as people write it; `phases` is the type that angles are computed in."""

    def __init__(self, dimension=D, *, table="half", phases=torch.float32, positions=None):
        super().__init__()
        half = dimension // 2
        self.frequencies = 10000.0 ** (-torch.arange(half) / half)  # not a buffer: keeps its type
        self.table, self.phases, self.positions = table, phases, positions
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x, positions):
        at = positions.to(self.positions or self.phases).to(self.phases)
        angles = at[:, None] * self.frequencies.to(self.phases)
        both = (
            torch.cat([angles] * 2, -1) if self.table == "half" else angles.repeat_interleave(2, -1)
        )
        a, b = x.chunk(2, dim=-1)
        return x * both.cos().to(x.dtype) + torch.cat([-b, a], -1) * both.sin().to(x.dtype)


class Added(torch.nn.Module):
    """A sinusoid that is added to vectors."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x, positions):
        return x + torch.sin(positions.float()[:, None] * torch.arange(1, D + 1) / D).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_module_in_half_precision_with_phases_in_float32_is_a_group(dtype):
    found = gnomon.verify(Rotary().to(dtype), dimension=D)
    assert (found.level, found.holds) == ("L0 strict group", True)
    assert 1e-5 < found.laws["shift"].residual < torch.finfo(dtype).eps * 4
    assert found.laws["shift"].tolerance < 0.05
    assert not found.laws["generator"].tested
    assert f"it computes in {str(dtype).rpartition('.')[-1]}, so that what is below" in str(
        found.warnings
    )


@pytest.mark.parametrize(
    "module",
    [
        Rotary(table="interleaved"),
        Added(),
        Rotary(positions=torch.bfloat16),
        Rotary(phases=torch.bfloat16),
    ],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("reach", [200.0, 4096.0])
def test_faults_are_seen_in_bfloat16_as_in_float32(module, dtype, reach):
    found = gnomon.verify(module.to(dtype), dimension=D, reach=reach)
    assert found.level == "L6 not shift invariant"
    assert "shift" in found.broken


@pytest.mark.parametrize("dimension", [8, 64])
def test_an_honest_module_of_float32_is_named_and_bounded(dimension):
    found = gnomon.verify(Rotary(dimension), dimension=dimension)
    assert found.structure.named == (
        f"rotary encoding (RoPE), {dimension // 2} frequencies, base 10000"
    )
    assert found.laws["boundedness"].holds
    assert found.warnings == ()


class Products(torch.nn.Module):
    """Logits of queries and keys, with a slope on the lag or without."""

    def __init__(self, slope=0.0):
        super().__init__()
        self.rotary, self.slope = Rotary(), slope

    def forward(self, q, k, positions_q, positions_k):
        lags = positions_q[:, None] - positions_k[None, :]
        return self.rotary(q, positions_q) @ self.rotary(k, positions_k).T - self.slope * lags


def test_a_module_of_logits_is_certified():
    assert gnomon.verify(Products(), dimension=D, logits=True).level == "L0 strict group"
    sloped = gnomon.verify(Products(0.1), dimension=D, logits=True, causal=True, promised="L1")
    assert sloped.laws["affine"].holds
    assert not sloped.laws["linearity"].holds


class Attention(torch.nn.Module):
    """Self-attention of hidden states, written in two ways: by softmax, or by one call."""

    def __init__(self, *, heads=3, size=8, table="half", slope=0.0, by="sdpa"):
        super().__init__()
        torch.manual_seed(0)
        self.heads, self.size, self.slope, self.by = heads, size, slope, by
        self.inward = torch.nn.Linear(heads * size, 3 * heads * size)
        self.rotary = Rotary(size, table=table)

    def forward(self, hidden_states, mask=None, position_ids=None):
        batch, count, _ = hidden_states.shape
        parts = self.inward(hidden_states).view(batch, count, 3, self.heads, self.size)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        at = position_ids[0]
        lags = (at[:, None] - at[None, :]).to(q.dtype)
        if self.slope:
            mask = -self.slope * lags
        else:
            q, k = (torch.stack([self.rotary(one, at) for one in x[0]])[None] for x in (q, k))
        if self.by == "sdpa":
            return functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=mask is None
            )
        logits = q @ k.mT * self.size**-0.5 + (0.0 if mask is None else mask)
        return torch.softmax(logits.masked_fill(torch.ones_like(lags).triu(1) > 0, -1e30), -1) @ v


@pytest.mark.parametrize("by", ["sdpa", "softmax"])
def test_whole_attention_is_certified_by_the_logits_it_makes(by):
    found = gnomon.verify(Attention(by=by), dimension=24)
    assert (found.level, found.holds) == ("L0 strict group", True)
    frequencies = sorted(one.frequency for one in found.structure.structure)
    np.testing.assert_allclose(frequencies, [0.001, 0.01, 0.1, 1.0], rtol=0.05)
    sloped = gnomon.verify(Attention(by=by, slope=0.1), dimension=24, causal=True, promised="L1")
    assert (sloped.level, sloped.holds) == ("L1 augmented group", True)
    mixed = gnomon.verify(Attention(by=by, table="interleaved"), dimension=24)
    assert mixed.level == "L6 not shift invariant"


@pytest.mark.parametrize(("training", "share"), [(True, 0.1), (True, 0.0), (False, 0.1)])
def test_dropout_of_a_module_in_training_is_spoken_of(training, share):
    module = Attention()
    module.dropout = torch.nn.Dropout(share)
    found = gnomon.verify(module.train(training), dimension=24)
    said = "in training mode; dropout was switched off" in str(found.warnings)
    assert said is (training and share > 0.0)


class Learned(Attention):
    """Rows of a table, added to hidden states: positions are numbers of rows."""

    def __init__(self):
        super().__init__()
        self.rows = torch.nn.Embedding(64, 24)

    def forward(self, hidden_states, position_ids=None):
        return super().forward(hidden_states + self.rows(position_ids), position_ids=position_ids)


def test_attention_that_takes_rows_of_a_table_is_asked_at_whole_positions():
    found = gnomon.verify(Learned(), dimension=24, reach=63)
    assert found.level == "L6 not shift invariant"
    assert found.laws["continuity"].note == "positions are whole numbers"


def test_of_many_heads_some_are_looked_at_and_that_is_said():
    found = gnomon.verify(Attention(heads=6, size=4), dimension=24)
    assert found.warnings[0] == "4 of 6 heads were looked at."
    assert found.level == "L0 strict group"


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.MultiheadAttention(D, 2, batch_first=True),
        torch.nn.TransformerEncoderLayer(D, 2),
        torch.nn.Linear(D, D),
    ],
)
def test_attention_that_can_not_be_asked_gets_a_sentence_that_says_what_to_pass(module):
    said = r"cannot be asked for logits at positions \(it takes no argument of positions\); pass "
    with pytest.raises(EncodingError, match=said + "the map .* with logits=True"):
        gnomon.verify(module, dimension=D)


class Odd(torch.nn.Module):
    def forward(self, x, positions):
        raise RuntimeError(f"no such thing as {len(x)} and {len(positions)}")


def test_the_error_of_a_map_is_told():
    with pytest.raises(
        GroupError, match=r"Odd gives no real .*\(RuntimeError: no such thing as 4 and 4\)"
    ):
        gnomon.verify(Odd(), dimension=D)


def test_weights_that_nearly_lack_a_direction_still_have_it():
    """Singular values 10^5 apart: in float64 all of them are seen, and the rotation is a group."""
    module = Attention(heads=1, size=D).double()
    module.rotary.phases = module.rotary.positions = torch.float64
    module.rotary.frequencies = module.rotary.frequencies.double()
    with torch.no_grad():
        left, sizes, right = torch.linalg.svd(module.inward.weight[:D])
        sizes[-1] = 1e-5 * sizes[0]
        module.inward.weight[:D] = left @ torch.diag(sizes) @ right
    assert gnomon.verify(module, dimension=D, causal=True).level.startswith("L0")
