"""Documents of real tasks in three parts, and which of them training and scores see."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom

from gnomon.errors import LabError
from gnomon.lab.grid import Cell, ModelConfig, TrainingConfig
from gnomon.lab.table import document_error
from gnomon.lab.tasks import TASKS as KINDS
from gnomon.lab.tasks import digits as pictures
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Ceiling, Drawn
from gnomon.lab.tasks.documents import Documents, Labelled

EXACT = [k for k in KINDS.values() if issubclass(k, Drawn) and k.name != "alignment"]

PHASES = ("selection", "report")


def rng_of(seed=0):
    return np.random.default_rng(seed)


def parts_of(made, size=40_000):
    """Return many rows of training, and all rows of validation and test."""
    return [made.batch(rng_of(), size)] + [
        made.held_out(phase).batch(rng_of(), size) for phase in PHASES
    ]


@pytest.mark.data
def test_parts_of_splice_share_no_sequence_and_are_the_whole_file(data_root):
    lines = (data_root / "splice" / "splice.data").read_text().split()
    every = {tuple("ACGT".find(x) + 1 or 5 for x in row) for row in lines[2::3]}
    parts = [{tuple(row) for row in one.tokens.tolist()} for one in parts_of(task("splice",
             data=str(data_root)))]  # fmt: skip
    assert set.union(*parts) == every
    assert sum(map(len, parts)) == len(every)
    assert all(len(part) > 300 for part in parts)


def test_parts_of_digits_share_no_picture_and_are_all_of_them():
    images = pytest.importorskip("sklearn.datasets").load_digits().data
    parts = [{one.tobytes() for one in np.asarray(batch.values)} for batch in
             parts_of(task("digits-raster", length=64))]  # fmt: skip
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(np.unique(images, axis=0))


def test_parts_of_source_code_are_of_different_files():
    """The stream of every part is made of whole files: together they are as long as all files."""
    made = task("characters", length=8)
    streams = [one.stream() for one in (made, *(made.held_out(phase) for phase in PHASES))]
    other = task("characters", length=8, fold=4)
    again = [one.stream() for one in (other, *(other.held_out(phase) for phase in PHASES))]
    assert sum(map(len, streams)) == sum(map(len, again))
    windows = [
        {one[at : at + 400].tobytes() for at in range(0, len(one) - 400, 400)} for one in streams
    ]
    everywhere = streams[0].tobytes()
    for part in windows[1:]:
        assert sum(one in everywhere for one in list(part)[:40]) <= 1  # licences are repeated


@pytest.mark.data
def test_words_that_only_held_out_sentences_have_are_unknown(data_root):
    made = task("sentences", data=str(data_root), least_count=1)
    train = np.unique(made.batch(rng_of(), 200_000).tokens)
    assert set(train.tolist()) - {1} == set(range(made.vocabulary)) - {1}
    for phase in PHASES:
        held = made.held_out(phase).batch(rng_of(), 5000)
        assert (held.tokens == 1).sum() > 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class Marked(Labelled):
    """Forty documents, each with a token of its own; what is asked for is written down."""

    name = "marked"
    seen: ClassVar[list] = []
    length: int = 1

    @property
    def vocabulary(self):
        return 41

    @property
    def classes(self):
        return 2

    def documents(self):
        rows = np.arange(40)
        return Documents(tokens=rows[:, None] + 1, labels=rows % 2, folds=rows % 8)

    def made(self, rng, documents, picked):
        self.seen.append((self.part, set(picked.tolist())))
        return super().made(rng, documents, picked)

    def ceiling(self):
        return Ceiling(measure="accuracy", value=1.0, prior=0.5, constant=0.5)


def seen_in(phase):
    from gnomon.lab.training import train

    how = TrainingConfig(steps=12, batch=30, held_out=40, curve_samples=40, evaluate_every=6)
    size = ModelConfig(dimension=8, heads=1, layers=1)
    cell = Cell(task="marked", encoding="nope", seed=0, phase=phase, task_name="marked",
                training=how, model=size)  # fmt: skip
    Marked.seen.clear()
    record = train(Marked(), None, model=size, training=how, cell=cell).record
    trained = set().union(*(rows for part, rows in Marked.seen if part == "train"))
    scored = set().union(*(rows for part, rows in Marked.seen if part != "train"))
    return trained, scored, record


def test_rates_are_chosen_on_documents_that_are_neither_trained_on_nor_reported():
    pytest.importorskip("torch")
    (chosen_on, choice, _), (trained_on, report, record) = (seen_in(phase) for phase in PHASES)
    assert choice
    assert report
    assert not choice & report
    for trained in (chosen_on, trained_on):
        assert not trained & (choice | report)
        assert trained | choice | report == set(range(40))
    sizes = {"train": len(trained_on), "validation": len(choice), "test": len(report)}
    assert {key: record.data[key] for key in sizes} == sizes


def old_digest(cell):
    """Return the digest as it was defined first: of all values."""
    text = json.dumps(cell.to_dict(), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_records_of_drawn_tasks_stay_and_those_of_real_tasks_are_of_other_cells_now():
    def cell(name):
        return Cell(task=name, encoding="rope", seed=3, task_name=name, phase="selection")

    for kind in EXACT:
        assert cell(kind.name).digest == old_digest(cell(kind.name))
    for name in ("splice", "sentences", "digits", "characters"):
        assert cell(name).digest != old_digest(cell(name))


def test_the_error_of_documents_is_that_of_a_binomial_share():
    for accuracy, documents in ((0.9, 408), (0.5, 235), (1.0, 10)):
        wanted = binom.std(documents, accuracy) / documents
        assert document_error(accuracy, documents) == pytest.approx(wanted, abs=1e-15)
    assert document_error(-0.2, 10) is None
    assert document_error(0.5, 0) is None


@pytest.mark.data
def test_the_digest_of_data_is_of_what_they_hold_and_not_of_where_they_lie(data_root, tmp_path):
    first = task("splice", data=str(data_root)).data_read()
    for name in ("there", "changed"):
        (tmp_path / name).mkdir()
        shutil.copy(data_root / "splice" / "splice.data", tmp_path / name)
    file = tmp_path / "changed" / "splice.data"
    text = file.read_text()
    at = text.index("CCAGC")
    file.write_text(text[:at] + "G" + text[at + 1 :])
    assert task("splice", data=str(tmp_path / "there")).data_read() == first
    assert task("splice", data=str(tmp_path / "changed")).data_read()["digest"] != first["digest"]
    assert first["train"] + first["validation"] + first["test"] == 3190


def test_drawn_tasks_read_no_data():
    assert task("order").data_read() == {}


def test_digits_are_refused_where_their_pictures_are_not_and_never_replaced(monkeypatch):
    monkeypatch.setattr(pictures, "real_digits", lambda: None)
    pictures._read.cache_clear()
    with pytest.raises(LabError, match="task digits reads the pictures that scikit-learn carries"):
        task("digits").batch(rng_of(), 1)
    assert task("digits", drawn=True).batch(rng_of(), 5).size == 5
    pictures._read.cache_clear()


def test_drawn_digits_are_another_task_and_other_data():
    pytest.importorskip("sklearn")
    cells = [
        Cell(task="digits", encoding="rope", seed=0, task_name="digits", task_parameters=given)
        for given in ({}, {"drawn": True})
    ]
    assert cells[0].digest != cells[1].digest
    digests = {task("digits", drawn=drawn).data_read()["digest"] for drawn in (False, True)}
    assert len(digests) == 2
