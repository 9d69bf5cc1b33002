"""Clocks that tokens drive: against complex numbers, rotary encoding, and documents alone.

The authors' module (timurcarstensen/selective-rope at d12e825, full-rank projection, convolution,
bias) was run beside it: logits up to 12 agree within 5e-5, with sums in float32 there.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_clocks_that_tick_alike_are_rotary_encoding(rng):
    """Without weights, and with a drift of 1, every token is one step."""
    q, k = rng.normal(size=(2, 3, 7, 8))
    numbers = {"clock_weights": np.zeros((3, 4, 8)), "drift": np.ones((3, 4))}
    for layout in ("interleaved", "half"):
        made = encoding("selective-rope", heads=3, dimension=8, layout=layout, **numbers)
        rope = encoding("rope", dimension=8, layout=layout, base=500000.0)
        found, wanted = made.scores(q, k, np.arange(7)), rope.scores(q, k, np.arange(7))
        seen = np.isfinite(found)
        np.testing.assert_allclose(found[seen], wanted[seen], rtol=1e-12, atol=1e-12)


def test_clocks_are_cumulative_sums_of_what_is_read_from_tokens_of_length_one(rng):
    """The authors' module (timurcarstensen/selective-rope at d12e825), with complex numbers."""
    heads, d, m, kernel = 2, 6, 9, 4
    weights, taps = rng.normal(size=(heads, 3, 5)), rng.normal(size=(heads, 3, kernel))
    made = encoding(
        "selective-rope",
        heads=heads,
        dimension=d,
        token_width=5,
        layout="half",
        kernel=kernel,
        clock_weights=weights,
        taps=taps,
    )
    (q, k), x = rng.normal(size=(2, heads, m, d)), rng.normal(size=(m, 5))
    x_unit = x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + 1e-6)
    steps = np.einsum("hcw,mw->hmc", weights, x_unit)
    padded = np.pad(steps, ((0, 0), (kernel - 1, 0), (0, 0)))
    moved = np.stack([padded[:, s : s + m] for s in range(kernel)], axis=-1)
    clock = np.cumsum(np.einsum("hmcs,hcs->hmc", moved, taps), axis=1)
    turns = np.exp(1j * clock * 500000.0 ** (-2 * np.arange(3) / d))
    left, right = ((z[..., :3] + 1j * z[..., 3:]) * turns for z in (q, k))
    wanted = np.einsum("hic,hjc->hij", left, right.conj()).real
    found = made.scores(q, k, np.arange(m), tokens=x)
    seen = np.isfinite(found)
    np.testing.assert_allclose(found[seen], wanted[seen], rtol=1e-12, atol=1e-12)


def test_a_convolution_does_not_read_the_document_before(rng):
    made = encoding("selective-rope", heads=1, dimension=4, kernel=3)
    q, k = rng.normal(size=(2, 1, 6, 4))
    both = made.scores(q, k, np.array([0, 1, 2, 0, 1, 2]))
    alone = made.scores(q[:, 3:], k[:, 3:], np.arange(3))
    np.testing.assert_allclose(both[:, 3:, 3:], alone, rtol=1e-13, atol=1e-13)
    joined = made.scores(q, k, np.arange(6))
    assert not np.allclose(joined[0, 3:, 3:][np.tril_indices(3)], alone[0][np.tril_indices(3)])


def test_float32_keeps_the_phase_of_long_clocks(rng):
    """Clocks reach 40,000 radians, where float32 tells 0.004 apart; they are summed in float64."""
    torch = pytest.importorskip("torch")
    m = 20_000
    made = encoding("selective-rope", heads=1, dimension=2, drift=[[2.0]])
    q, k = rng.normal(size=(1, 3, 2)), rng.normal(size=(1, m, 2))
    at = np.arange(m)
    q, k = (x.astype(np.float32) for x in (q, k))
    wide = made.scores(q.astype(np.float64), k.astype(np.float64), at[-3:], at)[0, 0]
    narrow = made.scores(torch.from_numpy(q), torch.from_numpy(k), at[-3:], at)[0, 0].numpy()
    seen = np.isfinite(wide)
    assert np.abs(narrow[seen] - wide[seen]).max() < 1e-5


def test_coordinates_that_make_no_pairs_are_refused():
    with pytest.raises(EncodingError, match="dimension is 5; pass a multiple of 2, they turn in"):
        encoding("selective-rope", heads=1, dimension=5)
    with pytest.raises(EncodingError, match=r"taps has shape \(1, 2\); .* shape \(1, 2, 3\)"):
        encoding("selective-rope", heads=1, dimension=4, kernel=3, taps=np.zeros((1, 2)))
