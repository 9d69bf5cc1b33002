"""Certificates of several axes: the name of each, the rank of all, the rows of the longest call."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon

LADDER = 10000.0 ** (-np.arange(4) / 4)
NONE = "no positional encoding (NoPE): the identity at every lag"
ROPE = "rotary encoding (RoPE), 4 frequencies, base 10000"


def turned(x, phases):
    a, b = np.split(x, 2, axis=1)
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)


def verified(rates, **how):
    """Certify pairs of coordinates that turn by positions (n, axes) times rates (axes, pairs)."""
    rates = np.asarray(rates, dtype=float)
    axes, pairs = rates.shape
    encode = lambda x, at: turned(x, np.asarray(at, dtype=float) @ rates)
    return gnomon.verify(encode, dimension=2 * pairs, axes=axes, **how)


KINDS = [{}, {"causal": True}, {"whole": True}, {"whole": True, "reach": 64}]


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize(("first", "second"), [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_each_axis_has_its_name(first, second, how):
    found = verified([first * LADDER, second * LADDER], **how)
    names = [ROPE if one else NONE for one in (first, second)]
    said = f"axis 1: {names[0]}; axis 2: {names[1]}"
    if names[0] == names[1]:
        said = f"on each axis: {ROPE}"
    assert (found.level, found.rank, found.structure.named) == ("L0 strict group", 8, said)
    assert [one.named for one in found.on_axes] == names
    assert [one["named"] for one in found.to_dict()["on_axes"]] == names


RATES = {  # pairs that turn along each axis; distinct vectors of frequencies, with both signs
    "each pair by one axis": ([[1.0, 0.01, 0.0, 0.0], [0.0, 0.0, 1.0, 0.01]], 8),
    "equal on one axis, not on the other": ([[0.3, 0.3], [0.1, 0.2]], 4),
    "opposite on one axis": ([[0.3, 0.3], [0.2, -0.2]], 4),
    "equal on both": ([[0.3, 0.3], [0.2, 0.2]], 2),
    "one pair rests on both": ([[0.3, 0.0], [0.2, 0.0]], 3),
    "three axes": ([[0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.3]], 6),
}


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize("which", RATES)
def test_the_rank_of_several_axes_is_that_of_all_together(which, how):
    rates, rank = RATES[which]
    assert verified(rates, **how).rank == rank


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_longest_call_is_the_one_that_is_said(axes):
    longest = []

    def encode(x, at):
        longest.append(len(x))
        return turned(x, np.asarray(at).reshape(len(x), axes) @ np.full((axes, 4), 0.1))

    found = gnomon.verify(encode, dimension=8, axes=axes)
    assert found.asked.rows == max(longest)
    assert f"{max(longest):,} rows at once" in found.text()
