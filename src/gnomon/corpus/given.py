"""Counts that come from elsewhere: dense or sparse, whole or in folds, checked number by number.

Accepted are position x token, fold x position x token, and a list of matrices, one per fold. A
count is a whole number >= 0; what is none is named by its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gnomon.errors import CountsError
from gnomon.numeric.checks import in_usual_type, refuse_masked

_LARGEST = 2.0**63


def given_folds(array: Any) -> list[csr_array]:
    """Return one matrix of counts (position x token, int64) per fold, or say what is wrong."""
    if issparse(array):
        folds = [_canonical(array, None)]
    elif isinstance(array, (list, tuple)) and any(issparse(part) for part in array):
        folds = [_canonical(part, f) for f, part in enumerate(array)]
    else:
        folds = _dense(array)
    _check_shapes([fold.shape for fold in folds])
    _check_tokens(folds)
    return folds


def _dense(array: Any) -> list[csr_array]:
    try:
        given = np.asarray(array)
    except ValueError as error:  # NumPy has no shape for it
        raise CountsError(_ragged(array)) from error
    refuse_masked(array, "counts hold", kind=CountsError)
    if given.ndim not in (2, 3):
        raise CountsError(
            f"counts have {given.ndim} axes; give position x token, or fold x position x token."
        )
    if given.size == 0:
        raise CountsError(
            f"counts are empty, of shape {given.shape}; give at least one position and one token."
        )
    if given.ndim == 2:
        return [_canonical(given, None)]
    return [_canonical(part, f) for f, part in enumerate(given)]


def _ragged(array: Any) -> str:
    """Say what in nested lists is of unequal size."""
    try:
        shapes = [np.shape(part) for part in array]
    except (TypeError, ValueError):  # the parts are ragged themselves
        return "counts are lists of unequal lengths; give every position the same tokens."
    if all(len(shape) == 2 for shape in shapes):
        _check_shapes(shapes)
    other = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)
    return (
        f"counts have {_size(shapes[0])} in row 0 and {_size(shapes[other])} in row {other}; "
        "give every position the same tokens."
    )


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "a single number"


def _check_shapes(shapes: list[tuple[int, ...]]) -> None:
    """Refuse folds that disagree, and folds that are no matrices."""
    for fold, shape in enumerate(shapes):
        if len(shape) != 2:
            raise CountsError(f"fold {fold} has {len(shape)} axes; give position x token.")
        if min(shape) == 0:
            raise CountsError("counts are empty; give at least one position and one token.")
        if shape != shapes[0]:
            what = "positions" if shape[0] != shapes[0][0] else "token types"
            raise CountsError(
                f"fold {fold} has {shape[0]} positions x {shape[1]} token types and fold 0 has "
                f"{shapes[0][0]} x {shapes[0][1]}; give all folds the same {what}, with zeros "
                "where nothing was counted."
            )


def _check_tokens(folds: list[csr_array]) -> None:
    """Refuse folds without a token, and more tokens than 64 bits can add up."""
    tokens = [float(fold.data.sum(dtype=np.float64)) for fold in folds]
    if sum(tokens) == 0:
        raise CountsError("all counts are 0; give counts of at least one token.")
    if 0 in tokens:
        raise CountsError(
            f"fold {tokens.index(0)} of {len(folds)} holds no token; leave it out, or merge it "
            "with another one."
        )
    if sum(tokens) >= _LARGEST:
        raise CountsError(
            f"counts sum to {sum(tokens):.3g}, more than 64 bits hold; divide them by a power of 2."
        )


def _canonical(part: Any, fold: int | None) -> csr_array:
    """Return one matrix as int64 without zeros or duplicates, every number checked."""
    given: Any = part.tocoo() if issparse(part) else np.asarray(part)
    if given.dtype.kind not in "iuf":
        raise CountsError(f"counts are {given.dtype}, not numbers; give integers.")
    given = in_usual_type(given)
    if given.ndim != 2:
        raise CountsError(f"fold {fold or 0} has {given.ndim} axes; give position x token.")
    values = given.data if issparse(given) else given
    for bad, word in _faults(values):
        if bad.any():
            place = ([] if fold is None else [fold]) + _place(given, bad)
            raise CountsError(
                f"counts{place} is {word}; give counts, not probabilities or logarithms: "
                "integers from 0 to 2^63 - 1."
            )
    blocks = csr_array(given.astype(np.int64))
    blocks.sum_duplicates()
    blocks.eliminate_zeros()
    return blocks


def _faults(values: NDArray[Any]) -> list[tuple[NDArray[np.bool_], str]]:
    """Return what may be wrong with numbers: where, and in which word."""
    return [
        (~np.isfinite(values), "not a number"),
        (values < 0, "negative"),
        (values != np.floor(values), "not whole"),
        (values >= _LARGEST, "beyond 64 bits"),
    ]


def _place(given: Any, bad: NDArray[np.bool_]) -> list[int]:
    """Return row and column of the first fault."""
    first = np.argwhere(bad)[0]
    if not issparse(given):
        return [int(i) for i in first]
    return [int(given.row[first[0]]), int(given.col[first[0]])]
