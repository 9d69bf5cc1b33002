"""Attention under every encoding of the catalogue is softmax of its NumPy logits, times values.

The logits in float64 have a proof of their own, the oracle; terms that act on values as well.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.torch import attention, layer

LENGTH = 11
EXAMPLES = [
    pytest.param(name, parameters, id=f"{name}-{number}")
    for name, entry in ENTRIES.items()
    for number, parameters in enumerate(entry.examples[:2])
]


def vectors(encoding, seed=0):
    """Queries, keys and values (1, heads, n, d) that fit an encoding."""
    heads = getattr(encoding, "heads", None) or 2
    dimension = getattr(encoding, "dimension", None) or 8
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(1, heads, LENGTH, dimension)) for _ in range(3)]


def tokens_for(encoding, seed=1):
    """What a rule reads beside keys, where it has a width of its own."""
    width = getattr(encoding, "token_width", None)
    return None if width is None else np.random.default_rng(seed).normal(size=(1, LENGTH, width))


@pytest.mark.parametrize(("name", "parameters"), EXAMPLES)
def test_attention_is_softmax_of_the_logits_of_the_definition(name, parameters):
    encoding = gnomon.encoding(name, **parameters)
    q, k, v = vectors(encoding)
    at = np.arange(LENGTH)
    if encoding.axes > 1:
        at = np.stack([at // 3**axis % 3 for axis in range(encoding.axes)], axis=-1)
    tokens = tokens_for(encoding)
    scale = q.shape[-1] ** -0.5
    logits = encoding.scores(q, k, at, scale=scale, tokens=tokens)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    wanted = weights @ v
    if encoding.on_values:
        places = at.astype(np.float64).reshape(LENGTH, -1)
        more = encoding.value_terms(weights, places, places, encoding.numbers, xp=np)
        wanted = wanted if more is None else wanted + more
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    given = {"positions_q": at, "tokens": tokens if tokens is None else torch.from_numpy(tokens)}
    for subject in (encoding, layer(encoding, dtype=torch.float64)):
        out = attention(*tensors, subject, **given).detach().numpy()
        assert np.abs(out - wanted).max() < 1e-10
