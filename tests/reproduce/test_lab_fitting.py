"""What grids add of their own: fits to training rows, stress as it enters, stable rates."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gnomon.corpus.counting import Silence, count
from gnomon.encodings.generators.fading import Jordan
from gnomon.encodings.registry import encoding
from gnomon.errors import LabError
from gnomon.lab.grid import EncodingEntry, PartConfig, grid_of
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Batch
from gnomon.lab.tasks.triggers import Order
from gnomon.pipeline.fitting import fit
from gnomon.reproduce import deposit as optimisation
from gnomon.reproduce import fits as lab_fitting
from gnomon.reproduce import stress_accuracy
from gnomon.reproduce.fits import corpus_of, group_parts, mds_part, name_rows, with_data, with_parts
from gnomon.reproduce.grids import Table, data_notes
from gnomon.reproduce.subjects import Options

MODEL = {"dimension": 16, "layers": 1, "heads": 2}


def test_a_fit_sees_training_rows_and_no_held_out_one() -> None:
    pytest.importorskip("sklearn")
    digits = task("digits-raster")
    documents = digits.documents()
    rows = corpus_of(digits)
    held = [
        digits.held_out(phase).batch(np.random.default_rng(0), 10_000)
        for phase in ("selection", "report")
    ]
    assert len(rows) + sum(batch.size for batch in held) == len(documents.tokens)
    # pictures that differ may have equal tokens: as many of each as the fit did not see
    seen = Counter(row.tobytes() for row in rows)
    every = Counter(row.tobytes() for row in documents.tokens)
    others = Counter(row.tobytes() for batch in held for row in batch.tokens)
    assert every - seen == others
    assert corpus_of(digits.held_out())[0].tobytes() == rows[0].tobytes()


def test_mds_of_three_regimes_has_three_points(tmp_path: Path) -> None:
    regimes = task("alignment", law="regimes", length=12, concentration=1.0)
    part = mds_part(regimes, tmp_path / "made" / "mds.safetensors", 16)
    table = np.asarray(encoding(part.name).vectors(np.arange(12.0)))
    apart = np.linalg.norm(table[:, None] - table[None], axis=2)
    regime = np.arange(12) * 3 // 12
    inside = regime[:, None] == regime[None]
    assert apart[inside].max() < 0.25 * apart[~inside].min()
    assert part.contents
    assert mds_part(regimes, tmp_path / "made" / "mds.safetensors", 16) == part


def test_a_fit_to_other_rows_is_another_file_and_is_not_taken_for_the_first(tmp_path) -> None:
    """Under another fold other rows are seen: what is kept is what a fit to these gives now."""
    pytest.importorskip("sklearn")
    made = [
        mds_part(task("digits-raster", fold=f), tmp_path / "mds.safetensors", 8) for f in (0, 3)
    ]
    assert len(list(tmp_path.iterdir())) == 2
    for fold, part in zip((0, 3), made, strict=True):
        counts = count(corpus_of(task("digits-raster", fold=fold)), length=16, cache=False)
        at = np.arange(16.0)
        anew = np.asarray(fit(counts, dimension=8).vectors(at))
        np.testing.assert_allclose(np.asarray(encoding(part.name).vectors(at)), anew, atol=1e-6)
    assert made[0].contents != made[1].contents


def test_notes_say_on_how_many_documents_scores_rest() -> None:
    data = {"test": 400, "one_answer": True, "standard_error": 0.015}
    rows = [
        {"task": "splice", "scores": [0.9], "data": data},
        {"task": "splice", "scores": [0.5], "data": data | {"standard_error": 0.025}},
        {"task": "code", "scores": [0.5], "data": {"test": 46, "one_answer": False}},
        {"task": "order", "scores": [0.5], "data": None},
    ]
    fixed, documents = data_notes({"rows": rows})
    assert "over seeds on one fixed test set" in fixed
    assert "splice 400, 0.015 to 0.025; code 46 files of many answers each." in documents
    assert data_notes({"rows": rows[3:]}) == []


class Bars(Order):
    """Rows of one accent in eight beats, which start anywhere: lags tell, places do not."""

    def draw(self, rng, mask):
        beats = (np.arange(mask.shape[1]) + rng.integers(0, 8, len(mask))[:, None]) % 8
        targets = np.zeros(len(mask), np.int64)
        return Batch(tokens=1 + (beats == 0), targets=targets, mask=mask)


def test_the_group_of_a_planted_period_has_that_period() -> None:
    part, bias = group_parts(Bars(length=48), width=8, heads=4)
    assert len(bias.parameters["slopes"]) == 4
    assert bias.parameters["symmetric"]
    turns = np.array(part.parameters["frequencies"]).ravel() * 8 / (2 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=0.02)
    assert 1 in np.rint(turns)
    made = encoding(part.name, dimension=8, **part.parameters)
    own = np.asarray(made.numbers["frequencies"]).ravel()
    np.testing.assert_allclose(own * 8 / (2 * np.pi), turns)


class Fading(Bars):
    """Markov chains on two symbols that forget half of where they were in three steps."""

    def draw(self, rng, mask):
        size, width = mask.shape
        fresh = rng.random((size, width)) > 0.5 ** (1 / 3)
        drawn = rng.integers(1, 3, (size, width))
        last = np.maximum.accumulate(np.where(fresh, np.arange(width), 0), axis=1)
        tokens = np.take_along_axis(drawn, last, axis=1)
        return Batch(tokens=tokens, targets=np.zeros(size, np.int64), mask=mask)


class Masked(Fading):
    """The same for models that see earlier tokens alone."""

    causal = True


def test_a_planted_half_life_is_a_slope_to_both_sides_and_a_decay_under_a_mask() -> None:
    turning, bias = group_parts(Fading(length=40), width=4, heads=2)
    assert min(bias.parameters["slopes"]) == pytest.approx(np.log(2) / 3, rel=0.15)
    (masked,) = group_parts(Masked(length=40), width=4, heads=2)
    kept, fading = (
        np.logaddexp(0.0, part.parameters["decays"]) + Jordan.least for part in (turning, masked)
    )
    assert fading.min() == pytest.approx(np.log(2) / 3, rel=0.15)
    assert kept.max() < 0.01


def grid(**tasks):
    table = {"model": MODEL, "tasks": tasks, "encodings": {"sinusoidal": {}}}
    return grid_of({**table, "report": {"seeds": [0, 1]}}, name="try")


def test_tasks_without_their_data_are_left_out_and_named(monkeypatch) -> None:
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    asked = grid(splice={}, order={"length": 8})
    kept, left = with_data(asked, Options())
    assert (list(kept.tasks), left) == (["order"], ["splice"])
    assert with_data(asked, Options(data=Path("somewhere"))) == (asked, [])
    with pytest.raises(LabError, match="reads real data; name their folder with --data"):
        with_data(grid(splice={}), Options())


def test_encodings_of_one_task_run_there_alone_and_get_their_name_back() -> None:
    entry = EncodingEntry(parts=(PartConfig(name="rope"),))
    made = with_parts(grid(order={"length": 8}, lag={"length": 8}), {("mds", "lag"): entry})
    assert ("lag", "mds.lag") in list(made.pairs())
    assert ("order", "mds.lag") not in list(made.pairs())
    rows = [{"task": "lag", "encoding": "mds.lag"}, {"task": "lag", "encoding": "rope"}]
    lines = [{"task": "lag", "encoding": "rope", "reference": "mds.lag"}]
    table = name_rows({"rows": rows, "compared": lines}, ["mds"])
    assert [r["encoding"] for r in table["rows"]] == ["mds", "rope"]
    assert table["compared"][0]["reference"] == "mds"


def test_digits_without_their_pictures_are_left_out_unless_drawn_ones_are_asked_for(
    monkeypatch,
) -> None:
    monkeypatch.setattr(lab_fitting, "real_digits", lambda: None)
    asked = grid(digits={}, raster={"name": "digits-raster", "drawn": True}, order={"length": 8})
    kept, left = with_data(asked, Options())
    assert (list(kept.tasks), left) == (["raster", "order"], ["digits"])


def test_raw_stress_follows_the_scale_that_enters_and_scale_free_stress_does_not() -> None:
    labels = {f"sinusoidal-x{rms}": rms for rms in (0.1, 1.0)}
    asked = grid_of(
        {
            "model": MODEL,
            "tasks": {"regimes": {"name": "alignment", "length": 12}},
            "encodings": {
                label: {"name": "sinusoidal", "model": {"extra": {"vectors_rms": rms}}}
                for label, rms in labels.items()
            },
        },
        name="try",
    )
    rows = [
        {
            "task": "regimes",
            "encoding": label,
            "seeds": [0],
            "scores": [0.75],
            "areas": [0.5],
            "ceiling": {"value": 1.0, "constant": 0.5},
        }
        for label in labels
    ]
    small, large = stress_accuracy.measure_stresses(
        asked, Table({"name": "try", "rows": rows}), Options(), Silence()
    )
    assert (small["encoding"], small["scale"], large["scale"]) == ("sinusoidal", 0.1, 1.0)
    assert small["scale_free"] == pytest.approx(large["scale_free"], rel=1e-9)
    assert small["debiased"] == pytest.approx(large["debiased"], rel=1e-9)
    assert (small["share"], small["along"]) == (0.5, 0.0)
    # Of vectors far larger than the target, raw stress is nearly their own squared size.
    assert large["raw"] / small["raw"] > 10.0


def test_what_optimisation_is_measured_by_is_kept_and_read_again(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(optimisation, "STEPS", 12)
    asked = grid_of(
        {
            "model": MODEL,
            "tasks": {"distance": {"length": 8, "distances": 4}},
            "encodings": {
                "sinusoidal": {},
                "rope": {"base": 100.0},
                "one": {"name": "rope", "base": 100.0, "on_heads": 1},
                "nope": {},
            },
        },
        name="try",
    )
    rows = [
        {"task": "distance", "encoding": name, "choice": {}, "seeds": [0], "areas": [0.4],
         "scores": [0.25 if name == "nope" else 0.9], "ceiling": {"constant": 0.25, "value": 1.0}}
        for name in ("sinusoidal", "rope", "one", "nope")
    ]  # fmt: skip
    table = Table({"name": "try", "rows": rows})
    first = optimisation.measure_optimisation(asked, table, tmp_path, Silence())
    assert (first[0]["contraction"], first[0]["in_model"]) == (1.0, 1.0)  # nothing acts on logits
    assert 0.0 < first[1]["contraction"] < 1.0  # the shared mean is damped
    assert first[1]["in_model"] != 1.0
    heads = MODEL["heads"]  # nothing acts on the others
    shared = (first[1]["contraction"] + heads - 1) / heads
    assert first[2]["contraction"] == pytest.approx(shared, abs=0.01)
    assert [line["encoding"] for line in first] == ["sinusoidal", "rope", "one"]  # those that learn
    for line in first:
        assert line["stable_rate"] > 0.0
        assert line["hessian"] > 0.0
        assert line["area"] == 0.4
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 3
    files[0].write_text(
        json.dumps(json.loads(files[0].read_text("utf-8")) | {"hessian": 7.5}), encoding="utf-8"
    )
    again = optimisation.measure_optimisation(asked, table, tmp_path, Silence())
    assert 7.5 in [line["hessian"] for line in again]


def test_a_trial_whose_loss_wavers_has_not_diverged_and_one_that_grew_has() -> None:
    from gnomon.lab.stability import has_diverged

    waver = [2.0, *([2.02] * 20)]
    assert has_diverged(waver)
    assert not has_diverged(optimisation._from_grown(waver))
    assert has_diverged(optimisation._from_grown([2.0, *([3.5] * 20)]))
