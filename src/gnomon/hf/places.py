"""Where a model of transformers keeps its positions, and how an encoding is written in its config.

Four places are found by their form, and no model is known by its class ([wolf2020], release 5.22):

* *rotary*: a module that makes cosines and sines from `inv_freq`, by parameters of its config;
* *table*: an `nn.Embedding` with one row for each position, added to the embeddings of tokens;
* *bias*: T5's `relative_attention_bias`, added to the logits by `compute_bias`;
* *attention*: every layer that asks transformers' registry for the function of its attention.

An installed encoding is written down as its name and its parameters, plain JSON and never code:

    {"name": "rope", "parameters": {"dimension": 64, "base": 500000.0, ...}}

Numbers that are learned, and tables that are data, are weights of the model: the config holds what
they are, the weights hold how they stand. A fitted table and one from a file are thus written as
`learned` vectors, with the name of what they came from.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn
from transformers import PreTrainedConfig

from gnomon.encodings import Encoding
from gnomon.encodings import encoding as made
from gnomon.errors import EncodingError

_TABLES = ("position_embeddings", "position_embedding", "wpe", "embed_positions", "positions_embed")
"""What tables of positions are called."""
_NO_TABLE = frozenset({"roformer"})
"""Model types whose table of that name does something else: RoFormer turns by it."""
_COUNTED_FROM_ZERO = frozenset({"lxmert"})
"""Model types with a padding row in which positions are counted from 0 all the same."""
_TWO_BEFORE = frozenset({"mra", "nystromformer", "yoso"})
"""Model types that count positions from row 2, though no attribute of the table says so."""
_FLAT, _NESTED = "original_inv_freq", "_original_inv_freq"


@dataclass(frozen=True)
class Table:
    """A table of positions, and its first row that is one."""

    module: nn.Embedding
    first: int

    @property
    def rows(self) -> int:
        """Return how many positions the table has."""
        return int(self.module.num_embeddings) - self.first


def rotary_modules(model: nn.Module) -> list[Any]:
    """Return the modules that make cosines and sines from frequencies of a config."""
    return [module for module in model.modules() if _is_rotary(module)]


def _is_rotary(module: nn.Module) -> bool:
    named = any("RotaryEmbedding" in kind.__name__ for kind in type(module).__mro__)
    if not named or not hasattr(module, "rope_type"):
        return False
    known = any(name.endswith((_FLAT, _NESTED)) for name, _ in module.named_buffers(recurse=False))
    parameters = getattr(getattr(module, "config", None), "rope_parameters", None)
    return known and bool(parameters) and module.rope_type != "axial"


def foreign_rotary(model: nn.Module) -> str | None:
    """Name a module that stands where a model makes its rotations, and is none of transformers'."""
    for name, module in model.named_modules():
        own = type(module).__module__.partition(".")[0] in ("transformers", "torch", "gnomon")
        if "rotary" in name.rpartition(".")[2].lower() and not own:
            return f"{name} ({type(module).__name__})"
    return None


def text_config(config: Any, part: str | None = None) -> Any:
    """Return the config of the text of a model, or of its encoder (by default) or decoder."""
    own = getattr(config, part or "encoder", None)
    if isinstance(own, PreTrainedConfig) and hasattr(config, "decoder"):
        return own.get_text_config()
    try:
        found = config.get_text_config(**({part: True} if part else {}))
    except ValueError as error:
        raise EncodingError(
            f"The config of model type {config.model_type!r} has several parts that read text; "
            "pass one of them, or part='encoder' or part='decoder'."
        ) from error
    if not isinstance(found, PreTrainedConfig):
        raise EncodingError(
            f"The part that reads text in the config of model type {config.model_type!r} is a "
            f"{type(found).__name__}; pass a mapping."
        )
    return found


def position_tables(model: Any) -> list[Table]:
    """Return the tables of positions of a model that reads text."""
    kind = str(getattr(model.config, "model_type", ""))
    if model.main_input_name != "input_ids" or kind in _NO_TABLE:
        return []
    found = []
    for parent in model.modules():
        if "Vision" in type(parent).__name__:
            continue
        for name, child in parent.named_children():
            if name in _TABLES and isinstance(child, nn.Embedding):
                found.append(Table(child, _first_row(child, kind)))
    return found


def _first_row(table: nn.Embedding, model_type: str) -> int:
    """Return the row of the first position: some models keep rows for padding before it."""
    offset = getattr(table, "offset", None)
    if isinstance(offset, int):
        return offset
    if table.padding_idx is not None and model_type not in _COUNTED_FROM_ZERO:
        return int(table.padding_idx) + 1
    return 2 if model_type in _TWO_BEFORE else 0


def bias_modules(model: nn.Module, part: str | None = None) -> list[Any]:
    """Return the attention layers that make T5's bias, of the encoder, the decoder, or both."""
    found = [module for module in model.modules() if _makes_bias(module)]
    return found if part is None else [m for m in found if part_of(m) == part]


def part_of(module: Any) -> str:
    """Return the part of a T5 that an attention layer belongs to."""
    return "decoder" if module.is_decoder else "encoder"


def _makes_bias(module: nn.Module) -> bool:
    bias = getattr(module, "relative_attention_bias", None)
    compute = getattr(type(module), "compute_bias", None)
    if not isinstance(bias, nn.Embedding) or compute is None:
        return False
    asked = inspect.signature(compute).parameters
    return "query_length" in asked and "key_length" in asked and hasattr(module, "is_decoder")


def hidden_rotary(model: nn.Module) -> list[str]:
    """Name the classes of modules that turn by frequencies that no config could change."""
    known = {id(module) for module in rotary_modules(model)}
    return sorted(
        {
            type(module).__name__
            for module in model.modules()
            if "Rotary" in type(module).__name__ and id(module) not in known
        }
    )


def attention_modules(model: nn.Module) -> list[Any]:
    """Return the layers of attention that say whether they are causal, as the registry asks."""
    return [
        module
        for module in model.modules()
        if "Attention" in type(module).__name__ and hasattr(module, "is_causal")
    ]


Written = dict[str, Any]


def written(encoding: Encoding, *, rows: int | None = None) -> Written:
    """Return an encoding as plain values; `rows` is given where its vectors become a table.

    >>> from gnomon.encodings import Nope
    >>> written(Nope())
    {'name': 'nope', 'parameters': {'axes': 1}}
    """
    entry = encoding.own_entry
    if entry is not None:
        return {"name": entry.card.name, "parameters": encoding.parameters}
    if "vectors" in encoding.kinds and rows is not None:
        parameters = {"rows": rows, "dimension": int(getattr(encoding, "dimension", 0))}
        return {"name": "learned", "parameters": parameters, "from": encoding.name}
    raise EncodingError(
        f"The encoding {encoding.name!r} is made by {type(encoding).__name__}, which is not in the "
        "catalogue, so a model saved with it could not be opened; install one of the catalogue."
    )


def rebuilt(record: Mapping[str, Any], **numbers: Any) -> Encoding:
    """Return the encoding that was written down, with the learned numbers of the weights."""
    known = made(record["name"], **_tuples(record["parameters"]))
    return dataclasses.replace(known, **numbers) if numbers else known


def _tuples(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the tuples that JSON made lists of."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


def doubles(tensor: Any) -> np.ndarray[Any, Any]:
    """Return a tensor of weights as NumPy has it, in float64."""
    values: np.ndarray[Any, Any] = tensor.detach().to("cpu").double().numpy()
    return values


def on_device_of(weight: Any, made: Any) -> Any:
    """Return a module on the device of a weight, or as it is beside one that has no storage."""
    return made if weight.device.type == "meta" else made.to(weight.device)
