"""A bias on logits in the place of T5's.

In T5 the first layer of each stack makes a bias from a table of buckets, `compute_bias`, and all
layers add it to their logits [raffel2020 sec. 2.1], [wolf2020]. Here that layer gets a module of
the encoding, whose learned numbers train and are saved with the model, and asks it instead; its own
table stays where it is, frozen, until the encoding is taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError
from gnomon.hf.places import Written, bias_modules, on_device_of, part_of, rebuilt, written
from gnomon.torch import layer

LAYER = "gnomon"
_TRAINED = "_gnomon_trained"


def check(model: Any, encoding: Encoding, part: str | None) -> None:
    """Refuse biases for another number of heads, and causal ones in an encoder."""
    written(encoding)
    for module in bias_modules(model, part):
        heads = int(encoding.bias([0], [0]).shape[-3])
        if heads not in (1, module.n_heads):
            raise EncodingError(
                f"The encoding {encoding.name!r} has biases for {heads} heads, and the model has "
                f"{module.n_heads}; make it with heads={module.n_heads}."
            )
        if encoding.card.causal_only and not module.is_decoder:
            raise EncodingError(
                f"The encoding {encoding.name!r} needs a causal mask, and the encoder of this "
                "model sees every key; make it symmetric (bidirectional), or install it with "
                'part="decoder".'
            )


def put(model: Any, encoding: Encoding, part: str | None, *, learn: bool) -> dict[str, Written]:
    """Give the layers that make the bias a module of the encoding."""
    record = {**written(encoding), "learn": learn}
    for module in bias_modules(model, part):
        _attach(module, encoding, learn=learn)
        own = module.relative_attention_bias.weight
        module.__dict__[_TRAINED] = own.requires_grad
        own.requires_grad_(requires_grad=False)
    return {part_of(module): record for module in bias_modules(model, part)}


def prepare(model: Any, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Give a model without weights the modules of the encodings that it was saved with."""
    for module in bias_modules(model):
        record = records.get(part_of(module))
        if record is not None:
            _attach(module, rebuilt(record), learn=record["learn"])


def finish(model: Any, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Freeze what is not trained while the encoding is there."""
    for module in bias_modules(model):
        record = records.get(part_of(module))
        if record is not None:
            module.relative_attention_bias.weight.requires_grad_(requires_grad=False)
            getattr(module, LAYER).requires_grad_(record["learn"])


def take_out(model: Any) -> None:
    """Let the layers make their own bias again."""
    for module in bias_modules(model):
        if hasattr(module, LAYER):
            delattr(module, LAYER)
            del module.__dict__["compute_bias"]
            trained = module.__dict__.pop(_TRAINED, True)
            module.relative_attention_bias.weight.requires_grad_(trained)


def found(model: Any, part: str) -> Encoding:
    """Return the encoding of a part, with its numbers as they are learned at present."""
    made: Encoding = getattr(bias_modules(model, part)[0], LAYER).encoding
    return made


def _attach(module: Any, encoding: Encoding, *, learn: bool) -> None:
    weight = module.relative_attention_bias.weight
    made = layer(encoding, kind="bias", learn=learn, dtype=weight.dtype)
    setattr(module, LAYER, on_device_of(weight, made))
    # A bound method would be pickled as the name of the class's own, and come back as that.
    module.__dict__["compute_bias"] = partial(compute_bias, module)


def compute_bias(
    self: Any,
    query_length: int,
    key_length: int,
    device: Any = None,
    past_seen_tokens: Any = 0,
    **_: Any,
) -> Tensor:
    """Return the bias (1, heads, queries, keys): queries follow what a cache has seen."""
    place = self.relative_attention_bias.weight.device if device is None else device
    queries = torch.arange(query_length, device=place) + past_seen_tokens
    bias: Tensor = getattr(self, LAYER)(queries, torch.arange(key_length, device=place))
    return bias.expand(self.n_heads, -1, -1)[None]
