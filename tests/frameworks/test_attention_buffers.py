"""Keys in a buffer that is longer than the text: every rule gives what a trimmed buffer gives."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.encodings.registry import ENTRIES
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

MORE = {
    "cope": [{"sigma": 1.0}],
    "path": [{"sigma": 0.5}, {"sigma": 0.5, "kernel": 3}],
    "selective-rope": [{}, {"kernel": 4}],
}
ROOM, LENGTH, COUNT, HEADS, WIDTH = 12, 8, 3, 2, 8
PLACES = np.arange(ROOM)


def rules():
    """Return every rule on content that reads tokens in order, by its name."""
    for name, entry in ENTRIES.items():
        card = entry.read_card()
        if card.kind == ("content",) and card.causal_only and name != "dape":
            for more in MORE.get(name, [{}]):
                yield pytest.param(name, more, id=f"{name}{more.get('kernel', '')}")


def made(name, more):
    return gnomon.encoding(name, heads=HEADS, dimension=WIDTH, **more)


def run(library, encoding, q, k, v, **given):
    if library == "torch":
        from gnomon.torch import attention

        tensors = [torch.tensor(x) for x in (q, k, v)]
        return attention(*tensors, encoding, **{n: torch.tensor(x) for n, x in given.items()})
    from gnomon.jax import attention as attend

    return attend(q, k, v, encoding, **given)


@pytest.fixture
def vectors():
    g = np.random.default_rng(3)
    q, k, v = (g.normal(size=(2, HEADS, ROOM, WIDTH)).astype(np.float32) for _ in range(3))
    return q[:, :, LENGTH - COUNT : LENGTH], k, v


def layouts():
    """Return where the tokens of the text and of padding lie, with positions or a mask."""
    queries = PLACES[LENGTH - COUNT : LENGTH]
    right, ring = np.arange(ROOM), np.roll(np.arange(ROOM), 5)
    left, middle = np.r_[8:12, 0:8], np.r_[0:3, 8:12, 3:8]
    yield "right", right, {"positions_q": queries, "positions_k": PLACES}
    yield (
        "right, masked",
        right,
        {
            "positions_q": queries,
            "positions_k": PLACES,
            "mask": (right < LENGTH)[None, None, None],
        },
    )
    yield "ring", ring, {"positions_q": queries, "positions_k": PLACES[ring]}
    yield (
        "left",
        left,
        {
            "positions_q": queries,
            "positions_k": np.r_[0, 0, 0, 0, 0:8],
            "mask": (left < LENGTH)[None, None, None],
        },
    )
    yield (
        "within",
        middle,
        {
            "positions_q": queries,
            "positions_k": np.r_[0:3, 9, 9, 9, 9, 3:8],
            "mask": (middle < LENGTH)[None, None, None],
        },
    )
    yield (
        "segments",
        right,
        {
            "positions_q": queries,
            "positions_k": np.where(right < LENGTH, right, 0),
            "segments_q": np.zeros(COUNT, np.int32),
            "segments_k": (right >= LENGTH).astype(np.int32),
        },
    )


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_a_buffer_gives_what_a_trimmed_one_gives(name, more, library, vectors):
    q, k, v = vectors
    encoding = made(name, more)
    trimmed = run(library, encoding, q, k[:, :, :LENGTH], v[:, :, :LENGTH])
    for layout, order, given in layouts():
        if name == "grape-additive" and layout == "ring":
            continue
        found = run(library, encoding, q, k[:, :, order], v[:, :, order], **given)
        assert np.allclose(found, trimmed, atol=1e-5), layout


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("name", ["fox", "path"])
def test_what_no_order_explains_is_refused(name, library, vectors):
    q, k, v = vectors
    encoding = made(name, {})
    for given in (
        {"positions_q": PLACES[:COUNT] + 20, "positions_k": PLACES},
        {"mask": (PLACES < LENGTH)[None, None, None]},
        {"positions_q": np.array([5, 9, 7]), "positions_k": np.r_[0:9, 5, 9, 7]},
    ):
        with pytest.raises(EncodingError, match="reads tokens in order"):
            run(library, encoding, q, k, v, **given)


def test_each_sequence_of_a_batch_may_have_a_length_of_its_own(vectors):
    _, k, v = vectors
    encoding = made("fox", {})
    q = k[:, :, :1] + 1.0
    places = np.array([[4], [9]])
    found = run("torch", encoding, q, k, v, positions_q=places, positions_k=np.stack([PLACES] * 2))
    for row, length in enumerate((5, 10)):
        one = [x[row : row + 1] for x in (q, k[:, :, :length], v[:, :, :length])]
        assert np.allclose(found[row], run("torch", encoding, *one)[0], atol=1e-6)


def test_compiled_code_masks_by_positions_and_gives_nan_where_it_can_not_refuse(vectors):
    from gnomon.jax import attention as attend

    q, k, v = vectors
    encoding = made("fox", {})
    call = jax.jit(lambda at: attend(q, k, v, encoding, positions_q=at, positions_k=PLACES))
    trimmed = attend(q, k[:, :, :LENGTH], v[:, :, :LENGTH], encoding)
    assert np.allclose(call(PLACES[LENGTH - COUNT : LENGTH]), trimmed, atol=1e-5)
    assert np.isnan(call(PLACES[:COUNT] + 20)).all()
