"""Verdicts on scalings from planted losses, whose ratios are known."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.reproduce.scaling import LINES, SCALED, judge, ratios

L0, LENGTH, DOCUMENTS = 16, 32, 3


def planted(within: dict[str, float], beyond: dict[str, float]) -> dict[str, np.ndarray]:
    """Losses of which every line is known to be so many times worse than the cut one."""
    rng = np.random.default_rng(5)
    base = rng.uniform(1.0, 5.0, (DOCUMENTS, LENGTH - 1))
    found = {}
    for line in LINES:
        more = np.full(LENGTH - 1, np.log(within.get(line, 1.0)))
        more[L0 - 1 :] = np.log(beyond.get(line, 1.0))
        found[line] = (base + more).astype(np.float32)
    return found


def test_ratios_are_those_planted_on_each_side_of_the_trained_length() -> None:
    found = ratios(planted({"linear": 1.5, "yarn": 1.02}, {"unscaled": 40.0, "yarn": 0.97}), L0)
    assert set(found) == set(LINES) - {"cut"}
    np.testing.assert_allclose(found["linear"].within, [1.5] * DOCUMENTS, rtol=1e-5)
    np.testing.assert_allclose(found["linear"].beyond, [1.0] * DOCUMENTS, rtol=1e-5)
    np.testing.assert_allclose(found["unscaled"].beyond, [40.0] * DOCUMENTS, rtol=1e-5)
    np.testing.assert_allclose(found["yarn"].within, [1.02] * DOCUMENTS, rtol=1e-5)
    np.testing.assert_allclose(found["yarn"].beyond, [0.97] * DOCUMENTS, rtol=1e-5)


GOOD_WITHIN = {"linear": 1.2} | dict.fromkeys(("ntk", "dynamic", "yarn", "llama3"), 1.001)
GOOD_BEYOND = {"unscaled": 9.0, "linear": 0.99, "ntk": 0.98, "dynamic": 0.97, "llama3": 0.96}


@pytest.mark.parametrize(
    ("starts", "within", "beyond", "holds"),
    [
        ("beyond its trained length", {}, {"unscaled": 2.01}, "holds"),
        ("beyond its trained length", {}, {"unscaled": 1.99}, "does not hold"),
        ("linear interpolation", {"linear": 1.051}, {}, "holds"),
        ("linear interpolation", {"linear": 1.049}, {}, "does not hold"),
        ("NTK-aware", {}, {"ntk": 1.099}, "holds"),
        ("NTK-aware", {}, {"ntk": 1.101}, "does not hold"),
        ("dynamic", {}, {"dynamic": 1.099}, "holds"),
        ("dynamic", {}, {"dynamic": 1.101}, "does not hold"),
        ("without fine-tuning YaRN", {}, {"yarn": 0.99}, "holds"),
        ("without fine-tuning YaRN", {}, {"yarn": 0.99, "ntk": 0.98}, "does not hold"),
        ("a scaling costs nothing", dict.fromkeys(SCALED, 1.009), {}, "holds"),
        ("a scaling costs nothing", dict.fromkeys(SCALED, 1.011), {}, "does not hold"),
        ("a scaling costs nothing", {"linear": 1.2}, {}, "depends"),
        ("a longer context", {}, dict.fromkeys(SCALED, 0.999), "holds"),
        ("a longer context", {}, dict.fromkeys(SCALED, 1.001), "does not hold"),
        ("a longer context", {}, {"yarn": 0.9, "ntk": 1.1, "linear": 1.1}, "depends"),
    ],
)
def test_a_claim_is_judged_by_its_cut_off(
    starts: str, within: dict[str, float], beyond: dict[str, float], holds: str
) -> None:
    (one,) = [c for c in judge(ratios(planted(within, beyond), L0)) if c.claim.startswith(starts)]
    assert one.holds == holds


def test_documents_that_disagree_make_a_claim_depend() -> None:
    losses = planted({}, {"unscaled": 9.0})
    losses["unscaled"][0] = losses["cut"][0]
    first = judge(ratios(losses, L0))[0]
    assert first.holds == "depends"
    assert "True in some documents of: unscaled, beyond." in first.verdict.reason


def test_the_reasons_hold_the_numbers() -> None:
    found = judge(ratios(planted(GOOD_WITHIN, GOOD_BEYOND), L0))
    reasons = " ".join(one.verdict.reason for one in found)
    assert "9.0000" in reasons
    assert "1.2000" in reasons
    assert "0.9600" in reasons
