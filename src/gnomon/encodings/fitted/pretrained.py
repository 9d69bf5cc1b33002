"""Folders and names of the hub: `encoding.safetensors` beside its card as `config.json`."""

from __future__ import annotations

import os
from pathlib import Path

from gnomon.encodings.fitted.files import fitted_bytes, read_fitted
from gnomon.encodings.fitted.fitted import Fitted
from gnomon.errors import EncodingError, MissingExtraError
from gnomon.files import check_writable, dump_json, write_together

FILE = "encoding.safetensors"
CONFIG = "config.json"


def save_pretrained(fitted: Fitted, folder: str | os.PathLike[str]) -> None:
    """Write the encoding and its card to a folder, which is made where it is missing."""
    place = Path(folder)
    check_writable(place)
    stored, card = fitted_bytes(fitted), dump_json(fitted.to_dict()).encode("utf-8")
    write_together(
        place,
        {FILE: lambda handle: handle.write(stored), CONFIG: lambda handle: handle.write(card)},
    )


def from_pretrained(name: str | os.PathLike[str]) -> Fitted:
    """Read an encoding from a folder (or its file), or by its name on the Hugging Face hub."""
    text = os.fspath(name)
    if os.path.isdir(text):  # noqa: PTH112 - a name that is too long is none, not an error
        return read_fitted(Path(text) / FILE)
    if text.endswith(".safetensors"):
        return read_fitted(text)
    if text.count("/") != 1 or text.startswith((".", "/", "~")):
        raise EncodingError(
            f"There is no folder {text}; pass one that save_pretrained wrote, or a name of the hub "
            "such as owner/name."
        )
    return read_fitted(_downloaded(text))


def _downloaded(name: str) -> str:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError(
            f"{name} is no folder here, and the hub needs huggingface_hub, which is not installed; "
            "run `pip install gnomon[hf]`."
        ) from error
    try:
        return str(huggingface_hub.hf_hub_download(repo_id=name, filename=FILE))
    except Exception as error:  # the hub client raises errors of several libraries
        reason = (" ".join(str(error).split()) or type(error).__name__)[:120].rstrip(".")
        raise EncodingError(
            f"{name} is no folder here and could not be had from the hub ({reason}); check the "
            "name and the network, or pass a folder."
        ) from error
