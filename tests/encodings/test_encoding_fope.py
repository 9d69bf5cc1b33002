"""FoPE: against sums written out, rotary encoding, and what one product of two series must do."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_pairs_turn_by_the_series_written_out(rng):
    """Loops over heads, pairs and frequencies, from the definition [hua2025]."""
    made = encoding("fope", dimension=12, length=100, heads=2, gain=2.0)
    waves = [10000.0 ** (-2 * m / 12) for m in range(6) if 10000.0 ** (-2 * m / 12) * 100 > 6.2832]
    assert len(waves) == 2
    x, at = rng.normal(size=(2, 5, 12)), rng.uniform(0, 300, size=5)
    found, _ = made.transform(x, x, at)
    for head in range(2):
        for row, t in enumerate(at):
            wanted = x[head, row].copy()
            for m in range(len(waves)):
                c = sum(made.cosines[head, n, m] * np.cos(w * t) for n, w in enumerate(waves))
                s = sum(made.sines[head, n, m] * np.sin(w * t) for n, w in enumerate(waves))
                a, b = x[head, row, 2 * m : 2 * m + 2]
                wanted[2 * m : 2 * m + 2] = a * c - b * s, a * s + b * c
            np.testing.assert_allclose(found[head, row], wanted, atol=1e-12)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_coefficients_of_the_identity_give_rotary_encoding(layout, rng):
    """With a length in which every frequency turns; without noise the start is the identity."""
    q, k = rng.normal(size=(2, 3, 6, 8))
    at = rng.integers(0, 5000, size=6)
    made = encoding("fope", dimension=8, length=10**5, gain=0.0, layout=layout)
    rope = encoding("rope", dimension=8, layout=layout)
    np.testing.assert_allclose(made.transform(q, k, at), rope.transform(q, k, at), atol=1e-12)


def test_frequencies_that_do_not_turn_once_within_the_length_leave_their_pairs_alone(rng):
    """Cosine 1 and sine 0: pairs pass, as in vLLM (commit 151a2c7)."""
    made = encoding("fope", dimension=8, length=70, gain=0.0, layout="half")
    x = rng.normal(size=(6, 8))
    found, _ = made.transform(x, x, np.arange(6) * 1000)
    np.testing.assert_array_equal(made.frequencies[:, 0], [1.0, 0.1])  # 0.1 x 70 > 2 pi
    np.testing.assert_array_equal(found[:, [2, 3, 6, 7]], x[:, [2, 3, 6, 7]])
    assert np.abs(found[1:, [0, 1, 4, 5]] - x[1:, [0, 1, 4, 5]]).min() > 1e-4


def test_a_coefficient_beside_the_diagonal_makes_logits_depend_on_the_origin(rng):
    """cos(w i) cos(v j) is no function of i - j; without such entries it is rotary encoding."""
    q, k = rng.normal(size=(2, 5, 8))
    for entry, relative in ((0.0, True), (0.5, False)):
        matrix = np.eye(4) + entry * np.eye(4, k=1)
        made = encoding("fope", dimension=8, length=10**5, cosines=[matrix], sines=[matrix])
        before, after = (made.scores(q, k, np.arange(5) + start) for start in (0, 777))
        assert bool(np.abs(after - before).max() < 1e-10) == relative


def test_noise_at_the_start_has_the_spread_of_xavier_and_the_seed_decides_it():
    """PyTorch's own initialiser on a tensor of that shape has this spread."""
    torch = pytest.importorskip("torch")
    shape = (8, 40, 40)
    wide = torch.empty(50, *shape)
    for one in wide:
        torch.nn.init.xavier_normal_(one, gain=0.5)
    made = encoding("fope", dimension=80, base=2.0, length=10**4, heads=8, gain=0.5)
    for values in (made.cosines, made.sines):
        assert values.shape == shape
        noise = values - np.eye(40)
        assert abs(noise.std() / float(wide.std()) - 1.0) < 0.02
        assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(noise.size)
    again, other = (
        encoding("fope", dimension=80, base=2.0, length=10**4, heads=8, gain=0.5, seed=seed)
        for seed in (0, 1)
    )
    np.testing.assert_array_equal(again.cosines, made.cosines)
    assert (other.cosines != made.cosines).all()


def test_one_set_of_coefficients_serves_every_head(rng):
    x = rng.normal(size=(3, 4, 8))
    made = encoding("fope", dimension=8, length=512, gain=1.0)
    found, _ = made.transform(x, x, np.arange(4))
    for head in range(3):
        alone, _ = made.transform(x[head], x[head], np.arange(4))
        np.testing.assert_array_equal(found[head], alone)


def test_gradients_reach_the_coefficients_of_fope(rng):
    torch = pytest.importorskip("torch")
    layer = pytest.importorskip("gnomon.torch").layer
    made = layer(encoding("fope", dimension=8, length=512, heads=2), dtype=torch.float64)
    assert [name for name, _ in made.named_parameters()] == ["cosines", "sines"]
    x = torch.asarray(rng.normal(size=(2, 5, 8)))

    def turned(cosines, sines):
        numbers = {**made.numbers_on(x.device), "cosines": cosines, "sines": sines}
        at = torch.arange(5.0, dtype=torch.float64)[:, None]
        xp = pytest.importorskip("array_api_compat.torch")
        return made.definition.apply(x, at, numbers, side="q", xp=xp)

    given = tuple(p.detach().clone().requires_grad_() for p in made.parameters())
    assert torch.autograd.gradcheck(turned, given)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"length": 6}, r"length is 6, within which no frequency completes a turn; pass a length"),
        ({"length": 0}, r"length is 0; pass a whole number from 1 on"),
        ({"dimension": 7}, r"dimension is 7; pass a multiple of 2, they turn in pairs"),
        ({"axes": 2}, r"axes is 2, and the encoding 'fope' has positions on one axis"),
        ({"gain": -1.0}, r"gain is -1.0; pass a finite number from 0 on"),
        ({"cosines": np.eye(2)}, r"cosines has shape \(2, 2\); pass finite numbers of .*1, 3, 3"),
        (
            {"sines": np.full((1, 3, 3), np.nan)},
            r"sines holds nan at \[0, 0, 0\]; pass finite",
        ),
        ({"sines": "abc"}, r"sines holds <U3; pass finite numbers of shape \(1, 3, 3\)"),
    ],
)
def test_what_fope_does_not_take_is_refused(parameters, sentence):
    with pytest.raises(EncodingError, match=sentence):
        encoding("fope", **{"dimension": 8, "length": 1000, **parameters})
