"""Bounds beside a coupling: met by every encoding of the catalogue, promised where they should."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES, encoding
from gnomon.spectra.bounds import complex_columns
from gnomon.spectra.coupling import couple, drawn_content, hadamard, kind_of

MULTIPLIED = [
    pytest.param(encoding(name, **example), id=f"{name}-{k}")
    for name, entry in ENTRIES.items()
    for k, example in enumerate(entry.examples)
    if encoding(name, **example).axes == 1
    and kind_of(encoding(name, **example)) == "multiplicative"
]
SHEARING = ("nope", "jordan", "jordan-scaled", "generator")
"""Blocks of an order above 1 are no complex numbers; without an encoding there are no blocks."""
GROUPS = [e for e in MULTIPLIED if e.values[0].card.level.startswith("L0")]

PLAIN = [e for e in GROUPS if e.values[0].name not in SHEARING]


def logits_by_hand(known: Encoding, q: np.ndarray, k: np.ndarray, head: int) -> np.ndarray:
    """`scores` of one head, 0 where it masks."""
    heads, at = (known.head_count or 1), np.arange(len(q))
    sides = [np.broadcast_to(x, (heads, *x.shape)) for x in (q, k)]
    made = np.asarray(known.scores(*sides, at)).reshape(-1, len(q), len(q))[head]
    return np.where(np.isfinite(made), made, 0.0)


@pytest.mark.parametrize("known", GROUPS)
def test_every_group_has_a_bound_for_any_content_and_meets_it(known: Encoding) -> None:
    d = known.query_width
    q, k = drawn_content(24, d, mean=1.0, tied=False, rng=np.random.default_rng(1))
    for head in range(min((known.head_count or 1), 2)):
        found = couple(q, k, known, head=head, scale=-0.7)
        assert found.bounds, found.bounds_reason
        first = found.bounds[0]
        assert first.applies
        assert first.reached_high == pytest.approx(
            0.7 * np.linalg.norm(logits_by_hand(known, q, k, head), 2)
        )
        assert first.reached_high <= first.high * (1 + 1e-12)
        for bound in found.bounds:
            assert bound.holds or not bound.applies, bound


@pytest.mark.parametrize("known", [e for e in MULTIPLIED if e not in GROUPS])
def test_what_is_no_group_says_why_it_has_no_bound(known: Encoding) -> None:
    q, k = drawn_content(12, known.query_width, tied=False)
    found = couple(q, k, known)
    assert found.bounds_reason
    if known.name == "pope":
        assert found.bounds[0].applies
        assert found.bounds[0].holds
        softened = [np.log1p(np.exp(x)) for x in (q, k)]
        wanted = np.linalg.norm(softened[0] @ softened[1].T, 2) / np.sqrt(known.query_width)
        assert found.bounds[0].high == pytest.approx(wanted)
    else:
        assert found.bounds == ()


def test_a_rule_on_content_and_a_sum_are_told_apart() -> None:
    q, k = drawn_content(12, 8, tied=False)
    rule = couple(q, k, encoding("cope", dimension=8, heads=1))
    assert "a rule on content" in rule.bounds_reason
    added = couple(q, k, encoding("t5", heads=1))
    assert [bound.name for bound in added.bounds] == ["sum"]
    assert added.bounds_reason == ""


@pytest.mark.parametrize("scale", [1.0, -1.0, -0.25])
def test_the_bound_for_turns_is_the_norm_of_products_of_moduli(scale: float) -> None:
    """By hand: M_ij = s sum_k |z_ki| |w_kj|, at most s sum_k |z_k| |w_k|."""
    known = encoding("rope", dimension=8, layout="half")
    q, k = drawn_content(30, 8, tied=False)
    z, w = (np.hypot(x[:, :4], x[:, 4:]) for x in (q, k))
    first = couple(q, k, known, scale=scale).bounds[0]
    assert first.high == pytest.approx(abs(scale) * np.linalg.norm(z @ w.T, 2))
    sums = np.linalg.norm(z, axis=0) @ np.linalg.norm(w, axis=0)
    assert first.high <= abs(scale) * sums
    assert first.holds


@pytest.mark.parametrize("known", PLAIN)
def test_pairs_as_complex_numbers_give_back_the_logits_of_groups(known: Encoding) -> None:
    """Re sum_k A_k o T_k with T_k = e^((a + ib)(i-j)) against `scores`, keys before their query."""
    d, at = known.query_width, np.arange(11.0)
    q, k = drawn_content(11, d, tied=False)
    group = known.generator(0)
    z, w = complex_columns(group, q, "q"), complex_columns(group, k, "k")
    rates = np.array([complex(b.decay, b.frequency) for b in group.blocks])
    factor = float(getattr(known, "attention_factor", 1.0)) ** 2
    times = np.where(rates.imag > 0.0, factor, 1.0)
    lags = np.tril(np.subtract.outer(at, at))
    kernels = np.exp(rates[:, None, None] * lags)
    contents = np.einsum("k,ik,jk->kij", times, z, w.conj())
    made = np.tril(hadamard(contents, kernels).real)
    wanted = np.tril(logits_by_hand(known, q, k, 0))
    np.testing.assert_allclose(made, wanted, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("rope", {}), ("xpos", {}), ("retnet", {"heads": 1}), ("string-cayley", {"seed": 1})],
)
def test_one_real_gram_for_all_pairs_has_schurs_promise(name: str, parameters) -> None:
    """Pairs that are all alike and real, in the coordinates of blocks: L = A o T."""
    known = encoding(name, dimension=8, **parameters)
    group = known.generator(0)
    one = np.random.default_rng(0).standard_normal((30, 1))
    alike = np.concatenate(
        [one if k == 0 else 0.0 * one for b in group.blocks for k in range(b.dimension)], axis=1
    )
    basis = np.eye(8) if group.basis is None else group.basis
    q, k = alike @ np.linalg.inv(basis), alike @ basis.T  # P^T q and P^-1 k are `alike`
    found = {bound.name: bound for bound in couple(q, k, known).bounds}
    logits = logits_by_hand(known, q, k, 0) / np.sqrt(8)
    before = np.where(np.tril(np.ones_like(logits)) > 0, q @ k.T, 0.0) / np.sqrt(8)
    before = before if known.card.causal_only else q @ k.T / np.sqrt(8)
    for key in ("Schur, norms", "Schur, squares"):
        assert found[key].applies, found[key].hypotheses
        assert found[key].holds
    assert found["Schur, norms"].high == pytest.approx(np.linalg.norm(before, 2))
    assert found["Schur, norms"].reached_high == pytest.approx(np.linalg.norm(logits, 2))
    assert found["Schur, squares"].high == pytest.approx(np.linalg.norm(before))
    assert found["Schur, squares"].reached_high == pytest.approx(np.linalg.norm(logits))
    values = found["Schur, eigenvalues"]
    assert values.applies is (not known.card.causal_only)
    if values.applies:
        ends = np.linalg.eigvalsh(q @ k.T / np.sqrt(8))
        assert (values.low, values.high) == (
            pytest.approx(ends[0], abs=1e-9),
            pytest.approx(ends[-1]),
        )
        assert values.holds


def test_schurs_bounds_say_what_they_lack() -> None:
    known = encoding("rope", dimension=8)
    q, k = drawn_content(30, 8, tied=False)
    norms = {bound.name: bound for bound in couple(q, k, known).bounds}["Schur, norms"]
    assert not norms.applies
    assert not norms.hypotheses["one Gram for all pairs"]
    same = np.tile(np.stack([q[:, 0], 0.0 * q[:, 0]], axis=1), (1, 4))
    yarn = encoding("rope-yarn", dimension=8, factor=4.0, original_length=512)
    stretched = {bound.name: bound for bound in couple(same, same, yarn).bounds}
    assert not stretched["Schur, norms"].hypotheses["unit diagonal"]
    assert not stretched["Schur, squares"].applies
    plus = encoding("rope-plus-plus", dimension=8, heads=2)
    real, imaginary = (couple(same, same, plus, head=head).bounds for head in (0, 1))
    assert real[1].applies
    assert not imaginary[1].hypotheses["kernel positive semidefinite"]
    assert imaginary[0].holds


def test_a_layer_of_a_schedule_has_the_bounds_of_what_acts_in_it() -> None:
    model = encoding("rope-nope-layers", inner={"name": "rope", "dimension": 8}, every=4)
    q, k = drawn_content(20, 8, tied=False)
    inner = couple(q, k, encoding("rope", dimension=8)).bounds
    for mine, its in zip(couple(q, k, model.at_layer(0)).bounds, inner, strict=True):
        assert mine.to_dict() == its.to_dict()
    nothing = couple(q, k, model.at_layer(3)).bounds
    assert [bound.reached_high == bound.high for bound in nothing] == [True, True, True]
