"""Install an encoding in a model, take it out again, say which one is there.

An encoding goes to the place that its kind has in the model (`gnomon.hf.finding`): frequencies to
rotary modules, vectors to tables of positions, biases to T5's bias, all else to the attention. All
that may refuse is asked before anything is changed. The config of the model then holds what was
installed, under `gnomon` or among the rotary parameters, as name and parameters [wolf2020].
"""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedModel

from gnomon.encodings import Encoding
from gnomon.errors import EncodingError
from gnomon.hf import attending, biases, rotary, tables
from gnomon.hf.finding import bias_modules, rotary_modules
from gnomon.hf.finding import tables as tables_of
from gnomon.hf.written import rebuilt

PARTS = ("encoder", "decoder")


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
        attending.check(model, encoding)
        model.config.gnomon = {"attention": attending.put(model, encoding, learn=learn)}
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
        attending.take_out(model, said["attention"])
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
        return attending.found(model)
    if "bias" in said:
        there = [name for name in PARTS if name in said["bias"]]
        chosen = there[0] if part is None else part
        return biases.found(model, chosen) if chosen in there else None
    records = rotary.records(model)
    return rebuilt(records[0]) if records else None


def _said(model: Any) -> dict[str, Any]:
    """Return what the config of a model says of installed encodings, rotary ones aside."""
    return getattr(model.config, "gnomon", None) or {}


def _check_whole(model: Any, said: dict[str, Any]) -> None:
    """Refuse a model whose config names an encoding that it has not."""
    there = {
        "table": lambda: all(hasattr(table.module, tables.BEFORE) for table in tables_of(model)),
        "bias": lambda: any(hasattr(each, biases.LAYER) for each in bias_modules(model)),
        "attention": lambda: hasattr(model.base_model, attending.LAYER),
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
    if rotary_modules(model) and rotary.turns_by_tables(encoding):
        return "rotary"
    if bias_modules(model) and "bias" in encoding.kinds:
        return "bias"
    if tables.serves(encoding) and tables_of(model):
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
