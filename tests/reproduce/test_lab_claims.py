"""Verdicts on grids whose truth was planted: claims that are true, false, and not to be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnomon.reproduce import deposit as deposit_claims
from gnomon.reproduce import extrapolation, fitted, jordan, necessity, stress_accuracy
from gnomon.reproduce.deposit import correlations_of, judge_optimisation
from gnomon.reproduce.grids import Table

ADDITIVE = deposit_claims.ADDITIVE
SEEDS = 5


def row(
    task: str,
    encoding: str,
    *,
    area: float = 0.5,
    score: float = 0.9,
    noise: float = 0.004,
    index: float | None = None,
    lengths: tuple[float, float] | None = None,
    seconds: float = 10.0,
    constant: float = 0.0,
    seeds: int = SEEDS,
    clear: bool = True,
) -> dict[str, Any]:
    """Return a row whose seeds lie around the planted means, a little apart."""
    stream = np.random.default_rng(sum(map(ord, task + encoding)))

    def around(mean: float) -> list[float]:
        wobble = stream.normal(0.0, noise, seeds)
        return (mean + wobble - wobble.mean()).tolist()

    heads = None
    if index is not None:
        values = around(index)
        told = {
            "index": [[value, 0.3] for value in values],
            "largest": [[0.5, 0.1]] * seeds,
            "noise_band": [[0.05 if clear else 0.9, 0.2]] * seeds,
            "effective_heads": [[2.0, 2.0]] * seeds,
            "gini": [[0.5, 0.5]] * seeds,
            "deposit": [[clear, False]] * seeds,
            "null": [[0.2, 0.2]] * seeds,
            "uniform": 0.125,
            "drops": [[0.5, 0.2, 0.1], [0.1, 0.05, 0.0]],
        }
        heads = {"zero": told, "mean": told}
    ends = None
    if lengths is not None:
        ends = {"length": [32, 128], "scores": [around(lengths[0]), around(lengths[1])]}
    return {
        "task": task,
        "encoding": encoding,
        "parts": [{"name": encoding}],
        "learning_rate": 3e-3,
        "steps": 600,
        "model": {"kind": "transformer", "dimension": 64, "layers": 2, "heads": 8},
        "choice": {"learning_rate": 3e-3},
        "seeds": list(range(seeds)),
        "scores": around(score),
        "scores_interval": [score - 0.01, score + 0.01],
        "areas": around(area),
        "areas_interval": [area - 0.01, area + 0.01],
        "steps_to_90": [200] * (seeds - 1) + [None],
        "late": [],
        "diverged": 0,
        "failed": 0,
        "ceiling": {"measure": "accuracy", "value": 1.0, "prior": constant, "constant": constant},
        "parameters": 70_000,
        "cpu_seconds": [seconds * factor for factor in np.linspace(0.99, 1.01, seeds)],
        "curve": {"step": [50, 100], "mean": [0.2, score], "low": [0.1, 0.8], "high": [0.3, 1.0]},
        "lengths": ends,
        "heads": heads,
        "hessian": None,
        "hessian_along": None,
        "contraction": None,
        "toeplitz_share": None,
    }


def grid(*rows: dict[str, Any], name: str = "deposit") -> dict[str, Any]:
    """Return a table of a grid."""
    return {
        "name": name,
        "question": "Which?",
        "runs": len(rows) * SEEDS,
        "diverged": 0,
        "failed": 0,
        "cpu_seconds": 100,
        "versions": {},
        "rows": list(rows),
    }


def distance(rope: float, others: float, *, noise: float = 0.004, **more) -> Table:
    rows = [row("distance", "rope", area=rope, noise=noise, **more)]
    rows += [row("distance", name, area=others, noise=noise, **more) for name in ADDITIVE]
    return Table(grid(*rows))


def test_rope_is_better_where_that_was_planted_and_only_there() -> None:
    assert deposit_claims.judge_better([distance(0.8, 0.6)]).holds == "holds"
    assert deposit_claims.judge_better([distance(0.6, 0.8)]).holds == "does not hold"
    assert deposit_claims.judge_better([distance(0.7, 0.701, noise=0.1)]).holds == "undecided"
    mixed = distance(0.7, 0.6).rows.copy()
    made = Table(grid(*mixed.values()))
    made.rows["distance", "t5"] = row("distance", "t5", area=0.9)
    assert deposit_claims.judge_better([made]).holds == "depends"
    assert (
        deposit_claims.judge_better([Table(grid(row("distance", "rope")))]).holds == "untested here"
    )


def test_both_sizes_of_models_count_and_are_told_apart() -> None:
    large = Table(
        grid(row("distance", "rope", area=0.5), row("distance", "alibi", area=0.8), name="large")
    )
    made = deposit_claims.judge_better([distance(0.8, 0.6), large])
    assert made.holds == "depends"
    assert (
        "Shown otherwise: rope less alibi, area on distance (large) -0.300" in made.verdict.reason
    )


@pytest.mark.parametrize(
    ("nope", "mla", "holds"),
    [
        (0.70, 0.75, "holds"),
        (0.695, 0.70, "holds"),  # a difference that does not matter
        (0.60, 0.60, "does not hold"),
        (0.60, 0.75, "depends"),
    ],
)
def test_counting_is_no_worse_where_it_lags_by_less_than_matters(nope, mla, holds) -> None:
    table = Table(
        grid(
            row("counting", "rope", area=0.70),
            row("counting", "nope", area=nope),
            row("counting", "mla", area=mla),
        )
    )
    assert deposit_claims.judge_counting([table]).holds == holds


def heads(rope: float, others: float, counting: float, **more) -> Table:
    rows = [row("distance", "rope", index=rope), row("counting", "rope", index=counting)]
    return Table(grid(*rows, *(row("distance", name, index=others, **more) for name in ADDITIVE)))


def test_a_deposit_of_rope_alone_is_found_where_it_was_planted() -> None:
    assert deposit_claims.judge_only([heads(0.9, 0.3, 0.3)]).holds == "holds"
    assert deposit_claims.judge_only([heads(0.3, 0.7, 0.5)]).holds == "does not hold"
    assert deposit_claims.judge_only([heads(0.6, 0.3, 0.9)]).holds == "depends"


@pytest.mark.parametrize(("index", "holds"), [(0.7, "holds"), (0.3, "does not hold")])
def test_a_deposit_is_more_than_half_of_what_the_layer_loses(index, holds) -> None:
    """Above all others at 0.3 is no deposit: most of the work is done elsewhere."""
    assert deposit_claims.judge_deposit([heads(index, 0.15, 0.15)]).holds == holds
    assert deposit_claims.judge_only([heads(index, 0.15, 0.15)]).holds == "holds"


def test_a_run_that_did_not_learn_has_no_index_though_its_row_has_learned() -> None:
    told = row("distance", "rope", index=0.8)
    told["scores"][0] = 0.2
    assert sorted(Table(grid(told)).values("distance", "rope", "index zero")) == [1, 2, 3, 4]


def test_heads_of_models_that_did_not_learn_say_nothing_and_are_named() -> None:
    made = deposit_claims.judge_only([heads(0.9, 0.3, 0.3, score=0.1)])
    assert {one.what.split(",")[0] for one in made.contrasts} == {
        "rope on distance less rope on counting"
    }
    assert "did not learn distance: sinusoidal, learned, alibi, offset-bias, t5." in made.reason
    assert (
        deposit_claims.judge_only([heads(0.9, 0.3, 0.3, clear=False)])
        .contrasts[0]
        .what.startswith("rope on distance")
    )


@pytest.mark.parametrize(("mla", "holds"), [(0.2, "holds"), (0.8, "does not hold")])
def test_mla_lowers_the_index_where_that_was_planted(mla, holds) -> None:
    table = Table(grid(row("distance", "rope", index=0.5), row("distance", "mla", index=mla)))
    assert deposit_claims.judge_mla([table]).holds == holds
    assert deposit_claims.judge_mla([distance(0.5, 0.5)]).holds == "untested here"


@pytest.mark.parametrize(
    ("score", "area", "holds"),
    [(0.89, 0.49, "holds"), (0.89, 0.2, "depends"), (0.5, 0.2, "does not hold")],
)
def test_one_head_is_enough_in_score_and_in_speed(score, area, holds) -> None:
    table = Table(
        grid(
            row("distance", "rope", score=0.9, area=0.5),
            row("distance", "rope-one-head", score=score, area=area),
        )
    )
    assert deposit_claims.judge_one_head([table]).holds == holds


def lines(sign: float) -> list[dict]:
    """Encodings whose rate, curvature and area follow their contraction, or run against it."""
    return [
        {
            "encoding": f"e{k}",
            "contraction": 0.5 + 0.1 * k,
            "in_model": 0.5 + 0.1 * k,
            "stable_rate": 0.1 - sign * 0.005 * k,
            "hessian": 5.0 + sign * 0.1 * k,
            "area": 0.5 - sign * 0.01 * k,
        }
        for k in range(14)
    ]


def test_contraction_helps_where_that_was_planted() -> None:
    assert judge_optimisation(lines(1.0)).holds == "holds"
    assert judge_optimisation(lines(-1.0)).holds == "does not hold"
    assert judge_optimisation(lines(1.0)[:4]).holds == "untested here"
    assert "nothing below 0.71 in size can be shown" in judge_optimisation(lines(1.0)).reason
    shuffled = lines(1.0)
    order = [6, 2, 11, 9, 0, 13, 4, 7, 1, 12, 3, 10, 5, 8]
    for place, line in zip(order, shuffled, strict=True):
        line["contraction"] = line["in_model"] = 0.5 + 0.1 * place
    assert judge_optimisation(shuffled).holds == "undecided"
    assert correlations_of(lines(1.0))["hessian"]["value"] == 1.0


def test_a_jordan_block_is_judged_by_task_and_rival_and_by_its_cost() -> None:
    rivals = {"rope": 0.7, "alibi": 0.3, "rope-alibi": 0.7}
    table = Table(
        grid(
            row("distance", "jordan", area=0.9, seconds=15.0),
            row("lag", "jordan", area=0.5, seconds=15.0),
            *(row(task, name, area=area) for task in ("distance", "lag")
              for name, area in rivals.items()),
        )
    )  # fmt: skip
    outcomes = {one.claim.removeprefix("a Jordan block learns "): one.holds
                for one in jordan.judge(table)}  # fmt: skip
    assert outcomes["distance better than RoPE"] == "holds"
    assert outcomes["distance better than RoPE and ALiBi together"] == "holds"
    assert outcomes["lag better than RoPE"] == "does not hold"
    assert outcomes["lag better than ALiBi"] == "holds"
    assert jordan.judge_learned(table).holds == "untested here"
    assert jordan.judge_cost(table).holds == "does not hold"
    cheap = Table(grid(row("lag", "jordan", seconds=10.2), row("lag", "rope")))
    assert jordan.judge_cost(cheap).holds == "holds"


def test_a_jordan_block_that_learns_its_numbers_is_compared_with_rope_that_does() -> None:
    table = Table(
        grid(row("lag", "jordan-learned", area=0.9), row("lag", "rope-learned", area=0.5))
    )
    assert jordan.judge_learned(table).holds == "holds"


def test_what_is_kept_on_longer_sequences_is_told_from_what_is_lost() -> None:
    table = Table(
        grid(
            row("lag", "alibi", lengths=(0.9, 0.88)),
            row("lag", "rope", lengths=(0.9, 0.4)),
            row("lag", "xpos", lengths=(0.9, 0.8)),
            row("lag", "sinusoidal", lengths=(0.9, 0.89)),
            row("lag", "t5", lengths=(0.1, 0.1), score=0.1),
        )
    )
    outcomes = {one.claim.split(" ")[0]: one for one in extrapolation.judge(table)}
    assert outcomes["alibi"].holds == "holds"
    assert outcomes["rope"].holds == "holds"
    assert outcomes["sinusoidal"].holds == "does not hold"
    assert outcomes["t5"].holds == "untested here"
    assert "Not learned, and so left out: lag." in outcomes["t5"].reason
    assert outcomes["xpos"].holds == "holds"
    assert outcomes["xpos"].contrasts[0].mean == pytest.approx(0.4, abs=1e-6)


def test_a_seed_that_has_not_learned_keeps_nothing() -> None:
    made = row("lag", "alibi", lengths=(0.9, 0.6))
    for length in made["lengths"]["scores"]:
        length[0] = 0.05  # as little afterwards as before
    found = extrapolation.judge(Table(grid(made)))[0]
    assert found.holds == "does not hold"
    assert len(found.contrasts[0].values) == SEEDS - 1


def test_what_tells_order_without_an_encoding_is_told_from_what_is_blind() -> None:
    table = Table(
        grid(
            *(row(task, "attention", score=0.52, constant=0.5) for task in ("lag", "order")),
            *(row(task, "causal", score=0.9, constant=0.5) for task in ("lag", "order")),
            *(row(task, "causal-rope", score=0.9, area=0.7) for task in ("lag", "order")),
            row("lag", "gru", score=0.9, area=0.6),
            row("order", "gru", score=0.51, constant=0.5, area=0.5),
            row("lag", "gru-sinusoidal", area=0.6),
            row("order", "gru-sinusoidal", area=0.4),
        )
    )
    outcomes = [one.holds for one in necessity.judge(table)]
    assert outcomes == [
        *("holds", "holds", "depends", "untested here"),
        *("does not hold", "holds", "untested here"),
    ]
    bag = row("lag", "attention", score=0.52, constant=0.1)
    bag["ceiling"]["prior"] = 0.5  # what the bag of tokens tells is not order
    assert necessity.judge(Table(grid(bag)))[0].holds == "holds"
    seeing = Table(grid(row("lag", "attention", score=0.9, constant=0.5)))
    assert necessity.judge(seeing)[0].holds == "does not hold"


def test_a_fit_is_judged_against_one_rival_and_against_the_best() -> None:
    rows = [row("splice", "mds", area=0.8), row("splice", "sinusoidal", area=0.6)]
    rows += [row("splice", "rope", area=0.9), row("splice", "group", area=0.95)]
    rows += [row("splice", "rope-alibi", area=0.97)]
    found = [one.holds for one in fitted.judge(Table(grid(*rows)))]
    assert found == [
        *("holds", "untested here", "does not hold"),
        *("holds", "does not hold", "does not hold"),
    ]


def test_the_best_rival_is_that_of_the_seeds_of_the_choice() -> None:
    rope, alibi = row("splice", "rope", area=0.7), row("splice", "alibi", area=0.75)
    rope["tried"] = [{"learning_rate": 1e-3, "mean": 0.8}, {"learning_rate": 3e-3, "mean": None}]
    alibi["tried"] = [{"learning_rate": 1e-3, "mean": 0.6}]
    (found,) = fitted.judge_best(
        Table(grid(row("splice", "mds", area=0.9), rope, alibi)), "mds", "c"
    ).contrasts
    assert found.what.startswith("mds less rope")


def points(sign: float, corpora: int = 6) -> list[dict]:
    """Encodings whose accuracy falls with stress (sign 1), or rises with it, in every corpus."""
    return [
        {
            "corpus": f"c{corpus}",
            "encoding": name,
            "scale": 0.5,
            "raw": 0.1 * k + 0.001 * corpus,
            "scale_free": 0.1 * k,
            "debiased": None if corpus == 0 else 0.1 * k,
            "share": 0.5 - sign * (0.1 * k + (0.15 if k == 2 + corpus % 3 else 0.0)),
            "along": 0.4 - sign * (0.1 * k + (0.15 if k == 2 + corpus % 3 else 0.0)),
        }
        for corpus in range(corpora)
        for k, name in enumerate(("mds", "sinusoidal", "random", "other", "last"))
    ]


def test_stress_goes_with_accuracy_where_that_was_planted() -> None:
    assert [one.holds for one in stress_accuracy.judge(points(1.0))] == ["holds"] * 4
    found = [one.holds for one in stress_accuracy.judge(points(-1.0))]
    assert found == ["does not hold"] * 4
    mixed = points(1.0)[:15] + [
        {**point, "corpus": f"d{point['corpus']}"} for point in points(-1.0)[:15]
    ]
    assert stress_accuracy.judge_together(mixed, "raw").holds == "undecided"
    assert [one.holds for one in stress_accuracy.judge([])] == ["untested here"] * 4


def test_a_corpus_without_debiased_stress_is_left_out_of_it_alone() -> None:
    assert len(stress_accuracy.by_corpus(points(1.0), "raw")) == 6
    assert "c0" not in stress_accuracy.by_corpus(points(1.0), "debiased")
    told = stress_accuracy.correlations_of(points(1.0))["debiased"]
    assert told["interval"][1] < 0.0
    assert set(told["by"]) == {"c1", "c2", "c3", "c4", "c5"}
