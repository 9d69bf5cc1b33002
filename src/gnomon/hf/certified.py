"""The rotary function of a Hugging Face model, or of the folder of one, as a subject.

A model turns queries and keys by two pieces of code that must fit each other: a module that makes
cosines and sines, and `apply_rotary_pos_emb` of the same file [wolf2020]. Both are asked as the
model's attention asks them, in float32 and at whole positions, so a table of one layout with the
turn of another is found. The module is the model's own, with the frequencies that it holds now;
queries are turned as queries, keys as keys. Dimensions that are not turned are left out.

Queries and keys are turned in one call of the module, as in a forward pass: frequencies that follow
the length of what is passed at once (dynamic NTK, LongRoPE) then do so here, too, and a cache of
keys that were turned before is found to be wrong: keys are turned step by step by one module, and
kept.

A folder needs no weights: its config says which classes to make, and the rotary module has no
weights of its own. So a model of any size is certified, and no weights are read.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gnomon.encodings.base import Encoding
from gnomon.errors import EncodingError
from gnomon.groups.subject import Coder, Subject
from gnomon.hf.finding import rotary_modules

Floats = NDArray[np.float64]
APPLIED = ("apply_rotary_pos_emb_interleave", "apply_rotary_pos_emb")
"""Names of the function that turns; of two in one file the config decides."""
SAME = 1e-6
"""Largest relative difference of frequencies that counts as rounding of float32."""
Turn = Callable[[Floats, Floats], tuple[Floats, Floats]]
FOLLOWING = ("dynamic", "longrope")
"""Kinds of frequencies that follow the length."""
_WEIGHTS = ("*.safetensors", "*.bin")


def subject_of_model(model: nn.Module) -> Subject | Encoding:
    """Return the rotary function of a model as a subject, or the encoding that it has instead."""
    found = rotary_modules(model)
    apply = _applied(model)
    if not found or apply is None:
        from gnomon.hf.reading import read

        return read(model)
    config = found[0].config
    dimension = 2 * int(found[0].inv_freq.shape[-1])

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        turn = _turning(found[0], apply)
        left, right = turn(np.concatenate([q, k]), np.concatenate([t, s]))
        return left[: len(q)] @ right[len(q) :].T

    def coder() -> Coder:
        turn = _turning(found[0], apply)

        def code(q: Floats, k: Floats, at: Floats) -> tuple[Floats, Floats]:
            left, right = turn(np.concatenate([q, k]), np.concatenate([at, at]))
            return left[: len(q)], right[len(q) :]

        return code

    return Subject(
        name=f"the rotary function of {type(model).__name__}",
        dimension=dimension,
        logits=logits,
        whole=True,
        reach=float(_reach(config)),
        rounding=float(torch.finfo(torch.float32).eps),
        farthest=float(int(getattr(config, "max_position_embeddings", None) or 4096) - 1),
        coder=coder,
        warnings=_changed(found[0]),
    )


def subject_of_folder(folder: str | PathLike[str]) -> Subject | Encoding:
    """Return what a folder with a config.json, or a model of the hub, does with positions.

    A rotary function is made of the config alone; other encodings are read with their weights
    where the folder has them.
    """
    import transformers

    from gnomon.hf.loading import load
    from gnomon.hf.reading import read

    place = Path(folder)
    if place.is_dir() and not (place / "config.json").is_file():
        raise EncodingError(
            f"The folder {str(folder)!r} has no config.json; pass one that a model was saved in by "
            "save_pretrained."
        )
    try:
        config = transformers.AutoConfig.from_pretrained(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split("\n", maxsplit=1)[0].split()).rstrip(".")
        raise EncodingError(
            f"transformers reads no config of a model at {str(folder)!r} ({reason}); pass a folder "
            "that a model was saved in."
        ) from error
    model = _empty(config)
    if model is not None and rotary_modules(model) and _applied(model) is not None:
        return subject_of_model(model)
    weighed = place.is_dir() and any(list(place.glob(name)) for name in _WEIGHTS)
    return read(load(folder) if weighed else config)


def _empty(config: Any) -> Any:
    """Return the model of a config without storage, or None where transformers makes none."""
    import transformers

    try:
        with torch.device("meta"):
            maker: Any = transformers.AutoModel  # its classes say no types
            return maker.from_config(config)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None


def _reach(config: Any) -> int:
    """Return the last position: within what the model is made for, or past where it changes."""
    longest = int(getattr(config, "max_position_embeddings", None) or 4096)
    said = getattr(config, "rope_parameters", None) or {}
    if said.get("rope_type") not in FOLLOWING:
        return min(4096, longest) - 1
    original = said.get("original_max_position_embeddings")
    original = original or getattr(config, "original_max_position_embeddings", None) or longest
    return 2 * int(original) - 1


def _applied(model: nn.Module) -> Any:
    """Return the function that turns, from the file that the model's class stands in."""
    file = sys.modules[type(model).__module__]
    interleaved = bool(getattr(getattr(model, "config", None), "rope_interleave", False))
    names = APPLIED if interleaved else APPLIED[::-1]
    return next((getattr(file, name) for name in names if hasattr(file, name)), None)


def _made_anew(rotary: Any) -> Any:
    """Return a copy of a rotary module as it is, or one from its config where it has no storage.

    A copy, since one that follows the length keeps what it saw before.
    """
    if rotary.inv_freq.is_meta:
        return type(rotary)(config=rotary.config)
    return copy.deepcopy(rotary).to("cpu")


def _turning(rotary: Any, apply: Any) -> Turn:
    """Return a function that turns vectors as queries and as keys, by a module that keeps state."""
    module = _made_anew(rotary)

    def turn(x: Floats, at: Floats) -> tuple[Floats, Floats]:
        with torch.no_grad():
            vectors = torch.as_tensor(np.array(x), dtype=torch.float32)[None, None]
            cosine, sine = module(vectors, torch.as_tensor(np.array(at), dtype=torch.long)[None])
            left, right = apply(vectors, vectors, cosine, sine)
        return left[0, 0].double().numpy(), right[0, 0].double().numpy()

    return turn


def _changed(rotary: Any) -> tuple[str, ...]:
    """Warn of frequencies that are not those that the config makes."""
    if rotary.inv_freq.is_meta:
        return ()
    try:
        made = type(rotary)(config=rotary.config).inv_freq
    except EncodingError:  # an installed encoding whose file the config names is not opened here
        return ()
    live = rotary.inv_freq.detach().double().cpu()
    made = made.detach().double().cpu()
    if live.shape == made.shape:
        off = float(((live - made).abs() / made.abs().clamp_min(1e-30)).max())
        if off <= SAME:
            return ()
        how = f"differ by up to {off:.2g} of themselves"
    else:
        how = f"are {live.numel()} and not {made.numel()}"
    held = str(rotary.inv_freq.dtype).rpartition(".")[-1]
    return (f"the model's frequencies, held in {held}, are not those of its config: they {how}.",)
