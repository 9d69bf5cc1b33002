"""The figures of the page of trained models: what is drawn is what a record holds."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CIRCLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" fill="([^"]+)"')


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that draws, which is in no package."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import lab_figures

    yield lab_figures
    for name in ("lab_figures", "lab_results", "lab_seen", "lab_seen_stress", "svg"):
        sys.modules.pop(name, None)


def record(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    given = {"areas": [], "areas_interval": None, "scores": []}
    grids = {"small": {"name": "small", "rows": [given | row for row in rows]}}
    return {"name": "planted", "corpora": {"laboratory": {"grids": grids, **more}}}


def circles(sheet: Any) -> list[tuple[float, float, str]]:
    found = CIRCLE.findall("\n".join(sheet.shapes))
    return [(float(x), float(y), fill) for x, y, fill in found]


def test_a_dot_stands_where_its_value_is(figures: Any) -> None:
    rows = [
        {"task": "lag", "encoding": "rope", "areas": [0.0, 0.5, 1.0], "areas_interval": [0.2, 0.8]},
        {"task": "lag", "encoding": "nope", "areas": [0.25]},
    ]
    sheet = figures.areas(record(rows))
    first, last = figures.NAMES, figures.NAMES + figures.WIDTH
    assert [x for x, _, _ in circles(sheet)] == [
        first,
        (first + last) / 2,
        last,
        first + figures.WIDTH / 4,
    ]
    assert "lag: rope has the largest area, 0.500" in sheet.words


def test_labels_are_moved_apart_in_their_order_and_no_further(figures: Any) -> None:
    assert figures.apart([0.0, 30.0, 1.0], 10.0) == [-4.5, 30.0, 5.5]
    assert figures.apart([5.0, 5.0, 14.0, 40.0], 10.0) == [-2.0, 8.0, 18.0, 40.0]


def test_indices_are_those_of_runs_that_learned_above_their_noise(figures: Any) -> None:
    zero = {
        "index": [[0.5], [0.9], [0.7]],
        "largest": [[0.4], [0.01], [0.4]],
        "noise_band": [[0.05], [0.05], [0.05]],
    }
    heads = {"zero": zero | {"uniform": 0.125}, "mean": zero | {"index": [[0.25], [None], [0.7]]}}
    row = {"task": "distance", "encoding": "rope", "heads": heads, "seeds": [0, 1, 2]}
    row |= {"scores": [1.0, 1.0, 0.1], "ceiling": {"constant": 0.0, "value": 1.0}}
    sheet = figures.heads(record([row]))
    at = [((x - figures.NAMES) / figures.WIDTH, fill) for x, _, fill in circles(sheet)]
    assert at == [(0.25, "none"), (0.5, figures.RED)]
    assert figures.heads(record([{"task": "distance", "encoding": "rope"}])) is None


def test_a_claim_made_of_several_tasks_is_one_line_and_any_other_stays(figures: Any) -> None:
    from lab_results import short

    said = [
        ("A learns x better than B", "holds"),
        ("A learns y better than B", "undecided"),
        ("(i) A learns x better than others", "depends"),
    ]
    made = record([], evidence={said[2][0]: [{"reading": r} for r in ("open", "for", "open")]})
    made["verdicts"] = [{"claim": claim, "holds": holds} for claim, holds in said]
    assert short(made) == [
        ("A learns better than B", "holds: x; undecided: y"),
        ("(i) A learns x better than others", "depends (1 shown, 2 open)"),
    ]


def test_variation_is_shared_out_as_it_was_planted(figures: Any) -> None:
    from lab_seen import variation

    encodings, rates = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    crossed = 0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    seeds = np.array([-0.1, 0.1])
    values = encodings[:, None, None] + rates[:, None] + crossed[..., None] + seeds
    found = variation(values)  # squares by part: 2, 8, 2, 0.08
    wanted = {"encodings": 2.0, "rates": 8.0, "encodings with rates": 2.0, "seeds": 0.08}
    assert found == pytest.approx({name: part / 12.08 for name, part in wanted.items()})


def test_what_was_seen_afterwards_is_told_of_the_grids_that_have_it(figures: Any) -> None:
    from lab_seen import seen

    path = ROOT / "benchmarks" / "records" / "lab" / "deposit.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    lines = seen(known)
    rows = known["corpora"]["laboratory"]["grids"]["deposit-rates"]["rows"]
    curved = next(r["hessian"] for r in rows if r["encoding"] == "alibi-at-0.003")
    cell = f"{np.prod(curved) ** (1 / len(curved)):,.0f}"
    assert (
        next(line for line in lines if line.startswith("| alibi | 0.003")).split(" | ")[2] == cell
    )
    assert seen(record([])) == []


def test_a_line_by_length_goes_through_the_means_over_seeds(figures: Any) -> None:
    told = {"length": [32, 128], "scores": [[1.0, 1.0], [0.2, 0.4]]}
    sheet = figures.lengths(record([{"task": "lag", "encoding": "rope", "lengths": told}]))
    points = re.search(r'<polyline points="([^"]+)"', "\n".join(sheet.shapes))
    assert points is not None
    first, last = (tuple(map(float, one.split(","))) for one in points[1].split())
    assert last[0] - first[0] == pytest.approx(1.5 * figures.SQUARE)
    assert last[1] - first[1] == pytest.approx((1.0 - 0.3) * figures.SQUARE)
    assert figures.lengths(record([{"task": "lag", "encoding": "rope"}])) is None


def test_what_is_beside_training_has_one_dot_for_each_point(figures: Any) -> None:
    made = {"contraction": 0.5, "area": 0.8, "stable_rate": 0.1, "hessian": 9.0}
    lines = [{"encoding": "rope", **made}, {"encoding": "alibi", **made, "hessian": None}]
    found = record([], optimisation=lines)
    assert len(circles(figures.optimisation(found))) == 2 + 2 + 1
    stress = [
        {"corpus": corpus, "encoding": "mds", "scale": scale, "scale_free": 0.1, "along": 0.4}
        for corpus in ("drift", "splice")
        for scale in (0.05, 2.0)
    ]
    assert len(circles(figures.stress(record([], stress=stress)))) == 4
    assert figures.stress(record([])) is None
    assert figures.optimisation(record([])) is None


def test_what_was_seen_of_stress_is_what_was_planted(figures: Any) -> None:
    """Raw stress rises with the share on two corpora, on the third the share falls; one of four
    encodings at a scale is out of order, which is a rank correlation of 1 - 6 * 2 / 60 = 0.8.
    """
    import lab_seen_stress

    reached = {0.1: [0.0, 0.1, 0.2, 0.3], 2.0: [0.5, 0.6, 0.8, 0.7]}
    lines = [
        {
            "corpus": corpus,
            "encoding": f"e{k}",
            "scale": scale,
            "raw": 100.0 * scale + k,
            "scale_free": k / 10.0,
            "debiased": None,
            "share": -share if corpus == "bag" else share,
            "along": share,
        }
        for corpus in ("a", "b", "bag")
        for scale, shares in reached.items()
        for k, share in enumerate(shares)
    ]
    assert lab_seen_stress.rising(lines) == ["a", "b"]
    told = "\n".join(lab_seen_stress.seen(record([], stress=lines)))
    assert "on the 2 corpora" in told
    assert "| scale-free stress | 0.1 | +1.00 [+1.00, +1.00] | +1.0 | +1.0 | +1.0 |" in told
    assert "| scale-free stress | 2 | +0.80 [+0.80, +0.80] | +0.8 | +0.8 | +0.8 |" in told
    assert "debiased" not in told
    assert "e0 0.00 (0.00 to 0.00), e1 0.10 (0.10 to 0.10)" in told
    assert lab_seen_stress.seen(record([])) == []


def test_rates_at_an_end_of_their_list_are_counted(figures: Any) -> None:
    from lab_results import ends

    rows = [{"learning_rate": 1e-3, "at_edge": True}, {"learning_rate": 3e-3}, {}]
    assert ends({"rows": rows}) == "; 1 of 2 chosen rates is the first or last that was tried"
    assert ends({"rows": rows[1:]}) == ""
