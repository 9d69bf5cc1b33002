"""Keys in a buffer that is longer than the text: every rule gives what a trimmed buffer gives."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import EncodingError
from support.rules import HEADS, WIDTH, rule, rules

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

ROOM, LENGTH, COUNT = 12, 8, 3
PLACES = np.arange(ROOM)


def run(library, encoding, q, k, v, **given):
    if library == "torch":
        from gnomon.torch import attention

        tensors = [torch.tensor(x) for x in (q, k, v)]
        given = {n: x if isinstance(x, bool) else torch.tensor(x) for n, x in given.items()}
        return attention(*tensors, encoding, **given)
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
    shuffled = np.random.default_rng(1).permutation(ROOM)
    yield "shuffled", shuffled, {"positions_q": queries, "positions_k": shuffled}
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


@pytest.mark.compiles(library="jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_a_buffer_gives_what_a_trimmed_one_gives(name, more, library, vectors):
    q, k, v = vectors
    encoding = rule(name, more)
    trimmed = run(library, encoding, q, k[:, :, :LENGTH], v[:, :, :LENGTH], causal=True)
    for layout, order, given in layouts():
        found = run(library, encoding, q, k[:, :, order], v[:, :, order], causal=True, **given)
        assert np.allclose(found, trimmed, atol=1e-5), layout


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("name", ["fox", "path"])
def test_what_no_order_explains_is_refused(name, library, vectors):
    q, k, v = vectors
    encoding = rule(name, {})
    for given in (
        {"positions_q": PLACES[:COUNT] + 20, "positions_k": PLACES},
        {"mask": (PLACES < LENGTH)[None, None, None]},
        {"positions_q": np.array([5, 9, 7]), "positions_k": np.r_[0:9, 5, 9, 7]},
    ):
        with pytest.raises(EncodingError, match="reads tokens in order"):
            run(library, encoding, q, k, v, **given)


def test_each_sequence_of_a_batch_may_have_a_length_of_its_own(vectors):
    _, k, v = vectors
    encoding = rule("fox", {})
    q = k[:, :, :1] + 1.0
    places = np.array([[4], [9]])
    found = run("torch", encoding, q, k, v, positions_q=places, positions_k=np.stack([PLACES] * 2))
    for row, length in enumerate((5, 10)):
        one = [x[row : row + 1] for x in (q, k[:, :, :length], v[:, :, :length])]
        assert np.allclose(found[row], run("torch", encoding, *one)[0], atol=1e-6)


def test_compiled_code_masks_by_positions_and_gives_nan_where_it_can_not_refuse(vectors):
    from gnomon.jax import attention as attend

    q, k, v = vectors
    encoding = rule("fox", {})
    call = jax.jit(lambda at: attend(q, k, v, encoding, positions_q=at, positions_k=PLACES))
    trimmed = attend(q, k[:, :, :LENGTH], v[:, :, :LENGTH], encoding)
    assert np.allclose(call(PLACES[LENGTH - COUNT : LENGTH]), trimmed, atol=1e-5)
    assert np.isnan(call(PLACES[:COUNT] + 20)).all()


SPARSE = (PLACES[:LENGTH, None] - PLACES[:LENGTH] < 2) | (PLACES[:LENGTH] == 0)
"""A window of two keys, and a sink: queries of a step do not see what lies between."""
TEXT = np.zeros(LENGTH, np.int32)


@pytest.mark.compiles(library="jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_what_a_mask_hides_is_a_token_whichever_queries_are_asked(name, more, library, vectors):
    _, k, v = vectors
    encoding = rule(name, more)
    q, k, v = k[:, :, :LENGTH] + 1.0, k[:, :, :LENGTH], v[:, :, :LENGTH]
    whole = run(library, encoding, q, k, v, causal=True, mask=SPARSE)
    for first in (1, 4, LENGTH - 2, LENGTH - 1):
        step = {"causal": True, "mask": SPARSE[first:]}
        told = {"segments_q": TEXT[first:], "segments_k": TEXT}
        found = run(library, encoding, q[:, :, first:], k, v, **step, **told)
        assert np.allclose(found, whole[:, :, first:], atol=1e-5)
        hides = (~SPARSE[first:].any(axis=0)).any()
        if hides and encoding.in_order:
            with pytest.raises(EncodingError, match=r"reads tokens in order.*segments_k"):
                run(library, encoding, q[:, :, first:], k, v, **step)
            continue
        found = run(library, encoding, q[:, :, first:], k, v, **step)
        assert np.allclose(found, whole[:, :, first:], atol=1e-5)


@pytest.mark.compiles(library="jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_a_window_hides_no_neighbour_from_a_short_convolution(name, more, library, vectors):
    """Before the first key that is seen, a token tells only where taps reach back to it."""
    _, k, v = vectors
    encoding = rule(name, more)
    q, k, v = k[:, :, :LENGTH] + 1.0, k[:, :, :LENGTH], v[:, :, :LENGTH]
    window = PLACES[:LENGTH, None] - PLACES[:LENGTH] < 3
    whole = run(library, encoding, q, k, v, causal=True, mask=window)
    step = {"causal": True, "mask": window[-1:]}
    if encoding.reads_neighbours:
        with pytest.raises(EncodingError, match=r"reads tokens in order.*segments_k"):
            run(library, encoding, q[:, :, -1:], k, v, **step)
        step |= {"segments_q": TEXT[-1:], "segments_k": TEXT}
    found = run(library, encoding, q[:, :, -1:], k, v, **step)
    assert np.allclose(found, whole[:, :, -1:], atol=1e-5)


@pytest.mark.compiles(library="jax")
@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize(("name", "more"), list(rules()))
def test_heads_may_have_masks_of_their_own_beside_segments(name, more, library, vectors):
    """Segments lie beside keys as they are given, whatever order these are taken in."""
    q, k, v = vectors
    encoding, order = rule(name, more), np.random.default_rng(1).permutation(ROOM)
    segments = (PLACES >= LENGTH).astype(np.int32)
    mask = np.ones((1, HEADS, 1, ROOM), bool)
    mask[:, 0, :, 1], mask[:, 1, :, 3] = False, False
    given = {"positions_q": PLACES[LENGTH - COUNT : LENGTH], "causal": True}
    given["segments_q"] = np.zeros(COUNT, np.int32)
    found = run(
        library,
        encoding,
        q,
        k[:, :, order],
        v[:, :, order],
        positions_k=order,
        segments_k=segments[order],
        mask=mask[..., order],
        **given,
    )
    places = given["positions_q"], PLACES[:LENGTH]
    logits = encoding.scores(q, k[:, :, :LENGTH], *places, scale=WIDTH**-0.5)
    later = PLACES[:LENGTH] > given["positions_q"][:, None]
    logits = np.where(mask[..., :LENGTH] & ~later, logits, -np.inf)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ v[:, :, :LENGTH]
    assert np.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_room_to_spare_may_hold_anything(library, vectors):
    q, k, v = vectors
    encoding = rule("fox", {})
    trimmed = run(library, encoding, q, k[:, :, :LENGTH], v[:, :, :LENGTH])
    k, v = k.copy(), v.copy()
    k[:, :, LENGTH:], v[:, :, LENGTH:] = np.nan, np.inf
    places = {"positions_q": PLACES[LENGTH - COUNT : LENGTH], "positions_k": PLACES}
    assert np.allclose(run(library, encoding, q, k, v, **places), trimmed, atol=1e-5)
