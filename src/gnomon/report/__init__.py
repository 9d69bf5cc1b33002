"""Results and records -> sentences, tables, figures and self-contained pages; it never computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.report.cards import card_text as card_text
    from gnomon.report.cards import catalogue_text as catalogue_text
    from gnomon.report.figures.places import counted as counted
    from gnomon.report.fits import fit_text as fit_text
    from gnomon.report.fits import lag_fit_lines as lag_fit_lines
    from gnomon.report.page.build import page_bytes as page_bytes
    from gnomon.report.page.card import card_page as card_page
    from gnomon.report.page.lab import lab_page as lab_page
    from gnomon.report.page.lags import lags_page as lags_page
    from gnomon.report.page.reading import drawing as drawing
    from gnomon.report.page.reading import folders_from as folders_from
    from gnomon.report.page.reading import label_of as label_of
    from gnomon.report.page.reading import read_surveys as read_surveys
    from gnomon.report.page.reading import survey_file as survey_file
    from gnomon.report.page.spectrum import spectrum_page as spectrum_page
    from gnomon.report.text import Cell as Cell
    from gnomon.report.text import cell as cell
    from gnomon.report.text import percent as percent
    from gnomon.report.text import survey_text as survey_text
    from gnomon.report.text import table as table

__getattr__, __dir__ = front(
    __name__,
    {
        "cards": ("card_text", "catalogue_text"),
        "figures.places": ("counted",),
        "fits": ("fit_text", "lag_fit_lines"),
        "page.build": ("page_bytes",),
        "page.card": ("card_page",),
        "page.lab": ("lab_page",),
        "page.lags": ("lags_page",),
        "page.reading": ("drawing", "folders_from", "label_of", "read_surveys", "survey_file"),
        "page.spectrum": ("spectrum_page",),
        "text": ("Cell", "cell", "percent", "survey_text", "table"),
    },
)
