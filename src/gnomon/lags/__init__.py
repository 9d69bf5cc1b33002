"""How tokens depend on the lag: information, periods and half-lives, with nulls and fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.lags.information import LagInformation as LagInformation
    from gnomon.lags.information import lag_information as lag_information
    from gnomon.lags.kernel import LagKernel as LagKernel
    from gnomon.lags.kernel import jackknife_errors as jackknife_errors
    from gnomon.lags.kernel import lag_kernel as lag_kernel
    from gnomon.lags.kernel import peaks as peaks
    from gnomon.lags.kernel import position_kernel as position_kernel
    from gnomon.lags.modes import FEWEST as FEWEST
    from gnomon.lags.modes import Dependence as Dependence
    from gnomon.lags.modes import Interval as Interval
    from gnomon.lags.modes import Mode as Mode
    from gnomon.lags.modes import dependence as dependence
    from gnomon.lags.modes import position_periods as position_periods
    from gnomon.lags.tails import DecayLaw as DecayLaw
    from gnomon.lags.tails import fit_decay_law as fit_decay_law
    from gnomon.lags.token_line import Integers as Integers
    from gnomon.lags.token_line import TokenLine as TokenLine
    from gnomon.lags.token_line import join_documents as join_documents
    from gnomon.lags.token_line import lag_range as lag_range
    from gnomon.lags.token_line import split_folds as split_folds

__getattr__, __dir__ = front(
    __name__,
    {
        "information": ("LagInformation", "lag_information"),
        "kernel": ("LagKernel", "jackknife_errors", "lag_kernel", "peaks", "position_kernel"),
        "modes": ("Dependence", "FEWEST", "Interval", "Mode", "dependence", "position_periods"),
        "tails": ("DecayLaw", "fit_decay_law"),
        "token_line": ("Integers", "TokenLine", "join_documents", "lag_range", "split_folds"),
    },
)
