"""Generators against scipy's exponential, high precision, and what is known of their norms."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from gnomon.errors import GroupError
from gnomon.groups.generator import Block, Commuting, Generator, commutator_defect, kronecker_sum

BLOCKS = [
    Block(),
    Block(decay=-0.3),
    Block(decay=0.2),
    Block(frequency=0.7),
    Block(decay=-0.1, frequency=1.3),
    Block(order=2),
    Block(decay=-0.05, order=3, gain=0.5),
    Block(frequency=0.4, order=2, gain=-2.0),
    Block(decay=-0.2, frequency=0.9, order=3),
]
KINDS = ["zero", "decay", "growth", "rotation", "damped", "jordan", "jordan", "jordan", "jordan"]


def based(*blocks, seed=0):
    """A generator in a random basis that is not orthogonal."""
    size = sum(block.dimension for block in blocks)
    return Generator(blocks, np.random.default_rng(seed).normal(size=(size, size)))


def test_blocks_are_named_by_what_they_do():
    assert [block.kind for block in BLOCKS] == KINDS


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_a_block_has_the_exponential_that_high_precision_gives(block):
    with mpmath.workdps(40):
        for t in (-3.0, 0.0, 0.25, 17.0):
            wanted = mpmath.expm(mpmath.matrix(block.matrix().tolist()) * t, method="taylor")
            found = block.exp(t)
            size = float(mpmath.mnorm(wanted, 1))
            assert np.abs(found - np.array(wanted.tolist(), dtype=float)).max() < 1e-14 * size


def test_exponentials_in_a_basis_are_those_of_scipy():
    made = based(*BLOCKS[1:], seed=3)
    for t in (-1.0, 0.5, 4.0):
        wanted = expm(t * made.matrix)
        error = np.abs(made.exp(t) - wanted).max()
        assert error < 1e-11 * made.condition * np.abs(wanted).max()


def test_queries_and_keys_get_a_pair_whose_product_depends_on_the_lag_alone():
    made = based(Block(decay=-0.2, order=2), Block(frequency=0.5, order=2))
    for t, s, reference in ((3.0, 1.0, 0.0), (13.0, 11.0, 12.0), (-4.5, -6.5, 2.0)):
        pair = made.on_queries(t, reference).T @ made.on_keys(s, reference)
        np.testing.assert_allclose(pair, expm((t - s) * made.matrix), rtol=1e-9, atol=1e-9)


def test_one_map_for_both_sides_is_right_for_turns_alone():
    """For a Jordan block the product of exp(tX)^T and exp(sX) moves with a common shift."""
    for block, right in ((Block(frequency=0.5), True), (Block(order=2), False)):
        made = Generator([block])
        at_0, at_9 = (made.exp(-(t + 2.0)).T @ made.exp(-t) for t in (0.0, 9.0))
        assert np.allclose(at_0, at_9) == right
        assert made.isometric == right


@pytest.mark.parametrize(
    ("blocks", "causal", "both"),
    [
        ([Block(), Block(frequency=2.0)], True, True),
        ([Block(decay=-0.1)], True, False),
        ([Block(order=2)], False, False),
        ([Block(frequency=1.0, order=2)], False, False),
        ([Block(decay=-0.1, order=4)], True, False),
        ([Block(frequency=1.0), Block(decay=1e-9)], False, False),
    ],
)
def test_bounds_are_those_that_norms_show(blocks, causal, both):
    made = based(*blocks)
    assert (made.bounded(), made.bounded("both")) == (causal, both)
    far = np.array([1e2, 1e3, 1e11])
    rising = np.linalg.norm(made.exp(far), 2, axis=(1, 2))
    assert (rising[-1] < 2.0 * made.condition) == causal
    falling = np.linalg.norm(made.exp(-far[:2]), 2, axis=(1, 2))
    assert both <= (falling[-1] < 2.0 * made.condition)


def test_the_hump_of_a_block_is_where_calculus_puts_it():
    """The corner t^2/2 e^(-0.05 t) of J3(-0.05) has its maximum at t = 40."""
    made = Generator([Block(decay=-0.05, order=3)])
    found = made.growth(1000.0)
    fine = np.linspace(0.0, 1000.0, 200_001)
    norms = np.linalg.norm(made.exp(fine), 2, axis=(1, 2))
    assert found.largest == pytest.approx(norms.max(), rel=1e-3)
    assert abs(found.at - fine[norms.argmax()]) < 1.0
    assert norms.max() <= found.bound
    assert found.end == pytest.approx(norms[-1], rel=1e-9)


@pytest.mark.parametrize("until", [0.5, 30.0, 400.0])
def test_no_norm_exceeds_its_bound(until):
    for seed, blocks in enumerate((BLOCKS[:3], BLOCKS[3:6], BLOCKS[6:])):
        made = based(*blocks, seed=seed)
        fine = np.linalg.norm(made.exp(np.linspace(0.0, until, 997)), 2, axis=(1, 2))
        found = made.growth(until)
        assert fine.max() <= found.bound * (1 + 1e-12)
        assert found.largest <= found.bound * (1 + 1e-12)


def test_the_condition_of_a_power_of_time_grows_with_its_square():
    found = Generator([Block(order=2)]).condition_at([10.0, 100.0, 1000.0])
    np.testing.assert_allclose(found, [1e2, 1e4, 1e6], rtol=0.03)


def test_a_direct_sum_acts_side_by_side():
    one, other = based(Block(order=2)), Generator([Block(frequency=1.0)])
    both = one.direct_sum(other)
    wanted = np.zeros((4, 4))
    wanted[:2, :2], wanted[2:, 2:] = one.matrix, other.matrix
    np.testing.assert_allclose(both.matrix, wanted, atol=1e-12)
    assert both.restricted(1).matrix.tolist() == other.matrix.tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([Block(frequency=1.0)], [Block(frequency=1.0)]),
        ([Block(frequency=1.0)], [Block(frequency=2.5)]),
        ([Block(order=2)], [Block(order=3)]),
        ([Block(decay=-0.1, order=3, gain=0.5)], [Block(decay=-0.2, order=2, gain=2.0)]),
        ([Block(frequency=0.5, order=2)], [Block(decay=-0.1, order=2)]),
        ([Block(frequency=0.5, order=2)], [Block(frequency=0.5, order=3)]),
        ([Block(frequency=0.5, order=2)], [Block(frequency=0.8, order=2), Block()]),
    ],
)
def test_a_kronecker_sum_has_the_product_of_both_exponentials(first, second):
    one, other = based(*first, seed=1), based(*second, seed=2)
    made = kronecker_sum(one, other)
    size = np.eye(one.dimension), np.eye(other.dimension)
    wanted = np.kron(one.matrix, size[1]) + np.kron(size[0], other.matrix)
    np.testing.assert_allclose(made.matrix, wanted, atol=1e-9 * made.condition)
    product = np.kron(expm(0.7 * one.matrix), expm(0.7 * other.matrix))
    np.testing.assert_allclose(made.exp(0.7), product, atol=1e-9 * made.condition)


def test_axes_that_commute_are_a_group_and_others_are_refused_with_their_defect():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    axes = [
        Generator([Block(frequency=a), Block(frequency=b)], basis) for a, b in ((1, 2), (0.5, 3))
    ]
    both = Commuting(axes)
    x, y = rng.normal(size=(2, 2))
    np.testing.assert_allclose(both.exp(x) @ both.exp(y), both.exp(x + y), atol=1e-13)
    skew = [m - m.T for m in rng.normal(size=(2, 4, 4))]
    defect = commutator_defect(*skew)
    wanted = np.linalg.norm(skew[0] @ skew[1] - skew[1] @ skew[0])
    assert defect == pytest.approx(wanted / np.linalg.norm(skew[0]) / np.linalg.norm(skew[1]))
    with pytest.raises(GroupError, match=r"axes 0 and 1 do not commute: .* logits would not be"):
        Commuting(skew)


REFUSED = [
    (lambda: Generator([]), r"without blocks acts on nothing; pass at least one"),
    (lambda: Generator([Block()], np.zeros((1, 1))), r"not independent; pass an invertible"),
    (lambda: Generator([Block()], np.eye(2)), r"shape \(2, 2\), and the blocks act on 1 coord"),
    (lambda: Generator([Block()]).bounded("back"), r"direction is 'back'; pass 'causal' or"),
    (lambda: Generator([Block()]).growth(0.0), r"until is 0\.0; pass a time above 0"),
    (lambda: Generator([Block()]).restricted(1), r"no block 1 among 1; pass numbers from 0 to 0"),
    (lambda: Block(frequency=-1.0), r"frequency of a block is -1\.0; pass 0 or more"),
    (lambda: Block(order=0), r"order of a block is 0; pass a whole number from 1 on"),
    (lambda: Block(order=2, gain=0.0), r"gain of a block of order 2 is 0, so it is 2 blocks"),
    (lambda: Block(decay=float("nan")), r"decay of a block is nan; pass a finite number"),
    (lambda: Commuting([]), r"no axis without a generator; pass one for each axis"),
    (lambda: Commuting([np.eye(2), np.eye(3)]), r"shapes \(2, 2\), \(3, 3\); pass matrices of"),
    (lambda: Commuting([np.eye(2)]).exp(1.0), r"positions have shape \(\), and there are 1 axes"),
    (lambda: Commuting([np.ones((2, 3))]), r"generator has shape \(2, 3\); pass a square matrix"),
    (lambda: Commuting([[[np.inf]]]), r"generator holds inf at row 0, column 0; pass finite"),
    (lambda: Commuting(["x"]), r"the generator holds <U1 values; pass a matrix of real numbers"),
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_is_no_generator_is_refused_in_words(call, sentence):
    with pytest.raises(GroupError, match=sentence):
        call()


def naive(generator, q, k, t, s):
    """Every logit by SciPy's exponential of the whole matrix."""
    made = np.array(
        [
            [a @ expm((x - y) * generator.matrix) @ b for b, y in zip(k, s, strict=True)]
            for a, x in zip(q, t, strict=True)
        ]
    )
    return np.where(np.asarray(t)[:, None] < np.asarray(s), -np.inf, made)


@pytest.mark.parametrize("basis", [False, True])
@pytest.mark.parametrize(
    "blocks",
    [
        [Block(decay=-0.1), Block(decay=-0.05, frequency=0.7)],
        [Block(decay=-0.2, order=3, gain=0.5), Block(frequency=1.1), Block()],
        [Block(decay=-0.1, frequency=0.3, order=2), Block(order=2, gain=-0.25)],
    ],
)
def test_scores_are_those_of_the_exponential_of_the_matrix(blocks, basis, rng):
    size = sum(block.dimension for block in blocks)
    generator = Generator(blocks, rng.normal(size=(size, size)) if basis else None)
    q, k = rng.normal(size=(2, 9, size))
    t, s = rng.uniform(0.0, 20.0, size=(2, 9))
    wanted = naive(generator, q, k, t, s)
    scores = generator.scores(q, k, t, s)
    seen = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(scores), seen)
    np.testing.assert_allclose(scores[seen], wanted[seen], atol=1e-9)
    left, right = generator.transform(q, k, t, s, reference=10.0)
    np.testing.assert_allclose((left @ right.T)[seen], wanted[seen], atol=1e-9)


def test_turns_have_logits_in_both_directions(rng):
    generator = Generator([Block(frequency=0.9), Block()])
    q, k = rng.normal(size=(2, 4, 3))
    scores = generator.scores(q, k, np.arange(4.0))
    wanted = [
        [a @ expm((x - y) * generator.matrix) @ b for y, b in enumerate(k)] for x, a in enumerate(q)
    ]
    np.testing.assert_allclose(scores, wanted, atol=1e-12)


def test_a_decay_over_20000_positions_is_exact_where_one_reference_gives_nan(rng):
    """e^(a t) overflows for keys and vanishes for queries, and their product is NaN."""
    generator = Generator([Block(decay=-0.05, frequency=0.3), Block(decay=-0.5)])
    t = np.arange(20_000.0)
    q, k = rng.normal(size=(2, len(t), 3))
    few = np.array([0, 1, 7_000, 19_999])
    with np.errstate(over="ignore", invalid="ignore"):
        left, right = generator.transform(q, k, t)
        assert np.isnan(left[few] @ right.T).any()
    scores = generator.scores(q[few], k, t[few], t)
    for row, place in enumerate(few):
        near = np.arange(max(0, place - 40), place + 1)
        wanted = [q[place] @ expm((place - s) * generator.matrix) @ k[s] for s in near]
        np.testing.assert_allclose(scores[row, near], wanted, atol=1e-13)
        assert np.isneginf(scores[row, place + 1 :]).all()
        assert np.isfinite(scores[row, : place + 1]).all()


def test_epoch_seconds_keep_the_precision_of_their_differences(rng):
    """Times with fractions of seconds, against mpmath at 50 digits."""
    generator = Generator([Block(decay=-1e-3, frequency=0.9), Block(frequency=1.7, decay=-1e-4)])
    t = np.sort(1.7e9 + rng.uniform(0.0, 3600.0, size=6))
    q, k = rng.normal(size=(2, 6, 4))
    scores = generator.scores(q, k, t)
    with mpmath.workdps(50):
        for i, j in [(5, 0), (3, 1), (5, 4), (2, 2)]:
            lag = mpmath.mpf(float(t[i])) - mpmath.mpf(float(t[j]))
            total = mpmath.mpf(0)
            for pair, block in enumerate(generator.blocks):
                a, b = q[i, 2 * pair : 2 * pair + 2], k[j, 2 * pair : 2 * pair + 2]
                c, s = mpmath.cos(block.frequency * lag), mpmath.sin(block.frequency * lag)
                fall = mpmath.exp(block.decay * lag)
                total += fall * (a[0] * (c * b[0] - s * b[1]) + a[1] * (s * b[0] + c * b[1]))
            assert abs(scores[i, j] - float(total)) < 1e-11


def test_a_generator_that_grows_has_no_scores_and_its_projection_has(rng):
    generator = Generator([Block(decay=0.25, frequency=2.0)])
    q = rng.normal(size=(3, 2))
    with pytest.raises(GroupError, match=r"the eigenvalue 0\.25 \+- 2i, .* call \.projected\(\)"):
        generator.scores(q, q, [0.0, 1.0, 2.0])
    assert np.isfinite(generator.projected().scores(q, q, [0.0, 1.0, 2.0])).all()


def test_vectors_and_positions_that_do_not_fit_are_refused():
    generator = Generator([Block(frequency=1.0)])
    with pytest.raises(GroupError, match=r"q has shape \(2, 3\), and the generator acts on 2"):
        generator.scores(np.ones((2, 3)), np.ones((2, 2)), [0, 1])
    with pytest.raises(GroupError, match=r"positions of k have shape \(3,\), and there are 2"):
        generator.scores(np.ones((2, 2)), np.ones((2, 2)), [0, 1], [0, 1, 2])
