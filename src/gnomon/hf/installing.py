"""Install an encoding in a model, take it out again, say which one is there, load it after saving.

An encoding goes to the place that its kind has in the model (`gnomon.hf.places`): frequencies to
rotary modules, vectors to tables of positions, biases to T5's bias, all else to the attention. All
that may refuse is asked before anything is changed. The config of the model then holds what was
installed, under `gnomon` or among the rotary parameters, as name and parameters [wolf2020].

transformers makes a saved model from its config and then fills in weights; between the two a model
with an installed encoding needs the modules that its weights belong to. In `load` a class that is
the model's own in all else makes them, and steps back once the weights are in.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from safetensors import SafetensorError
from transformers import PreTrainedModel

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError, GnomonError
from gnomon.hf import attention, biases, rotary, tables
from gnomon.hf.foreign import (
    SAFELY,
    WHERE,
    check_options,
    check_weights,
    class_of,
    first_line,
    open_config,
)
from gnomon.hf.places import bias_modules, position_tables, rebuilt, rotary_modules
from gnomon.hf.rotary import opening

PARTS = ("encoder", "decoder")
_WITH_MODULES: dict[str, Any] = {"table": tables, "bias": biases, "attention": attention}
"""By place, what gives a model modules of its own; frequencies come from the config alone."""


def install(
    model: Any,
    encoding: Encoding,
    *,
    learn: bool = True,
    layer_type: str | None = None,
    part: str | None = None,
) -> Any:
    """Put an encoding in the place of a model's own, and return the model.

    Learned numbers are trained unless `learn` is False. `layer_type` names the layers to serve
    where types of layers turn differently, `part` the encoder or the decoder of a T5. The weights
    from before are kept, saved with the model, and come back by `uninstall`.
    """
    _check_given(model, encoding, part)
    place = _place(model, encoding)
    _refuse_installed(model, place, part)
    _check_options(place, layer_type, part)
    if place == "rotary":
        rotary.check(model, encoding, layer_type)
        rotary.put(model, encoding, layer_type)
    elif place == "table":
        tables.check(model, encoding, learn=learn)
        model.config.gnomon = {"table": tables.put(model, encoding, learn=learn)}
    elif place == "bias":
        biases.check(model, encoding, part)
        put = biases.put(model, encoding, part, learn=learn)
        model.config.gnomon = {"bias": {**_said(model).get("bias", {}), **put}}
    else:
        attention.check(model, encoding)
        model.config.gnomon = {"attention": attention.put(model, encoding, learn=learn)}
    return model


def uninstall(model: Any) -> Any:
    """Take an installed encoding out, and return the model as it was before, bit for bit."""
    _check_model(model)
    said = _said(model)
    if not said and not rotary.records(model):
        raise EncodingError(
            f"{type(model).__name__} has no encoding installed by gnomon.hf; there is nothing to "
            "take out."
        )
    _check_whole(model, said)
    if "table" in said:
        tables.take_out(model)
    elif "bias" in said:
        biases.take_out(model)
    elif "attention" in said:
        attention.take_out(model, said["attention"])
    else:
        rotary.take_out(model)
    if said:
        del model.config.gnomon
    return model


def installed(model: Any, *, part: str | None = None) -> Encoding | None:
    """Return the encoding that was installed in a model, as it is learned at present, or None.

    Where the two parts of a T5 differ, `part` chooses; by default it is the encoder's.
    """
    _check_model(model)
    said = _said(model)
    if "table" in said:
        return tables.found(model, said["table"])
    _check_whole(model, said)
    if "attention" in said:
        return attention.found(model)
    if "bias" in said:
        there = [name for name in PARTS if name in said["bias"]]
        chosen = there[0] if part is None else part
        return biases.found(model, chosen) if chosen in there else None
    records = rotary.records(model)
    return rebuilt(records[0]) if records else None


def load(path: str | PathLike[str], *, model_class: Any = None, **options: Any) -> Any:
    """Return the model saved in a folder, with the encoding that was installed in it.

    Its class is the one that its config names, or `model_class`; options are those of
    `from_pretrained`. A model in which nothing was installed is opened as well. No code of a model
    is run, and its weights are `.safetensors`: what else it holds or asks for is refused.
    """
    given = check_options(options)
    config = open_config(path, **{name: options[name] for name in WHERE if name in options})
    kind = class_of(config, path) if model_class is None else model_class
    if not options.get("gguf_file"):
        check_weights(path, config, **options)
    model = _open(kind, path, given)
    model.__class__ = kind
    _finish(model)
    return model


def _said(model: Any) -> dict[str, Any]:
    """Return what the config of a model says of installed encodings, rotary ones aside."""
    return getattr(model.config, "gnomon", None) or {}


def _check_whole(model: Any, said: dict[str, Any]) -> None:
    """Refuse a model whose config names an encoding that it has not."""
    there = {
        "table": lambda: all(
            hasattr(table.module, tables.BEFORE) for table in position_tables(model)
        ),
        "bias": lambda: any(hasattr(each, biases.LAYER) for each in bias_modules(model)),
        "attention": lambda: hasattr(model.base_model, attention.LAYER),
    }
    if not rotary.is_whole(model):
        raise EncodingError(
            f"The config of {type(model).__name__} names an encoding that this model does not "
            "have, so another model shares it; give each model a config of its own "
            "(copy.deepcopy(config))."
        )
    for place in said:
        if place in there and not there[place]():
            raise EncodingError(
                f"{type(model).__name__} was saved with an encoding of gnomon.hf and opened "
                "without its weights; open it by gnomon.hf.load(folder)."
            )


def _place(model: Any, encoding: Encoding) -> str:
    """Return the place of an encoding in a model, or say that it has none."""
    if rotary_modules(model) and rotary.is_ladder(encoding):
        return "rotary"
    if bias_modules(model) and "bias" in encoding.kinds:
        return "bias"
    if tables.serves(encoding) and position_tables(model):
        return "table"
    if "vectors" in encoding.kinds:
        raise EncodingError(
            f"{type(model).__name__} has no table of positions that the vectors of "
            f"{encoding.name!r} could replace; install a transform, a bias or a rule on content."
        )
    return "attention"


def _check_given(model: Any, encoding: Any, part: str | None) -> None:
    _check_model(model)
    if not isinstance(encoding, Encoding):
        raise EncodingError(
            f"An encoding is installed, and this is {type(encoding).__name__}; pass what "
            "gnomon.encoding(...) returns."
        )
    if part not in (None, *PARTS):
        raise EncodingError(f"part is {part!r}; pass one of: {', '.join(PARTS)}.")
    if any(parameter.device.type == "meta" for parameter in model.parameters()):
        raise EncodingError(
            f"{type(model).__name__} has no storage yet (device meta); load its weights first."
        )


def _check_model(model: Any) -> None:
    if not isinstance(model, PreTrainedModel):
        raise EncodingError(
            f"The model is {type(model).__name__}; pass a PreTrainedModel of transformers."
        )


def _refuse_installed(model: Any, place: str, part: str | None) -> None:
    """Refuse a second encoding, unless it is that of the other part."""
    here = _said(model).get("bias", {})
    if place == "bias" and here and part is not None and part not in here:
        return
    there = installed(model, part=part)
    if there is not None:
        raise EncodingError(
            f"{type(model).__name__} already has the encoding {there.name!r} installed; call "
            "gnomon.hf.uninstall(model) first."
        )


def _check_options(place: str, layer_type: str | None, part: str | None) -> None:
    """Refuse a choice of layers or parts where nothing reads it."""
    if layer_type is not None and place != "rotary":
        raise EncodingError(
            f"layer_type is {layer_type!r}, and this encoding serves all layers alike; leave it "
            "out."
        )
    if part is not None and place != "bias":
        raise EncodingError(
            f"part is {part!r}, and this encoding serves the whole model; leave it out."
        )


def _open(kind: Any, path: Any, options: dict[str, Any]) -> Any:
    try:
        with opening():
            return _prepare_class(kind).from_pretrained(path, **options, **SAFELY)
    except GnomonError:
        raise
    except (KeyError, OSError, RuntimeError, SafetensorError, TypeError, ValueError) as error:
        raise EncodingError(
            f"transformers opens no {kind.__name__} at {str(path)!r} ({first_line(error)}); save "
            "the model again by save_pretrained."
        ) from error


def _prepare_class(kind: Any) -> Any:
    """Return a class of models that have the modules of their installed encoding from the start."""

    def initialise(self: Any, config: Any, *args: Any, **more: Any) -> None:
        kind.__init__(self, config, *args, **more)
        _prepare(self)

    return type(kind.__name__, (kind,), {"__init__": initialise, "__module__": kind.__module__})


def _prepare(model: Any) -> None:
    """Give a model without weights the modules that its weights belong to."""
    said = _said(model)
    for place, there in _WITH_MODULES.items():
        if place in said:
            there.prepare(model, said[place])


def _finish(model: Any) -> None:
    """Freeze what training is not to move, once the weights are in."""
    said = _said(model)
    for place, there in _WITH_MODULES.items():
        if place in said:
            there.finish(model, said[place])
