"""From a definition to a module: one function for every encoding of the catalogue."""

from __future__ import annotations

from os import PathLike
from typing import Any

import torch

from gnomon.encodings import Encoding, given_encoding
from gnomon.errors import EncodingError
from gnomon.torch.base import Layer
from gnomon.torch.bias import Bias
from gnomon.torch.content import Content
from gnomon.torch.transform import Transform
from gnomon.torch.vectors import Vectors

KINDS: dict[str, type[Layer]] = {
    "transform": Transform,
    "vectors": Vectors,
    "bias": Bias,
    "content": Content,
}


def layer(
    encoding: Encoding | str | PathLike[str],
    *,
    kind: str | None = None,
    arithmetic: str = "exact",
    learn: bool = True,
    compiled: bool = False,
    dtype: torch.dtype | None = None,
) -> Any:
    """Return an encoding, or the one in a file, as a module of its kind.

    `Transform`, `Vectors`, `Bias` or `Content`;
    `kind` chooses where an encoding has several; by default it is the first it names. Learnable
    numbers are parameters of type `dtype`, frozen where `learn` is False; `dtype` is also the type
    of vectors and biases, and follows `.to(...)`. For transforms, `arithmetic="float32"` repeats
    the operations of transformers bit for bit, and `compiled` turns vectors by a compiled function.
    """
    encoding = given_encoding(encoding)
    chosen = encoding.kinds[0] if kind is None else kind
    if chosen not in encoding.kinds:
        raise EncodingError(
            f"The encoding {encoding.name!r} has no kind {chosen!r}; pass one of: "
            f"{', '.join(encoding.kinds)}."
        )
    if chosen == "transform":
        return Transform(
            encoding, arithmetic=arithmetic, learn=learn, compiled=compiled, dtype=dtype
        )
    if arithmetic != "exact" or compiled:
        raise EncodingError(
            f"The encoding {encoding.name!r} gives {chosen}; arithmetic and compiled are for "
            "transforms of queries and keys: leave them out."
        )
    return KINDS[chosen](encoding, learn=learn, dtype=dtype)
