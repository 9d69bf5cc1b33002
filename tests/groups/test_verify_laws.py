"""Single laws of certificates: identity, boundedness, what is not tested, and who is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import gnomon
from gnomon.errors import GroupError
from gnomon.groups.certificate import ALWAYS, certify
from gnomon.groups.classification import classify
from gnomon.groups.generator import Block, Generator
from gnomon.groups.logit_function import LogitFunction, of_maps

D = 4


def pair(x, *, scale=1.0, keys=None):
    """Maps of queries and keys by exp(tX), as a pair; `keys` is a matrix on keys beside."""
    keys = np.eye(len(x)) if keys is None else keys
    return (
        lambda q, at: np.einsum("nji,nj->ni", expm(np.asarray(at)[:, None, None] * scale * x), q),
        lambda k, at: np.einsum(
            "nij,nj->ni", expm(-np.asarray(at)[:, None, None] * scale * x), k @ keys.T
        ),
    )


def certified(x, *, reach=64.0, keys=None, **how):
    about = {name: how.pop(name) for name in ("causal", "whole") if name in how}
    subject = of_maps(*pair(x, keys=keys), dimension=len(x), name="it", reach=reach, **about)
    return certify(subject, **how)


TURNS = np.kron(np.diag([0.3, 0.05]), np.array([[0.0, -1.0], [1.0, 0.0]]))


def test_a_matrix_on_keys_is_absorbed_and_a_singular_one_is_not():
    rng = np.random.default_rng(0)
    found = certified(TURNS, keys=rng.normal(size=(4, 4)), promised=["identity", "group"])
    assert (found.level, found.holds) == ("L0", True)
    lost = certified(TURNS, keys=np.diag([1.0, 1.0, 1.0, 0.0]), promised=["identity"])
    assert lost.broken == ("identity",)
    assert not lost.laws["identity"].tested
    assert "so A(t) is not formed" in lost.laws["identity"].note
    assert "identity     NOT TESTED" in lost.text()


def test_one_map_that_is_no_isometry_sees_a_token_differently_at_every_place():
    x = np.array([[-0.05, 1.0], [0.0, -0.05]])
    same = pair(x)[1]
    found = certify(of_maps(same, None, dimension=2, name="it", reach=16.0), promised=["identity"])
    assert found.broken == ("identity",)
    assert found.laws["identity"].residual > 1.0


@pytest.mark.parametrize(
    ("x", "causal", "bounded"),
    [
        (TURNS, True, True),
        (TURNS, False, True),
        (TURNS - 0.01 * np.eye(4), True, True),
        (TURNS - 0.01 * np.eye(4), False, False),
        (TURNS + 1e-4 * np.eye(4), True, False),
        (np.diag(np.ones(3), 1), True, False),
        (np.diag(np.ones(3), 1) - 0.5 * np.eye(4), True, True),
    ],
)
def test_the_spectrum_decides_what_is_bounded(x, causal, bounded):
    """Growth by 1e-4 is e^0.006 at the farthest lag that is seen: no sample shows it."""
    found = certified(x, causal=causal, promised=["boundedness"])
    assert found.structure is not None
    assert found.holds is bounded


def test_what_grows_is_named_in_the_certificate():
    found = certified(np.diag([0.25, -1.0, -2.0, 0.0]), reach=16.0, causal=True)
    note = found.laws["boundedness"].note
    assert note == "for lags from 0 on: X has the eigenvalue 0.25"


@pytest.mark.parametrize(
    ("bias", "bounded"),
    [
        (lambda lag: -0.5 * lag, True),
        (lambda lag: 0.5 * lag, False),
        (lambda lag: np.cos(0.2 * lag), True),
        (lambda lag: np.exp(0.01 * lag), False),
        (np.sqrt, False),
        (lambda lag: -np.log1p(lag), True),
    ],
)
def test_a_bias_may_fall_without_bound_and_may_not_rise(bias, bounded):
    def logits(q, k, t, s):
        return q @ k.T + bias(np.maximum(np.asarray(t)[:, None] - np.asarray(s)[None, :], 0.0))

    subject = LogitFunction(name="it", dimension=D, logits=logits, causal=True)
    assert certify(subject, promised=["boundedness"]).holds is bounded


def test_whole_positions_show_growth_up_to_the_reach():
    """A step without a generator: the cyclic roll of even size, alone and growing."""
    roll = np.roll(np.eye(4), 1, axis=0)
    for growth, bounded in ((1.0, True), (1.02, False)):

        def logits(q, k, t, s, growth=growth):
            lags = (np.asarray(t)[:, None] - np.asarray(s)[None, :]).astype(int)
            powers = {lag: np.linalg.matrix_power(growth * roll, lag) for lag in set(lags.flat)}
            return np.array([[q[i] @ powers[lag] @ k[j] for j, lag in enumerate(row)]
                             for i, row in enumerate(lags)])  # fmt: skip

        subject = LogitFunction(
            name="it", dimension=4, logits=logits, causal=True, whole=True, reach=200.0
        )
        found = certify(subject, promised=["boundedness", "group"])
        assert found.laws["boundedness"].holds is bounded
        assert found.laws["continuity"].note == "positions are whole numbers"


def test_a_promise_that_can_not_be_tested_is_broken():
    """Before, a promised group law of logits that are not linear was passed over in silence."""
    subject = of_maps(lambda x, _: np.abs(x), None, dimension=D, name="it")
    found = certify(subject, promised=["group", "rank", "path"])
    assert set(found.broken) == {"group", "rank", "path"}
    shown = found.to_dict()["laws"]
    assert shown["group"]["reason"] == "logits are not linear in query and key"
    assert shown["path"]["reason"] == "no other token decides"
    assert set(shown) >= set(ALWAYS)


def test_a_clock_on_what_is_relative_and_no_group_leaves_it_not_shift_invariant():
    def logits(q, k, t, s):
        lags = np.abs(np.sqrt(t)[:, None] - np.sqrt(s)[None, :])
        return q @ k.T - np.log1p(lags)

    found = gnomon.verify(
        logits, logits=True, dimension=D, clock=np.sqrt, promised=["shift"], reach=400.0
    )
    assert (found.level, found.holds) == ("L6 not shift invariant", True)


def forgetful():
    calls = iter(range(10**6))
    return lambda x, _: x * (1.0 + next(calls))


def spoiling(x, at):
    del at
    x *= 2.0
    return x


def far_nan(x, at):
    return np.where(np.asarray(at)[:, None] > 50.0, np.nan, x)


REFUSED = [
    (forgetful(), "it gives other logits when it is asked again; fix its seed, or switch off"),
    (spoiling, "it writes into the vectors or positions that it is given; let it make arrays"),
    (far_nan, "it gives NaN at positions up to 64; pass the largest position at which it gives"),
    (lambda x: x, r"no real numbers for arrays of shapes \(3, 4\), \(3,\) \(TypeError: .*; pa"),
    (lambda x, _: x * 1j, r"it gives no real numbers .* it gave complex128\); pass a functi"),
    (lambda x, _: x / [[0]] @ [[1]], r"it gives no real numbers .* \(ValueError: .*; pass a f"),
    (lambda x, at: x[: 1 + (at[0] < 20)], r"made \(1, 4\) of queries of shape \(3, 4\); a map"),
    (lambda x, at: x[:, : 3 + (at[0] > 40)], "queries of dimension 4 and keys of dimension 3; b"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("encode", "said"), REFUSED)
def test_functions_that_can_not_be_certified_get_a_sentence(encode, said):
    with pytest.raises(GroupError, match=said):
        certify(of_maps(encode, None, dimension=D, name="it", reach=64.0))


UNSTABLE = [
    (Block(decay=0.25), r"has the eigenvalue 0\.25, so exp\(tX\) grows without bound with the lag"),
    (Block(decay=0.5, frequency=2.0), r"the eigenvalue 0\.5 \+- 2i, so exp"),
    (Block(order=2), r"the eigenvalue 0 in a block of order 2, so exp"),
    (Block(frequency=1.0, order=3), r"the eigenvalue 0 \+- 1i in a block of order 3, so exp"),
]


@pytest.mark.parametrize(("block", "said"), UNSTABLE)
def test_an_unstable_generator_names_its_eigenvalue_and_offers_its_projection(block, said):
    rng = np.random.default_rng(1)
    blocks = [Block(decay=-0.1, frequency=0.3), block]
    basis = rng.normal(size=(2 + block.dimension,) * 2)
    made = Generator(blocks, basis)
    with pytest.raises(GroupError, match=said + r".*call \.projected\(\) for the same generator"):
        made.causal()
    steady = made.projected().causal()
    values = np.linalg.eigvals(steady.matrix)
    assert values.real.max() < 1e-9
    np.testing.assert_allclose(  # what did not grow is what it was
        steady.matrix @ basis[:, :2], made.matrix @ basis[:, :2], rtol=1e-9, atol=1e-9
    )
    norms = np.linalg.norm(steady.exp(np.array([1e3, 1e5])), ord=2, axis=(-2, -1))
    assert norms[1] <= 2.0 * np.linalg.cond(basis)
    assert classify(steady.matrix, tolerance=1e-8).bounded["causal"]


def test_a_stable_generator_is_its_own_causal_one():
    made = Generator([Block(decay=-0.1, order=3), Block(frequency=2.0), Block()])
    assert made.causal() is made
    assert made.projected().blocks == made.blocks
    assert Generator([Block(decay=-0.1)]).growing("both") == "the eigenvalue -0.1"
