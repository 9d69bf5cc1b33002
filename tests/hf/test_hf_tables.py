"""Tables of positions with the vectors of an encoding in their rows."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.encodings.tables import Table

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5.0")
hf = pytest.importorskip("gnomon.hf")
WIDTHS = {"bert": 32, "gpt2": 32, "roberta": 32, "opt": 32, "electra": 16, "albert": 16, "bart": 32}
FIRST = {"roberta": 1, "opt": 2, "bart": 2}
"""The first row that is a position: after the row of padding (here 0), or after an offset."""
TABLE = {
    "bert": "bert.embeddings.position_embeddings.weight",
    "roberta": "roberta.embeddings.position_embeddings.weight",
    "gpt2": "transformer.wpe.weight",
    "opt": "model.decoder.embed_positions.weight",
}


@pytest.mark.parametrize("family", WIDTHS)
def test_uninstall_brings_every_model_with_a_table_back_bit_for_bit(room, family):
    model = room.build(family)
    before = room.photograph(model)
    hf.install(model, gnomon.encoding("sinusoidal", dimension=WIDTHS[family]))
    assert not torch.equal(room.logits(model), before["logits"])
    hf.uninstall(model)
    room.assert_same(room.photograph(model), before)


@pytest.mark.parametrize("family", TABLE)
def test_rows_are_the_vectors_and_rows_before_the_first_position_stay(room, family):
    model = room.build(family)
    before = model.get_parameter(TABLE[family]).detach().clone()
    encoding = gnomon.encoding("sinusoidal", dimension=32)
    hf.install(model, encoding)
    rows, first = model.get_parameter(TABLE[family]).detach(), FIRST.get(family, 0)
    wanted = encoding.vectors(np.arange(len(rows) - first)).astype(np.float32)
    np.testing.assert_array_equal(rows[first:], wanted)
    assert torch.equal(rows[:first], before[:first])


@pytest.mark.parametrize("family", TABLE)
def test_the_first_token_of_a_sentence_has_the_vector_of_position_0(room, family):
    """Row 0 of the encoding is huge, so a model that counts from elsewhere would not feel it."""
    model, length = room.build(family), room.LENGTH
    values = np.zeros((length, 32))
    values[0, 0] = 1000.0
    plain = room.logits(hf.install(model, Table(values=np.zeros((length, 32)))))
    hf.uninstall(model)
    marked = room.logits(hf.install(model, Table(values=values)))
    assert not torch.equal(plain[:, 0], marked[:, 0])
    hf.uninstall(model)
    values[0, 0], values[11, 0] = 0.0, 1000.0
    last = room.logits(hf.install(model, Table(values=values)))
    assert not torch.equal(plain[:, 11], last[:, 11])


@pytest.mark.parametrize("family", ["bert", "gpt2", "roberta", "opt"])
def test_a_model_with_its_own_table_installed_is_itself_bit_for_bit(room, family):
    model = room.build(family)
    before = room.logits(model)
    hf.install(model, hf.read(model))
    assert torch.equal(room.logits(model), before)


@pytest.mark.parametrize("name", ["sinusoidal", "random"])
def test_a_saved_model_computes_the_same_in_transformers_without_gnomon(room, tmp_path, name):
    model = hf.install(room.build("bert"), gnomon.encoding(name, dimension=32))
    model.save_pretrained(tmp_path)
    stock = type(model).from_pretrained(tmp_path).eval()
    assert type(stock.bert.embeddings.position_embeddings) is torch.nn.Embedding
    assert torch.equal(room.logits(stock), room.logits(model))


def test_a_loaded_model_has_its_encoding_and_the_weights_from_before(room, tmp_path):
    model = room.build("gpt2")
    before = room.photograph(model)
    fixed = gnomon.encoding("sinusoidal", dimension=32, base=100.0)
    changed = room.logits(hf.install(model, fixed))
    model.save_pretrained(tmp_path)
    opened = hf.load(tmp_path).eval()
    assert type(opened) is type(model)
    assert torch.equal(room.logits(opened), changed)
    assert hf.installed(opened).parameters == fixed.parameters
    assert not opened.transformer.wpe.weight.requires_grad
    after = room.photograph(hf.uninstall(opened))
    after["config"]["_name_or_path"] = before["config"]["_name_or_path"]
    room.assert_same(after, before)


def step(model, inputs):
    """One step of training on random labels."""
    free = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.SGD(free, lr=0.5)
    model(**inputs, labels=inputs["input_ids"]).loss.backward()
    optimiser.step()


@pytest.mark.parametrize(("learn", "moves"), [(True, True), (False, False)])
def test_training_moves_learned_rows_and_no_frozen_ones(room, tmp_path, learn, moves):
    model = room.build("bert")
    start = gnomon.encoding("learned", rows=room.LENGTH, dimension=32, seed=3)
    hf.install(model, start, learn=learn)
    step(model, room.sentences(model))
    found = hf.installed(model)
    assert found.name == "learned"
    used = np.abs(found.table - start.table.astype(np.float32)).max(axis=1)[:12] > 0
    assert used.all() == used.any() == moves
    model.save_pretrained(tmp_path)
    again = hf.installed(hf.load(tmp_path))
    np.testing.assert_array_equal(again.table, found.table)


def test_training_does_not_touch_the_weights_that_wait(room):
    model = room.build("bert")
    waiting = model.bert.embeddings.position_embeddings.weight.detach().clone()
    hf.install(model, gnomon.encoding("sinusoidal", dimension=32))
    step(model, room.sentences(model))
    hf.uninstall(model)
    assert torch.equal(model.bert.embeddings.position_embeddings.weight.detach(), waiting)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_gradients_reach_the_numbers_of_a_function_that_learns(room, tmp_path, family):
    """CTLPE learns a slope and an offset; finite differences of the loss say what they get."""
    model = room.build(family).double()
    encoding = gnomon.encoding("ctlpe", dimension=32)
    hf.install(model, encoding)
    inputs = room.sentences(model)
    loss = model(**inputs, labels=inputs["input_ids"]).loss
    loss.backward()
    table = getattr(model, family).embeddings.position_embeddings
    name, parameter = next(table.gnomon.named_parameters())
    flat, step_size = parameter.detach().view(-1), 1e-5
    at = int(parameter.grad.abs().argmax())
    values = []
    for sign in (1.0, -1.0):
        flat[at] += sign * step_size
        values.append(model(**inputs, labels=inputs["input_ids"]).loss.item())
        flat[at] -= sign * step_size
    slope = (values[0] - values[1]) / (2 * step_size)
    assert parameter.grad.view(-1)[at].item() == pytest.approx(slope, rel=1e-4), name
    flat[at] += 0.25
    model.float().save_pretrained(tmp_path)
    opened = hf.load(tmp_path).eval()
    assert torch.equal(room.logits(opened), room.logits(model))
    hf.uninstall(opened)
    assert type(opened).forward is type(model).forward
    assert set(opened.state_dict()) == set(room.build(family).state_dict())


def test_a_fitted_encoding_is_installed_and_saved_as_its_rows(room, tmp_path):
    turn = np.exp(2j * np.pi * np.arange(room.LENGTH) / room.LENGTH)
    fitted = gnomon.fit(np.abs(turn[:, None] - turn), dimension=32, rank=2, match=0.2)
    model = hf.install(room.build("bert"), fitted)
    rows = model.bert.embeddings.position_embeddings.weight.detach()
    np.testing.assert_array_equal(rows, fitted.table())
    assert model.config.gnomon["table"]["from"] == fitted.name
    model.save_pretrained(tmp_path)
    assert torch.equal(room.logits(hf.load(tmp_path).eval()), room.logits(model))


def test_generation_with_a_cache_equals_generation_without(room):
    model = hf.install(room.build("gpt2"), gnomon.encoding("sinusoidal", dimension=32))
    tokens = room.sentences(model)["input_ids"]
    asked = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": None}
    with_cache = model.generate(tokens, use_cache=True, **asked)
    assert torch.equal(with_cache, model.generate(tokens, use_cache=False, **asked))


def test_a_model_in_half_precision_gets_rows_in_half_precision(room):
    model = room.build("bert").bfloat16()
    table = model.bert.embeddings.position_embeddings
    before = table.weight.detach().clone()
    encoding = gnomon.encoding("sinusoidal", dimension=32)
    hf.install(model, encoding)
    wanted = torch.from_numpy(encoding.vectors(np.arange(room.LENGTH))).bfloat16()
    assert torch.equal(table.weight, wanted)
    hf.uninstall(model)
    assert torch.equal(table.weight, before)
