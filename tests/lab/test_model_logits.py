"""Logits of a model while it reads, against its own attention and against symmetry."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import gnomon  # noqa: E402 - after the check that there is a framework
from gnomon.errors import LabError  # noqa: E402
from gnomon.lab.measures import activations, logits_report  # noqa: E402
from gnomon.lab.model import Transformer  # noqa: E402
from gnomon.lab.tasks.base import Batch  # noqa: E402
from gnomon.lab.variants import GruModel  # noqa: E402

LENGTH, HEADS = 9, 4
ENCODINGS = {
    "nope": {},
    "rope": {"dimension": 8},
    "alibi": {"heads": 4, "symmetric": True},
    "t5": {"heads": 4},
    "shaw": {"dimension": 8},
    "sinusoidal": {"dimension": 32},
}


def model_of(name, **given):
    torch.manual_seed(1)
    shape = {"vocabulary": 7, "classes": 3, "dimension": 32, "heads": HEADS}
    return Transformer(encoding=gnomon.encoding(name, **ENCODINGS[name]), **shape, **given)


def batch_of(tokens):
    tokens = np.asarray(tokens)
    return Batch(tokens=tokens, targets=np.zeros(len(tokens), np.int64), mask=tokens >= 0)


@pytest.mark.parametrize("name", ENCODINGS)
def test_softmax_of_the_logits_times_values_is_what_attention_gives(name):
    model = model_of(name, layers=2).eval()
    batch = batch_of(np.random.default_rng(0).integers(0, 7, (3, LENGTH)))
    outs, values = [], []

    def keep(_, args, out):
        outs.append(out)
        values.append(args[2])

    for one in model.layer_encodings():
        one.register_forward_hook(keep)
    with torch.no_grad():
        model(torch.from_numpy(batch.tokens))
    seen = activations(model, batch)
    assert len(seen) == 2
    for layer, out, v in zip(seen, outs[:2], values[:2], strict=True):
        weights = np.exp(layer.logits - layer.logits.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(weights @ v.numpy(), out.numpy(), atol=2e-6)


def test_logits_of_equal_tokens_depend_on_the_lag_alone_under_rope_and_not_under_a_sinusoid():
    equal = batch_of(np.full((2, LENGTH), 3))
    turned = logits_report(model_of("rope", layers=1), equal)
    np.testing.assert_allclose(turned.toeplitz_share, 1.0, atol=1e-9)
    added = logits_report(model_of("sinusoidal", layers=1), equal)
    assert (added.toeplitz_share < 0.999).all()
    np.testing.assert_allclose(added.contraction, 1.0, atol=1e-6)


def test_a_gram_of_equal_queries_and_keys_is_contracted_by_rope():
    """Of |q|^2 ones (n, n) it makes a positive matrix with the same diagonal: Schur's bound."""
    model = model_of("rope", layers=1)
    with torch.no_grad():
        for numbers in (
            model.blocks[0].attention.project.weight,
            model.blocks[0].attention.project.bias,
        ):
            numbers[32:64] = numbers[:32]
    found = logits_report(model, batch_of(np.full((2, LENGTH), 3)))
    assert (found.contraction < 1.0).all()
    assert (found.contraction > 1.0 / LENGTH).all()


def test_a_causal_model_is_looked_at_up_to_each_query():
    batch = batch_of(np.random.default_rng(0).integers(0, 7, (3, LENGTH)))
    found = logits_report(model_of("nope", causal=True), batch)
    assert found.toeplitz_share.shape == (2, HEADS)
    np.testing.assert_allclose(found.contraction, 1.0, atol=1e-6)


def test_a_model_without_attention_has_no_logits():
    model = GruModel(vocabulary=7, classes=3, dimension=32, heads=4)
    with pytest.raises(LabError, match="has no attention, and so no logits"):
        logits_report(model, batch_of(np.zeros((2, LENGTH), np.int64)))
