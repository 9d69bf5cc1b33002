"""Grids in TOML: what they say, and what is refused before anything is trained."""

from __future__ import annotations

import pytest

from gnomon.errors import LabError
from gnomon.lab.grid import Cell, grid_of, read_grid

WHOLE = """
question = "Which is learned?"
[model]
dimension = 32
heads = 4
[training]
steps = 10
[sweep]
learning_rate = [1e-3, 3e-3]
seeds = [100, 101]
[report]
seeds = [0, 1, 2]
[tasks.near]
name = "distance"
length = 16
distances = 8
training = { steps = 20 }
[tasks.order]
[encodings.rope]
base = 100.0
sweep = { base = [30.0, 100.0] }
[encodings.one-head]
name = "rope"
on_heads = 1
[encodings.both]
parts = [{ name = "rope", on_layers = [0] }, { name = "t5", multiplier = 20.0 }]
tasks = ["order"]
[encodings.mla]
model = { kind = "latent" }
"""


def grid(tmp_path, text=WHOLE):
    file = tmp_path / "try.toml"
    file.write_text(text, encoding="utf-8")
    return read_grid(file)


def test_a_grid_says_which_cells_there_are(tmp_path):
    made = grid(tmp_path)
    assert made.name == "try"
    pairs = list(made.pairs())
    assert ("order", "both") in pairs
    assert ("near", "both") not in pairs
    assert len(pairs) == 2 * 4 - 1
    assert len(made.choices("rope")) == 4
    assert len(made.choices("one-head")) == 2


def test_a_cell_has_what_task_encoding_and_sweep_say(tmp_path):
    made = grid(tmp_path)
    choice = {"base": 30.0, "learning_rate": 1e-3}
    cell = made.cell("near", "rope", choice=choice, seed=7, phase="selection")
    assert cell.task_name == "distance"
    assert dict(cell.task_parameters) == {"length": 16, "distances": 8}
    assert cell.training.steps == 20
    assert cell.training.learning_rate == 1e-3
    assert dict(cell.parts[0].parameters) == {"base": 30.0}
    one = made.cell("order", "one-head", choice={}, seed=0, phase="report")
    assert one.parts[0].on_heads == 1
    both = made.cell("order", "both", choice={}, seed=0, phase="report")
    assert [part.name for part in both.parts] == ["rope", "t5"]
    assert both.parts[1].multiplier == 20.0
    assert made.cell("order", "mla", choice={}, seed=0, phase="report").model.kind == "latent"


def test_a_cell_keeps_its_digest_through_json_and_every_setting_changes_it(tmp_path):
    import json

    made = grid(tmp_path)
    cell = made.cell("near", "rope", choice={"base": 30.0}, seed=7, phase="report")
    again = Cell.from_dict(json.loads(json.dumps(cell.to_dict())))
    assert again.digest == cell.digest
    others = [
        made.cell("near", "rope", choice={"base": 31.0}, seed=7, phase="report"),
        made.cell("near", "rope", choice={"base": 30.0}, seed=8, phase="report"),
        made.cell("order", "rope", choice={"base": 30.0}, seed=7, phase="report"),
        made.cell(
            "near", "rope", choice={"base": 30.0, "learning_rate": 1.0}, seed=7, phase="report"
        ),
    ]
    assert len({cell.digest, *(other.digest for other in others)}) == 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[training]", "[trainin]", "The grid has no key 'trainin': did you mean 'training'"),
        ("steps = 10", "step = 10", r"\[training\] has no key 'step': did you mean 'steps'"),
        ("steps = 10", "steps = 0", r"\[training\] has steps 0; pass a whole number from 1 on"),
        ("steps = 10", "learning_rate = 0.0", "has learning_rate 0.0; pass a number above 0"),
        ("steps = 10", "warmup = 1.0", "has warmup 1.0; pass a number from 0 on and below 1"),
        ("dimension = 32", "dimension = 30", "dimension 30 and 4 heads; pass a dimension"),
        ("[0, 1, 2]", "[0, 100]", "The seed 100 is in .sweep. and in .report."),
        ("[0, 1, 2]", "[0, 0]", r"has seeds \(0, 0\); pass different whole numbers"),
        ("[0, 1, 2]", "[]", r"\[report\] has no seeds; pass a list"),
        ("seeds = [100, 101]", "", "4 settings to choose from and no seeds to choose on"),
        ("seeds = [100, 101]", 'seeds = [100]\nby = "speed"', "chooses by 'speed': known: area"),
        ('tasks = ["order"]', 'tasks = ["ordr"]', "is for task 'ordr': did you mean 'order'"),
        ("on_heads = 1", "on_heads = 1\nmultiplier = 0", "has multiplier 0; pass a number above 0"),
        ('tasks = ["order"]', "base = 3.0", "has parts and, beside them, 'base'"),
        ("sweep = { base = [30.0, 100.0] }", "sweep = { base = 3.0 }", "sweeps base over 3.0"),
        (
            'name = "rope"\non_heads = 1',
            "parts = []\nsweep = { base = [1.0] }",
            "sweeps base and has no part that it could belong to",
        ),
        ("[tasks.near]", '[tasks."a/b"]', "no name of a folder; use letters, digits"),
        ("question =", "question", "try.toml is no TOML"),
    ],
)
def test_a_grid_that_can_not_be_meant_is_refused_in_words(old, new, words, tmp_path):
    assert old in WHOLE
    with pytest.raises(LabError, match=words):
        grid(tmp_path, WHOLE.replace(old, new, 1))


def test_a_grid_without_tasks_or_without_a_file_is_refused(tmp_path):
    with pytest.raises(LabError, match=r"The grid has no tasks; add a table \[tasks.NAME\]"):
        grid_of({"encodings": {"rope": {}}})
    with pytest.raises(LabError, match="cannot be read"):
        read_grid(tmp_path / "none.toml")
    with pytest.raises(LabError, match="or one that ships: did you mean 'jordan'"):
        read_grid("jodran")


def test_a_cell_of_an_earlier_run_keeps_its_digest():
    """A cell as a record of the grid `deposit` has it, and the digest in the name of its file."""
    part = {"name": "learned", "parameters": {}, "on_layers": None, "on_heads": None}
    part |= {"multiplier": 1.0, "both_directions": False, "contents": ""}
    model = {"kind": "transformer", "dimension": 64, "layers": 2, "heads": 8, "feedforward": None}
    model |= {"causal": None, "rms": 0.5, "dropout": 0.0, "extra": {}}
    training = {"steps": 600, "batch": 32, "learning_rate": 0.001, "warmup": 0.06, "floor": 0.05}
    training |= {"betas": [0.9, 0.98], "decay": 0.01, "clip": 1.0, "evaluate_every": 50}
    training |= {"curve_samples": 512, "held_out": 2048, "measure_samples": 512, "lengths": []}
    training |= {"watch": [], "checkpoint_every": 200, "keep_weights": False}
    told = {"task": "counting", "encoding": "learned", "seed": 100, "phase": "selection"}
    told |= {"task_name": "counting", "task_parameters": {"length": 32}, "parts": [part]}
    told |= {"model": model, "training": training, "measures": []}
    told |= {"choice": {"multiplier": 1.0, "learning_rate": 0.001}}
    assert Cell.from_dict(told).digest == "2d87aa3fa0669ac2"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("steps = 10", "lengths = 16", r"\[training\] has lengths 16; pass a list"),
        ("steps = 10", "lengths = [true]", "has lengths True; pass a whole number from 1 on"),
        ("steps = 10", "betas = [2.0, 0.9]", "has betas 2.0; pass a number from 0 on and below 1"),
        ("steps = 10", "betas = [0.9]", r"has betas \[0.9\]; pass two numbers"),
        ("steps = 10", 'betas = "ab"', "has betas 'ab'; pass a list"),
        ("steps = 10", 'watch = "hessian"', "has watch 'hessian'; pass a list"),
        ("steps = 10", "watch = [3]", "has watch 3; pass a name in quotes"),
        ("steps = 10", 'keep_weights = "no"', "has keep_weights 'no'; pass true or false"),
        ("heads = 4", 'heads = 4\ncausal = "no"', "has causal 'no'; pass true or false"),
        ("heads = 4", "heads = 4\nkind = 3", "has kind 3; pass a name in quotes"),
        ("heads = 4", "heads = 4\nextra = 3", "has extra 3; pass a table of keys and values"),
        ("[1e-3, 3e-3]", "1e-3", r"\[sweep\] has learning_rate 0.001; pass a list"),
        ("[1e-3, 3e-3]", '["a"]', "has learning_rate 'a'; pass a number above 0"),
        ("[1e-3, 3e-3]", "[1e-3, 0.001]", "has learning_rate 0.001 twice; pass different values"),
        ("seeds = [100, 101]", "seeds = [100]\nby = 3", "has by 3; pass a name in quotes"),
        ("seeds = [100, 101]", 'seeds = [100]\nextend = "a"', "has extend 'a'; pass a whole"),
        ("seeds = [100, 101]", "seeds = [100]\nextend = -1", "has extend -1; pass a whole"),
        ("[0, 1, 2]", '[0]\nmeasures = "heads"', "has measures 'heads'; pass a list"),
        ('name = "distance"', "name = 3", r"\[tasks.near\] has name 3; pass a name in quotes"),
        ("{ steps = 20 }", "3", r"\[tasks.near\] has training 3; pass a table"),
        ("on_heads = 1", "on_heads = true", "has on_heads True; pass a whole number from 1 on"),
        ("on_heads = 1", "on_layers = 0", "has on_layers 0; pass a list"),
        ("on_heads = 1", 'both_directions = "no"', "has both_directions 'no'; pass true or false"),
        ('name = "rope"\non', "name = 3\non", "has name 3; pass a name in quotes"),
        ('name = "rope"\non_heads = 1', "parts = 3", "has parts 3; pass a list of tables"),
        ('tasks = ["order"]', 'tasks = "order"', "has tasks 'order'; pass a list"),
        ('tasks = ["order"]', "tasks = []", "is for no task; name some, or leave tasks out"),
        ("{ base = [30.0, 100.0] }", "3", r"\[encodings.rope\] has sweep 3; pass a table"),
        ("base = [30.0, 100.0]", "base = [3.0, 3.0]", "has base 3.0 twice; pass different"),
        ("base = [30.0, 100.0]", "learning_rate = [1.0]", "sweeps learning_rate, and so does"),
        ("question =", 'name = "../x"\nquestion =', "has name '../x', which is no name of a"),
    ],
)
def test_a_value_of_another_kind_is_refused_where_the_grid_is_read(old, new, words, tmp_path):
    assert old in WHOLE
    with pytest.raises(LabError, match=words):
        grid(tmp_path, WHOLE.replace(old, new, 1))
