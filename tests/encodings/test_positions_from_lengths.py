"""Positions from lengths, against plain loops; lengths of every type; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.encodings.positions import (
    continued_positions,
    documents,
    packed_positions,
    padded_positions,
    real,
)
from gnomon.errors import EncodingError

LENGTHS = [120, 0, 100, 90]
KINDS = [np.int8, np.uint8, np.int16, np.uint32, np.int32, np.int64]


@pytest.mark.parametrize("kind", KINDS)
def test_packed_positions_count_every_document_anew_whatever_holds_the_lengths(kind):
    lengths = np.array(LENGTHS, dtype=kind)
    wanted = [i for length in LENGTHS for i in range(length)]
    assert packed_positions(lengths).tolist() == wanted
    owners = [n for n, length in enumerate(LENGTHS) for _ in range(length)]
    assert documents(lengths).tolist() == owners


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_positions_count_from_the_first_token_whatever_holds_the_lengths(kind, side):
    lengths, width = np.array(LENGTHS, dtype=kind), 300
    for row, length in enumerate(LENGTHS):
        padding = [0] * (width - length)
        tokens = list(range(length))
        wanted = padding + tokens if side == "left" else tokens + padding
        assert padded_positions(lengths, width=width, side=side)[row].tolist() == wanted
        assert real(lengths, width=width, side=side)[row].sum() == length


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "int64"])
def test_tensors_of_lengths_give_what_arrays_give(kind):
    torch = pytest.importorskip("torch")
    lengths = torch.tensor(LENGTHS, dtype=getattr(torch, kind))
    assert packed_positions(lengths).tolist() == packed_positions(LENGTHS).tolist()
    for side in ("left", "right"):
        found = padded_positions(lengths, width=300, side=side)
        assert found.tolist() == padded_positions(LENGTHS, width=300, side=side).tolist()


def test_what_follows_the_last_document_is_one_more():
    assert documents([2, 1], total=5).tolist() == [0, 0, 1, 2, 2]
    assert packed_positions([2, 1], total=5).tolist() == [0, 1, 0, 0, 1]


def test_positions_continue_after_a_cache():
    assert continued_positions(3, 2).tolist() == [3, 4]


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_lengths_that_do_not_fit_are_refused(library):
    xp = pytest.importorskip(library)
    with pytest.raises(EncodingError, match=r"A length is 5 and width is 3; pass a width"):
        padded_positions(xp.asarray([2, 5]), width=3, side="left")
    with pytest.raises(EncodingError, match=r"A length is -1; pass lengths from 0 on"):
        packed_positions(xp.asarray([2, -1]))
    with pytest.raises(EncodingError, match=r"The lengths sum to 5 and total is 4; pass a total"):
        packed_positions(xp.asarray([3, 2]), total=4)
