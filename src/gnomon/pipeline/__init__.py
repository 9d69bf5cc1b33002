"""The main job: a corpus -> counts -> geometry -> what of it is noise -> encodings.

Everything begins with `measure_corpus`; `survey`, `fit` and `dependence` are what users call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.pipeline.cost import estimate as estimate
    from gnomon.pipeline.cost import estimate_text as estimate_text
    from gnomon.pipeline.debiased_stress import DebiasedTarget as DebiasedTarget
    from gnomon.pipeline.debiased_stress import LeftOut as LeftOut
    from gnomon.pipeline.debiased_stress import scale_free as scale_free
    from gnomon.pipeline.fitting import fit as fit
    from gnomon.pipeline.fitting import fit_place as fit_place
    from gnomon.pipeline.lag_fit import fit_lags as fit_lags
    from gnomon.pipeline.lag_groups import fit_group as fit_group
    from gnomon.pipeline.lag_groups import longest_life as longest_life
    from gnomon.pipeline.lags import LagStructure as LagStructure
    from gnomon.pipeline.lags import dependence as dependence
    from gnomon.pipeline.measured import Measured as Measured
    from gnomon.pipeline.measured import count_groups as count_groups
    from gnomon.pipeline.measured import measure_corpus as measure_corpus
    from gnomon.pipeline.noise import ERRORS_NEEDED as ERRORS_NEEDED
    from gnomon.pipeline.noise import Doubts as Doubts
    from gnomon.pipeline.noise import NoiseReport as NoiseReport
    from gnomon.pipeline.noise import Tests as Tests
    from gnomon.pipeline.noise import Unshared as Unshared
    from gnomon.pipeline.noise import in_folds as in_folds
    from gnomon.pipeline.options import DEFAULT_SHUFFLES as DEFAULT_SHUFFLES
    from gnomon.pipeline.options import FitOptions as FitOptions
    from gnomon.pipeline.options import SurveyOptions as SurveyOptions
    from gnomon.pipeline.page_data import Pictures as Pictures
    from gnomon.pipeline.page_data import load_pictures as load_pictures
    from gnomon.pipeline.page_data import pictures as pictures
    from gnomon.pipeline.rows import TableRows as TableRows
    from gnomon.pipeline.rows import debiased_encoding as debiased_encoding
    from gnomon.pipeline.stress import DEBIASED as DEBIASED
    from gnomon.pipeline.stress import NUMBERS as NUMBERS
    from gnomon.pipeline.stress import EncodingChoice as EncodingChoice
    from gnomon.pipeline.stress import stress_place as stress_place
    from gnomon.pipeline.survey_file import SCHEMA_VERSION as SCHEMA_VERSION
    from gnomon.pipeline.survey_file import fault as fault
    from gnomon.pipeline.survey_file import save_survey as save_survey
    from gnomon.pipeline.surveys import provenance as provenance
    from gnomon.pipeline.surveys import survey as survey
    from gnomon.pipeline.surveys import survey_with as survey_with
    from gnomon.pipeline.verdict import Nearest as Nearest
    from gnomon.pipeline.verdict import Verdict as Verdict

__getattr__, __dir__ = front(
    __name__,
    {
        "cost": (
            "estimate",
            "estimate_text",
        ),
        "debiased_stress": (
            "DebiasedTarget",
            "LeftOut",
            "scale_free",
        ),
        "fitting": (
            "fit",
            "fit_place",
        ),
        "lag_fit": ("fit_lags",),
        "lag_groups": (
            "fit_group",
            "longest_life",
        ),
        "lags": ("LagStructure", "dependence"),
        "measured": (
            "Measured",
            "count_groups",
            "measure_corpus",
        ),
        "noise": (
            "ERRORS_NEEDED",
            "Doubts",
            "NoiseReport",
            "Tests",
            "Unshared",
            "in_folds",
        ),
        "options": (
            "DEFAULT_SHUFFLES",
            "FitOptions",
            "SurveyOptions",
        ),
        "page_data": (
            "Pictures",
            "load_pictures",
            "pictures",
        ),
        "rows": ("TableRows", "debiased_encoding"),
        "stress": (
            "DEBIASED",
            "EncodingChoice",
            "NUMBERS",
            "stress_place",
        ),
        "survey_file": (
            "SCHEMA_VERSION",
            "fault",
            "save_survey",
        ),
        "surveys": (
            "provenance",
            "survey",
            "survey_with",
        ),
        "verdict": ("Nearest", "Verdict"),
    },
)
