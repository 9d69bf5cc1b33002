"""The catalogue: one formula for each encoding, and what a config says, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.encodings.additive import Sinusoidal as Sinusoidal
    from gnomon.encodings.attention import AttentionCall as AttentionCall
    from gnomon.encodings.attention import refuse_arguments as refuse_arguments
    from gnomon.encodings.base import Encoding as Encoding
    from gnomon.encodings.base import Numbers as Numbers
    from gnomon.encodings.biases.kernels import Kerple as Kerple
    from gnomon.encodings.biases.kernels import Sandwich as Sandwich
    from gnomon.encodings.biases.linear import Alibi as Alibi
    from gnomon.encodings.biases.linear import DecayTime as DecayTime
    from gnomon.encodings.biases.linear import best_slope as best_slope
    from gnomon.encodings.biases.linear import official_slopes as official_slopes
    from gnomon.encodings.card import Card as Card
    from gnomon.encodings.card import Row as Row
    from gnomon.encodings.card import in_words as in_words
    from gnomon.encodings.certified import certificate as certificate
    from gnomon.encodings.certified import dimension_of as dimension_of
    from gnomon.encodings.certified import heads_of as heads_of
    from gnomon.encodings.content.ordering import reads_neighbours as reads_neighbours
    from gnomon.encodings.files import fitted_bytes as fitted_bytes
    from gnomon.encodings.files import write_encoding as write_encoding
    from gnomon.encodings.fitted import FILLED as FILLED
    from gnomon.encodings.fitted import GIVEN as GIVEN
    from gnomon.encodings.fitted import MEASURED as MEASURED
    from gnomon.encodings.fitted import PROJECTED as PROJECTED
    from gnomon.encodings.fitted import Finish as Finish
    from gnomon.encodings.fitted import Fitted as Fitted
    from gnomon.encodings.fitted import Places as Places
    from gnomon.encodings.fitted import Points as Points
    from gnomon.encodings.fitted import Rules as Rules
    from gnomon.encodings.fitted import check_rank as check_rank
    from gnomon.encodings.fitted import directions as directions
    from gnomon.encodings.fitted import factors as factors
    from gnomon.encodings.fitted import filled as filled
    from gnomon.encodings.fitted import finish as finish
    from gnomon.encodings.fitted import fit as fit
    from gnomon.encodings.fitted import opened as opened
    from gnomon.encodings.fitted import places_of as places_of
    from gnomon.encodings.fitted import points_of_distances as points_of_distances
    from gnomon.encodings.fitted import retrained as retrained
    from gnomon.encodings.fitted import rules_of as rules_of
    from gnomon.encodings.frequencies import UNSCALED as UNSCALED
    from gnomon.encodings.generators.fading import Hyperbolic as Hyperbolic
    from gnomon.encodings.generators.fading import Jordan as Jordan
    from gnomon.encodings.generators.fading import Referred as Referred
    from gnomon.encodings.generators.given import Given as Given
    from gnomon.encodings.generators.skew import ComRope as ComRope
    from gnomon.encodings.generators.skew import Dense as Dense
    from gnomon.encodings.lag_groups import LONG as LONG
    from gnomon.encodings.lag_groups import biases_of as biases_of
    from gnomon.encodings.lag_groups import encoding_of as encoding_of
    from gnomon.encodings.lag_groups import longest_life as longest_life
    from gnomon.encodings.lag_groups import slopes_of as slopes_of
    from gnomon.encodings.lag_groups import usable as usable
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
    from gnomon.encodings.relative import TransformerXL as TransformerXL
    from gnomon.encodings.rotary.config.build import ROTARY_WAYS as ROTARY_WAYS
    from gnomon.encodings.rotary.config.build import encoding_within as encoding_within
    from gnomon.encodings.rotary.config.build import from_config as from_config
    from gnomon.encodings.rotary.config.build import schedule as schedule
    from gnomon.encodings.rotary.config.layers import LayerSchedule as LayerSchedule
    from gnomon.encodings.rotary.config.source import TOP as TOP
    from gnomon.encodings.rotary.config.source import check_plain as check_plain
    from gnomon.encodings.rotary.config.source import read_config as read_config
    from gnomon.encodings.rotary.decay import Decaying as Decaying
    from gnomon.encodings.rotary.rope import TURN as TURN
    from gnomon.encodings.rotary.rope import Rope as Rope
    from gnomon.encodings.rotary.rope import Rotating as Rotating
    from gnomon.encodings.rotary.rope import turn as turn
    from gnomon.encodings.rotary.variants import Pope as Pope
    from gnomon.encodings.rotary.variants import RopePlusPlus as RopePlusPlus
    from gnomon.encodings.scoring import masked_scores as masked_scores
    from gnomon.encodings.tables import SUFFIXES as SUFFIXES
    from gnomon.encodings.tables import Table as Table
    from gnomon.encodings.tables import names_table as names_table
    from gnomon.encodings.tables import open_table as open_table
    from gnomon.encodings.wrappers import Interleaved as Interleaved
    from gnomon.encodings.wrappers import Moving as Moving

__getattr__, __dir__ = front(
    __name__,
    {
        "additive": ("Sinusoidal",),
        "attention": (
            "AttentionCall",
            "refuse_arguments",
        ),
        "base": (
            "Encoding",
            "Numbers",
        ),
        "biases.kernels": (
            "Kerple",
            "Sandwich",
        ),
        "biases.linear": (
            "Alibi",
            "DecayTime",
            "best_slope",
            "official_slopes",
        ),
        "card": (
            "Card",
            "Row",
            "in_words",
        ),
        "certified": (
            "certificate",
            "dimension_of",
            "heads_of",
        ),
        "content.ordering": ("reads_neighbours",),
        "files": (
            "fitted_bytes",
            "write_encoding",
        ),
        "fitted": (
            "FILLED",
            "Finish",
            "Fitted",
            "GIVEN",
            "MEASURED",
            "PROJECTED",
            "Places",
            "Points",
            "Rules",
            "check_rank",
            "directions",
            "factors",
            "filled",
            "finish",
            "fit",
            "opened",
            "places_of",
            "points_of_distances",
            "retrained",
            "rules_of",
        ),
        "frequencies": ("UNSCALED",),
        "generators.fading": (
            "Hyperbolic",
            "Jordan",
            "Referred",
        ),
        "generators.given": ("Given",),
        "generators.skew": (
            "ComRope",
            "Dense",
        ),
        "lag_groups": (
            "LONG",
            "biases_of",
            "encoding_of",
            "longest_life",
            "slopes_of",
            "usable",
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
        "relative": ("TransformerXL",),
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
        "rotary.decay": ("Decaying",),
        "rotary.rope": (
            "Rope",
            "Rotating",
            "TURN",
            "turn",
        ),
        "rotary.variants": (
            "Pope",
            "RopePlusPlus",
        ),
        "scoring": ("masked_scores",),
        "tables": (
            "SUFFIXES",
            "Table",
            "names_table",
            "open_table",
        ),
        "wrappers": (
            "Interleaved",
            "Moving",
        ),
    },
)
