"""Results and records -> sentences, tables, figures and self-contained pages; it never computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.report.lag_sentences import lag_lines as lag_lines
    from gnomon.report.page.build import page_bytes as page_bytes
    from gnomon.report.page.pages import card_page as card_page
    from gnomon.report.page.pages import lab_page as lab_page
    from gnomon.report.page.pages import lags_page as lags_page
    from gnomon.report.page.pages import spectrum_page as spectrum_page
    from gnomon.report.page.reading import folders_from as folders_from
    from gnomon.report.page.reading import label_of as label_of
    from gnomon.report.page.reading import read_surveys as read_surveys
    from gnomon.report.page.reading import refuse_mixed as refuse_mixed
    from gnomon.report.page.reading import survey_file as survey_file
    from gnomon.report.phrases import called as called
    from gnomon.report.phrases import ranges as ranges
    from gnomon.report.phrases import signed_figure as signed_figure
    from gnomon.report.phrases import with_noun as with_noun
    from gnomon.report.text import Cell as Cell
    from gnomon.report.text import card_text as card_text
    from gnomon.report.text import catalogue_text as catalogue_text
    from gnomon.report.text import cell as cell
    from gnomon.report.text import classification_text as classification_text
    from gnomon.report.text import fit_text as fit_text
    from gnomon.report.text import grid_text as grid_text
    from gnomon.report.text import lag_fit_lines as lag_fit_lines
    from gnomon.report.text import percent as percent
    from gnomon.report.text import stress_text as stress_text
    from gnomon.report.text import survey_text as survey_text
    from gnomon.report.text import table as table
    from gnomon.report.verdict_sentences import what_was_tested as what_was_tested

__getattr__, __dir__ = front(
    __name__,
    {
        "lag_sentences": ("lag_lines",),
        "page.build": ("page_bytes",),
        "page.pages": ("card_page", "lab_page", "lags_page", "spectrum_page"),
        "page.reading": ("refuse_mixed", "folders_from", "label_of", "read_surveys", "survey_file"),
        "phrases": ("called", "ranges", "signed_figure", "with_noun"),
        "text": (
            "Cell",
            "card_text",
            "catalogue_text",
            "cell",
            "fit_text",
            "lag_fit_lines",
            "classification_text",
            "grid_text",
            "stress_text",
            "percent",
            "survey_text",
            "table",
        ),
        "verdict_sentences": ("what_was_tested",),
    },
)
