"""ALiBi: published slopes written out by hand, and the two biases."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.biases.linear import best_slope, official_slopes
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_eight_heads_have_the_slopes_of_the_paper():
    wanted = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256)
    assert official_slopes(8) == wanted


def test_twelve_heads_have_eight_slopes_and_every_other_one_of_sixteen():
    half_powers = tuple(2.0**-exponent for exponent in (0.5, 1.5, 2.5, 3.5))
    assert official_slopes(12) == (*official_slopes(8), *half_powers)


def test_forty_heads_have_thirty_two_slopes_and_every_other_one_of_sixty_four():
    lower = [2.0 ** (-(h + 1) / 4) for h in range(32)]
    upper = [2.0 ** (-(h + 1) / 8) for h in (0, 2, 4, 6, 8, 10, 12, 14)]
    assert official_slopes(40) == tuple(lower + upper)


@pytest.mark.parametrize("heads", range(1, 70))
def test_there_are_as_many_distinct_slopes_as_heads(heads):
    assert len(set(official_slopes(heads))) == heads


def test_causal_bias_is_minus_slope_times_the_lag():
    bias = encoding("alibi", heads=2).bias([0, 1, 4])
    lags = np.array([[0, -1, -4], [1, 0, -3], [4, 3, 0]])
    np.testing.assert_array_equal(bias, [-lags / 16, -lags / 256])


def test_symmetric_bias_is_minus_slope_times_the_absolute_lag():
    bias = encoding("alibi", slopes=(0.5,), symmetric=True).bias([0, 1, 4], [2])
    np.testing.assert_array_equal(bias, [[[-1.0], [-0.5], [-1.0]]])


def test_on_two_axes_the_lag_is_euclidean():
    bias = encoding("alibi", slopes=(1.0,), axes=2).bias([[0, 0]], [[3, 4]])
    np.testing.assert_array_equal(bias, [[[-5.0]]])


def test_batches_of_positions_keep_heads_before_queries_and_keys():
    assert encoding("alibi", heads=3).bias(np.zeros((7, 5)), np.zeros((7, 6))).shape == (7, 3, 5, 6)


def test_the_symmetric_one_is_no_augmented_group():
    assert encoding("alibi").card.level == "L1 augmented group"
    assert encoding("alibi").card.causal_only
    assert encoding("alibi", symmetric=True).card.level == "L5 relative, not separable"
    assert not encoding("alibi", symmetric=True).card.causal_only


def test_best_slope_is_where_least_squares_puts_it(rng):
    target = rng.random((12, 12))
    target = target + target.T
    pairs = np.triu_indices(12, 1)
    lags = np.abs(pairs[0] - pairs[1])[:, None].astype(float)
    wanted = np.linalg.lstsq(lags, target[pairs])[0][0]
    assert best_slope(target) == pytest.approx(wanted)


def test_slopes_that_are_none_are_refused():
    with pytest.raises(EncodingError, match=r"slopes is -1; pass a finite number from 0 on\."):
        encoding("alibi", slopes=(1, -1))
    with pytest.raises(EncodingError, match=r"heads is 3 and slopes has 1 entries; pass one of"):
        encoding("alibi", heads=3, slopes=(1.0,))
    with pytest.raises(EncodingError, match=r"heads is 0; pass a whole number from 1 on\."):
        encoding("alibi", heads=0)


def test_a_causal_bias_on_two_axes_is_refused():
    with pytest.raises(EncodingError, match=r"symmetric is False on 2 axes, .* symmetric=True\."):
        encoding("alibi", axes=2, symmetric=False)


def test_no_slope_fits_where_all_positions_are_one():
    with pytest.raises(EncodingError, match=r"All positions are the same, so no slope fits"):
        best_slope(np.zeros((2, 2)), [4, 4])


def test_two_slopes_weigh_keys_before_and_after_their_query_apart():
    made = encoding("alibi", slopes=(0.5, 0.25), slopes_after=(2.0, 0.0))
    bias = made.bias([3], [0, 3, 5])
    np.testing.assert_array_equal(bias, [[[-1.5, 0.0, -4.0]], [[-0.75, 0.0, 0.0]]])
    assert made.card.level == "L5 relative, not separable"
    assert not made.card.causal_only


def test_two_equal_slopes_are_the_symmetric_bias(rng):
    places = rng.uniform(-100, 100, size=(2, 9))
    slopes = official_slopes(3)
    both = encoding("alibi", heads=3, slopes_after=slopes)
    np.testing.assert_array_equal(
        both.bias(places), encoding("alibi", heads=3, symmetric=True).bias(places)
    )


def test_distances_of_two_slopes_are_those_of_the_symmetrised_kernel():
    made = encoding("alibi", slopes=(0.5,), slopes_after=(0.1,))
    bias = made.bias(np.arange(5))[0]
    kernel = 0.5 * (bias + bias.T)
    wanted = np.sqrt(-2.0 * kernel[0])
    np.testing.assert_allclose(made.lag_distances("kernel")(np.arange(5.0)[:, None]), wanted)


def test_slopes_after_that_do_not_fit_are_refused():
    with pytest.raises(
        EncodingError, match=r"slopes_after has 1 entries and there are 2 heads; pass"
    ):
        encoding("alibi", heads=2, slopes_after=(1.0,))
    with pytest.raises(
        EncodingError, match=r"slopes_after is -1; pass a finite number from 0 on\."
    ):
        encoding("alibi", heads=1, slopes_after=(-1,))
    with pytest.raises(
        EncodingError, match=r"slopes_after needs one axis and no symmetric=True, and"
    ):
        encoding("alibi", heads=1, slopes_after=(1.0,), symmetric=True)


@pytest.mark.parametrize("axes", [1, 2])
def test_the_slope_in_the_positions_is_finite_where_query_and_key_meet(axes):
    torch = pytest.importorskip("torch")
    positions = torch.zeros((3, axes)[: 1 if axes == 1 else 2], dtype=torch.float64)
    positions.requires_grad_()
    encoding("alibi", heads=2, axes=axes, symmetric=True).bias(positions).sum().backward()
    assert torch.isfinite(positions.grad).all()
