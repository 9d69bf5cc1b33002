"""Documents of a group are in one fold, and no partners of each other."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import GroupError
from gnomon.lags.information import neighbours
from gnomon.lags.token_line import join_documents, split_folds


def grouped(rng, groups, folds):
    documents = [rng.integers(5, size=rng.integers(3, 30)) for _ in groups]
    return join_documents(documents, folds=folds, seed=3, groups=groups)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_group_is_in_one_fold_also_where_folds_are_divided(rng, parts):
    line = split_folds(grouped(rng, rng.integers(40, size=200), 6), parts)
    for group in np.unique(line.group):
        assert len(np.unique(line.fold[line.group == group])) == 1
    assert (np.bincount(line.fold, minlength=line.folds) > 0).all()
    assert (np.diff(line.fold) >= 0).all()


def test_partners_are_of_other_groups_and_every_document_is_one_once(rng):
    line = grouped(rng, np.repeat(np.arange(60), 4), 6)
    partner = neighbours(line)
    assert np.array_equal(np.sort(partner), np.arange(len(partner)))
    assert (line.group[partner] != line.group).all()
    assert np.array_equal(line.fold[partner], line.fold)


def test_documents_of_a_fold_with_one_group_have_no_partner(rng):
    line = grouped(rng, np.repeat([0, 1], 5), 2)
    assert np.array_equal(neighbours(line), np.arange(10))


def test_fewer_groups_than_folds_are_refused_by_name(rng):
    with pytest.raises(GroupError, match="There are 3 groups of documents and 4 folds"):
        grouped(rng, np.arange(12) % 3, 4)
