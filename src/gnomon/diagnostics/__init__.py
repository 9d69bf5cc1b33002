"""How an encoding and a geometry compare: arrays in, numbers out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.diagnostics.monotonicity import GRAIN as GRAIN
    from gnomon.diagnostics.monotonicity import Monotonicity as Monotonicity
    from gnomon.diagnostics.monotonicity import violations as violations
    from gnomon.diagnostics.pairs import Separation as Separation
    from gnomon.diagnostics.pairs import condensed as condensed
    from gnomon.diagnostics.pairs import correlation as correlation
    from gnomon.diagnostics.pairs import lifted_of as lifted_of
    from gnomon.diagnostics.pairs import mean_ranks as mean_ranks
    from gnomon.diagnostics.pairs import separation as separation
    from gnomon.diagnostics.pairs import target_of as target_of
    from gnomon.diagnostics.patterns import Pattern as Pattern
    from gnomon.diagnostics.patterns import Unbiased as Unbiased
    from gnomon.diagnostics.patterns import pattern as pattern
    from gnomon.diagnostics.shift import ShiftEquivariance as ShiftEquivariance
    from gnomon.diagnostics.shift import shift_equivariance as shift_equivariance
    from gnomon.diagnostics.stress_report import ParameterCount as ParameterCount
    from gnomon.diagnostics.stress_report import StressByDimension as StressByDimension
    from gnomon.diagnostics.stress_report import StressReport as StressReport
    from gnomon.diagnostics.stress_report import parameter_table as parameter_table
    from gnomon.diagnostics.stress_report import stress as stress
    from gnomon.diagnostics.stress_report import stress_by_dimension as stress_by_dimension

__getattr__, __dir__ = front(
    __name__,
    {
        "monotonicity": ("GRAIN", "Monotonicity", "violations"),
        "pairs": (
            "Separation",
            "condensed",
            "correlation",
            "lifted_of",
            "mean_ranks",
            "separation",
            "target_of",
        ),
        "patterns": ("Pattern", "Unbiased", "pattern"),
        "shift": ("ShiftEquivariance", "shift_equivariance"),
        "stress_report": (
            "ParameterCount",
            "StressByDimension",
            "StressReport",
            "parameter_table",
            "stress",
            "stress_by_dimension",
        ),
    },
)
