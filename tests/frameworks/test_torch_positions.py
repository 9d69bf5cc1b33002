"""Positions of layers: counted after a cache, packed, padded, on heads of their own, refused.

Truth is attention over each document alone, with positions from 0 on.
"""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch import Tensor

import gnomon
from gnomon.encodings.positions import documents, packed_positions, padded_positions, real
from gnomon.errors import EncodingError
from gnomon.torch import Transform, layer

LAYOUTS = ["interleaved", "half"]


def rotary(layout: str = "interleaved", **options: object) -> Transform:
    return layer(gnomon.encoding("rope", dimension=8, layout=layout), **options)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def attended(q: Tensor, k: Tensor, seen: Tensor | None = None) -> Tensor:
    """Weights of attention, with keys that are not seen left out."""
    logits = q @ k.mT / math.sqrt(q.shape[-1])
    return (logits if seen is None else logits.masked_fill(~seen, -math.inf)).softmax(-1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions_after_a_cache_are_those_of_one_pass(layout: str) -> None:
    turn, q, k = rotary(layout), drawn(2, 3, 10, 8), drawn(2, 1, 10, 8, seed=1)
    whole_q, whole_k = turn(q, k)
    for start, stop in ((0, 4), (4, 5), (5, 10)):
        part_q, part_k = turn(q[:, :, start:stop], k[:, :, start:stop], offset=start)
        assert torch.equal(part_q, whole_q[:, :, start:stop])
        assert torch.equal(part_k, whole_k[:, :, start:stop])


def test_every_sequence_may_have_a_cache_of_its_own_length() -> None:
    turn, q = rotary(), drawn(2, 3, 4, 8)
    found, _ = turn(q, q, offset=torch.tensor([7, 2]))
    for row, start in enumerate((7, 2)):
        alone, _ = turn(q[row], q[row], offset=start)
        assert torch.equal(found[row], alone)


def test_an_offset_in_a_tensor_compiles_once_for_all_its_values() -> None:
    torch._dynamo.reset()
    seen: list[int] = []
    turn, q = rotary(), drawn(1, 2, 1, 8)

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        seen.append(1)
        return graph.forward

    compiled = torch.compile(turn, fullgraph=True, backend=backend)
    for start in (3, 4, 500):
        found, _ = compiled(q, q, offset=torch.tensor(start))
        assert torch.allclose(found, turn(q, q, offset=start)[0], rtol=0, atol=1e-14)
    assert len(seen) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_packed_documents_attend_as_each_does_alone(layout: str) -> None:
    turn, lengths = rotary(layout), [3, 5, 2]
    q, k = drawn(2, 10, 8), drawn(2, 10, 8, seed=1)
    counts = torch.tensor(lengths)
    at, owner = packed_positions(counts, total=10), documents(counts, total=10)
    packed = attended(*turn(q, k, at), owner[:, None] == owner)
    start = 0
    for length in lengths:
        part = slice(start, start + length)
        alone = attended(*turn(q[:, part], k[:, part]))
        assert torch.allclose(packed[:, part, part], alone, rtol=0, atol=1e-13)
        start += length


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_batch_attends_as_each_sequence_does_alone(side: str) -> None:
    turn, lengths, width = rotary(), torch.tensor([3, 5]), 5
    q, k = drawn(2, 4, width, 8), drawn(2, 4, width, 8, seed=1)
    at = padded_positions(lengths, width=width, side=side)
    held = real(lengths, width=width, side=side)
    batch = attended(*turn(q, k, at), held[:, None, None, :])
    for row, length in enumerate(lengths.tolist()):
        part = slice(width - length, width) if side == "left" else slice(0, length)
        alone = attended(*turn(q[row, :, part], k[row, :, part]))
        assert torch.allclose(batch[row, :, part, part], alone, rtol=0, atol=1e-13)


def test_positions_from_lengths_compile() -> None:
    torch._dynamo.reset()
    turn, q = rotary(), drawn(2, 3, 5, 8)

    def step(lengths: Tensor, q: Tensor) -> Tensor:
        return turn(q, q, padded_positions(lengths, width=5, side="left"))[0]

    lengths = torch.tensor([3, 5])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Dynamo detected a call to a `functools.lru_cache`")
        found = torch.compile(step, fullgraph=True, backend="eager")(lengths, q)
    assert torch.allclose(found, step(lengths, q), rtol=0, atol=1e-14)


def test_positions_of_every_vector_and_without_heads_are_the_same() -> None:
    turn, q = rotary(), drawn(2, 3, 4, 8)
    at = torch.tensor([[0, 1, 2, 3], [9, 5, 7, 2]])
    without, _ = turn(q, q, at)
    each, _ = turn(q, q, at[:, None].expand(2, 3, 4))
    assert torch.equal(without, each)
    assert torch.equal(without[1], turn(q[1], q[1], at[1])[0])


def test_queries_and_keys_may_have_positions_of_their_own() -> None:
    turn, q, k = rotary(), drawn(3, 2, 8), drawn(3, 6, 8, seed=1)
    at_q, at_k = torch.tensor([4, 5]), torch.arange(6)
    found_q, found_k = turn(q, k, at_q, at_k)
    assert torch.equal(found_q, turn(q, q, at_q)[0])
    assert torch.equal(found_k, turn(k, k, at_k)[1])


def test_shared_tables_give_what_each_call_gives() -> None:
    for layout in LAYOUTS:
        turn, q, k = rotary(layout), drawn(2, 3, 4, 8), drawn(2, 1, 4, 8, seed=1)
        at = torch.tensor([[0, 1, 2, 3], [9, 5, 7, 2]])
        tables = turn.tables(at, dtype=torch.float64)
        wanted_q, wanted_k = turn(q, k, at)
        assert torch.equal(turn.turn(q, tables, side="q"), wanted_q)
        assert torch.equal(turn.turn(k, tables, side="k"), wanted_k)


def test_shared_tables_of_heads_with_their_own_frequencies() -> None:
    made = gnomon.encoding("rope-mixed", dimension=8, heads=3, axes=2)
    turn, q = layer(made, dtype=torch.float64), drawn(2, 3, 4, 8)
    for at in (drawn(4, 2, seed=2), drawn(2, 4, 2, seed=2)):
        tables = turn.tables(at, dtype=torch.float64)
        assert torch.equal(turn.turn(q, tables, side="q"), turn(q, q, at)[0])
    alone, _ = made.transform(q[1].numpy(), q[1].numpy(), at[1].numpy())
    assert torch.allclose(turn(q, q, at)[0][1], torch.from_numpy(alone), rtol=0, atol=1e-12)


def test_fractional_and_late_positions_are_exact() -> None:
    turn, q = rotary(), drawn(2, 8)
    late = torch.tensor([1.7e9 + 0.25, 1.7e9 + 0.5], dtype=torch.float64)
    wanted = turn.definition.transform(q.numpy(), q.numpy(), late.numpy())[0]
    assert torch.allclose(turn(q, q, late)[0], torch.from_numpy(wanted), rtol=0, atol=1e-12)


def test_positions_may_be_a_list() -> None:
    turn, q = rotary(), drawn(2, 8)
    assert torch.equal(turn(q, q, [3, 5])[0], turn(q, q, torch.tensor([3, 5]))[0])


def test_what_can_not_be_counted_is_refused_in_words() -> None:
    turn = rotary()
    with pytest.raises(EncodingError, match=r"q has 1 vectors and k 6, .* pass positions_q"):
        turn(drawn(1, 8), drawn(6, 8))
    grid = layer(gnomon.encoding("rope", dimension=8, axes=2))
    with pytest.raises(EncodingError, match=r"has 2 axes, so positions cannot be counted"):
        grid(drawn(4, 8), drawn(4, 8))
    with pytest.raises(EncodingError, match=r"shape \(4,\), but this encoding has 2 axes"):
        grid(drawn(4, 8), drawn(4, 8), torch.arange(4))


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        (torch.tensor([0.0, math.nan]), r"index \[1\] is nan; pass finite positions"),
        ([0.0, math.inf], r"index \[1\] is inf; pass finite positions"),
        (torch.tensor([True, False]), r"type torch.bool; pass whole numbers or real numbers"),
        (torch.tensor([1j, 2j]), r"type torch.complex64; pass whole numbers or real numbers"),
        ([[1], [2, 3]], r"ragged list; pass numbers in one array"),
        (["a", "b"], r"type <U1; pass whole numbers or real numbers"),
        (torch.arange(3), r"There are 3 positions for the 2 vectors of q"),
        (torch.zeros(1, 1, 1, 1, 2), r"The positions have shape \(1, 1, 1, 1, 2\)"),
    ],
)
def test_wrong_positions_are_refused_in_words(positions: object, words: str) -> None:
    with pytest.raises(EncodingError, match=words):
        rotary()(drawn(1, 2, 8), drawn(1, 2, 8), positions)
