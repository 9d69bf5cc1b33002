"""Counts -> distances -> Gram matrix -> coordinates, with nulls, noise and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.distances.chord import angle as angle
    from gnomon.distances.chord import chord_distances as chord_distances
    from gnomon.distances.dealing import deal as deal
    from gnomon.distances.debiased.estimate import DRAWS as DRAWS
    from gnomon.distances.debiased.estimate import Debiased as Debiased
    from gnomon.distances.debiased.estimate import debias as debias
    from gnomon.distances.debiased.estimate import pair_mean as pair_mean
    from gnomon.distances.debiased.folded import LEAST_FOLDS as LEAST_FOLDS
    from gnomon.distances.debiased.folded import FoldedCounts as FoldedCounts
    from gnomon.distances.debiased.folded import folded as folded
    from gnomon.distances.debiased.intervals import Figure as Figure
    from gnomon.distances.debiased.intervals import figure as figure
    from gnomon.distances.debiased.intervals import jackknife_error as jackknife_error
    from gnomon.distances.debiased.intervals import jackknifed as jackknifed
    from gnomon.distances.debiased.intervals import low_rank_replicates as low_rank_replicates
    from gnomon.distances.debiased.intervals import mean_squared as mean_squared
    from gnomon.distances.debiased.projection import outside_core as outside_core
    from gnomon.distances.debiased.projection import projected as projected
    from gnomon.distances.debiased.signal import LEAST_TESTED as LEAST_TESTED
    from gnomon.distances.debiased.signal import Signal as Signal
    from gnomon.distances.debiased.signal import signal as signal
    from gnomon.distances.debiased.survivorship import Survivorship as Survivorship
    from gnomon.distances.debiased.survivorship import survivorship as survivorship
    from gnomon.distances.eigenvalues import Spectrum as Spectrum
    from gnomon.distances.eigenvalues import spectrum as spectrum
    from gnomon.distances.estimators import ESTIMATORS as ESTIMATORS
    from gnomon.distances.geometry import Geometry as Geometry
    from gnomon.distances.geometry import check_metric as check_metric
    from gnomon.distances.geometry import measure as measure
    from gnomon.distances.gram import centred_gram as centred_gram
    from gnomon.distances.gram import double_centred as double_centred
    from gnomon.distances.majorization import checked_distances as checked_distances
    from gnomon.distances.majorization import smacof as smacof
    from gnomon.distances.mds import METHODS as METHODS
    from gnomon.distances.mds import Coordinates as Coordinates
    from gnomon.distances.mds import classical_mds as classical_mds
    from gnomon.distances.mds import scale as scale
    from gnomon.distances.nulls import NullGeometry as NullGeometry
    from gnomon.distances.nulls import dealt_geometry as dealt_geometry
    from gnomon.distances.nulls import dealt_null as dealt_null
    from gnomon.distances.nulls import null_geometry as null_geometry

__getattr__, __dir__ = front(
    __name__,
    {
        "chord": ("angle", "chord_distances"),
        "dealing": ("deal",),
        "debiased.estimate": ("DRAWS", "Debiased", "debias", "pair_mean"),
        "debiased.folded": ("FoldedCounts", "LEAST_FOLDS", "folded"),
        "debiased.intervals": (
            "Figure",
            "figure",
            "jackknife_error",
            "jackknifed",
            "low_rank_replicates",
            "mean_squared",
        ),
        "debiased.projection": ("outside_core", "projected"),
        "debiased.signal": ("LEAST_TESTED", "Signal", "signal"),
        "debiased.survivorship": ("Survivorship", "survivorship"),
        "eigenvalues": ("Spectrum", "spectrum"),
        "estimators": ("ESTIMATORS",),
        "geometry": ("Geometry", "check_metric", "measure"),
        "gram": ("centred_gram", "double_centred"),
        "majorization": ("checked_distances", "smacof"),
        "mds": ("Coordinates", "METHODS", "classical_mds", "scale"),
        "nulls": ("NullGeometry", "dealt_geometry", "dealt_null", "null_geometry"),
    },
)
