"""What can go wrong, in words a user can act on.

Every message is one sentence: what was found, where, and what to do.
The command line prints that sentence and leaves with the exit code of its class.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GnomonError(Exception):
    """The root of all our exceptions; exit code 3 means the fault is ours."""

    exit_code = 3


class InputError(GnomonError, ValueError):
    """The input, an option or a file can not be used as it is."""

    exit_code = 2


class CorpusError(InputError):
    """A corpus can not be read as declared."""


class TokenizerError(InputError):
    """A tokenizer file or name can not be used."""


class CountsError(InputError):
    """Counts are not what counts must be."""


class EncodingError(InputError):
    """An encoding is unknown, or can not do what was asked of it."""


class GroupError(InputError):
    """A generator, a kernel or a map can not be what it would have to be."""


class LabError(InputError):
    """A task, a model or a grid of the laboratory can not be what was asked for."""


class MissingExtraError(InputError):
    """A library that is not part of the plain installation is needed."""


class SpectrumError(InputError):
    """A kernel, its length, or queries and keys can not have the spectrum that was asked for."""


class StorageError(InputError):
    """A file could not be written: the disk is full, read-only, or not ours."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, and list them all.

    >>> nearest("sinusoid", ["rope", "sinusoidal"])
    "did you mean 'sinusoidal'? Known: rope, sinusoidal"
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    close = close or [one for one in names if one.lower() == name.lower()]
    listing = ", ".join(names)
    return f"did you mean {close[0]!r}? Known: {listing}" if close else f"known: {listing}"
