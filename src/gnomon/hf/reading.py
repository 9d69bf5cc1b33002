"""Which encoding a model has, read off its form, its config and its weights.

A config is read by the model that transformers makes of it, without storage: what a model does with
positions is seen from its modules (`gnomon.hf.places`), numbers come from its config, and learned
ones from its weights where there are any [wolf2020].

Some model types have an encoding that no module shows: in code, by rules of their own (release
5.22). Where each layer learns its own numbers, the form is given.

    BLOOM, MPT   ALiBi with the official slopes; MPT's code has it whatever its config says
    Falcon       ALiBi with bias -m_h (i - j) / sqrt(d), since it is added before logits are scaled;
                 the code rounds slopes and products to bfloat16, which no definition repeats
    DeBERTa      content and lag meet in three products, tables projected by each layer anew
    MPNet        a learned table and T5's bias at once: no single encoding
    RoFormer     rotary, layout interleaved, base 10,000, by a table of sines and cosines
    XLNet        the four products of Transformer-XL, projections of each layer
"""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from gnomon.encodings import (
    Encoding,
    check_plain,
    encoding_within,
    names_rotary,
)
from gnomon.encodings import encoding as made
from gnomon.errors import EncodingError
from gnomon.hf.foreign import open_config, without_kernels
from gnomon.hf.installing import PARTS, installed
from gnomon.hf.places import (
    Table,
    bias_modules,
    doubles,
    foreign_rotary,
    part_of,
    position_tables,
    rebuilt,
    rotary_modules,
    text_config,
)
from gnomon.hf.rotary import ROPE_TYPE


def read(
    source: Any,
    *,
    part: str | None = None,
    layer_type: str | None = None,
    layer: int | None = None,
) -> Encoding:
    """Return the encoding of a model, of a config, of a mapping, or of a folder with a config.

    Learned numbers come with a model and not with a config. `part` chooses the encoder or the
    decoder where they differ (by default the encoder), `layer_type` or `layer` the layers.
    """
    if part not in (None, *PARTS):
        raise EncodingError(f"part is {part!r}; pass one of: {', '.join(PARTS)}.")
    source = _config(source)
    written_down = _find_installed(source, part)
    if written_down is not None:
        return written_down
    model = _model(source)
    if not isinstance(model, PreTrainedModel):
        return encoding_within(model, layer_type=layer_type, layer=layer)
    family = _FAMILIES.get(str(model.config.model_type))
    found = None if family is None else family(model.config)
    if found is None and bias_modules(model):
        found = _bias(model, part)
    if found is None and _turns(model, part):
        _check_live(model)
        said = text_config(model.config, part).to_dict()
        found = encoding_within(said, layer_type=layer_type, layer=layer)
    if found is None and position_tables(model):
        found = _table(model, part)
    if found is None:
        raise EncodingError(
            f"In {type(model).__name__} no positional encoding of the catalogue was found; if it "
            "has one, build it by hand."
        )
    return found


def _config(source: Any) -> Any:
    """Return a model or a config as it is, and a folder or a mapping as a config."""
    if isinstance(source, str | os.PathLike):
        if not Path(source).exists():
            raise EncodingError(f"There is no folder {str(source)!r}; pass a model or its config.")
        source = open_config(source)
    if isinstance(source, Mapping):
        check_plain(source)
        kind = source.get("model_type")
        if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
            return source
        source = _config_of(source)
    if not isinstance(source, PreTrainedConfig | PreTrainedModel):
        raise EncodingError(
            f"A model or its config is read, and this is {type(source).__name__}; pass a "
            "PreTrainedModel, a PreTrainedConfig, a mapping or a folder."
        )
    return source


def _config_of(said: Mapping[str, Any]) -> PreTrainedConfig:
    """Return the config that transformers makes of a mapping, which it would write into."""
    given = copy.deepcopy({name: value for name, value in said.items() if name != "model_type"})
    try:
        return transformers.AutoConfig.for_model(said["model_type"], **given)
    except Exception as error:
        raise EncodingError(
            f"transformers makes no config of model type {said['model_type']!r} of this mapping "
            f"({type(error).__name__}); see what gnomon.from_config says of it."
        ) from error


def _find_installed(source: Any, part: str | None) -> Encoding | None:
    """Return what was installed in a model, or in the model that a config belongs to."""
    if isinstance(source, PreTrainedModel):
        return installed(source, part=part)
    if isinstance(source, Mapping):
        return None
    said = getattr(source, "gnomon", None) or {}
    by_part = said.get("bias", {})
    record = said.get("attention") or said.get("table") or by_part.get(part)
    record = record or next(iter(by_part.values()), None)
    if record is None:
        turning = getattr(text_config(source, part), "rope_parameters", None) or {}
        every = [turning, *(each for each in turning.values() if isinstance(each, Mapping))]
        record = next(
            (each["gnomon"] for each in every if each.get("rope_type") == ROPE_TYPE), None
        )
    return None if record is None else rebuilt(record)


def _model(source: Any) -> Any:
    """Return a model, made of a config without storage where need be, or a mapping as it is."""
    if isinstance(source, PreTrainedModel | Mapping):
        return source
    without_kernels(source)
    try:
        with torch.device("meta"):
            maker: Any = transformers.AutoModel  # its classes say no types
            return maker.from_config(source, trust_remote_code=False)
    except Exception:  # noqa: BLE001 -- code of hundreds of models fails in many ways
        # No model can be made of it: what it says of rotary encoding may be all there is.
        return source.to_dict()


def _bias(model: Any, part: str | None) -> Encoding:
    """Return T5's bias of one part, with its table where there are weights."""
    two = getattr(model.config, "is_encoder_decoder", False) and hasattr(model, "encoder")
    part = part or ("encoder" if two else part_of(bias_modules(model)[0]))
    modules = bias_modules(model, part)
    if not modules:
        said = "none in its" if two else "no"
        raise EncodingError(
            f"{type(model).__name__} has {said} {part} as T5 has it; pass another part, or build "
            "that bias by hand."
        )
    module, weight = modules[0], modules[0].relative_attention_bias.weight
    learned = {} if weight.device.type == "meta" else {"table": doubles(weight)}
    return made(
        "t5",
        heads=int(module.n_heads),
        buckets=int(module.relative_attention_num_buckets),
        largest_lag=int(module.relative_attention_max_distance),
        bidirectional=not module.is_decoder,
        **learned,
    )


def _check_live(model: Any) -> None:
    """Refuse a module that no config tells of; warn of numbers that are not the config's."""
    from gnomon.hf.certified import changes

    foreign = foreign_rotary(model)
    if foreign is not None:
        raise EncodingError(
            f"The module {foreign} of the model is none of transformers', so its config does not "
            "say what it does; ask gnomon.verify of the model, or of that function."
        )
    for sentence in changes(model):
        warnings.warn(f"What is read is the config, and {sentence}", stacklevel=3)


def _turns(model: Any, part: str | None) -> bool:
    """Whether a model turns queries and keys: by a module of its own, or by keys of its config."""
    said = text_config(model.config, part).to_dict()
    if isinstance(said.get("position_embedding_type"), str):
        return names_rotary(said)
    return bool(rotary_modules(model)) or names_rotary(said)


def _table(model: Any, part: str | None) -> Encoding:
    """Return the learned rows of a model, without their values where there are none."""
    table = _chosen(model, part)
    width, weight = int(table.module.embedding_dim), table.module.weight
    if weight.device.type != "meta":
        values = doubles(weight)[table.first :]
        return made("learned", rows=table.rows, dimension=width, values=values)
    if "Sinusoidal" in type(table.module).__name__:
        raise EncodingError(
            f"{type(model).__name__} fills its table by {type(table.module).__name__}, in an order "
            "of its own; pass the model with its weights."
        )
    return made("learned", rows=table.rows, dimension=width)


def _chosen(model: Any, part: str | None) -> Table:
    """Return the table of a part, or the first."""
    found = position_tables(model)
    if part is None:
        return found[0]
    own = {id(m) for name, m in model.named_modules() if part in name.split(".")}
    inside = [table for table in found if id(table.module) in own]
    if not inside:
        raise EncodingError(f"{type(model).__name__} has no {part}; leave part out.")
    return inside[0]


def _alibi(config: Any) -> Encoding:
    return made("alibi", heads=int(config.num_attention_heads))


def _falcon(config: Any) -> Encoding | None:
    """Return Falcon's ALiBi, or nothing where it turns instead."""
    if not config.alibi:
        return None
    heads = int(config.num_attention_heads)
    scale = math.sqrt(config.hidden_size // heads)
    official: Any = made("alibi", heads=heads)
    return made("alibi", slopes=tuple(slope / scale for slope in official.slopes))


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


_FAMILIES: Mapping[str, Callable[[Any], Encoding | None]] = MappingProxyType(
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
