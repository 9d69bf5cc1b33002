"""MiniLM, a BERT that many use: its own table through ours, and then every other vector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.encodings.registry import ENTRIES

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
hf = pytest.importorskip("gnomon.hf")
pytestmark = [pytest.mark.data, pytest.mark.wide]

SENTENCES = [
    "The cat sleeps on the warm stones of the wall.",
    "On the warm stones of the wall sleeps the cat.",
    "Dog bites man, and the man runs home.",
    "Man bites dog, and the dog runs home.",
    "Interest rates rose by a quarter of a point in March.",
    "",
    "a " * 120,
]
DIMENSION, ROWS = 384, 512
FITTED: dict[str, dict[str, Any]] = {
    "mds": {"rank": "full"},
    "mds-low-rank": {"rank": 4},
    "smacof": {"rank": 4, "method": "smacof"},
}


@pytest.fixture(scope="module")
def model(minilm_folder: Path) -> Any:
    from transformers import BertModel

    return BertModel.from_pretrained(minilm_folder, local_files_only=True).eval()


@pytest.fixture(scope="module")
def batch(minilm_folder: Path) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm_folder, local_files_only=True)
    return tokenizer(SENTENCES, padding=True, return_tensors="pt")


def hidden(model: Any, batch: Any) -> Any:
    with torch.no_grad():
        return model(**batch).last_hidden_state


@pytest.fixture(scope="module")
def before(model: Any, batch: Any) -> Any:
    return hidden(model, batch)


def test_the_table_in_the_model_is_the_published_one(minilm_folder: Path, data_root: Path) -> None:
    """The same table was taken from the model elsewhere, and is kept with the data."""
    from safetensors.numpy import load_file

    weights = load_file(minilm_folder / "model.safetensors")
    own = weights["embeddings.position_embeddings.weight"]
    kept = [np.load(path) for path in sorted((data_root / "position-tables").glob("*.npy"))]
    assert any(other.shape == own.shape and np.array_equal(other, own) for other in kept)


def test_its_table_replaced_by_ours_gives_the_model_itself_bit_for_bit(
    model: Any, batch: Any, before: Any
) -> None:
    """Read, installed, and taken out: three times the same bits."""
    own = hf.read(model)
    assert own.name == "learned"
    hf.install(model, own)
    try:
        assert hf.installed(model) is not None
        assert torch.equal(hidden(model, batch), before)
    finally:
        hf.uninstall(model)
    assert torch.equal(hidden(model, batch), before)


def test_a_layer_of_ours_in_the_place_of_its_embedding_gives_the_model_itself(
    model: Any, batch: Any, before: Any
) -> None:
    """Without the Hugging Face room: the module itself is exchanged."""
    from gnomon.torch import layer

    stock = model.embeddings.position_embeddings
    model.embeddings.position_embeddings = layer(hf.read(model))
    try:
        assert torch.equal(hidden(model, batch), before)
    finally:
        model.embeddings.position_embeddings = stock


def vectors_of(name: str, folder: Path, minilm: Any) -> Any:
    """An encoding of the catalogue with as many rows and coordinates as the model has."""
    own = minilm.embeddings.position_embeddings.weight.detach().double().numpy()
    if name in FITTED:
        few = own[:48]
        apart = np.sqrt(np.square(few[:, None] - few[None]).sum(-1))
        return gnomon.fit(apart, dimension=DIMENSION, beyond="clamp", **FITTED[name])
    if name == "table":
        path = folder / "table.npy"
        np.save(path, own[::-1])
        return gnomon.encoding("table", path=str(path))
    given = {"rows": ROWS} if name == "learned" else {}
    if name == "randomised":
        inner = {"name": "sinusoidal", "dimension": DIMENSION}
        return gnomon.encoding(name, inner=inner, largest=2048, length=ROWS)
    if name == "nope":
        return gnomon.encoding(name)
    return gnomon.encoding(name, dimension=DIMENSION, **given)


NAMES = [
    name
    for name, entry in ENTRIES.items()
    if "vectors" in entry.card.kind or name in ("nope", "randomised")
]


def test_the_vectors_of_the_catalogue_are_all_here() -> None:
    assert {"sinusoidal", "random", "learned", "table", "nope", *FITTED} <= set(NAMES)


@pytest.fixture
def clean(model: Any) -> Iterator[Any]:
    yield model
    if hf.installed(model) is not None:
        hf.uninstall(model)


@pytest.mark.parametrize("name", NAMES)
def test_every_vectors_kind_encoding_runs_in_it_and_leaves_no_trace(
    name: str, clean: Any, batch: Any, before: Any, tmp_path: Path
) -> None:
    encoding = vectors_of(name, tmp_path, clean)
    assert encoding.name == name
    hf.install(clean, encoding)
    found = hidden(clean, batch)
    assert found.shape == before.shape
    assert bool(torch.isfinite(found).all())
    assert not torch.equal(found, before)
    if name != "nope":
        table = clean.embeddings.position_embeddings.weight.detach().numpy()
        wanted = np.asarray(encoding.vectors(np.arange(ROWS))).astype(np.float32)
        np.testing.assert_allclose(table, wanted, rtol=1e-5, atol=1e-6)
    hf.uninstall(clean)
    assert torch.equal(hidden(clean, batch), before)


def test_without_positions_word_order_is_lost_and_with_them_it_is_not(
    clean: Any, minilm_folder: Path
) -> None:
    """A BERT without positions sees a bag of words, whose mean cannot tell two orders."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm_folder, local_files_only=True)
    pair = tokenizer(["dog bites man", "man bites dog"], return_tensors="pt")

    def apart() -> float:
        mean = hidden(clean, pair).mean(dim=1)
        return float((mean[0] - mean[1]).abs().max())

    with_positions = apart()
    hf.install(clean, gnomon.encoding("nope"))
    assert apart() < 1e-5
    assert with_positions > 1e-2
