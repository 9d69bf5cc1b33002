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
    """The input, an option or a file cannot be used as it is."""

    exit_code = 2


class CorpusError(InputError):
    """A corpus cannot be read as declared."""


class TokenizerError(InputError):
    """A tokenizer file or name cannot be used."""


class CountsError(InputError):
    """Counts are not what counts must be."""


class EncodingError(InputError):
    """An encoding is unknown, or cannot do what was asked of it."""


class GroupError(InputError):
    """A generator, a kernel or a map cannot be what it would have to be."""


class LabError(InputError):
    """A task, a model or a grid of the laboratory cannot be what was asked for."""


class MissingExtraError(InputError):
    """A library that is not part of the plain installation is needed."""


class SpectrumError(InputError):
    """A kernel, its length, or queries and keys cannot have the spectrum that was asked for."""


class StorageError(InputError):
    """A file could not be written: the disk is full, read-only, or not ours."""


_ELSEWHERE = {
    "attention_mask": ("mask",),
    "attn_bias": ("mask",),
    "attn_mask": ("mask",),
    "bias": ("mask",),
    "d_head": ("dimension",),
    "d_model": ("dimension",),
    "dim": ("dimension",),
    "dropout_p": ("dropout",),
    "dropout_rate": ("dropout",),
    "embed_dim": ("dimension",),
    "embedding_dim": ("dimension",),
    "freq_base": ("base",),
    "head_dim": ("dimension",),
    "head_size": ("dimension",),
    "hidden_size": ("dimension",),
    "interleave": ("layout",),
    "is_causal": ("causal",),
    "max_length": ("length", "rows", "original_length"),
    "max_len": ("length", "rows", "original_length"),
    "max_position_embeddings": ("length", "rows", "original_length"),
    "max_positions": ("length", "rows", "original_length"),
    "max_seq_len": ("length", "rows", "original_length"),
    "max_seq_length": ("length", "rows", "original_length"),
    "max_wavelength": ("base",),
    "n_head": ("heads",),
    "n_heads": ("heads",),
    "nhead": ("heads",),
    "num_attention_heads": ("heads",),
    "num_buckets": ("buckets",),
    "num_embeddings": ("length", "rows"),
    "num_heads": ("heads",),
    "original_max_position_embeddings": ("original_length",),
    "partial_rotary_factor": ("rotated", "fraction"),
    "position_ids": ("positions_q",),
    "positions": ("positions_q",),
    "rope_base": ("base",),
    "rope_scaling": ("scaling",),
    "rope_theta": ("base",),
    "rotary_base": ("base",),
    "rotary_dim": ("rotated",),
    "rotary_pct": ("rotated", "fraction"),
    "scaling_factor": ("factor", "scale"),
    "scale_factor": ("factor",),
    "segment_ids": ("segments_q",),
    "sm_scale": ("scale",),
    "softmax_scale": ("scale",),
    "theta": ("base",),
}
"""Names that other libraries have for an argument, and what it may be called here."""
_UNNEEDED = ("max_length", "max_len", "max_position_embeddings", "max_positions", "max_seq_len")


def other_name(name: str, known: Iterable[str]) -> str | None:
    """Say what an argument of another library is called here, or None.

    >>> other_name("rope_theta", ["base", "dimension"])
    "it is called 'base' here"
    """
    names = list(known)
    ours = [one for one in _ELSEWHERE.get(name.lower(), ()) if one in names]
    if ours:
        return f"it is called {ours[0]!r} here"
    if name.lower() in (*_UNNEEDED, "max_seq_length"):
        return "positions have no largest length here: leave it out"
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, and list them all.

    >>> nearest("sinusoid", ["rope", "sinusoidal"])
    "did you mean 'sinusoidal'? Known: rope, sinusoidal"
    """
    names = sorted(known)
    elsewhere = other_name(name, names)
    if elsewhere is not None:
        return f"{elsewhere}; known: {', '.join(names)}"
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    close = close or [one for one in names if one.lower() == name.lower()]
    listing = ", ".join(names)
    return f"did you mean {close[0]!r}? Known: {listing}" if close else f"known: {listing}"
