"""What transformers must know to open a model with an installed encoding: two names.

`rope_type: gnomon` in a config asks for frequencies of an encoding that the config holds, and
`attn_implementation: gnomon` for attention with the encoding of the model. Both are entered in the
registries that transformers keeps for that [wolf2020], once, when `gnomon.hf` is imported.
"""

from __future__ import annotations

from typing import Any

from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RotaryEmbeddingConfigMixin
from transformers.modeling_utils import AttentionInterface

from gnomon.errors import EncodingError
from gnomon.hf.attending import IMPLEMENTATION, attention_forward
from gnomon.hf.masks import attention_mask
from gnomon.hf.rotary import ROPE_TYPE, rope_parameters


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
