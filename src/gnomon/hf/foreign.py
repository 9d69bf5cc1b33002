"""What of a model that others saved is opened, and that none of its code is run.

A folder, or a repository of the hub, can ask for much more than numbers: Python files that its
config names (`auto_map`), kernels that are fetched and run (`attn_implementation`), any object of
transformers as its class (`architectures`), weights that are pickles, and an index of weights that
names such files [wolf2020]. None of that is opened here: nothing is asked on the terminal, nothing
is run, and what cannot be opened without is refused in one sentence, before any weight is read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import transformers
from transformers import PreTrainedModel

from gnomon.encodings import read_config
from gnomon.errors import EncodingError, GnomonError
from gnomon.files import PICKLED

SAFELY: dict[str, Any] = {"trust_remote_code": False, "use_safetensors": True}
"""Options of `from_pretrained` with which no code is run and no pickle is opened."""
WHERE = ("cache_dir", "local_files_only", "revision", "subfolder", "token")
"""Options of `from_pretrained` that say where a config is found, too."""
_BESIDE = ("training_args", "optimizer", "scheduler", "scaler", "rng_state")
"""How the names of pickles begin that training leaves beside weights, and nobody reads."""
_ADAPTER = "adapter_config.json"


def open_config(place: str | os.PathLike[str], **where: Any) -> Any:
    """Return the config in a folder, or of a model of the hub, by classes of transformers alone."""
    said = Path(place, "config.json")
    if said.is_file():
        read_config(said)  # refuses, in a sentence, what is no mapping or asks for endless layers
    try:
        config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=False, **where)
    except GnomonError:
        raise
    except Exception as error:  # a config may say anything, and a class raises what it likes
        if "trust_remote_code" in str(error):
            raise EncodingError(
                f"The config in {place} needs code of its own (auto_map), which is never run; pass "
                "a model of a type that transformers knows."
            ) from error
        there = Path(place).exists()
        raise EncodingError(
            f"transformers {'reads no config of a' if there else 'finds no'} model at "
            f"{str(place)!r} ({first_line(error)}); pass a folder that a model was saved in, or "
            "the name of one on the hub."
        ) from error
    return without_kernels(config, place)


def without_kernels(config: Any, place: Any = "this config") -> Any:
    """Return a config, or refuse it for the kernels of the hub that it would fetch and run."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        for said in ("_attn_implementation", "_experts_implementation"):
            name = getattr(part, said, None)
            if name is not None and (not isinstance(name, str) or "/" in name):
                raise EncodingError(
                    f"The config in {place} asks for code of the hub ({said[1:]}: {name!r}), which "
                    "is never run; remove that entry."
                )
        waiting += [getattr(part, name, None) for name in getattr(part, "sub_configs", None) or ()]
    return config


def class_of(config: Any, place: Any) -> Any:
    """Return the class of models that a config names: a model of transformers, and nothing else."""
    names = config.architectures
    first = names[0] if isinstance(names, list | tuple) and names else None
    try:
        kind = getattr(transformers, first, None) if isinstance(first, str) else None
    except (ImportError, RuntimeError):  # of a library that it needs
        kind = None
    if not isinstance(kind, type) or not issubclass(kind, PreTrainedModel):
        raise EncodingError(
            f"The config in {place} names no class of transformers that is a model "
            f"(architectures: {names}); pass model_class."
        )
    return kind


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of `from_pretrained` beside the safe ones; refuse the opposites of these."""
    for name, safe in SAFELY.items():
        if options.get(name) not in (None, safe):
            raise EncodingError(
                f"{name} is {options[name]!r}, and a model is opened without running code and "
                "without pickles alone; leave it out."
            )
    return {name: value for name, value in options.items() if name not in SAFELY}


def check_weights(place: str | os.PathLike[str], config: Any, **options: Any) -> None:
    """Refuse a model whose weights are not `.safetensors` through and through.

    A config can name the file of its weights, and an index the files of their parts.
    """
    said = getattr(config, "transformers_weights", None)
    if said is not None and not str(said).endswith((".safetensors", ".safetensors.index.json")):
        raise _is_pickled(place, str(said), config)
    middle = f".{options['variant']}" if options.get("variant") else ""
    name = f"model{middle}.safetensors" if said is None else str(said)
    if _found(place, _ADAPTER, options):
        raise EncodingError(
            f"{place} holds an adapter ({_ADAPTER}) beside its model; merge it by "
            "merge_and_unload() of peft, save that, and pass its folder."
        )
    if name.endswith(".safetensors") and _found(place, name, options):
        return
    index = name if name.endswith(".json") else f"{name}.index.json"
    listed = _found(place, index, options)
    if listed is None:
        pickles = pickled_weights(Path(place, options.get("subfolder") or ""))
        if pickles or not Path(place).is_dir():
            raise _is_pickled(place, ", ".join(pickles[:3]) or "no safetensors", config)
        raise EncodingError(f"{place} has no {name}; pass a folder that a model was saved in.")
    _check_index(listed, place, config)


def pickled_weights(folder: Path) -> list[str]:
    """Return the names of weights in a folder that only a pickle could open."""
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in PICKLED)
    return [name for name in names if not name.startswith(_BESIDE)]


def first_line(error: BaseException) -> str:
    """Return what a library says in its first line, as a part of a sentence."""
    said = " ".join(str(error).strip().split("\n", maxsplit=1)[0].split())[:300]
    return said.rstrip(".") or type(error).__name__


def _found(place: Any, name: str, options: dict[str, Any]) -> str | None:
    """Return where a file of a model is, fetched from the hub if need be, or None without it."""
    where = {key: options[key] for key in WHERE if options.get(key) is not None}
    if Path(place).is_dir():
        path = Path(place, where.get("subfolder", ""), name)
        return str(path) if path.is_file() else None
    from transformers.utils.hub import cached_file

    found = cached_file(
        place,
        name,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
        **where,
    )
    return None if found is None else str(found)


def _check_index(index: str, place: Any, config: Any) -> None:
    """Refuse an index that leads to other files than `.safetensors` beside it."""
    try:
        parts = set(json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EncodingError(
            f"The index of weights {index} cannot be read ({first_line(error)}); save the model "
            "again by save_pretrained."
        ) from error
    for part in parts:
        if not isinstance(part, str) or not part.endswith(".safetensors"):
            raise _is_pickled(place, str(part), config)
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise EncodingError(
                f"The index of weights {index} leads out of its folder ({part}); save the model "
                "again by save_pretrained."
            )


def _is_pickled(place: Any, found: str, config: Any) -> EncodingError:
    """Say that weights are pickles, and the line that makes them safe where they are trusted."""
    names = config.architectures
    kind = names[0] if isinstance(names, list) and names else "AutoModel"
    line = f"transformers.{kind}.from_pretrained({str(place)!r}).save_pretrained({str(place)!r})"
    return EncodingError(
        f"{place} has its weights as pickles ({found}), which can run code and are not opened; if "
        f"you trust them, convert them to .safetensors by `{line}`."
    )
