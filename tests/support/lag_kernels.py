"""Kernels of lags that are known, with noise that is known."""

from __future__ import annotations

import numpy as np

from gnomon.lags.kernel import LagKernel, jackknife_errors


def kernel_of_folds(parts: np.ndarray) -> LagKernel:
    """The kernel of which every fold gave one row: errors are those of leaving one out."""
    folds, lags = parts.shape
    mean = parts.mean(axis=0)
    left_out = (folds * mean - parts) / (folds - 1)
    return LagKernel(
        lags=np.arange(1, lags + 1),
        values=mean,
        errors=jackknife_errors(left_out),
        shuffled=np.zeros(lags),
        across=np.zeros(lags),
        pairs=np.full(lags, 10**6),
        replicates=left_out,
        documents=folds,
    )
