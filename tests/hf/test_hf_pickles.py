"""A whole model pickled by torch.save with an encoding in each of the four places."""

from __future__ import annotations

import io

import pytest

import gnomon

torch = pytest.importorskip("torch")
hf = pytest.importorskip("gnomon.hf")


@pytest.mark.parametrize(
    ("family", "name", "parameters"),
    [
        ("llama", "rope-linear", {"dimension": 8, "layout": "half", "factor": 4.0}),
        ("llama", "fox", {"dimension": 8, "heads": 4}),
        ("bert", "ctlpe", {"dimension": 32}),
        ("t5", "kerple-log", {"heads": 4}),
    ],
)
def test_a_pickled_model_keeps_its_encoding_and_gives_it_back(room, family, name, parameters):
    model = room.build(family)
    before = room.photograph(model)
    wanted = room.logits(hf.install(model, gnomon.encoding(name, **parameters)))
    assert not torch.equal(wanted, before["logits"])
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    opened = torch.load(file, weights_only=False)
    assert torch.equal(room.logits(opened), wanted)
    room.assert_same(room.photograph(hf.uninstall(opened)), before)
