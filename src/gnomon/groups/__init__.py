"""Positional encodings as one-parameter groups exp(tX): generators, classes, realisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.groups.actions import Side as Side
    from gnomon.groups.actions import block_logits as block_logits
    from gnomon.groups.actions import causal_logits as causal_logits
    from gnomon.groups.actions import decay_factors as decay_factors
    from gnomon.groups.actions import jordan_weights as jordan_weights
    from gnomon.groups.actions import light_cone as light_cone
    from gnomon.groups.actions import rotate_pairs as rotate_pairs
    from gnomon.groups.actions import rotate_planes as rotate_planes
    from gnomon.groups.actions import rotate_run as rotate_run
    from gnomon.groups.actions import shear_run as shear_run
    from gnomon.groups.certificate import PROMISED as PROMISED
    from gnomon.groups.certificate import Certificate as Certificate
    from gnomon.groups.certificate import certify as certify
    from gnomon.groups.certificate import join_certificates as join_certificates
    from gnomon.groups.classification import classify as classify
    from gnomon.groups.compilation import compile_bias as compile_bias
    from gnomon.groups.equivalence import equivalent as equivalent
    from gnomon.groups.generator import Block as Block
    from gnomon.groups.generator import Commuting as Commuting
    from gnomon.groups.generator import Floats as Floats
    from gnomon.groups.generator import Generator as Generator
    from gnomon.groups.logit_function import Coder as Coder
    from gnomon.groups.logit_function import LogitFunction as LogitFunction
    from gnomon.groups.logit_function import detect_rounding as detect_rounding
    from gnomon.groups.logit_function import modulo as modulo
    from gnomon.groups.logit_function import of_maps as of_maps
    from gnomon.groups.logit_function import tolerance_of as tolerance_of
    from gnomon.groups.realisation import realise as realise
    from gnomon.groups.steps import classify_step as classify_step

__getattr__, __dir__ = front(
    __name__,
    {
        "actions": (
            "Side",
            "block_logits",
            "causal_logits",
            "decay_factors",
            "jordan_weights",
            "light_cone",
            "rotate_pairs",
            "rotate_planes",
            "rotate_run",
            "shear_run",
        ),
        "certificate": ("PROMISED", "Certificate", "certify", "join_certificates"),
        "classification": ("classify",),
        "compilation": ("compile_bias",),
        "equivalence": ("equivalent",),
        "generator": ("Block", "Commuting", "Floats", "Generator"),
        "logit_function": (
            "Coder",
            "LogitFunction",
            "detect_rounding",
            "modulo",
            "of_maps",
            "tolerance_of",
        ),
        "realisation": ("realise",),
        "steps": ("classify_step",),
    },
)
