"""Concentration, intervals, Hessian and stable rates against closed forms and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gnomon.errors import LabError
from gnomon.lab.heads import (
    Importance,
    concentration,
    deposit_index,
    effective_heads,
    gini,
    noise_band,
    uniform_null,
)
from gnomon.lab.stability import has_diverged, largest_stable_rate
from gnomon.lab.table import difference_over_seeds, holm, over_seeds


def importance(drops, errors):
    shape = np.atleast_2d(drops).shape
    return Importance(
        ablation="zero",
        score=1.0,
        drops=np.atleast_2d(drops).astype(float),
        errors=np.broadcast_to(errors, shape).astype(float),
        margins=None,
        rows=512,
    )


def test_uniform_heads_and_a_single_head_are_the_two_ends():
    for heads in (2, 8, 16):
        even, one = np.full(heads, 0.1), np.eye(heads)[0] * 0.7
        assert deposit_index(even) == pytest.approx(1 / heads)
        assert effective_heads(even) == pytest.approx(heads)
        assert gini(even) == pytest.approx(0.0, abs=1e-12)
        assert deposit_index(one) == effective_heads(one) == 1.0
        assert gini(one) == pytest.approx(1 - 1 / heads)


def test_negative_drops_count_as_none(rng):
    drops = rng.standard_normal(8)
    kept = np.maximum(drops, 0.0)
    for measure in (deposit_index, effective_heads, gini):
        assert measure(drops) == measure(kept)
        assert measure([-0.1, -0.2]) is None


def test_gini_is_the_mean_difference_over_twice_the_mean(rng):
    drops = rng.random(11)
    apart = np.abs(drops[:, None] - drops[None, :]).mean()
    assert gini(drops) == pytest.approx(apart / (2 * drops.mean()))


def test_the_noise_band_covers_the_largest_of_null_drops(rng):
    """Of 8 heads without importance the largest |drop| stays in the band 95 % of the time."""
    largest = np.abs(rng.standard_normal((20_000, 8)) * 0.01).max(axis=1)
    assert (largest < noise_band(0.01, 8)).mean() == pytest.approx(0.95, abs=0.006)


def test_equal_heads_stay_below_the_null_and_a_deposit_does_not(rng):
    """Fresh noise on equal heads names a deposit in 5 % of layers, a real one always."""
    named = 0
    for _ in range(300):
        drops = 0.1 + 0.02 * rng.standard_normal(8)
        named += concentration(importance(drops, 0.02)).deposit
    assert named <= 30
    found = concentration(importance([0.6, 0.02, 0.01, 0.0, 0.0, 0.03, 0.0, 0.0], 0.02))
    assert found.deposit
    assert found.head == 0
    assert found.uniform == 0.125


def test_an_index_near_one_within_noise_is_no_deposit():
    found = concentration(importance([0.02, 0.0, 0.0, 0.0], 0.02))
    assert found.index == 1.0
    assert not found.deposit
    assert found.largest < found.noise_band


def test_a_layer_that_nothing_depends_on_has_no_index_and_says_why():
    found = concentration(importance([-0.01, 0.0, -0.02, 0.0], 0.01))
    assert found.index is None
    assert found.null is None
    assert found.reason == "no head's removal lowers the score"
    assert found.to_dict()["gini"] is None


def test_without_noise_the_null_is_uniform():
    assert uniform_null(np.full(4, 0.1), np.zeros(4)) == pytest.approx(0.25)


def test_drops_that_are_none_are_refused():
    with pytest.raises(LabError, match="are not one finite number per head; pass the drops of"):
        deposit_index([0.1, np.nan])
    with pytest.raises(LabError, match="there is no layer 1 in an ablation of 1 layers; pass one"):
        concentration(importance([0.1], 0.0), layer=1)


def test_an_interval_over_seeds_is_that_of_scipy(rng):
    values = rng.random(5)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    made = over_seeds(values)
    assert made.interval == pytest.approx((expected.low, expected.high))
    assert (made.smallest, made.largest, made.seeds) == (values.min(), values.max(), 5)
    assert over_seeds([0.5]).interval is None


def test_a_paired_difference_is_that_of_scipy(rng):
    first, second = rng.random(5), rng.random(5)
    expected = stats.ttest_rel(first, second)
    made = difference_over_seeds(first, second)
    assert made.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert made.interval == pytest.approx((ends.low, ends.high))
    assert difference_over_seeds([0.5], [0.25]).p is None
    assert difference_over_seeds([1.0, 1.0], [0.5, 0.5]).p == 0.0
    assert difference_over_seeds([1.0, 1.0], [1.0, 1.0]).p == 1.0


def test_holm_rejects_what_the_step_down_procedure_rejects(rng):
    """The procedure in its own words: compare p_(i) with alpha / (m - i + 1), stop at the first."""
    for _ in range(50):
        p_values = rng.random(6) ** 3
        adjusted = holm(p_values)
        for alpha in (0.01, 0.05, 0.2):
            rejected = set()
            for rank, index in enumerate(np.argsort(p_values)):
                if p_values[index] > alpha / (6 - rank):
                    break
                rejected.add(int(index))
            assert rejected == set(np.flatnonzero(adjusted <= alpha).tolist())


def test_values_that_can_not_be_compared_are_refused():
    with pytest.raises(LabError, match="are not one finite number per seed; leave out runs that"):
        over_seeds([0.1, np.inf])
    with pytest.raises(LabError, match="3 runs cannot be paired with 2; pass the runs of common"):
        difference_over_seeds([1, 2, 3], [1, 2])
    with pytest.raises(LabError, match="p values must be a list of numbers from 0 to 1"):
        holm([0.5, 1.5])


@pytest.mark.parametrize("top", [0.3, 7.0, 4000.0])
def test_gradient_descent_is_stable_up_to_two_over_the_top_eigenvalue(top):
    curvature = np.array([top, top / 3, top / 100])

    @np.errstate(all="ignore")
    def losses(rate):
        x, made = np.ones(3), []
        for _ in range(200):
            made.append(float(curvature @ x**2))
            x = x - rate * curvature * x
        return made

    found = largest_stable_rate(losses, ratio=1.02)
    assert found.rate <= 2 / top <= found.unstable
    assert found.unstable / found.rate <= 1.02


def test_a_border_that_is_not_there_is_said_to_be_missing():
    found = largest_stable_rate(lambda _: [2.0, 1.0], most=5)
    assert (found.rate, found.unstable, found.runs) == (0.16, None, 5)
    assert found.reason == "the border was not bracketed within a ratio of 1.1 in 5 runs"
    assert largest_stable_rate(lambda _: [1.0, np.nan], most=3).rate is None


def test_a_run_diverged_where_it_ends_above_its_start_or_is_not_finite():
    assert has_diverged([1.0, 0.5, np.inf])
    assert has_diverged([1.0, 0.1, 0.1, 1.2])
    assert not has_diverged([1.0, 5.0, 0.5])
    with pytest.raises(LabError, match="a run without losses has neither converged nor diverged"):
        has_diverged([])
    with pytest.raises(LabError, match="start must be positive and ratio above 1"):
        largest_stable_rate(lambda _: [1.0], start=0.0)


def test_the_top_eigenvalue_is_that_of_the_whole_hessian():
    torch = pytest.importorskip("torch")
    from gnomon.lab.measures import top_eigenvalue

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    ).double()
    x, y = torch.randn(20, 3, dtype=torch.float64), torch.randint(0, 2, (20,))
    names = [name for name, _ in net.named_parameters()]

    def flat(vector):
        parts = vector.split([p.numel() for p in net.parameters()])
        shaped = {n: v.view_as(p) for n, v, p in zip(names, parts, net.parameters(), strict=True)}
        return torch.nn.functional.cross_entropy(torch.func.functional_call(net, shaped, x), y)

    point = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    whole = torch.autograd.functional.hessian(flat, point)
    values = torch.linalg.eigvalsh(whole)
    loss = lambda: torch.nn.functional.cross_entropy(net(x), y)
    found = top_eigenvalue(loss, net.parameters(), tolerance=1e-10)
    assert found.value == pytest.approx(float(values[-1]), rel=1e-8)
    assert found.residual < 1e-6


def test_the_top_eigenvalue_is_found_beside_a_larger_negative_one():
    torch = pytest.importorskip("torch")
    from gnomon.lab.measures import top_eigenvalue

    x = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    unused = torch.zeros(2, requires_grad=True, dtype=torch.float64)
    curvature = torch.tensor([-9.0, 2.0, 1.0, 0.5, -1.0], dtype=torch.float64)
    found = top_eigenvalue(lambda: (curvature * x**2).sum() / 2, [x, unused])
    assert found.value == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(LabError, match="1 numbers need a gradient, too few for a Hessian; pass"):
        top_eigenvalue(unused.sum, [torch.zeros(1, requires_grad=True)])


def test_the_hessian_of_a_transformer_agrees_with_differences_of_gradients():
    """H v by double differentiation, and by central differences of gradients in float64."""
    torch = pytest.importorskip("torch")
    import gnomon
    from gnomon.lab.measures import hessian_product
    from gnomon.lab.model import Transformer
    from gnomon.lab.scoring import loss
    from gnomon.lab.tasks import task

    made = task("order", length=6)
    torch.manual_seed(0)
    model = Transformer(
        vocabulary=made.vocabulary,
        classes=2,
        encoding=gnomon.encoding("rope", dimension=4),
        dimension=8,
        heads=2,
        layers=1,
    ).double()
    batch = made.batch(np.random.default_rng(0), 8)
    parameters = list(model.parameters())
    size = sum(p.numel() for p in parameters)
    vector = np.random.default_rng(1).standard_normal(size)
    product = hessian_product(lambda: loss(model, batch), parameters)(vector)

    start = torch.nn.utils.parameters_to_vector(parameters).detach()

    def gradient_at(step):
        moved = start + step * torch.from_numpy(vector)
        torch.nn.utils.vector_to_parameters(moved, parameters)
        grads = torch.autograd.grad(loss(model, batch), parameters)
        return torch.cat([g.reshape(-1) for g in grads]).numpy()

    expected = (gradient_at(1e-4) - gradient_at(-1e-4)) / 2e-4
    assert product == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())
