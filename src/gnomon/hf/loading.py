"""Open a model that was saved with an installed encoding.

transformers makes a model from its config and then fills in weights [wolf2020]; between the two a
model with an installed encoding needs the modules that its weights belong to. Here a class that is
the model's own in all else makes them, and steps back once the weights are in.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from safetensors import SafetensorError

from gnomon.errors import EncodingError, GnomonError
from gnomon.hf import attending, biases, tables
from gnomon.hf.foreign import (
    WHERE,
    check_options,
    check_weights,
    first_line,
    named_class,
    open_config,
)
from gnomon.hf.opening import opening


def load(path: str | PathLike[str], *, model_class: Any = None, **options: Any) -> Any:
    """Return the model saved in a folder, with the encoding that was installed in it.

    Its class is the one that its config names, or `model_class`; options are those of
    `from_pretrained`. A model in which nothing was installed is opened as well. No code of a model
    is run, and its weights are `.safetensors`: what else it holds or asks for is refused.
    """
    safe = check_options(options)
    config = open_config(path, **{name: options[name] for name in WHERE if name in options})
    kind = named_class(config, path) if model_class is None else model_class
    if not options.get("gguf_file"):
        check_weights(path, config, **options)
    model = _opened(kind, path, safe)
    model.__class__ = kind
    _finish(model)
    return model


def _opened(kind: Any, path: Any, options: dict[str, Any]) -> Any:
    try:
        with opening():
            return _prepared(kind).from_pretrained(path, **options)
    except GnomonError:
        raise
    except (KeyError, OSError, RuntimeError, SafetensorError, TypeError, ValueError) as error:
        raise EncodingError(
            f"transformers opens no {kind.__name__} at {str(path)!r} ({first_line(error)}); save "
            "the model again by save_pretrained."
        ) from error


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
