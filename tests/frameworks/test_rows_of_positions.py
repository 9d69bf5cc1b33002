"""From positions to rows: one rule, three frameworks, the same answer at every position."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import gnomon.jax
import gnomon.torch
from gnomon.encodings.fitted import Rules
from gnomon.errors import EncodingError, GnomonError
from gnomon.jax.embedding import rows_of as jax_rows
from gnomon.torch.embedding import _guard


@st.composite
def asked(draw: st.DrawFn) -> tuple[Rules, np.ndarray]:
    """Rules of a table of one to three axes, and positions inside and outside of it."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    rules = Rules(
        name="mds",
        shape=shape,
        past=draw(st.sampled_from(["clamp", "refuse"])),
        flat=draw(st.booleans()),
    )
    axes = len(rules.limits)
    number = st.integers(-2, 130 if rules.flat else 7)
    position = st.lists(number, min_size=axes, max_size=axes)
    found = np.array(draw(st.lists(position, min_size=6, max_size=6)))
    return rules, found if axes > 1 else found[:, 0]


def by_hand(rules: Rules, position: Any) -> int | None:
    """The row of one position, cell by cell; None where it is refused."""
    cells = [int(cell) for cell in np.atleast_1d(position)]
    limits = (prod(rules.shape),) if rules.flat else rules.shape
    row = 0
    for cell, limit in zip(cells, limits, strict=True):
        if cell < 0 or (cell >= limit and rules.past == "refuse"):
            return None
        row = row * limit + min(cell, limit - 1)
    return row


@given(asked())
@settings(max_examples=60, deadline=None)
def test_every_framework_finds_the_row_that_counting_by_hand_finds(
    case: tuple[Rules, np.ndarray],
) -> None:
    """Where values are not seen, what is refused has a row past the table."""
    rules, positions = case
    wanted = [by_hand(rules, position) for position in positions]
    hidden = [prod(rules.shape) if row is None else row for row in wanted]
    tensor = rules.coordinates(torch.from_numpy(positions))
    assert _guard(rules, tensor).tolist() == hidden
    traced = jax.vmap(lambda at: jax_rows(rules, at))(positions)
    assert np.asarray(traced).tolist() == hidden
    if None in wanted:
        with pytest.raises(EncodingError, match=r"is negative|is past the end"):
            rules.rows(positions)
    else:
        assert rules.rows(positions).tolist() == wanted


@pytest.mark.parametrize("load", [gnomon.torch.load, gnomon.jax.load])
def test_files_that_are_no_encoding_are_refused_in_a_sentence(load: Any, tmp_path: Path) -> None:
    with pytest.raises(GnomonError, match=r"There is no file .*nowhere"):
        load(tmp_path / "nowhere.safetensors")
    with pytest.raises(GnomonError, match=r"encoding\.safetensors"):
        load(tmp_path)
    (tmp_path / "torn.safetensors").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{")
    with pytest.raises(GnomonError, match=r"cannot be read as \.safetensors"):
        load(tmp_path / "torn.safetensors")
    save_file({"weight": np.eye(3, dtype=np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(GnomonError, match="is no fitted encoding of Gnomon"):
        load(tmp_path / "other.safetensors")
