"""Closed forms of distances against the logits and biases of the same encoding, for every example.

    D(t)^2 = 2 (K(0) - K(t)),   K(t) = (k(t) + k(-t)) / 2,

k the mean bias over heads, or for a transform half of the mean trace of q -> k: the sum over
coordinates c of the logit of e_c with e_c. What is causal has k(t) for both signs of the lag.
"""

from __future__ import annotations

import numpy as np
import pytest

LAGS = np.array([0, 1, 2, 3, 7])
OTHERS = ("pope",)
"""Softplus acts on contents: its kernel is that of magnitudes 1."""


def bias_of(encoding, lags):
    """The mean bias over heads at lags on the first axis."""
    at = np.zeros((len(lags), encoding.axes))
    at[:, 0] = lags
    at, here = (at, np.zeros((1, encoding.axes))) if encoding.axes > 1 else (at[:, 0], [0])
    return encoding.bias(at, here).mean(axis=0)[:, 0]


def half_trace(subject, lags):
    """Half of the mean over heads of sum_c <e_c, k-hat e_c> at lags on the first axis."""
    encoding, width = subject.encoding, subject.width
    found = []
    for lag in lags:
        at = np.zeros((width, encoding.axes))
        at[:, 0] = lag
        queries, keys = (at, np.zeros_like(at)) if lag >= 0 else (np.zeros_like(at), -at)
        if encoding.axes == 1:
            queries, keys = queries[:, 0], keys[:, 0]
        one = np.broadcast_to(np.eye(width), (subject.heads, width, width))
        logits = encoding.scores(one, one, queries, keys)
        found.append(0.5 * np.trace(logits, axis1=-2, axis2=-1).mean())
    return np.asarray(found)


def has_closed_kernel(subject):
    """Whether a transform or bias of its own, not that of one inside, has a closed form."""
    made = subject.encoding
    plain = made.kinds in (("bias",), ("transform",)) and not hasattr(made, "inner")
    return (
        plain
        and made.name not in OTHERS
        and "kernel" in made.lifts
        and made.lag_distances("kernel") is not None
    )


def has_closed_probe(subject):
    """Whether distances of turned copies of one vector have a closed form."""
    made = subject.encoding
    return (
        made.kinds == ("transform",)
        and "probe" in made.lifts
        and made.lag_distances("probe", np.ones(subject.width)) is not None
    )


@pytest.mark.subjects(where=has_closed_kernel)
def test_distances_of_the_kernel_are_those_of_logits_and_biases(subject):
    encoding = subject.encoding
    closed = encoding.lag_distances("kernel")
    kernel = bias_of if "bias" in encoding.kinds else lambda _, lags: half_trace(subject, lags)
    both = kernel(encoding, LAGS)
    if not encoding.card.causal_only:
        both = 0.5 * (both + kernel(encoding, -LAGS))
    lags = np.zeros((len(LAGS), encoding.axes))
    lags[:, 0] = LAGS
    wanted = 2.0 * (both[0] - both)
    np.testing.assert_allclose(closed(lags) ** 2, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.subjects(where=has_closed_probe)
def test_distances_of_a_probe_are_those_of_its_turned_copies(subject, rng):
    encoding, width = subject.encoding, subject.width
    probe = rng.normal(size=width)
    closed = encoding.lag_distances("probe", probe)
    lags = np.zeros((len(LAGS), encoding.axes))
    lags[:, 0] = LAGS
    copies = np.broadcast_to(probe, (subject.heads, len(LAGS), width))
    _, keys = encoding.transform(copies, copies, lags if encoding.axes > 1 else lags[:, 0])
    squares = np.sum((keys - keys[:, :1]) ** 2, axis=-1).mean(axis=0)
    np.testing.assert_allclose(closed(lags) ** 2, squares, rtol=1e-9, atol=1e-12)
