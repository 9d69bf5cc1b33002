"""A causal model read from files, and the loss of every token of a text under a rotary encoding.

The loss of token i is -ln p(token i | tokens before it in the window), in nats; its exponential,
averaged in the logarithm over tokens, is perplexity. Hidden states of a whole window are computed
at once, logits in slices, since those of 16,384 tokens over 49,152 types would take 3 GB.

Frequencies are those of our encoding in float32, in the order of operations of transformers
[wolf2020], put in place by `gnomon.hf.install`; so the unscaled model is itself, bit for bit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, Rope
from gnomon.errors import GnomonError, InputError, MissingExtraError
from gnomon.reproduce.scaling_lines import Trained

SLICE = 1024
"""Tokens whose logits are in memory at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reader:
    """A causal model with its tokenizer, and what it was trained with."""

    model: Any
    tokenizer: Any
    trained: Trained
    name: str
    digest: str
    """SHA-256 of its weights as stored."""


def reader(path: str | Path) -> Reader:
    """Read a model with rotary positions from a GGUF file, or from a folder of transformers."""
    path = Path(path)
    if not path.exists():
        raise InputError(
            f"There is no model at {path}; pass a GGUF file, or a folder that transformers wrote."
        )
    model, tokenizer = _loaded(path)
    return Reader(
        model=model.eval(),
        tokenizer=tokenizer,
        trained=_trained(model, path),
        name=path.stem if path.is_file() else path.name,
        digest=_digest(path),
    )


def _loaded(path: Path) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(
            "This experiment runs a model by transformers in PyTorch, and one of them is not "
            "installed; run `pip install gnomon[gguf]`."
        ) from error
    from gnomon.hf import SAFELY, check_weights, open_config

    where: dict[str, Any] = {"local_files_only": True}
    if path.is_file():
        where |= {"gguf_file": path.name}
    folder = path.parent if path.is_file() else path
    try:
        if (folder / "config.json").is_file() and path.is_dir():
            check_weights(path, open_config(path, **where))
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **SAFELY, **where)
        return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **where)
    except GnomonError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"{path} can not be read without a package that is not installed; run "
            "`pip install gnomon[gguf]`."
        ) from error
    except (OSError, ValueError, KeyError) as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"transformers can not read {path} ({first}); pass a GGUF file of a causal model, or a "
            "folder with its config, weights and tokenizer."
        ) from error


def _trained(model: Any, path: Path) -> Trained:
    """Read length, dimension and base off a model; refuse one that is not plainly rotary."""
    from gnomon.hf import read

    length = getattr(model.config, "max_position_embeddings", None)
    try:
        own = read(model)
    except GnomonError as error:
        raise InputError(f"{path} holds a model whose positions are not known: {error}") from error
    plain = isinstance(own, Rope) and own.scaling.name == "unscaled" and own.fraction == 1.0
    if not isinstance(own, Rope) or not plain or length is None:
        raise InputError(
            f"{path} holds a model with the encoding {own.name!r}, and scalings are compared on "
            "plain rotary positions; pass a Llama-type model that was not scaled yet."
        )
    return Trained(length=int(length), dimension=own.dimension, base=own.base)


def _digest(path: Path) -> str:
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors"))
    made = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                made.update(block)
    return made.hexdigest()


def losses(read: Reader, encoding: Encoding, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the loss of tokens 1, 2, ... of one window: one number less than tokens."""
    import torch

    from gnomon.hf import install, uninstall

    install(read.model, encoding)
    try:
        with torch.no_grad():
            ids = torch.from_numpy(tokens)
            body = read.model.get_decoder()
            hidden = body(ids[None], use_cache=False).last_hidden_state[0, :-1]
            parts = [
                torch.nn.functional.cross_entropy(
                    read.model.lm_head(hidden[k : k + SLICE]),
                    ids[k + 1 : k + 1 + SLICE],
                    reduction="none",
                )
                for k in range(0, len(hidden), SLICE)
            ]
    finally:
        uninstall(read.model)
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float32)
