"""Whether a model is being opened by `gnomon.hf.load`, so that it will get its encoding back."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_OPENING: contextvars.ContextVar[bool] = contextvars.ContextVar("gnomon_opening", default=False)


def is_opening() -> bool:
    """Whether `load` is at work here."""
    return _OPENING.get()


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Say so while a model is being opened."""
    token = _OPENING.set(True)
    try:
        yield
    finally:
        _OPENING.reset(token)
