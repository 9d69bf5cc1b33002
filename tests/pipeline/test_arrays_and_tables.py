"""Arrays can be grouped, and tables named by strings, as files are on the command line."""

from __future__ import annotations

import numpy as np

import gnomon


def test_an_array_is_grouped_by_near_copies_as_its_list_is(rng):
    ids = rng.integers(0, 50, size=(120, 8))
    one, other = (
        gnomon.survey(corpus, group="near-copies", cache=False, shuffles=0, draws=19)
        for corpus in (ids, ids.tolist())
    )
    assert one.geometry.distances.tolist() == other.geometry.distances.tolist()


def test_a_table_may_be_a_string_or_a_path(tmp_path, rng):
    ids = rng.integers(0, 20, size=(120, 6))
    path = tmp_path / "t.npy"
    np.save(path, rng.normal(size=(6, 4)))
    one, other = (
        gnomon.survey(ids, tables=(table,), cache=False, shuffles=0, draws=19).to_dataframe()
        for table in (path, str(path))
    )
    assert list(one["label"]) == list(other["label"])
    assert "t" in set(one["label"])
