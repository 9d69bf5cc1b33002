"""A small BERT with a fitted encoding in the place of its position embeddings.

The task cannot be solved without positions: tokens are random, and the label of each is the
quarter of the sentence that it stands in.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gnomon
from gnomon.encodings.fitted import Fitted
from gnomon.torch import load

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of libraries that transformers loads
    from transformers import BertConfig, BertForTokenClassification

LENGTH, WIDTH, KINDS = 16, 32, 4


@pytest.fixture(scope="module")
def positions() -> Fitted:
    """Places around a circle, at the scale of BERT's own embeddings."""
    turn = np.exp(2j * np.pi * np.arange(LENGTH) / LENGTH)
    distances = np.abs(turn[:, None] - turn)
    return gnomon.fit(distances, dimension=WIDTH, rank=2, match=0.2)


def bert(longest: int = LENGTH) -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=KINDS,
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=longest,
        num_labels=KINDS,
        initializer_range=0.2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForTokenClassification(config)


def trained(model: Any, steps: int = 25) -> list[float]:
    """Train on fresh sentences; return the losses."""
    stream = torch.Generator().manual_seed(1)
    model.train()
    labels = (torch.arange(LENGTH) * 4 // LENGTH).repeat(8, 1)
    free = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser, losses = torch.optim.AdamW(free, lr=1e-2), []
    for _ in range(steps):
        tokens = torch.randint(0, KINDS, (8, LENGTH), generator=stream)
        loss = model(input_ids=tokens, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def put(model: Any, positions: Fitted, **options: Any) -> Any:
    """Put a fitted encoding in the place of the model's position embeddings."""
    model.bert.embeddings.position_embeddings = load(positions, **options)
    return model.bert.embeddings.position_embeddings


def test_bert_learns_with_a_frozen_encoding_which_stays_bit_for_bit(positions: Fitted) -> None:
    model = bert()
    layer = put(model, positions)
    losses = trained(model)
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    assert np.array_equal(layer.weight.numpy(), positions.table())


def test_without_positions_the_task_can_not_be_learned(positions: Fitted) -> None:
    """The task needs the encoding: with a table of zeros the loss stays near log 4."""
    model = bert()
    put(model, positions).weight.data.zero_()
    losses = trained(model)
    assert np.mean(losses[-5:]) > 0.9 * np.log(4)


@pytest.mark.parametrize("factored", [False, True])
def test_bert_moves_a_trainable_encoding(
    positions: Fitted,
    factored: bool,  # noqa: FBT001 - a case
) -> None:
    model = bert()
    layer = put(model, positions, trainable=True, factored=factored)
    losses = trained(model)
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    moved = np.abs(layer.weight.detach().numpy() - positions.table()).max(axis=1)
    assert (moved > 1e-4).all()


def test_a_saved_bert_loads_into_a_stock_bert(positions: Fitted, tmp_path: Path) -> None:
    model = bert()
    put(model, positions, trainable=True)
    assert "left" in model.bert.embeddings.position_embeddings.state_dict()
    put(model, positions, trainable=True, factored=False)
    trained(model, steps=3)
    model.save_pretrained(tmp_path)
    stock = BertForTokenClassification.from_pretrained(tmp_path).eval()
    assert type(stock.bert.embeddings.position_embeddings) is torch.nn.Embedding
    tokens = torch.arange(2 * LENGTH).reshape(2, LENGTH) % KINDS
    with torch.no_grad():
        assert torch.equal(model.eval()(tokens).logits, stock(tokens).logits)
    again = bert()
    put(again, positions)
    again.load_state_dict(stock.state_dict(), strict=True)
    with torch.no_grad():
        assert torch.equal(again.eval()(tokens).logits, stock(tokens).logits)


def test_a_sentence_longer_than_the_encoding_is_refused_or_clamped_as_declared(
    positions: Fitted,
) -> None:
    model, sentence = bert(longest=32), torch.zeros(1, LENGTH + 4, dtype=torch.int64)
    put(model, positions)
    with pytest.raises(gnomon.GnomonError, match="Position 16 is past the end of this encoding"):
        model(sentence)
    put(model, replace(positions, beyond="clamp"))
    assert torch.isfinite(model(sentence).logits).all()
