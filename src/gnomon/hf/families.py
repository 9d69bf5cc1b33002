"""Model types whose encoding is in no module that could be read: in code, by rules of their own.

    BLOOM, MPT   ALiBi with the official slopes; MPT's code has it whatever its config says
    Falcon       ALiBi with bias -m_h (i - j) / sqrt(d), since it is added before logits are scaled;
                 the code rounds slopes and products to bfloat16, which no definition repeats
    DeBERTa      content and lag meet in three products, tables projected by each layer anew
    MPNet        a learned table and T5's bias at once: no single encoding
    RoFormer     rotary, layout interleaved, base 10,000, by a table of sines and cosines
    XLNet        the four products of Transformer-XL, projections of each layer

as [wolf2020] has them, release 5.22. Where each layer learns its own numbers, the form is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from gnomon.encodings import Encoding, official_slopes
from gnomon.encodings import encoding as made
from gnomon.errors import EncodingError


def _alibi(config: Any) -> Encoding:
    return made("alibi", heads=int(config.num_attention_heads))


def _falcon(config: Any) -> Encoding | None:
    """Return Falcon's ALiBi, or nothing where it turns instead."""
    if not config.alibi:
        return None
    heads = int(config.num_attention_heads)
    scale = math.sqrt(config.hidden_size // heads)
    return made("alibi", slopes=tuple(slope / scale for slope in official_slopes(heads)))


def _deberta(config: Any) -> Encoding | None:
    """Return DeBERTa's encoding; without relative attention it has a learned table alone."""
    if not config.relative_attention:
        return None
    if config.position_biased_input:
        raise EncodingError(
            "The config says relative_attention and position_biased_input, a table beside the "
            "encoding 'deberta', which no single encoding is; read them one by one."
        )
    terms = config.pos_att_type or []
    terms = terms.split("|") if isinstance(terms, str) else terms
    if {"c2p", "p2c"} - set(terms):
        raise EncodingError(
            f"The config's pos_att_type is {terms}, and the encoding 'deberta' has both c2p and "
            "p2c; build the nearest one by hand."
        )
    heads, longest = int(config.num_attention_heads), int(config.max_relative_positions)
    longest = int(config.max_position_embeddings) if longest < 1 else longest
    buckets = int(getattr(config, "position_buckets", -1))
    return made(
        "deberta",
        dimension=int(config.hidden_size) // heads,
        heads=heads,
        largest_lag=longest,
        buckets=buckets if buckets > 0 else None,
    )


def _mpnet(config: Any) -> Encoding:
    raise EncodingError(
        f"MPNet adds a learned table of {config.max_position_embeddings} rows and T5's bias at "
        "once, which no single encoding is; build the two by hand."
    )


def _roformer(config: Any) -> Encoding:
    width = int(config.hidden_size) // int(config.num_attention_heads)
    return made("rope", dimension=width, layout="interleaved")


def _xlnet(config: Any) -> Encoding:
    heads, width = int(config.num_attention_heads), int(config.hidden_size)
    return made("transformer-xl", dimension=width // heads, heads=heads, model_dimension=width)


FAMILIES: Mapping[str, Callable[[Any], Encoding | None]] = MappingProxyType(
    {
        "bloom": _alibi,
        "deberta": _deberta,
        "deberta-v2": _deberta,
        "falcon": _falcon,
        "mpnet": _mpnet,
        "mpt": _alibi,
        "roformer": _roformer,
        "xlnet": _xlnet,
    }
)
"""By model type, the encoding that a config asks for, or None where another rule finds it."""
