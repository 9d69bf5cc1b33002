"""How tokens depend on the lag: information, periods and half-lives, with nulls and fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.lags.detection import peaks as peaks
    from gnomon.lags.information import LagInformation as LagInformation
    from gnomon.lags.information import lag_information as lag_information
    from gnomon.lags.kernel import LagKernel as LagKernel
    from gnomon.lags.kernel import jackknife_errors as jackknife_errors
    from gnomon.lags.kernel import lag_kernel as lag_kernel
    from gnomon.lags.line import Line as Line
    from gnomon.lags.line import Whole as Whole
    from gnomon.lags.line import divided as divided
    from gnomon.lags.line import line_of as line_of
    from gnomon.lags.line import steps_of as steps_of
    from gnomon.lags.modes import FEWEST as FEWEST
    from gnomon.lags.modes import Dependence as Dependence
    from gnomon.lags.modes import Interval as Interval
    from gnomon.lags.modes import Mode as Mode
    from gnomon.lags.modes import dependence as dependence
    from gnomon.lags.position_law import position_kernel as position_kernel
    from gnomon.lags.position_law import position_periods as position_periods
    from gnomon.lags.tails import Law as Law
    from gnomon.lags.tails import law_of as law_of

__getattr__, __dir__ = front(
    __name__,
    {
        "detection": ("peaks",),
        "information": ("LagInformation", "lag_information"),
        "kernel": ("LagKernel", "jackknife_errors", "lag_kernel"),
        "line": ("Line", "Whole", "divided", "line_of", "steps_of"),
        "modes": ("Dependence", "FEWEST", "Interval", "Mode", "dependence"),
        "position_law": ("position_kernel", "position_periods"),
        "tails": ("Law", "law_of"),
    },
)
