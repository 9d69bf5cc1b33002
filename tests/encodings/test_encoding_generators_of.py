"""`Encoding.generator`: the group of an entry in blocks, against SciPy's exponential and logits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import gnomon
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.errors import EncodingError
from gnomon.groups.generator import Commuting

CASES = [(name, place) for name, entry in ENTRIES.items() for place in range(len(entry.examples))]
PLAIN = ("transform",)


def made(name, place):
    return encoding(name, **ENTRIES[name].examples[place])


def groups():
    """Return all examples of strict groups that act on queries and keys alone."""
    cases = [(name, place) for name, place in CASES if made(name, place).kinds == PLAIN]
    return [case for case in cases if made(*case).card.level.startswith("L0")]


def matrices(generator):
    return generator.matrices if isinstance(generator, Commuting) else (generator.matrix,)


@pytest.mark.parametrize(("name", "place"), groups())
def test_logits_of_every_strict_group_are_those_of_its_generator(name, place, rng):
    """q^T expm(sum_a (t - s)_a X_a) k, SciPy's exponential of the whole matrix."""
    which = made(name, place)
    heads, width = (which.head_count or 1), which.query_width
    q, k = rng.normal(size=(2, heads, 1, width))
    far = 1.0 if which.span else 5.0
    t, s = rng.uniform(0.0, far, size=(2, 1, which.axes))
    t, s = (t, s) if not which.card.causal_only else (np.maximum(t, s), np.minimum(t, s))
    t, s = (np.rint(t), np.rint(s)) if which.whole_only else (t, s)
    places = (t[:, 0], s[:, 0]) if which.axes == 1 else (t, s)
    found = which.scores(q, k, *places)
    factor = getattr(which, "attention_factor", 1.0) ** 2
    turned = getattr(which, "imaginary", np.zeros(heads))
    for head in np.flatnonzero(turned == 0):
        axes = zip((t - s)[0], matrices(which.generator(head)), strict=True)
        total = sum(lag * x for lag, x in axes)
        wanted = factor * q[head, 0] @ expm(total) @ k[head, 0]
        np.testing.assert_allclose(found[head, 0, 0], wanted, atol=1e-11, rtol=1e-11)


def test_the_strict_groups_of_the_catalogue_are_at_least_twenty():
    assert len({name for name, _ in groups()}) >= 20


def test_a_generator_says_how_high_a_jordan_block_rises_before_it_falls():
    """T e^(-at) has its hump of 1 / (e a) at t = 1 / a, beside the e^(-at) of the diagonal."""
    which = gnomon.encoding("jordan", dimension=4, decay=0.01, gain=0.5)
    growth = which.generator().growth(2000.0)
    assert growth.at == pytest.approx(100.0, rel=0.05)
    assert growth.largest == pytest.approx(0.5 / (np.e * 0.01), rel=0.05)


def test_what_is_no_group_has_no_generator():
    with pytest.raises(EncodingError, match=r"'sinusoidal' is L6 .*, and has no generator that is"):
        gnomon.encoding("sinusoidal", dimension=8).generator()
    with pytest.raises(EncodingError, match="There is no head 7 of 2; pass 0 to 1"):
        gnomon.encoding("retnet", dimension=8, heads=2).generator(7)
