"""Positional encodings as one-parameter groups exp(tX): generators, classes, realisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.groups.actions import block_weighed as block_weighed
    from gnomon.groups.actions import faded as faded
    from gnomon.groups.actions import jordan_weights as jordan_weights
    from gnomon.groups.actions import light_cone as light_cone
    from gnomon.groups.actions import planes_turned as planes_turned
    from gnomon.groups.actions import run_carried as run_carried
    from gnomon.groups.actions import run_turned as run_turned
    from gnomon.groups.actions import turned_pairs as turned_pairs
    from gnomon.groups.blocks import Block as Block
    from gnomon.groups.blocks import Floats as Floats
    from gnomon.groups.causal import Side as Side
    from gnomon.groups.causal import causal_logits as causal_logits
    from gnomon.groups.certificate import Certificate as Certificate
    from gnomon.groups.certificate import joined as joined
    from gnomon.groups.classification import classify as classify
    from gnomon.groups.clocks import modulo as modulo
    from gnomon.groups.commuting import Commuting as Commuting
    from gnomon.groups.compile import compile_bias as compile_bias
    from gnomon.groups.equivalence import equivalent as equivalent
    from gnomon.groups.generator import Generator as Generator
    from gnomon.groups.levels import PROMISED as PROMISED
    from gnomon.groups.realisation import realise as realise
    from gnomon.groups.rounding import fitted as fitted
    from gnomon.groups.rounding import tolerance_of as tolerance_of
    from gnomon.groups.steps import classify_step as classify_step
    from gnomon.groups.subject import Coder as Coder
    from gnomon.groups.subject import Subject as Subject
    from gnomon.groups.subject import of_maps as of_maps
    from gnomon.groups.verify import certify as certify

__getattr__, __dir__ = front(
    __name__,
    {
        "actions": (
            "block_weighed",
            "faded",
            "jordan_weights",
            "light_cone",
            "planes_turned",
            "run_carried",
            "run_turned",
            "turned_pairs",
        ),
        "blocks": ("Block", "Floats"),
        "causal": ("Side", "causal_logits"),
        "certificate": ("Certificate", "joined"),
        "classification": ("classify",),
        "clocks": ("modulo",),
        "commuting": ("Commuting",),
        "compile": ("compile_bias",),
        "equivalence": ("equivalent",),
        "generator": ("Generator",),
        "levels": ("PROMISED",),
        "realisation": ("realise",),
        "rounding": ("fitted", "tolerance_of"),
        "steps": ("classify_step",),
        "subject": ("Coder", "Subject", "of_maps"),
        "verify": ("certify",),
    },
)
