"""Counts -> distances -> Gram matrix -> coordinates, with nulls, noise and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.distances.chord import angle as angle
    from gnomon.distances.chord import centred_gram as centred_gram
    from gnomon.distances.chord import chord_distances as chord_distances
    from gnomon.distances.chord import double_centred as double_centred
    from gnomon.distances.eigenvalues import Spectrum as Spectrum
    from gnomon.distances.eigenvalues import spectrum as spectrum
    from gnomon.distances.estimate import DRAWS as DRAWS
    from gnomon.distances.estimate import Debiased as Debiased
    from gnomon.distances.estimate import debias as debias
    from gnomon.distances.estimate import pair_mean as pair_mean
    from gnomon.distances.estimators import ESTIMATORS as ESTIMATORS
    from gnomon.distances.folds import LEAST_FOLDS as LEAST_FOLDS
    from gnomon.distances.folds import FoldedCounts as FoldedCounts
    from gnomon.distances.folds import fold_counts as fold_counts
    from gnomon.distances.geometry import Geometry as Geometry
    from gnomon.distances.geometry import check_metric as check_metric
    from gnomon.distances.geometry import measure as measure
    from gnomon.distances.intervals import Figure as Figure
    from gnomon.distances.intervals import Survivorship as Survivorship
    from gnomon.distances.intervals import figure as figure
    from gnomon.distances.intervals import jackknife as jackknife
    from gnomon.distances.intervals import jackknife_error as jackknife_error
    from gnomon.distances.intervals import low_rank_replicates as low_rank_replicates
    from gnomon.distances.intervals import mean_squared as mean_squared
    from gnomon.distances.intervals import outside_core as outside_core
    from gnomon.distances.intervals import project as project
    from gnomon.distances.intervals import survivorship as survivorship
    from gnomon.distances.nulls import NullGeometry as NullGeometry
    from gnomon.distances.nulls import deal as deal
    from gnomon.distances.nulls import dealt_geometry as dealt_geometry
    from gnomon.distances.nulls import dealt_null as dealt_null
    from gnomon.distances.nulls import null_geometry as null_geometry
    from gnomon.distances.scaling import METHODS as METHODS
    from gnomon.distances.scaling import Coordinates as Coordinates
    from gnomon.distances.scaling import check_distances as check_distances
    from gnomon.distances.scaling import classical_mds as classical_mds
    from gnomon.distances.scaling import scale as scale
    from gnomon.distances.scaling import smacof as smacof
    from gnomon.distances.significance import LEAST_TESTED as LEAST_TESTED
    from gnomon.distances.significance import Signal as Signal
    from gnomon.distances.significance import signal as signal

__getattr__, __dir__ = front(
    __name__,
    {
        "chord": ("angle", "centred_gram", "chord_distances", "double_centred"),
        "eigenvalues": ("Spectrum", "spectrum"),
        "estimate": ("DRAWS", "Debiased", "debias", "pair_mean"),
        "estimators": ("ESTIMATORS",),
        "folds": ("FoldedCounts", "LEAST_FOLDS", "fold_counts"),
        "geometry": ("Geometry", "check_metric", "measure"),
        "intervals": (
            "Figure",
            "Survivorship",
            "figure",
            "jackknife_error",
            "jackknife",
            "low_rank_replicates",
            "mean_squared",
            "outside_core",
            "project",
            "survivorship",
        ),
        "nulls": ("NullGeometry", "deal", "dealt_geometry", "dealt_null", "null_geometry"),
        "scaling": (
            "Coordinates",
            "METHODS",
            "check_distances",
            "classical_mds",
            "scale",
            "smacof",
        ),
        "significance": ("LEAST_TESTED", "Signal", "signal"),
    },
)
