"""A fitted encoding on disk: what a survey wrote is read back, and damage is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

CARD = {"name": "mds-low-rank", "minimises": "strain", "parameters": {"rank": 2}}
VECTORS = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]])
POSITIONS = np.array([[0], [5]])


def stored(path: Path, *, card: Any = CARD, vectors: Any = VECTORS, positions: Any = POSITIONS):
    file = path / "encoding.safetensors"
    text = card if isinstance(card, str) else json.dumps(card)
    save_file({"vectors": vectors, "positions": positions}, file, metadata={"card": text})
    return file


def test_rows_stand_at_the_positions_of_the_file_and_not_at_their_own_number(tmp_path) -> None:
    """Positions 1 to 4 were masked: row 1 belongs to position 5."""
    made = encoding("table", path=stored(tmp_path))
    np.testing.assert_array_equal(made.vectors([5, 0]), VECTORS[[1, 0]])
    assert (made.name, made.parameters["rank"]) == ("mds-low-rank", 2)
    with pytest.raises(EncodingError, match=r"Position 1 was not fitted"):
        made.vectors([1])


def test_positions_on_a_grid_keep_their_axes(tmp_path) -> None:
    made = encoding("table", path=stored(tmp_path, positions=np.array([[0, 1], [2, 3]])))
    np.testing.assert_array_equal(made.vectors([[2, 3]]), VECTORS[[1]])


def test_a_named_member_is_a_plain_table(tmp_path) -> None:
    made = encoding("table", path=stored(tmp_path), member="vectors")
    np.testing.assert_array_equal(made.vectors([1]), VECTORS[[1]])


def test_two_tensors_without_a_card_are_no_fitted_encoding(tmp_path) -> None:
    file = tmp_path / "two.safetensors"
    save_file({"vectors": VECTORS, "positions": POSITIONS}, file)
    with pytest.raises(EncodingError, match=r"holds 2 arrays; name one"):
        encoding("table", path=file)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"card": "{"}, "its card can not be read"),
        ({"card": {"name": "mds"}}, "its card can not be read"),
        ({"card": CARD | {"name": "rope"}}, "its card names 'rope', which is no way of fitting"),
        ({"card": CARD | {"parameters": {"rank": 1}}}, "its card says rank 1"),
        ({"card": CARD | {"parameters": {"rank": 4}}}, "its card says rank 4"),
        ({"positions": np.array([[0.0], [5.0]])}, r"positions of shape \(2, 1\)"),
        ({"positions": np.array([[0]])}, r"positions of shape \(1, 1\) for 2 vectors"),
    ],
)
def test_damage_is_named(tmp_path, change: dict[str, Any], found: str) -> None:
    with pytest.raises(EncodingError, match=rf"no whole fitted encoding \({found}.*write it again"):
        encoding("table", path=stored(tmp_path, **change))
