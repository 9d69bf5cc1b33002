"""From texts to token ids: what every tokenizer does, and how one is opened by name or by file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gnomon.corpus.limits import Limits
from gnomon.corpus.tokenizing.alphabets import Bytes, Characters, dna, protein
from gnomon.corpus.tokenizing.pieces import FILE_NAME, Pieces
from gnomon.corpus.tokenizing.words import Words
from gnomon.errors import TokenizerError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.corpus.documents import Ids, Offsets
    from gnomon.corpus.surrogates import Errors
    from gnomon.corpus.vocabulary import Vocabulary


class Tokenizer(Protocol):
    """Turns texts into ids of one vocabulary."""

    @property
    def name(self) -> str:
        """What the user wrote; for a file, its last part."""

    @property
    def digest(self) -> str:
        """A string that changes whenever something changes that decides ids."""

    @property
    def grows(self) -> bool:
        """Whether ids are provisional while reading (words), to be sorted at the end."""

    def encode(self, texts: list[str], first: int = 0) -> tuple[Ids, Offsets]:
        """Return the ids of all texts in one array, and where each text begins and ends in it.

        `first` is the number of documents before these, so that a message names the right one.
        """

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary; of a growing one, what was met so far in order of meeting."""


BUILT_IN: dict[str, Callable[[Errors], Tokenizer]] = {
    "words": Words,
    "characters": Characters,
    "bytes": Bytes,
    "dna": dna,
    "protein": protein,
}


def open_tokenizer(
    name_or_path: str | os.PathLike[str],
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen, so sharing one default is harmless
    errors: Errors = "strict",
) -> Tokenizer:
    """Open a built-in tokenizer by name, or a `tokenizer.json` by its path or its folder's.

    >>> open_tokenizer("dna").encode(["ACgu", "N"])[0].tolist()
    [0, 1, 2, 3, 4]
    """
    if isinstance(name_or_path, str) and name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path](errors)
    path = Path(name_or_path)
    if path.is_dir():
        path = path / FILE_NAME
        if not path.is_file():
            raise TokenizerError(f"the folder {path.parent} holds no {FILE_NAME}; pass its path.")
    if not path.exists():
        raise _absent(name_or_path)
    return Pieces(path, limits=limits, errors=errors)


def _absent(name_or_path: str | os.PathLike[str]) -> TokenizerError:
    written = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or written != Path(written).name or Path(written).suffix:
        return TokenizerError(
            f"there is no tokenizer file {written}; check the path, or choose one of "
            f"{', '.join(sorted(BUILT_IN))}."
        )
    return TokenizerError(
        f"there is no tokenizer {written!r} ({nearest(written, BUILT_IN)}); "
        "choose one of these, or pass the path of a tokenizer.json."
    )
