"""The catalogue: one formula for each encoding, and what a config says, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.encodings.attention import AttentionCall as AttentionCall
    from gnomon.encodings.base import Encoding as Encoding
    from gnomon.encodings.biases.linear import best_slope as best_slope
    from gnomon.encodings.card import Card as Card
    from gnomon.encodings.card import Row as Row
    from gnomon.encodings.card import in_words as in_words
    from gnomon.encodings.certified import certificate as certificate
    from gnomon.encodings.fitted import Finish as Finish
    from gnomon.encodings.fitted import Fitted as Fitted
    from gnomon.encodings.fitted import Places as Places
    from gnomon.encodings.fitted import Points as Points
    from gnomon.encodings.fitted import Rules as Rules
    from gnomon.encodings.fitted import fit as fit
    from gnomon.encodings.lifts import Ladder as Ladder
    from gnomon.encodings.lifts import Lifted as Lifted
    from gnomon.encodings.lifts import Portrait as Portrait
    from gnomon.encodings.lifts import Profile as Profile
    from gnomon.encodings.lifts import lift as lift
    from gnomon.encodings.lifts import portrait as portrait
    from gnomon.encodings.nope import Nope as Nope
    from gnomon.encodings.positions import time_unit as time_unit
    from gnomon.encodings.registry import ENTRIES as ENTRIES
    from gnomon.encodings.registry import as_encoding as as_encoding
    from gnomon.encodings.registry import catalogue as catalogue
    from gnomon.encodings.registry import described as described
    from gnomon.encodings.registry import encoding as encoding
    from gnomon.encodings.registry import entry_of as entry_of
    from gnomon.encodings.registry import shown as shown
    from gnomon.encodings.registry import usual_parameters as usual_parameters
    from gnomon.encodings.rotary.config.build import encoding_within as encoding_within
    from gnomon.encodings.rotary.config.build import from_config as from_config
    from gnomon.encodings.rotary.config.build import names_rotary as names_rotary
    from gnomon.encodings.rotary.config.build import schedule as schedule
    from gnomon.encodings.rotary.config.layers import LayerSchedule as LayerSchedule
    from gnomon.encodings.rotary.config.source import check_plain as check_plain
    from gnomon.encodings.rotary.config.source import read_config as read_config
    from gnomon.encodings.rotary.rope import TURN as TURN
    from gnomon.encodings.rotary.rope import Rope as Rope
    from gnomon.encodings.rotary.rope import Rotating as Rotating
    from gnomon.encodings.rotary.rope import turn as turn
    from gnomon.encodings.tables import Table as Table
    from gnomon.encodings.wrappers import Moving as Moving

__getattr__, __dir__ = front(
    __name__,
    {
        "attention": ("AttentionCall",),
        "base": ("Encoding",),
        "biases.linear": ("best_slope",),
        "card": (
            "Card",
            "Row",
            "in_words",
        ),
        "certified": ("certificate",),
        "fitted": (
            "Finish",
            "Fitted",
            "Places",
            "Points",
            "Rules",
            "fit",
        ),
        "lifts": (
            "Ladder",
            "Lifted",
            "Portrait",
            "Profile",
            "lift",
            "portrait",
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
            "usual_parameters",
        ),
        "rotary.config.build": (
            "encoding_within",
            "from_config",
            "names_rotary",
            "schedule",
        ),
        "rotary.config.layers": ("LayerSchedule",),
        "rotary.config.source": (
            "check_plain",
            "read_config",
        ),
        "rotary.rope": (
            "Rope",
            "Rotating",
            "TURN",
            "turn",
        ),
        "tables": ("Table",),
        "wrappers": ("Moving",),
    },
)
