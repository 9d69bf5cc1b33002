"""Models that are shown the answers of a task are refused; which tasks that are, is counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.grid import ModelConfig
from gnomon.lab.tasks import TASKS, task

TOKENS = {
    "recall": {},
    "lag": {"length": 12, "lag": 2, "symbols": 6},
    "reversal": {"length": 12, "symbols": 6},
    "modular": {"length": 12, "modulus": 3},
    "characters": {"length": 20},
}
ROWS = 3000


def batch_of(name):
    made = task(name, **TOKENS[name])
    batch = made.batch(np.random.default_rng(0), ROWS)
    counts = batch.mask if batch.weights is None else batch.weights > 0
    return made, batch, counts


def guessed(told, targets):
    """Return how often the commonest target of what is told is right, and that of all targets."""
    tables: dict[int, Counter] = {}
    for one, target in zip(told.tolist(), targets.tolist(), strict=True):
        tables.setdefault(one, Counter())[target] += 1
    right = sum(max(table.values()) for table in tables.values())
    return right / len(targets), Counter(targets.tolist()).most_common(1)[0][1] / len(targets)


def test_every_task_with_classes_for_tokens_is_counted_here():
    made = {name for name, kind in TASKS.items() if kind.output == "tokens"}
    assert made - {"decay"} == set(TOKENS)  # decay asks for numbers


@pytest.mark.parametrize("name", TOKENS)
def test_the_answer_before_gives_the_next_away_where_the_task_says_so(name):
    made, batch, counts = batch_of(name)
    both = counts[:, 1:] & counts[:, :-1]
    found, blind = guessed(batch.targets[:, :-1][both], batch.targets[:, 1:][both])
    if name == "characters":  # one letter tells something of the next, and is told to all models
        assert not made.tells_on
    else:
        assert (found > blind + 0.1) == made.tells_on
        assert (found == 1.0) == made.tells_on


@pytest.mark.parametrize("name", TOKENS)
def test_the_token_after_is_the_answer_where_the_task_says_so(name):
    made, batch, counts = batch_of(name)
    found, _ = guessed(batch.tokens[:, 1:][counts[:, :-1]], batch.targets[:, :-1][counts[:, :-1]])
    assert (found == 1.0) == made.tells_ahead


def test_a_model_that_would_see_what_it_is_asked_for_is_refused():
    pytest.importorskip("torch")
    from gnomon.lab.variants import build_model

    characters = task("characters")
    for kind in ("transformer", "gru"):
        how = ModelConfig(kind=kind, causal=False, dimension=16, heads=2)
        with pytest.raises(LabError, match="are tokens that come later, and a model with causal"):
            build_model(None, how, characters)
    for causal in (None, False, True):
        how = ModelConfig(kind="seq2seq", causal=causal)
        with pytest.raises(LabError, match="shown all tokens, and so what comes next"):
            build_model(None, how, characters)
    assert build_model(None, ModelConfig(dimension=16, heads=2), characters).causal
    assert not build_model(None, ModelConfig(causal=False), task("lag")).causal
