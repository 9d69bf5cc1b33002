"""Arguments of PyTorch layers that contradict each other, and memory that overlaps."""

from __future__ import annotations

import pytest

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

torch = pytest.importorskip("torch")
layer = pytest.importorskip("gnomon.torch").layer
COUNT = 5


@pytest.fixture
def x():
    """Vectors of 2 sequences and 3 heads."""
    return torch.randn(2, 3, COUNT, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("offset", [4, torch.tensor([4, 5])])
def test_an_offset_beside_positions_is_refused(x, offset):
    with pytest.raises(EncodingError, match=r"offset says where counting begins, .* pass one of"):
        layer(encoding("rope", dimension=8))(x, x, torch.arange(COUNT), offset=offset)


def test_an_offset_that_is_no_number_is_refused(x):
    with pytest.raises(EncodingError, match=r"The position at index \[0\] is nan; pass finite"):
        layer(encoding("rope", dimension=8))(x, x, offset=float("nan"))


def test_one_set_of_positions_does_not_serve_more_keys_than_queries(x):
    for name in ("rope", "xpos"):
        with pytest.raises(EncodingError, match=r"q has 1 vectors and k 5, .* pass positions_k"):
            layer(encoding(name, dimension=8))(x[..., :1, :], x, [7])


@pytest.mark.parametrize("into", [False, True])
@pytest.mark.parametrize("shape", [(1, 3, COUNT, 8), (1, COUNT, 8)])
def test_tables_of_more_sequences_than_vectors_are_refused(shape, into):
    """By broadcasting, one sequence would come back as two."""
    turn = layer(encoding("rope", dimension=8))
    tables = turn.tables(torch.arange(2 * COUNT).reshape(2, COUNT))
    x = torch.ones(shape)
    with pytest.raises(EncodingError, match=r"positions have shape .* and the vectors .*; pass"):
        turn.turn(x, tables, side="q", out=torch.empty_like(x) if into else None)


@pytest.mark.parametrize("shape", [(1, 3, COUNT, 8), (3, COUNT, 8)])
def test_tables_of_single_heads_are_refused_alike(shape):
    turn = layer(encoding("rope-mixed", dimension=8, heads=3))
    tables = turn.tables(torch.ones(2, COUNT, 2))
    with pytest.raises(EncodingError, match=r"positions have shape .* and the vectors .*; pass"):
        turn.turn(torch.ones(shape), tables, side="q")


def test_tables_in_half_precision_do_not_turn_wider_vectors(x):
    """They would be read as if they were exact."""
    turn = layer(encoding("rope", dimension=8, layout="half"), arithmetic="float32")
    narrow = turn.tables(torch.arange(COUNT), dtype=torch.bfloat16)
    with pytest.raises(EncodingError, match=r"tables are of torch.bfloat16 and the vectors of tor"):
        turn.turn(x, narrow, side="q")
    wide = turn.tables(torch.arange(COUNT))
    for kind in (torch.bfloat16, torch.float32, torch.float64):
        assert turn.turn(x.to(kind), wide, side="q").dtype == kind


@pytest.mark.parametrize("fraction", [0.5, 1.0])
@pytest.mark.parametrize("forwards", [True, False])
def test_memory_that_overlaps_the_vectors_gets_what_other_memory_gets(fraction, forwards):
    """As a cache that is moved by one position in place."""
    turn = layer(encoding("rope", dimension=8, fraction=fraction))
    tables = turn.tables(torch.arange(200))
    memory = torch.randn(201, 8, generator=torch.Generator().manual_seed(1))
    x, out = (memory[1:], memory[:-1]) if forwards else (memory[:-1], memory[1:])
    wanted = turn.turn(x.clone(), tables, side="q")
    turn.turn(x, tables, side="q", out=out)
    torch.testing.assert_close(out, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rope", {"dimension": 8}),
        ("xpos", {"dimension": 8}),
        ("alibi", {"heads": 3}),
        ("sinusoidal", {"dimension": 8}),
    ],
)
@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_scores_of_a_layer_compile_in_one_graph(x, name, given):
    held = layer(encoding(name, **given))
    compiled = torch.compile(held.scores, fullgraph=True, backend="eager")
    at = torch.arange(COUNT)
    torch.testing.assert_close(compiled(x, x, at), held.scores(x, x, at), rtol=1e-5, atol=1e-5)


def test_keys_without_an_axis_of_heads_are_turned_by_their_own_positions(x):
    """One key for all heads, as in multi-query attention, beside queries with heads."""
    turn = layer(encoding("rope", dimension=8))
    at = torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    k = x[:, 0]
    _, found = turn(x, k, at)
    wanted = torch.stack([turn(k[row], k[row], at[row])[1] for row in range(2)])
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_queries_and_keys_of_two_types_are_each_turned_in_their_own(x, layout):
    turn = layer(encoding("rope", dimension=8, layout=layout))
    q, k = turn(x.to(torch.bfloat16), x.double(), torch.arange(COUNT))
    assert (q.dtype, k.dtype) == (torch.bfloat16, torch.float64)
    exact, _ = turn.definition.transform(x.double(), x.double(), torch.arange(COUNT))
    torch.testing.assert_close(k, exact, rtol=1e-14, atol=1e-14)


def test_vectors_that_begin_at_an_odd_place_in_memory_are_turned_alike():
    """They cannot be read as complex numbers, though all their strides are even."""
    turn = layer(encoding("rope", dimension=8))
    odd = torch.randn(8 * COUNT + 1, generator=torch.Generator().manual_seed(2))[1:]
    x = odd.view(COUNT, 8)
    tables = turn.tables(torch.arange(COUNT))
    found, wanted = turn.turn(x, tables, side="q"), turn.turn(x.clone(), tables, side="q")
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda rope, q: rope(q, q, 3), r"q has shape \(2, 4, 8\) and its positions have 0 axes"),
        (lambda rope, q: rope(q, q, offset="a"), r"offset is 'a'; pass how many positions came"),
        (lambda rope, q: rope.turn(q, torch.arange(4), side="q"), r"The tables are of type Tensor"),
    ],
)
def test_a_call_that_lacks_its_positions_is_answered_in_words(call, sentence):
    rope, q = layer(encoding("rope", dimension=8)), torch.zeros(2, 4, 8)
    with pytest.raises(EncodingError, match=sentence):
        call(rope, q)
