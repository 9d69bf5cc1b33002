"""The catalogue: one formula for each encoding, and what a config says, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.encodings.attention import AttentionCall as AttentionCall
    from gnomon.encodings.attention import refuse_arguments as refuse_arguments
    from gnomon.encodings.base import Encoding as Encoding
    from gnomon.encodings.biases.linear import Alibi as Alibi
    from gnomon.encodings.biases.linear import best_slope as best_slope
    from gnomon.encodings.biases.linear import official_slopes as official_slopes
    from gnomon.encodings.card import Card as Card
    from gnomon.encodings.card import Row as Row
    from gnomon.encodings.card import in_words as in_words
    from gnomon.encodings.certified import certificate as certificate
    from gnomon.encodings.files import fitted_bytes as fitted_bytes
    from gnomon.encodings.files import write_encoding as write_encoding
    from gnomon.encodings.fitted import Finish as Finish
    from gnomon.encodings.fitted import Fitted as Fitted
    from gnomon.encodings.fitted import Places as Places
    from gnomon.encodings.fitted import Points as Points
    from gnomon.encodings.fitted import Rules as Rules
    from gnomon.encodings.fitted import fit as fit
    from gnomon.encodings.frequencies import UNSCALED as UNSCALED
    from gnomon.encodings.generators.fading import Jordan as Jordan
    from gnomon.encodings.generators.fading import Referred as Referred
    from gnomon.encodings.lifts import Ladder as Ladder
    from gnomon.encodings.lifts import Lifted as Lifted
    from gnomon.encodings.lifts import Portrait as Portrait
    from gnomon.encodings.lifts import Profile as Profile
    from gnomon.encodings.lifts import distances_between as distances_between
    from gnomon.encodings.lifts import lift as lift
    from gnomon.encodings.lifts import portrait as portrait
    from gnomon.encodings.lifts import squared_distances as squared_distances
    from gnomon.encodings.nope import Nope as Nope
    from gnomon.encodings.positions import time_unit as time_unit
    from gnomon.encodings.registry import ENTRIES as ENTRIES
    from gnomon.encodings.registry import as_encoding as as_encoding
    from gnomon.encodings.registry import catalogue as catalogue
    from gnomon.encodings.registry import described as described
    from gnomon.encodings.registry import encoding as encoding
    from gnomon.encodings.registry import entry_of as entry_of
    from gnomon.encodings.registry import shown as shown
    from gnomon.encodings.registry import takes as takes
    from gnomon.encodings.registry import usual_parameters as usual_parameters
    from gnomon.encodings.rotary.config.build import ROTARY_WAYS as ROTARY_WAYS
    from gnomon.encodings.rotary.config.build import encoding_within as encoding_within
    from gnomon.encodings.rotary.config.build import from_config as from_config
    from gnomon.encodings.rotary.config.build import schedule as schedule
    from gnomon.encodings.rotary.config.layers import LayerSchedule as LayerSchedule
    from gnomon.encodings.rotary.config.source import TOP as TOP
    from gnomon.encodings.rotary.config.source import check_plain as check_plain
    from gnomon.encodings.rotary.config.source import read_config as read_config
    from gnomon.encodings.rotary.rope import TURN as TURN
    from gnomon.encodings.rotary.rope import Rope as Rope
    from gnomon.encodings.rotary.rope import Rotating as Rotating
    from gnomon.encodings.rotary.rope import turn as turn
    from gnomon.encodings.scoring import masked_scores as masked_scores
    from gnomon.encodings.tables import SUFFIXES as SUFFIXES
    from gnomon.encodings.tables import Table as Table
    from gnomon.encodings.tables import names_table as names_table
    from gnomon.encodings.tables import open_table as open_table
    from gnomon.encodings.wrappers import Moving as Moving

__getattr__, __dir__ = front(
    __name__,
    {
        "attention": (
            "AttentionCall",
            "refuse_arguments",
        ),
        "base": ("Encoding",),
        "biases.linear": (
            "Alibi",
            "best_slope",
            "official_slopes",
        ),
        "card": (
            "Card",
            "Row",
            "in_words",
        ),
        "certified": ("certificate",),
        "files": (
            "fitted_bytes",
            "write_encoding",
        ),
        "fitted": (
            "Finish",
            "Fitted",
            "Places",
            "Points",
            "Rules",
            "fit",
        ),
        "frequencies": ("UNSCALED",),
        "generators.fading": (
            "Jordan",
            "Referred",
        ),
        "lifts": (
            "Ladder",
            "Lifted",
            "Portrait",
            "Profile",
            "distances_between",
            "lift",
            "portrait",
            "squared_distances",
        ),
        "nope": ("Nope",),
        "positions": ("time_unit",),
        "registry": (
            "ENTRIES",
            "as_encoding",
            "catalogue",
            "described",
            "encoding",
            "entry_of",
            "shown",
            "takes",
            "usual_parameters",
        ),
        "rotary.config.build": (
            "ROTARY_WAYS",
            "encoding_within",
            "from_config",
            "schedule",
        ),
        "rotary.config.layers": ("LayerSchedule",),
        "rotary.config.source": (
            "TOP",
            "check_plain",
            "read_config",
        ),
        "rotary.rope": (
            "Rope",
            "Rotating",
            "TURN",
            "turn",
        ),
        "scoring": ("masked_scores",),
        "tables": (
            "SUFFIXES",
            "Table",
            "names_table",
            "open_table",
        ),
        "wrappers": ("Moving",),
    },
)
