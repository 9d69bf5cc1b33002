"""Power laws and exponentials that are planted are told apart, or said not to be."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.lags.information import lag_information
from gnomon.lags.kernel import lag_kernel
from gnomon.lags.tails import CLEAR, DecayLaw, _agree, fit_decay_law


def chain(rng, stay, *, types=6, documents=120, length=300):
    """A Markov chain, and the size of its second eigenvalue: I falls with its square."""
    steps = stay * np.eye(types) + (1.0 - stay) * rng.dirichlet(np.ones(types), size=types)
    sizes = np.sort(np.abs(np.linalg.eigvals(steps)))
    made = rng.integers(types, size=(documents, length + 50))
    for place in range(1, length + 50):
        rows = steps.cumsum(axis=1)[made[:, place - 1]]
        made[:, place] = (rng.random((documents, 1)) > rows).sum(axis=1).clip(max=types - 1)
    return made[:, 50:], float(sizes[-2])


def runs(rng, tail, *, types=4, documents=150, length=1500):
    """States that are held for runs with P(run > t) = t^-tail: covariances fall as t^(1 - tail)."""
    made = []
    for _ in range(documents):
        held = np.ceil(rng.random(length) ** (-1.0 / tail)).astype(int).clip(max=10 * length)
        line = np.repeat(rng.integers(types, size=length), held)
        start = rng.integers(len(line) - length + 1)
        made.append(line[start : start + length])
    return made


def test_a_markov_chain_falls_exponentially_with_its_second_eigenvalue(rng):
    documents, second = chain(rng, 0.85)
    law = fit_decay_law(lag_information(documents, lags=64))
    assert law.law == "exponential"
    assert law.evidence_interval[1] < 0.0
    truth = np.log(0.5) / (2.0 * np.log(second))
    assert law.half_life == pytest.approx(truth, rel=0.25)


def test_heavy_runs_fall_as_a_power_law(rng):
    law = fit_decay_law(lag_information(runs(rng, 1.5), lags=96))
    assert law.law == "power law"
    assert law.evidence_interval[0] > 0.0
    assert law.exponent == pytest.approx(2.0 * (1.5 - 1.0), abs=0.4)


@pytest.mark.wide
@pytest.mark.parametrize("stay", [0.5, 0.7, 0.9])
def test_no_markov_chain_is_called_a_power_law(stay):
    laws = []
    for seed in range(8):
        documents, _ = chain(np.random.default_rng(seed), stay)
        laws.append(fit_decay_law(lag_information(documents, lags=96)).law)
    assert "power law" not in laws
    assert laws.count("exponential") >= 5


@pytest.mark.wide
@pytest.mark.parametrize("tail", [1.3, 1.5, 1.8])
def test_no_heavy_runs_are_called_exponential(tail):
    laws = []
    for seed in range(8):
        documents = runs(np.random.default_rng(seed), tail)
        laws.append(fit_decay_law(lag_information(documents, lags=96)).law)
    assert "exponential" not in laws
    assert laws.count("power law") >= 6


def test_what_does_not_fall_has_no_law(rng):
    laws = rng.dirichlet(np.full(12, 0.5), size=10).cumsum(axis=1)
    rows = laws[(rng.integers(10, size=(80, 1)) + np.arange(300)) % 10]
    law = fit_decay_law(lag_information((rng.random((80, 300, 1)) > rows).sum(axis=2).clip(max=11)))
    assert law.law == "none"
    assert law.reason == "dependence does not fall over these lags by more than its error"


def test_nothing_has_no_law(rng):
    law = fit_decay_law(lag_information(rng.integers(5, size=(32, 60)), lags=16))
    assert (law.law, law.reason) == ("none", "no dependence is detected at any lag")
    assert law.exponent is None


def test_dependence_at_few_lags_tells_no_law(rng):
    """x_i and x_(i+1) share a bit, and no others do."""
    bits = rng.integers(2, size=(64, 101))
    law = fit_decay_law(lag_information(2 * bits[:, :-1] + bits[:, 1:], lags=32))
    assert law.law == "neither can be told apart"
    assert law.reason == "laws need 5 bins of lags with dependence, and it is detected in 1"


def states(rng, half_life, *, types, documents=300, length=300):
    """A state of one of many types by Zipf's law stays or is drawn anew."""
    law = 1.0 / np.arange(1, types + 1)
    made = []
    for _ in range(documents):
        kept = rng.random(length) < 2.0 ** (-1.0 / half_life)
        held = np.maximum.accumulate(np.where(kept, 0, np.arange(length)))
        made.append(rng.choice(types, p=law / law.sum(), size=length)[held])
    return made


@pytest.mark.parametrize("types", [8, 200])
def test_an_exponential_is_no_power_law_however_many_types_share_it(types):
    """Information of rare types is no square of their dependence, and bends."""
    for seed in range(2):
        documents = states(np.random.default_rng([11, seed]), 20.0, types=types)
        kernel = lag_kernel(documents, lags=96, folds=32)
        law = fit_decay_law(lag_information(documents, lags=96), kernel=kernel)
        assert law.kernel_evidence < -CLEAR
        assert law.law != "power law"


def test_heavy_runs_are_a_power_law_in_equal_tokens_too(rng):
    documents = runs(rng, 1.5, documents=100, length=1200)
    kernel = lag_kernel(documents, lags=96, folds=32)
    law = fit_decay_law(lag_information(documents, lags=96), kernel=kernel)
    assert law.law == "power law"
    assert law.kernel_evidence > CLEAR


@pytest.mark.parametrize(
    ("law", "all_lags", "equal", "named"),
    [
        ("power law", 20.0, 30.0, "power law"),
        ("power law", 20.0, None, "power law"),
        ("power law", -20.0, None, "neither can be told apart"),
        ("power law", 4.0, -30.0, "neither can be told apart"),
        ("exponential", -4.0, 30.0, "neither can be told apart"),
        ("exponential", -90.0, -1.0, "exponential"),
        ("none", -90.0, 90.0, "none"),
    ],
)
def test_a_law_is_named_where_nothing_speaks_against_it(law, all_lags, equal, named):
    given = DecayLaw(law=law, reason="as it is", begins=3.0)
    assert _agree(given, all_lags, equal).law == named
