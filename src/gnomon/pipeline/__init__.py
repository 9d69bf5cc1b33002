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
    from gnomon.pipeline.noise import NoiseReport as NoiseReport
    from gnomon.pipeline.noise import Tests as Tests
    from gnomon.pipeline.noise import in_folds as in_folds
    from gnomon.pipeline.options import DEFAULT_SHUFFLES as DEFAULT_SHUFFLES
    from gnomon.pipeline.options import FitOptions as FitOptions
    from gnomon.pipeline.options import SurveyOptions as SurveyOptions
    from gnomon.pipeline.page_data import Pictures as Pictures
    from gnomon.pipeline.page_data import load_pictures as load_pictures
    from gnomon.pipeline.page_data import pictures as pictures
    from gnomon.pipeline.rows import debiased_encoding as debiased_encoding
    from gnomon.pipeline.stress import DEBIASED as DEBIASED
    from gnomon.pipeline.stress import NUMBERS as NUMBERS
    from gnomon.pipeline.stress import EncodingChoice as EncodingChoice
    from gnomon.pipeline.stress import rows_in_words as rows_in_words
    from gnomon.pipeline.stress import stress_place as stress_place
    from gnomon.pipeline.survey_file import SCHEMA_VERSION as SCHEMA_VERSION
    from gnomon.pipeline.survey_file import fault as fault
    from gnomon.pipeline.survey_file import save_survey as save_survey
    from gnomon.pipeline.surveys import provenance as provenance
    from gnomon.pipeline.surveys import survey as survey
    from gnomon.pipeline.surveys import survey_with as survey_with
    from gnomon.pipeline.words import blocks_in_words as blocks_in_words
    from gnomon.pipeline.words import either_way as either_way
    from gnomon.pipeline.words import order_in_words as order_in_words
    from gnomon.pipeline.words import p_in_words as p_in_words
    from gnomon.pipeline.words import percent as percent
    from gnomon.pipeline.words import ranges as ranges
    from gnomon.pipeline.words import rows_used as rows_used
    from gnomon.pipeline.words import signed_figure as signed_figure
    from gnomon.pipeline.words import skipped as skipped

__getattr__, __dir__ = front(
    __name__,
    {
        "cost": (
            "estimate",
            "estimate_text",
        ),
        "debiased_stress": (
            "DebiasedTarget",
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
            "NoiseReport",
            "Tests",
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
        "rows": ("debiased_encoding",),
        "stress": (
            "DEBIASED",
            "EncodingChoice",
            "NUMBERS",
            "rows_in_words",
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
        "words": (
            "blocks_in_words",
            "either_way",
            "order_in_words",
            "p_in_words",
            "percent",
            "ranges",
            "rows_used",
            "signed_figure",
            "skipped",
        ),
    },
)
