"""A table in a pickle is refused in words, with the line that makes a safe file of it."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError
from gnomon.files import PICKLED

DOORS = (gnomon.encoding, gnomon.verify)


@pytest.mark.parametrize("suffix", [*PICKLED, ".PT"])
@pytest.mark.parametrize("door", DOORS)
def test_a_pickle_is_refused_with_the_line_that_converts_it(tmp_path, suffix, door):
    file = tmp_path / f"table{suffix}"
    file.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(EncodingError) as caught:
        door(str(file))
    assert "as a pickle, which can run code and is not opened" in str(caught.value)
    assert "weights_only=True" in str(caught.value)


def test_the_line_makes_a_file_that_can_be_read(tmp_path):
    torch = pytest.importorskip("torch")
    rows = torch.arange(12.0).reshape(4, 3)
    torch.save({"rows": rows}, tmp_path / "table.pt")
    with pytest.raises(EncodingError) as caught:
        gnomon.encoding(str(tmp_path / "table.pt"))
    line = shlex.split(str(caught.value).split("`")[1])
    subprocess.run([sys.executable, *line[1:]], check=True)
    table = gnomon.encoding(str(tmp_path / "table.safetensors"))
    assert np.array_equal(table.vectors(range(4)), rows.numpy())
