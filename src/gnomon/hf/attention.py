"""Attention with an encoding, in every model that takes its attention from transformers' registry.

Models ask a registry for the function of their attention and call it with queries, keys and values
[wolf2020]; under the name `gnomon`, entered once when `gnomon.hf` is imported, it is
`gnomon.torch.attention` with the encoding of the model. `rope_type: gnomon` asks in the same way
for the frequencies of an encoding that the config holds. What the model did with positions itself
is switched off meanwhile: rotary modules turn by 0, and tables of positions hold zeros.

Positions are indices of keys: relative encodings, which alone are admitted here, do not see where
counting begins, so padding on the left, packed sequences and caches keep their meaning. Queries are
the last of the keys. Beside a cache with room to spare the mask alone says which keys the queries
are, and where a document begins among padded or packed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RotaryEmbeddingConfigMixin
from transformers.modeling_utils import AttentionInterface

from gnomon.encodings import Encoding, Nope
from gnomon.errors import EncodingError
from gnomon.hf import rotary, tables
from gnomon.hf.places import (
    Written,
    attention_modules,
    hidden_rotary,
    on_device_of,
    position_tables,
    rebuilt,
    rotary_modules,
    written,
)
from gnomon.hf.rotary import ROPE_TYPE, rope_parameters
from gnomon.torch import falling, layer

IMPLEMENTATION = "gnomon"
LAYER = "gnomon"
_HELD = "_gnomon_layer"
_SINKS = ("sinks", "s_aux")


def check(model: Any, encoding: Encoding) -> None:
    """Refuse models and encodings that this place cannot join."""
    written(encoding)
    modules = attention_modules(model)
    _check_model(model, modules)
    _check_encoding(encoding)
    _check_layers(encoding, modules)
    _check_window(model, encoding)
    if encoding.card.causal_only and not all(module.is_causal for module in modules):
        raise EncodingError(
            f"The encoding {encoding.name!r} needs a causal mask, and this model sees every key; "
            "make it symmetric where it can be, or take a causal model."
        )
    _check_shape(model, encoding)
    if rotary_modules(model):
        rotary.check(model, Nope(), None)


def _check_model(model: Any, modules: list[Any]) -> None:
    name, config = type(model).__name__, model.config
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise EncodingError(
            f"{name} attends across two sequences, whose positions have no common lag; install an "
            "encoding of its own kind, or take a model with one stack."
        )
    if not modules or not model._can_set_attn_implementation():  # noqa: SLF001 - no other way to ask
        raise EncodingError(
            f"{name} computes its attention itself, so an encoding cannot join it; take a model "
            "whose attention can be chosen (attn_implementation)."
        )
    if hidden_rotary(model) or not (rotary_modules(model) or position_tables(model)):
        raise EncodingError(
            f"{name} does with positions what cannot be switched off here, and a second encoding "
            "beside it would be none; take a model with rotary parameters or a table of positions."
        )
    if getattr(config, "attn_logit_softcapping", None) or any(
        getattr(module, sink, None) is not None for module in modules for sink in _SINKS
    ):
        raise EncodingError(
            f"{name} caps its logits or has sinks beside its keys, which attention with an "
            "encoding does not repeat; take a model without them."
        )


def _check_encoding(encoding: Encoding) -> None:
    if encoding.axes != 1 or not encoding.card.relative:
        raise EncodingError(
            f"The encoding {encoding.name!r} is not relative on one axis, and a layer of attention "
            "knows lags alone (padding shifts positions); install a relative one."
        )
    rotary.refuse_growing(encoding)


def _check_layers(encoding: Encoding, modules: list[Any]) -> None:
    """Refuse a schedule of layers where layers do not know their numbers, or are not relative."""
    if not encoding.differs_by_layer:
        return
    if any(getattr(module, "layer_idx", None) is None for module in modules):
        raise EncodingError(
            f"The encoding {encoding.name!r} differs from layer to layer, and the layers of this "
            "model do not know their numbers; install its inner encoding."
        )
    for module in modules:
        _check_encoding(encoding.at_layer(module.layer_idx))


def _check_window(model: Any, encoding: Encoding) -> None:
    """Refuse rules that read the neighbours of a key where a window lets a cache forget them."""
    config = model.config.get_text_config()
    types = getattr(config, "layer_types", None) or ()
    windows = any("sliding" in name or "chunked" in name for name in types)
    if not types:
        windows = getattr(config, "sliding_window", None) is not None
    if windows and encoding.reads_neighbours:
        raise EncodingError(
            f"The encoding {encoding.name!r} reads the tokens before a key (kernel="
            f"{encoding.parameters['kernel']}), and a window of this model forgets them in a "
            "cache; make it with kernel=1."
        )


def _check_shape(model: Any, encoding: Encoding) -> None:
    """Refuse another head dimension or number of heads."""
    config, module = model.config.get_text_config(), attention_modules(model)[0]
    heads = int(config.num_attention_heads)
    decoupled = getattr(module, "qk_head_dim", None)  # part of such heads turns, and part does not
    width = int(decoupled or getattr(config, "head_dim", None) or config.hidden_size // heads)
    acts = "transform" in encoding.kinds or "content" in encoding.kinds
    dimension = encoding.query_width if acts and not encoding.any_width else None
    said_and_wanted = {"dimension": (dimension, width), "heads": (encoding.head_count, heads)}
    for name, (said, wanted) in said_and_wanted.items():
        if said not in (None, wanted):
            raise EncodingError(
                f"The encoding {encoding.name!r} has {name}={said}, and the model has {heads} "
                f"heads of dimension {width}; make it with {name}={wanted}."
            )
    probe = torch.zeros(1, heads, 2, width)
    layer(encoding, learn=False).scores(probe, probe, torch.arange(2))


def put(model: Any, encoding: Encoding, *, learn: bool) -> Written:
    """Let every layer of attention ask the encoding, and switch off the model's own positions."""
    record = {**written(encoding), "learn": learn, "before": model.config._attn_implementation}  # noqa: SLF001 - it has no public name
    if rotary_modules(model):
        rotary.put(model, Nope(), None, beside="attention")
    if position_tables(model):
        record["table"] = tables.put(model, Nope(), learn=False)
    _attach(model, encoding, learn=learn)
    model.set_attn_implementation(IMPLEMENTATION)
    return record


def _attach(model: Any, encoding: Encoding, *, learn: bool) -> None:
    """Give a model the module of an encoding, and its layers of attention a way to it."""
    weight = next(model.parameters())
    made = layer(encoding, learn=learn, dtype=weight.dtype)
    made = on_device_of(weight, made)
    setattr(model.base_model, LAYER, made)
    model.base_model.register_forward_pre_hook(refuse_other_attention)
    for module in attention_modules(model):
        module.__dict__[_HELD] = _of_layer(made, module)  # no part of it: it is saved once


def refuse_other_attention(model: Any, _: Any) -> None:
    """Refuse to run where another attention was chosen: it would know of no positions at all."""
    chosen = attention_modules(model)[0].config._attn_implementation  # noqa: SLF001 - it has no public name
    if chosen != IMPLEMENTATION:
        raise EncodingError(
            f"attn_implementation is {chosen!r}, and the encoding of this model is in its "
            f"attention; call model.set_attn_implementation({IMPLEMENTATION!r}), or "
            "gnomon.hf.uninstall(model)."
        )


def _of_layer(made: Any, module: Any) -> Any:
    """Return the module that one layer asks: the model's, or none where a layer does without."""
    encoding = made.definition
    if not encoding.differs_by_layer:
        return made
    here = encoding.at_layer(module.layer_idx)
    return made if here.encoded == encoding.encoded else layer(here, learn=False)


def prepare(model: Any, record: Mapping[str, Any]) -> None:
    """Give a model without weights what it was saved with."""
    if "table" in record:
        tables.prepare(model, record["table"])
    _attach(model, rebuilt(record), learn=record["learn"])


def finish(model: Any, record: Mapping[str, Any]) -> None:
    """Choose the attention, and freeze what is not trained."""
    if "table" in record:
        tables.finish(model, record["table"])
    getattr(model.base_model, LAYER).requires_grad_(record["learn"])
    model.set_attn_implementation(IMPLEMENTATION)


def take_out(model: Any, record: Mapping[str, Any]) -> None:
    """Give the model its own attention and positions back."""
    model.set_attn_implementation(record["before"] or "eager")
    delattr(model.base_model, LAYER)
    hooks = model.base_model._forward_pre_hooks  # noqa: SLF001 - a handle would be lost in a copy
    for key in [key for key, hook in hooks.items() if hook is refuse_other_attention]:
        del hooks[key]
    for module in attention_modules(model):
        del module.__dict__[_HELD]
    if rotary_modules(model):
        rotary.take_out(model)
    if "table" in record:
        tables.take_out(model)


def found(model: Any) -> Encoding:
    """Return the encoding with its numbers as they are learned at present."""
    made: Encoding = getattr(model.base_model, LAYER).encoding
    return made


def attention_forward(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Return the output of one layer of attention, (batch, queries, heads, dimension)."""
    held = module.__dict__.get(_HELD)
    if held is None:
        raise EncodingError(
            f"attn_implementation is {IMPLEMENTATION!r}, and no encoding is installed in this "
            "model; call gnomon.hf.install(model, encoding), or gnomon.hf.load(folder), and share "
            "no config between models."
        )
    from gnomon.torch import attention

    n, m = query.shape[-2], key.shape[-2]
    mask = None if attention_mask is None else attention_mask[..., :m]
    places = query_positions(mask, n, m, query.device)
    if mask is not None and n != m and held.definition.in_order:
        m = int(places[-1]) + 1  # under such a rule queries are the last keys, not room to spare
        key, value, mask = key[..., :m, :], value[..., :m, :], mask[..., :m]
    keys = torch.arange(m, device=query.device)
    if mask is not None and held.definition.reads_neighbours:
        keys = falling(_first_of_documents(mask))[:, 0]
        places = keys[..., m - n :]
    output = attention(
        query,
        key,
        value,
        held,
        positions_q=places,
        positions_k=keys,
        causal=module.is_causal if mask is None else None,
        mask=mask,
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
        dropout=dropout,
    )
    return output.transpose(1, 2).contiguous(), None


def attention_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    *,
    allow_is_causal_skip: bool = True,
    **more: Any,
) -> Tensor | None:
    """Return where queries may see keys, as booleans, or None where causality says it all.

    Beside a cache the mask is always made: it says which keys the queries are.
    """
    skip = allow_is_causal_skip and q_length == kv_length
    seen: Tensor | None = sdpa_mask(
        batch_size, q_length, kv_length, allow_is_causal_skip=skip, **more
    )
    return seen


def _first_of_documents(mask: Tensor) -> Tensor:
    """Return which keys (batch, 1, m) begin a document: their query does not see the one before.

    Queries are the last keys. Keys from before them are judged by the last query, which does not
    see padding.
    """
    n, m = mask.shape[-2:]
    seen = seen_in(mask)[:, :1]
    rows = torch.arange(m, device=mask.device) - (m - n)
    rows = torch.where(rows < 0, n - 1, rows)
    before = torch.arange(m, device=mask.device) - 1
    return ~seen[..., rows, before.clamp(min=0)] | (before < 0)


def seen_in(mask: Tensor) -> Tensor:
    """Return a mask as booleans; one of floats hides by its lowest number, below any bias."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def query_positions(mask: Tensor | None, n: int, m: int, device: Any) -> Tensor:
    """Return the indices of n queries among m keys: the last, or the last that each may see."""
    if n == m or mask is None:
        return torch.arange(m - n, m, device=device)
    seen = seen_in(mask)
    indices = torch.arange(m, device=device)
    return torch.where(seen, indices, -1).amax(dim=-1).amax(dim=(0, 1))


def register() -> None:
    """Enter the rope type and the attention function of Gnomon in transformers."""
    ROPE_INIT_FUNCTIONS[ROPE_TYPE] = rope_parameters
    # Configs look for a method of this name, and warn where there is none.
    setattr(RotaryEmbeddingConfigMixin, f"_validate_{ROPE_TYPE}_rope_parameters", _validate)
    AttentionInterface.register(IMPLEMENTATION, attention_forward)
    AttentionMaskInterface.register(IMPLEMENTATION, attention_mask)


def _validate(config: Any, parameters: dict[str, Any], ignore_keys: Any = None) -> None:
    """Refuse parameters that name our rope type and hold no encoding."""
    del config, ignore_keys
    record = parameters.get("gnomon")
    if not isinstance(record, dict) or not {"name", "parameters", "pairs"} <= set(record):
        raise EncodingError(
            f"The config says rope_type = {ROPE_TYPE!r} and holds no encoding under 'gnomon'; "
            "take the config of a model that an encoding was installed in."
        )
