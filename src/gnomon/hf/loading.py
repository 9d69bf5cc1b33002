"""Open a model that was saved with an installed encoding.

transformers makes a model from its config and then fills in weights [wolf2020]; between the two a
model with an installed encoding needs the modules that its weights belong to. Here a class that is
the model's own in all else makes them, and steps back once the weights are in.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import transformers

from gnomon.errors import EncodingError
from gnomon.hf import attending, biases, tables
from gnomon.hf.opening import opening

_WHERE = ("cache_dir", "local_files_only", "revision", "subfolder", "token")
"""Options of `from_pretrained` that say where a config is found, too."""


def load(path: str | PathLike[str], *, model_class: Any = None, **options: Any) -> Any:
    """Return the model saved in a folder, with the encoding that was installed in it.

    Its class is the one that its config names, or `model_class`; options are those of
    `from_pretrained`. A model in which nothing was installed is opened as well.
    """
    where = {name: options[name] for name in _WHERE if name in options}
    config = _config(path, where)
    kind = _named_class(config, path) if model_class is None else model_class
    with opening():
        model = _prepared(kind).from_pretrained(path, **options)
    model.__class__ = kind
    _finish(model)
    return model


def _config(path: Any, where: dict[str, Any]) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(path, **where)
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n", maxsplit=1)[0].rstrip(".")
        raise EncodingError(
            f"transformers finds no model at {path} ({reason}); pass a folder that a model was "
            "saved in, or the name of one on the hub."
        ) from error


def _named_class(config: Any, path: Any) -> Any:
    names = config.architectures or []
    kind = getattr(transformers, names[0], None) if names else None
    if kind is None:
        raise EncodingError(
            f"The config in {path} names no class of transformers (architectures: {names}); pass "
            "model_class."
        )
    return kind


def _prepared(kind: Any) -> Any:
    """Return a class of models that have the modules of their installed encoding from the start."""

    def initialised(self: Any, config: Any, *args: Any, **more: Any) -> None:
        kind.__init__(self, config, *args, **more)
        _prepare(self)

    return type(kind.__name__, (kind,), {"__init__": initialised, "__module__": kind.__module__})


def _prepare(model: Any) -> None:
    said = getattr(model.config, "gnomon", None) or {}
    if "table" in said:
        tables.prepare(model, said["table"])
    if "bias" in said:
        biases.prepare(model, said["bias"])
    if "attention" in said:
        attending.prepare(model, said["attention"])


def _finish(model: Any) -> None:
    said = getattr(model.config, "gnomon", None) or {}
    if "table" in said:
        tables.finish(model, said["table"])
    if "bias" in said:
        biases.finish(model, said["bias"])
    if "attention" in said:
        attending.finish(model, said["attention"])
